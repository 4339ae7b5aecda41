package supervisor

import (
	"os"

	"golang.org/x/sys/unix"
)

// makePage returns a descriptor of shared memory of this size: an unlinked
// file, since this system has no sealed anonymous memory.
func makePage(size int) (int, error) {
	f, err := os.CreateTemp("", "poolwise-page-*")
	if err != nil {
		return -1, err
	}
	defer f.Close()
	os.Remove(f.Name())
	if err := f.Truncate(int64(size)); err != nil {
		return -1, err
	}
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	return fd, os.NewSyscallError("fcntl", err)
}
