package command

import (
	"syscall"

	"github.com/poolwise/poolwise/internal/proc"
)

// bytesWaiting is the request that tells how much a pipe holds.
const bytesWaiting = 0x4004667f // FIONREAD, which x/sys/unix does not have

// start starts a command as the leader of a session of its own, which is away
// from the terminal and its signals.
func start(path string, argv []string, attr *syscall.ProcAttr) (*proc.Process, error) {
	return proc.Start(path, argv, attr)
}
