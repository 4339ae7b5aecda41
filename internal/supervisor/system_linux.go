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

// process is a child that can be polled for its end.
type process struct {
	pid   int
	pidfd int
}

func startProcess(argv []string, attr *syscall.ProcAttr) (*process, error) {
	p := &process{pidfd: -1}
	attr.Sys = &syscall.SysProcAttr{Setsid: true, PidFD: &p.pidfd}
	pid, err := syscall.ForkExec(argv[0], argv, attr)
	p.pid = pid
	return p, err
}

// endFD becomes readable when the process has ended.
func (p *process) endFD() int { return p.pidfd }

// reap collects the process, which has ended.
func (p *process) reap() (unix.WaitStatus, *unix.Rusage) {
	var status unix.WaitStatus
	var usage unix.Rusage
	for {
		if _, err := unix.Wait4(p.pid, &status, 0, &usage); err != unix.EINTR {
			break
		}
	}
	unix.Close(p.pidfd)
	return status, &usage
}

// peakRSS is in bytes.
func peakRSS(usage *unix.Rusage) int64 { return usage.Maxrss << 10 }
