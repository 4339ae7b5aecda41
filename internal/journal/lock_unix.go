//go:build unix

package journal

import (
	"os"

	"golang.org/x/sys/unix"
)

// flock takes the lock of an open file without waiting. It ends when the file
// is closed.
func flock(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch err {
		case unix.EINTR:
		case unix.EWOULDBLOCK:
			return errLocked
		default:
			return err
		}
	}
}
