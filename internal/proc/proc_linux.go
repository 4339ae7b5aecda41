package proc

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Start starts the program at path as the leader of a session of its own.
func Start(path string, argv []string, attr *syscall.ProcAttr) (*Process, error) {
	pidfd := -1
	attr.Sys = &syscall.SysProcAttr{Setsid: true, PidFD: &pidfd}
	pid, err := syscall.ForkExec(path, argv, attr)
	if err != nil {
		return nil, err
	}
	p := &Process{PID: pid, EndFD: pidfd}
	if pidfd < 0 { // before Linux 5.2
		err = p.watch()
	}
	return p, err
}

// NewWaker returns a waker.
func NewWaker() (*Waker, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("eventfd", err)
	}
	return &Waker{FD: fd, send: fd}, nil
}

// Pipe returns a pipe, closed on exec, whose read end does not block.
func Pipe() (read, write int, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return -1, -1, os.NewSyscallError("pipe2", err)
	}
	return ends(fds)
}

// PeakRSS is the largest resident memory that the process had, in bytes.
func PeakRSS(usage *unix.Rusage) int64 { return usage.Maxrss << 10 }
