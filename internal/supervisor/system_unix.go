//go:build linux || darwin

package supervisor

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

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
	unix.CloseOnExec(fds[0])
	unix.CloseOnExec(fds[1])
	return fds[0], fds[1], os.NewSyscallError("fcntl", unix.SetNonblock(fds[0], true))
}

// socketPair returns two connected stream sockets; the first does not block.
func socketPair() (ours, theirs int, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return -1, -1, os.NewSyscallError("socketpair", err)
	}
	unix.CloseOnExec(fds[0])
	unix.CloseOnExec(fds[1])
	// A larger buffer lets a chunk of usual size leave in one write.
	unix.SetsockoptInt(fds[0], unix.SOL_SOCKET, unix.SO_SNDBUF, socketBuffer)
	unix.SetsockoptInt(fds[1], unix.SOL_SOCKET, unix.SO_SNDBUF, socketBuffer)
	return fds[0], fds[1], os.NewSyscallError("fcntl", unix.SetNonblock(fds[0], true))
}

// socketBuffer is the size asked for, in bytes; the system caps it (on Linux
// usually at 208 KiB, doubled).
const socketBuffer = 1 << 20
