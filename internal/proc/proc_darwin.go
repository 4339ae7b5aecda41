package proc

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Start starts the program at path as the leader of a session of its own.
func Start(path string, argv []string, attr *syscall.ProcAttr) (*Process, error) {
	attr.Sys = &syscall.SysProcAttr{Setsid: true}
	pid, err := syscall.ForkExec(path, argv, attr)
	if err != nil {
		return nil, err
	}
	p := &Process{PID: pid}
	return p, p.watch()
}

// NewWaker returns a waker.
func NewWaker() (*Waker, error) {
	read, write, err := Pipe()
	if err != nil {
		return nil, err
	}
	return &Waker{FD: read, send: write}, unix.SetNonblock(write, true)
}

// Pipe returns a pipe, closed on exec, whose read end does not block.
func Pipe() (read, write int, err error) {
	var fds [2]int
	// Between pipe and CloseOnExec no process may be forked.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := unix.Pipe(fds[:]); err != nil {
		return -1, -1, os.NewSyscallError("pipe", err)
	}
	return ends(fds)
}

// PeakRSS is the largest resident memory that the process had, in bytes.
func PeakRSS(usage *unix.Rusage) int64 { return usage.Maxrss }
