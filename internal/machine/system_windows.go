package machine

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/windows"
)

// Here returns the machine that this process runs on. env is the environment,
// as os.Environ gives it.
func Here(env []string) System {
	return System{Env: env, Affinity: runtime.NumCPU}
}

func platformMemory() (total, available int64) { return 0, 0 }

func platformTopology() (model string, physical int, load []float64) { return "", 0, nil }

func fileSystemSize(string) *int64 { return nil }

func kernelFeatures() *Kernel { return nil }

func resourceLimits() (openFiles, processes *int64) { return nil, nil }

func kernelRelease() string {
	v := windows.RtlGetVersion()
	return fmt.Sprintf("Windows NT %d.%d.%d", v.MajorVersion, v.MinorVersion, v.BuildNumber)
}
