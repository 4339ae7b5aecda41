//go:build linux || darwin

package supervisor

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// process is a child whose end can be polled for.
type process struct {
	pid   int
	endFD int // becomes readable when the process has ended

	// Where the system does not give endFD, a goroutine waits for the process,
	// leaves what it learns here, and closes both this and the other end of a
	// pipe.
	waited chan struct{}
	status unix.WaitStatus
	usage  unix.Rusage
}

// watch gives endFD where the system has none. When it fails the process has
// been killed and collected.
func (p *process) watch() error {
	read, write, err := pipe()
	if err != nil {
		unix.Kill(p.pid, unix.SIGKILL)
		p.wait()
		return err
	}
	p.endFD, p.waited = read, make(chan struct{})
	go func() {
		p.wait()
		close(p.waited)
		unix.Close(write)
	}()
	return nil
}

func (p *process) wait() {
	for {
		if _, err := unix.Wait4(p.pid, &p.status, 0, &p.usage); err != unix.EINTR {
			return
		}
	}
}

// reap collects the process, which has ended.
func (p *process) reap() (unix.WaitStatus, *unix.Rusage) {
	if p.waited != nil {
		<-p.waited
	} else {
		p.wait()
	}
	unix.Close(p.endFD)
	return p.status, &p.usage
}

// pipe returns a pipe whose ends are closed on exec and whose read end does
// not block.
func pipe() (read, write int, err error) {
	var fds [2]int
	// Between pipe and CloseOnExec no process may be forked.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := unix.Pipe(fds[:]); err != nil {
		return -1, -1, os.NewSyscallError("pipe", err)
	}
	return ends(fds)
}

// socketPair returns two connected stream sockets; the first does not block.
func socketPair() (ours, theirs int, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return -1, -1, os.NewSyscallError("socketpair", err)
	}
	// A larger buffer lets a chunk of usual size leave in one write.
	unix.SetsockoptInt(fds[0], unix.SOL_SOCKET, unix.SO_SNDBUF, socketBuffer)
	unix.SetsockoptInt(fds[1], unix.SOL_SOCKET, unix.SO_SNDBUF, socketBuffer)
	return ends(fds)
}

// ends returns a pair whose first end does not block, and closes it when that
// cannot be had.
func ends(fds [2]int) (first, second int, err error) {
	unix.CloseOnExec(fds[0])
	unix.CloseOnExec(fds[1])
	if err := unix.SetNonblock(fds[0], true); err != nil {
		unix.Close(fds[0])
		unix.Close(fds[1])
		return -1, -1, os.NewSyscallError("fcntl", err)
	}
	return fds[0], fds[1], nil
}

// socketBuffer is the size asked for, in bytes; the system caps it (on Linux
// usually at 208 KiB, doubled).
const socketBuffer = 1 << 20
