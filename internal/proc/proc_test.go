//go:build linux || darwin

package proc

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestEnds starts processes in both ways: where the system gives a descriptor
// for the end, and where a goroutine tells of it.
func TestEnds(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	starts := map[string]func(string, []string, *syscall.ProcAttr) (*Process, error){
		"Start": Start, "startWatched": startWatched,
	}
	for name, start := range starts {
		for _, script := range []string{"exit 3", "kill -9 $$", "exec sleep 3600"} {
			t.Run(name+" "+script, func(t *testing.T) {
				before := descriptors(t)
				attr := &syscall.ProcAttr{Sys: &syscall.SysProcAttr{Setsid: true}}
				p, err := start(sh, []string{"sh", "-c", script}, attr)
				if err != nil {
					t.Fatal(err)
				}
				collect(t, p, script)
				if after := descriptors(t); after != before {
					t.Errorf("%d descriptors before, %d after", before, after)
				}
			})
		}
	}
}

// collect waits for the end of a script and checks what is told of it.
func collect(t *testing.T, p *Process, script string) {
	t.Helper()
	sleeps := script == "exec sleep 3600"
	if sleeps {
		if ended(t, p, 0) {
			t.Error("a process that runs is told as ended")
		}
		p.KillGroup()
	}
	if !ended(t, p, 20*1000) {
		t.Fatal("its end is not told")
	}
	status, usage := p.Reap()
	if exit := status.ExitStatus(); script == "exit 3" && exit != 3 || script != "exit 3" && status.Signal() != unix.SIGKILL {
		t.Errorf("status %v", status)
	}
	if PeakRSS(usage) <= 0 {
		t.Error("its largest memory is unknown")
	}
	if _, err := unix.Wait4(p.PID, nil, unix.WNOHANG, nil); !errors.Is(err, unix.ECHILD) {
		t.Errorf("it was not collected: %v", err)
	}
}

func ended(t *testing.T, p *Process, timeout int) bool {
	t.Helper()
	n, err := Poll([]unix.PollFd{{Fd: int32(p.EndFD), Events: unix.POLLIN}}, timeout)
	if err != nil {
		t.Fatal(err)
	}
	return n == 1
}

func TestCannotStart(t *testing.T) {
	before := descriptors(t)
	for range 3 {
		if _, err := Start("/no/such/program", []string{"x"}, &syscall.ProcAttr{}); !errors.Is(err, unix.ENOENT) {
			t.Errorf("Start returns %v", err)
		}
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	names, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

// TestOurEndsDoNotBlock: and the others do, since commands expect that; all are
// closed on exec.
func TestOurEndsDoNotBlock(t *testing.T) {
	for name, open := range map[string]func() (int, int, error){"Pipe": Pipe, "SocketPair": SocketPair} {
		ours, theirs, err := open()
		if err != nil {
			t.Fatal(err)
		}
		for fd, want := range map[int]bool{ours: true, theirs: false} {
			if flags := fcntl(t, fd, unix.F_GETFL); flags&unix.O_NONBLOCK != 0 != want {
				t.Errorf("%s: end %d has the flags %#x", name, fd, flags)
			}
			if fcntl(t, fd, unix.F_GETFD)&unix.FD_CLOEXEC == 0 {
				t.Errorf("%s: end %d stays open on exec", name, fd)
			}
			unix.Close(fd)
		}
	}
}

func fcntl(t *testing.T, fd, request int) int {
	t.Helper()
	flags, err := unix.FcntlInt(uintptr(fd), request, 0)
	if err != nil {
		t.Fatal(err)
	}
	return flags
}

func TestWaker(t *testing.T) {
	w, err := NewWaker()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	awake := func() bool {
		n, err := Poll([]unix.PollFd{{Fd: int32(w.FD), Events: unix.POLLIN}}, 0)
		if err != nil {
			t.Fatal(err)
		}
		return n == 1
	}
	if awake() {
		t.Error("it is awake before the first call")
	}
	for range 3 {
		w.Wake()
	}
	if !awake() {
		t.Error("it is not awake after Wake")
	}
	w.Clear()
	if awake() {
		t.Error("it is awake after Clear")
	}
}

// TestPollKeepsItsTime: signals neither end it nor make it start over.
func TestPollKeepsItsTime(t *testing.T) {
	const timeout = 100 * time.Millisecond
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
				unix.Kill(unix.Getpid(), unix.SIGURG) // which Go expects, and ignores
			}
		}
	}()
	began := Now()
	n, err := Poll(nil, int(timeout/time.Millisecond))
	took := time.Duration(Now() - began)
	close(stop)
	<-stopped
	if n != 0 || err != nil || took < timeout || took > 20*timeout {
		t.Errorf("Poll returns %d, %v after %v", n, err, took)
	}
}
