package command

import (
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
	attr.Sys = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return proc.Start(path, argv, attr)
}
