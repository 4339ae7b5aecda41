package machine

import (
	"encoding/binary"
	"runtime"

	"golang.org/x/sys/unix"
)

// Here returns the machine that this process runs on. env is the environment,
// as os.Environ gives it.
func Here(env []string) System {
	return System{Env: env, Affinity: runtime.NumCPU}
}

// platformMemory counts as available the pages that are free or can be taken at
// once. The kernel has more to give back, but tells it to Mach calls only.
func platformMemory() (total, available int64) {
	size, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0, 0
	}
	pages := int64(0)
	for _, name := range []string{"vm.page_free_count", "vm.page_speculative_count", "vm.page_purgeable_count"} {
		if n, err := unix.SysctlUint32(name); err == nil {
			pages += int64(n)
		}
	}
	return int64(size), pages * int64(unix.Getpagesize())
}

func platformTopology() (model string, physical int, load []float64) {
	model, _ = unix.Sysctl("machdep.cpu.brand_string")
	if n, err := unix.SysctlUint32("hw.physicalcpu"); err == nil {
		physical = int(n)
	}
	return model, physical, loadAverage()
}

// loadAverage reads struct loadavg: three fixed-point numbers, and their scale
// in a long that stands at an offset of 16.
func loadAverage() []float64 {
	raw, err := unix.SysctlRaw("vm.loadavg")
	if err != nil || len(raw) < 24 {
		return nil
	}
	scale := float64(binary.LittleEndian.Uint64(raw[16:]))
	if scale == 0 {
		return nil
	}
	load := make([]float64, 3)
	for i := range load {
		load[i] = float64(binary.LittleEndian.Uint32(raw[4*i:])) / scale
	}
	return load
}

func fileSystemSize(string) *int64 { return nil }

func kernelFeatures() *Kernel { return nil }
