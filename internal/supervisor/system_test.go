//go:build linux || darwin

package supervisor

import (
	"errors"
	"os/exec"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/poolwise/poolwise/internal/batch"
)

// TestWatch: where there is no pidfd, a goroutine tells of the end.
func TestWatch(t *testing.T) {
	for _, ends := range []string{"exit 3", "kill -9 $$", "exec sleep 3600"} {
		sh, err := exec.LookPath("sh")
		if err != nil {
			t.Fatal(err)
		}
		pid, err := syscall.ForkExec(sh, []string{"sh", "-c", ends}, &syscall.ProcAttr{})
		if err != nil {
			t.Fatal(err)
		}
		p := &process{pid: pid, endFD: -1}
		if err := p.watch(); err != nil {
			t.Fatal(err)
		}
		polled := []unix.PollFd{{Fd: int32(p.endFD), Events: unix.POLLIN}}
		if n, _ := unix.Poll(polled, 0); ends == "exec sleep 3600" {
			if n != 0 {
				t.Error("a process that runs is told as ended")
			}
			unix.Kill(pid, unix.SIGKILL)
		}
		for {
			if _, err := unix.Poll(polled, -1); err != unix.EINTR {
				break
			}
		}
		status, usage := p.reap()
		if exit := status.ExitStatus(); ends == "exit 3" && exit != 3 || ends != "exit 3" && status.Signal() != unix.SIGKILL {
			t.Errorf("%s: status %v", ends, status)
		}
		if peakRSS(usage) <= 0 {
			t.Errorf("%s: its largest memory is unknown", ends)
		}
		if _, err := unix.Wait4(pid, nil, unix.WNOHANG, nil); !errors.Is(err, unix.ECHILD) {
			t.Errorf("%s: it was not collected: %v", ends, err)
		}
	}
}

// TestPage reads what workers write.
func TestPage(t *testing.T) {
	for _, c := range []struct {
		name  string
		slots int
		words []uint64 // from the count on
		want  []batch.Running
	}{
		{"nothing", 1, nil, nil},
		{"one item", 1, []uint64{0, 0, 0, 0, 0, 0, 8, 100}, []batch.Running{{Index: 7, Since: 100}}},
		{"first of a strip", 1, []uint64{3, 0, 0, 0, 0, 0, 8, 100}, []batch.Running{{Index: 7, Since: 100}}},
		{"last of a strip", 1, []uint64{3, 0, 0, 0, 0, 0, 8, 100, 110, 120}, []batch.Running{{Index: 9, Since: 120}}},
		{"strip that is done", 1, []uint64{3, 0, 0, 0, 0, 0, 8, 100, 110, 120, 130}, nil},
		{"strip longer than it can be", 1, []uint64{1 << 63, 0, 0, 0, 0, 0, 8, 100, 110}, []batch.Running{{Index: 8, Since: 110}}},
		{"slots", 3, []uint64{9, 0, 0, 0, 0, 0, 8, 100, 0, 90, 1, 95},
			[]batch.Running{{Slot: 0, Index: 7, Since: 100}, {Slot: 2, Index: 0, Since: 95}}},
	} {
		p := newPage(make([]byte, pageSize(c.slots)), c.slots)
		copy(p.words[countWord:], c.words)
		if got := p.running(nil); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
