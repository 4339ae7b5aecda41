package supervisor

import (
	"os"
	"syscall"

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

// makeWaker returns the two ends of what wakes a poll; neither blocks.
func makeWaker() (read, write int, err error) {
	read, write, err = pipe()
	if err == nil {
		err = os.NewSyscallError("fcntl", unix.SetNonblock(write, true))
	}
	return read, write, err
}

// startProcess starts a child that leads a session of its own.
func startProcess(argv []string, attr *syscall.ProcAttr) (*process, error) {
	attr.Sys = &syscall.SysProcAttr{Setsid: true}
	pid, err := syscall.ForkExec(argv[0], argv, attr)
	if err != nil {
		return nil, err
	}
	p := &process{pid: pid, endFD: -1}
	return p, p.watch()
}

// peakRSS is in bytes.
func peakRSS(usage *unix.Rusage) int64 { return usage.Maxrss }
