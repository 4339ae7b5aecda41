package machine

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Here returns the machine that this process runs on. env is the environment,
// as os.Environ gives it.
func Here(env []string) System {
	return System{Root: os.DirFS("/"), Env: env, Affinity: affinity}
}

// affinity asks the kernel anew, as runtime.NumCPU remembers what was true when
// the process started. It falls short on machines of over 1,024 CPUs, which the
// mask of unix.CPUSet cannot hold.
func affinity() int {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) == nil && set.Count() > 0 {
		return set.Count()
	}
	return runtime.NumCPU()
}

func platformMemory() (total, available int64) { return 0, 0 }

func platformTopology() (model string, physical int, load []float64) { return "", 0, nil }

// fileSystemSize returns the size of a mounted file system.
func fileSystemSize(path string) *int64 {
	var st unix.Statfs_t
	if unix.Statfs(path, &st) != nil {
		return nil
	}
	size := int64(st.Blocks) * st.Bsize
	return &size
}

// kernelFeatures tries what supervising workers rests on.
func kernelFeatures() *Kernel {
	var k Kernel
	if fd, err := unix.PidfdOpen(os.Getpid(), 0); err == nil {
		unix.Close(fd)
		k.Pidfd = true
	}
	if fd, err := unix.MemfdCreate("poolwise", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING); err == nil {
		unix.Close(fd)
		k.Memfd = true
	}
	return &k
}
