package supervisor

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// makePage returns a descriptor of shared memory of this size: an unlinked
// file, since this system has no sealed anonymous memory.
func makePage(size int) (int, error) {
	f, err := os.CreateTemp("", "poolwise-page-*")
	if err != nil {
		return -1, err
	}
	defer f.Close()
	os.Remove(f.Name())
	if err := f.Truncate(int64(size)); err != nil {
		return -1, err
	}
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	return fd, os.NewSyscallError("fcntl", err)
}

// makeWaker returns the two ends of what wakes a poll.
func makeWaker() (read, write int, err error) {
	return pipe()
}

// process is a child that can be polled for its end: a goroutine waits for it
// and closes a pipe.
type process struct {
	pid    int
	read   int
	status unix.WaitStatus
	usage  unix.Rusage
	ended  chan struct{}
}

func startProcess(argv []string, attr *syscall.ProcAttr) (*process, error) {
	read, write, err := pipe()
	if err != nil {
		return nil, err
	}
	attr.Sys = &syscall.SysProcAttr{Setsid: true}
	pid, err := syscall.ForkExec(argv[0], argv, attr)
	if err != nil {
		unix.Close(read)
		unix.Close(write)
		return nil, err
	}
	p := &process{pid: pid, read: read, ended: make(chan struct{})}
	go func() {
		for {
			if _, err := unix.Wait4(pid, &p.status, 0, &p.usage); err != unix.EINTR {
				break
			}
		}
		close(p.ended)
		unix.Close(write)
	}()
	return p, nil
}

// endFD becomes readable when the process has ended.
func (p *process) endFD() int { return p.read }

// reap collects the process, which has ended.
func (p *process) reap() (unix.WaitStatus, *unix.Rusage) {
	<-p.ended
	unix.Close(p.read)
	return p.status, &p.usage
}

// peakRSS is in bytes.
func peakRSS(usage *unix.Rusage) int64 { return usage.Maxrss }
