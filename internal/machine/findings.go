package machine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Finding is something that would hold a run back.
type Finding struct {
	// About is what it concerns: cpus, memory, limits, kernel, python.
	About string `json:"about"`
	// Text says what is the case and what it means.
	Text string `json:"text"`
	// Do says what may be done; "" when nothing needs to be.
	Do string `json:"do,omitempty"`
}

// Below these figures something is said. They are judgements.
const (
	// Linux gives 1,024 open files unless somebody chose otherwise; a worker
	// takes a handful, a task with many connections takes hundreds.
	fewFiles = 1024
	// A desktop has several hundred processes and threads of the same user.
	fewProcesses = 512
	// Four workers with four threads each, and room for what they start.
	fewTasks = 64
	// A Python worker that has imported numpy holds about 30 MiB, and its items
	// need something too.
	memoryPerWorker = 64 << 20
	// Containers get 64 MiB of shared memory by default.
	littleShared = 128 << 20
	// Less than this is not felt at the start of a run.
	slowShim = 20 * time.Millisecond
)

// Findings returns what would hold a run back on a machine, the gravest of each
// kind first.
func Findings(c *Context) []Finding {
	return slices.Concat(cpuFindings(c), memoryFindings(c), limitFindings(c), kernelFindings(c), pythonFindings(c))
}

func cpuFindings(c *Context) []Finding {
	var found []Finding
	add := func(do, format string, args ...any) {
		found = append(found, Finding{"cpus", fmt.Sprintf(format, args...), do})
	}
	if c.CPUs.Usable < float64(c.CPUs.Logical) {
		add(boundRemedy(c.CPUs.Bound), "%s of the %d CPUs may be used: %s", decimal(c.CPUs.Usable), c.CPUs.Logical, winningBound(c.CPUs))
	}
	// Half of the usable CPUs taken by others is felt in every measurement.
	if load := c.Processor.Load; len(load) > 0 && load[0] > c.CPUs.Usable/2 && load[0] >= 1 {
		add("wait for them to end before you measure anything", "other programs are running: the load average of the last minute is %s, with %s usable CPUs", decimal(load[0]), decimal(c.CPUs.Usable))
	}
	for _, note := range c.CPUs.Notes {
		add("", "%s", note)
	}
	for _, name := range threadVariables {
		value := c.ThreadPools[name]
		if value == nil {
			continue
		}
		if n, err := strconv.Atoi(*value); err == nil && float64(n) > c.CPUs.Usable {
			add("unset it, unless a task needs it", "%s=%s asks for more threads in each worker than there are usable CPUs", name, *value)
		}
	}
	return found
}

func boundRemedy(bound string) string {
	switch bound {
	case "affinity":
		return "start poolwise without taskset, or give the container or job more CPUs"
	case "cgroup quota":
		return "raise the quota of the container, job or service, if more CPUs are there to be had"
	case "--cpus":
		return ""
	}
	return "unset " + bound + ", if its limit is not meant for this run"
}

func winningBound(c CPUs) string {
	for _, b := range c.Bounds {
		if b.Name == c.Bound && b.CPUs == c.Usable {
			return b.Name + " (" + b.Detail + ")"
		}
	}
	return c.Bound
}

func decimal(n float64) string { return strconv.FormatFloat(float64(int(n*100+0.5))/100, 'f', -1, 64) }

func mib(n int64) string { return decimal(float64(n)/(1<<20)) + " MiB" }

func memoryFindings(c *Context) []Finding {
	var found []Finding
	m := c.Memory
	if need := int64(c.CPUs.Workers) * memoryPerWorker; m.Total > 0 && m.Usable < need {
		where := "the system has no more to give"
		do := "end other programs, or run fewer workers with --cpus"
		if m.Bound == "cgroup limit" {
			where, do = "a control group limits it", "raise the memory limit of the container, job or service, or run fewer workers with --cpus"
		}
		found = append(found, Finding{"memory", fmt.Sprintf("%s of memory can be used (%s): little for %d workers, of which one that imports numpy holds about 30 MiB", mib(m.Usable), where, c.CPUs.Workers), do})
	}
	if s := c.Limits.SharedMemory; s != nil && *s < littleShared {
		found = append(found, Finding{"memory", fmt.Sprintf("%s has %s: poolwise does without it, but a task that shares memory with its own children may not", sharedMemory, mib(*s)), "give the container more, such as docker run --shm-size 1g"})
	}
	return found
}

func limitFindings(c *Context) []Finding {
	var found []Finding
	add := func(do, format string, args ...any) {
		found = append(found, Finding{"limits", fmt.Sprintf(format, args...), do})
	}
	files := c.Limits.OpenFiles
	if c.Python != nil && c.Python.OpenFiles != nil && (files == nil || *c.Python.OpenFiles < *files) {
		files = c.Python.OpenFiles
	}
	if files != nil && *files < fewFiles {
		add("raise it with ulimit -n", "a process may hold only %d files open, so a worker cannot keep many connections at a time", *files)
	}
	if p := c.Limits.Processes; p != nil && *p < fewProcesses {
		add("raise it with ulimit -u", "this user may have only %d processes and threads, those of other programs included", *p)
	}
	if t := c.Limits.Tasks; t != nil && *t < fewTasks {
		add("raise the pids limit of the container, job or service", "only %d more processes and threads may be started in this control group", *t)
	}
	return found
}

func kernelFindings(c *Context) []Finding {
	var found []Finding
	k := c.KernelFeatures
	if k == nil {
		return nil
	}
	if !k.Pidfd {
		found = append(found, Finding{"kernel", "this kernel gives no pidfd (pidfd_open, Linux 5.3), or a sandbox forbids it: the end of a worker is learnt from wait alone", "use a newer kernel or a wider sandbox"})
	}
	if !k.Memfd {
		found = append(found, Finding{"kernel", "this kernel gives no memfd (memfd_create, Linux 3.17), or a sandbox forbids it: workers cannot share the page that tells which item each of them runs", "use a newer kernel or a wider sandbox"})
	}
	return found
}

func pythonFindings(c *Context) []Finding {
	var found []Finding
	add := func(do, format string, args ...any) {
		found = append(found, Finding{"python", fmt.Sprintf(format, args...), do})
	}
	if c.Python == nil {
		add("", "Python functions cannot be run, commands can: %s", c.PythonProblem)
		return found
	}
	p := c.Python
	if tooOld(p.Version) {
		add("name a newer one with --python", "Python %s is too old: workers need 3.8", p.Version)
	}
	if p.Shim != "" && p.ShimTime >= slowShim {
		add("name the interpreter itself: --python "+p.Path, "%s is a script that costs each run %d ms", p.Shim, p.ShimTime.Milliseconds())
	}
	if c.NoBytecode {
		add("unset it", "PYTHONDONTWRITEBYTECODE is set: each worker that starts compiles modules anew, where no compiled form of them is left from before")
	}
	return found
}

// tooOld tells whether a version is below 3.8, the oldest that workers run on.
func tooOld(version string) bool {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return false
	}
	major, err := strconv.Atoi(parts[0])
	minor, err2 := strconv.Atoi(parts[1])
	return err == nil && err2 == nil && (major < 3 || major == 3 && minor < 8)
}
