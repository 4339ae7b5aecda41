//go:build linux || darwin

package proc

import (
	"errors"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
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
		p := &Process{PID: pid, EndFD: -1}
		if err := p.watch(); err != nil {
			t.Fatal(err)
		}
		polled := []unix.PollFd{{Fd: int32(p.EndFD), Events: unix.POLLIN}}
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
		status, usage := p.Reap()
		if exit := status.ExitStatus(); ends == "exit 3" && exit != 3 || ends != "exit 3" && status.Signal() != unix.SIGKILL {
			t.Errorf("%s: status %v", ends, status)
		}
		if PeakRSS(usage) <= 0 {
			t.Errorf("%s: its largest memory is unknown", ends)
		}
		if _, err := unix.Wait4(pid, nil, unix.WNOHANG, nil); !errors.Is(err, unix.ECHILD) {
			t.Errorf("%s: it was not collected: %v", ends, err)
		}
	}
}
