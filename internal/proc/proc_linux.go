package proc

import (
	"os"
	"sync"
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
	if !hasPidfd() {
		return startWatched(path, argv, attr)
	}
	p := &Process{}
	attr.Sys.PidFD = &p.EndFD
	pid, err := syscall.ForkExec(path, argv, attr)
	if err != nil {
		return nil, err
	}
	p.PID = pid
	return p, nil
}

// hasPidfd reports whether the end of a process can be polled for: since Linux
// 5.3, but for where it is forbidden.
var hasPidfd = sync.OnceValue(func() bool {
	fd, err := unix.PidfdOpen(unix.Getpid(), 0)
	if err != nil {
		return false
	}
	unix.Close(fd)
	return true
})

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
	// A new pipe has no other flags: there is nothing to be read first.
	if _, err := unix.FcntlInt(uintptr(fds[0]), unix.F_SETFL, unix.O_NONBLOCK); err != nil {
		unix.Close(fds[0])
		unix.Close(fds[1])
		return -1, -1, os.NewSyscallError("fcntl", err)
	}
	return fds[0], fds[1], nil
}

// PeakRSS is the largest resident memory that the process had, in bytes.
func PeakRSS(usage *unix.Rusage) int64 { return usage.Maxrss << 10 }
