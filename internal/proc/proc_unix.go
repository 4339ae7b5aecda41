//go:build linux || darwin

// Package proc holds what starting child processes and waiting for several
// things at once needs of the system: processes whose end can be polled for,
// pipes, and something to wake a poll with.
package proc

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A Process is a child whose end can be polled for.
type Process struct {
	PID int
	// EndFD becomes readable when the process has ended.
	EndFD int

	// Where the system does not give EndFD, a goroutine waits for the process,
	// leaves what it learns here, and closes both this and the other end of a
	// pipe.
	waited chan struct{}
	status unix.WaitStatus
	usage  unix.Rusage
}

// startWatched starts a process whose end a goroutine waits for.
func startWatched(path string, argv []string, attr *syscall.ProcAttr) (*Process, error) {
	pid, err := syscall.ForkExec(path, argv, attr)
	if err != nil {
		return nil, err
	}
	p := &Process{PID: pid}
	if err := p.watch(); err != nil {
		return nil, err
	}
	return p, nil
}

// watch gives EndFD where the system has none. When it fails the process has
// been killed and collected.
func (p *Process) watch() error {
	read, write, err := Pipe()
	if err != nil {
		unix.Kill(p.PID, unix.SIGKILL)
		p.wait()
		return err
	}
	p.EndFD, p.waited = read, make(chan struct{})
	go func() {
		p.wait()
		close(p.waited)
		unix.Close(write)
	}()
	return nil
}

func (p *Process) wait() {
	for {
		if _, err := unix.Wait4(p.PID, &p.status, 0, &p.usage); err != unix.EINTR {
			return
		}
	}
}

// Reap collects the process, which must have ended.
func (p *Process) Reap() (unix.WaitStatus, *unix.Rusage) {
	if p.waited != nil {
		<-p.waited
	} else {
		p.wait()
	}
	unix.Close(p.EndFD)
	return p.status, &p.usage
}

// KillGroup kills the process and all that is in its process group. The
// process must not have been reaped: until then its number is not another's.
func (p *Process) KillGroup() { unix.Kill(-p.PID, unix.SIGKILL) }

// A Waker makes a poll return.
type Waker struct {
	// FD is to be polled for reading.
	FD   int
	send int
}

// Wake makes a poll of FD return, now or the next time.
func (w *Waker) Wake() {
	one := [8]byte{1}
	unix.Write(w.send, one[:]) // full means that it is awake already
}

// Clear takes back all calls of Wake so far.
func (w *Waker) Clear() {
	var buf [64]byte
	unix.Read(w.FD, buf[:])
}

// Close releases the waker. Wake must not be called any more.
func (w *Waker) Close() {
	unix.Close(w.FD)
	if w.send != w.FD {
		unix.Close(w.send)
	}
}

// SocketPair returns two connected stream sockets, closed on exec; the first
// does not block.
func SocketPair() (ours, theirs int, err error) {
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

// socketBuffer is the size asked for, in bytes; the system caps it (on Linux
// usually at 208 KiB, doubled).
const socketBuffer = 1 << 20

// ends returns a pair, closed on exec, whose first end does not block, and
// closes it when that cannot be had.
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

// Poll is poll(2), for ever when the timeout, in milliseconds, is below 0. It
// goes on for what is left of the time after a signal, of which Go sends itself
// many.
func Poll(fds []unix.PollFd, timeout int) (int, error) {
	var until int64
	if timeout > 0 {
		until = Now() + int64(timeout)*int64(time.Millisecond)
	}
	for {
		n, err := unix.Poll(fds, timeout)
		if err != unix.EINTR {
			return n, os.NewSyscallError("poll", err)
		}
		if timeout > 0 {
			left := time.Duration(until-Now()) + time.Millisecond - 1
			timeout = int(max(left/time.Millisecond, 0))
		}
	}
}

// Now reads the monotonic clock that all processes of the machine share, in ns.
func Now() int64 {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) != nil {
		return 0
	}
	return ts.Nano()
}
