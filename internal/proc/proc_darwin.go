package proc

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Start starts the program at path as the leader of a session of its own. What
// attr.Sys asks for besides is done too.
func Start(path string, argv []string, attr *syscall.ProcAttr) (*Process, error) {
	if attr.Sys == nil {
		attr.Sys = &syscall.SysProcAttr{}
	}
	attr.Sys.Setsid = true
	return startWatched(path, argv, attr)
}

// NewWaker returns a waker.
func NewWaker() (*Waker, error) {
	read, write, err := Pipe()
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(write, true); err != nil {
		unix.Close(read)
		unix.Close(write)
		return nil, os.NewSyscallError("fcntl", err)
	}
	return &Waker{FD: read, send: write}, nil
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
