package supervisor

import (
	"os"

	"golang.org/x/sys/unix"
)

// makePage returns a descriptor of shared memory of this size, sealed so that
// no one can shrink it under the mapping.
func makePage(size int) (int, error) {
	fd, err := unix.MemfdCreate("poolwise-page", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return -1, os.NewSyscallError("memfd_create", err)
	}
	if err := unix.Ftruncate(fd, int64(size)); err != nil {
		unix.Close(fd)
		return -1, os.NewSyscallError("ftruncate", err)
	}
	seals := unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		unix.Close(fd)
		return -1, os.NewSyscallError("fcntl(F_ADD_SEALS)", err)
	}
	return fd, nil
}
