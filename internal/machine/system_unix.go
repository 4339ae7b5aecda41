//go:build linux || darwin

package machine

import (
	"math"
	"runtime"

	"golang.org/x/sys/unix"
)

func resourceLimits() (openFiles, processes *int64) {
	return resourceLimit(unix.RLIMIT_NOFILE), resourceLimit(unix.RLIMIT_NPROC)
}

func resourceLimit(which int) *int64 {
	var r unix.Rlimit
	if unix.Getrlimit(which, &r) != nil || uint64(r.Cur) >= math.MaxInt64 {
		return nil // the largest number stands for no limit
	}
	n := int64(r.Cur)
	return &n
}

// kernelRelease returns the name and release of the kernel, as uname does.
func kernelRelease() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return runtime.GOOS
	}
	return unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:])
}
