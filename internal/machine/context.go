package machine

import (
	"context"
	"fmt"
	"io/fs"
	"runtime"
	"strings"
)

// Brief is the part of the context block that costs next to nothing: what each
// run writes down.
type Brief struct {
	OS     string `json:"os"` // as Go names it: linux, darwin, windows
	Arch   string `json:"arch"`
	Kernel string `json:"kernel"`
	CPUs   CPUs   `json:"cpus"`
	Memory Memory `json:"memory"`
	Limits Limits `json:"limits"`
}

// Brief returns what a run is to know of the machine. limit is the user's own
// limit of CPUs; 0 for none.
func (s System) Brief(limit float64) Brief {
	groups := s.cgroups()
	return Brief{
		OS: runtime.GOOS, Arch: runtime.GOARCH, Kernel: kernelRelease(),
		CPUs: s.cpus(groups, limit), Memory: s.memory(groups), Limits: s.limits(groups),
	}
}

// Context is the context block: all that has to be known of a machine to judge
// a measurement that was made on it.
type Context struct {
	Brief
	// System is the name that the operating system gives itself.
	System    string    `json:"system"`
	Processor Processor `json:"processor"`
	// KernelFeatures is nil on systems other than Linux.
	KernelFeatures *Kernel `json:"kernel_features"`
	// Python is nil when PythonProblem says why there is none.
	Python        *PythonFacts `json:"python"`
	PythonProblem string       `json:"python_problem,omitempty"`
	OtherPythons  []string     `json:"other_pythons"`
	Node          *Node        `json:"node"`
	// ThreadPools are the variables that size thread pools inside libraries;
	// nil for those that are not set.
	ThreadPools map[string]*string `json:"thread_pools"`
	// NoBytecode tells that PYTHONDONTWRITEBYTECODE is set.
	NoBytecode bool `json:"no_bytecode"`
}

// Processor is what the machine has, whatever of it may be used.
type Processor struct {
	Model string `json:"model"`
	// Physical is the number of cores; 0 when it is not known.
	Physical int `json:"physical_cores"`
	Logical  int `json:"logical_cores"`
	// SMT tells that cores run several threads at a time.
	SMT bool `json:"smt"`
	// Governor is the frequency governor; "" when it is not known.
	Governor string `json:"governor"`
	// Load is the load average over 1, 5 and 15 minutes; nil when unknown.
	Load []float64 `json:"load_average"`
}

// Kernel tells which features of Linux are there that poolwise rests on.
type Kernel struct {
	Pidfd bool `json:"pidfd"` // Linux 5.3
	Memfd bool `json:"memfd"` // Linux 3.17
}

// Describe returns the context block. It starts the interpreter that it finds,
// and Node.js. limit is the user's own limit of CPUs; 0 for none. The error is
// that of the context; a missing interpreter is none.
func (s System) Describe(ctx context.Context, limit float64, python PythonOptions) (*Context, error) {
	c := &Context{
		Brief:          s.Brief(limit),
		System:         s.systemName(),
		KernelFeatures: kernelFeatures(),
		Node:           findNode(ctx, python),
		ThreadPools:    s.ThreadPools(),
	}
	c.Processor = s.processor(c.CPUs.Logical)
	unwritten, _ := s.Getenv("PYTHONDONTWRITEBYTECODE")
	c.NoBytecode = unwritten != ""
	found, err := FindPython(ctx, python)
	if err == nil {
		c.Python, err = found.Facts(ctx, python)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		c.PythonProblem = err.Error()
	}
	c.OtherPythons = otherPythons(python, found)
	return c, nil
}

// systemName reads os-release(5).
func (s System) systemName() string {
	for _, file := range []string{"/etc/os-release", "/usr/lib/os-release"} {
		for line := range strings.Lines(s.text(file)) {
			if name, ok := strings.CutPrefix(line, "PRETTY_NAME="); ok {
				return strings.Trim(strings.TrimSpace(name), `"'`)
			}
		}
	}
	return kernelRelease()
}

const cpuDir = "/sys/devices/system/cpu"

func (s System) processor(logical int) Processor {
	p := Processor{Logical: logical}
	p.Model, p.Physical, p.Load = platformTopology()
	if model := s.cpuModel(); model != "" {
		p.Model = model
	}
	if n := s.physicalCores(); n > 0 {
		p.Physical = n
	}
	var load [3]float64
	if n, _ := fmt.Sscan(s.text("/proc/loadavg"), &load[0], &load[1], &load[2]); n == len(load) {
		p.Load = load[:]
	}
	p.SMT = p.Physical > 0 && p.Physical < p.Logical
	p.Governor = s.text(cpuDir + "/cpu0/cpufreq/scaling_governor")
	return p
}

// cpuModel reads the first processor's lines. ARM names no model in them.
func (s System) cpuModel() string {
	for line := range strings.Lines(s.head("/proc/cpuinfo")) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// physicalCores counts the different sets of threads that share a core.
func (s System) physicalCores() int {
	if s.Root == nil {
		return 0
	}
	files, err := fs.Glob(s.Root, cpuDir[1:]+"/cpu[0-9]*/topology/thread_siblings_list")
	if err != nil {
		return 0
	}
	cores := map[string]bool{}
	for _, file := range files {
		cores[s.text(file)] = true
	}
	return len(cores)
}
