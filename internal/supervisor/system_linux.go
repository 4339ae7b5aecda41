package supervisor

import (
	"os"
	"syscall"

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

// makeWaker returns the two ends of what wakes a poll: here one and the same.
func makeWaker() (read, write int, err error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	return fd, fd, os.NewSyscallError("eventfd", err)
}

// startProcess starts a child that leads a session of its own.
func startProcess(argv []string, attr *syscall.ProcAttr) (*process, error) {
	pidfd := -1
	attr.Sys = &syscall.SysProcAttr{Setsid: true, PidFD: &pidfd}
	pid, err := syscall.ForkExec(argv[0], argv, attr)
	if err != nil {
		return nil, err
	}
	p := &process{pid: pid, endFD: pidfd}
	if pidfd < 0 { // before Linux 5.2
		err = p.watch()
	}
	return p, err
}

// peakRSS is in bytes.
func peakRSS(usage *unix.Rusage) int64 { return usage.Maxrss << 10 }
