package command

import (
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/poolwise/poolwise/internal/proc"
)

// bytesWaiting is the request that tells how much a pipe holds.
const bytesWaiting = unix.TIOCINQ

// start starts a command as the leader of a session of its own, which is away
// from the terminal and its signals. The system ends it when the thread that
// started it ends, which is when poolwise does.
func start(path string, argv []string, attr *syscall.ProcAttr) (*proc.Process, error) {
	if !hasPidfd() {
		return proc.Start(path, argv, attr)
	}
	pidfd := -1
	attr.Sys = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL, PidFD: &pidfd}
	pid, err := syscall.ForkExec(path, argv, attr)
	if err != nil {
		return nil, err
	}
	return &proc.Process{PID: pid, EndFD: pidfd}, nil
}

// hasPidfd reports whether the end of a process can be polled for: since Linux
// 5.3, but for where it is forbidden. Without it a goroutine waits for each.
var hasPidfd = sync.OnceValue(func() bool {
	fd, err := unix.PidfdOpen(unix.Getpid(), 0)
	if err != nil {
		return false
	}
	unix.Close(fd)
	return true
})
