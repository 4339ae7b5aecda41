package journal

import (
	"os"

	"golang.org/x/sys/unix"
)

// datasync is fdatasync: it leaves out the times of the file.
func datasync(f *os.File) error {
	for {
		err := unix.Fdatasync(int(f.Fd()))
		if err != unix.EINTR {
			return err
		}
	}
}
