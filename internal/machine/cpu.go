package machine

import (
	"fmt"
	"math"
	"runtime"
	"strconv"
	"strings"
)

// CPUs tells how many CPUs a run may use, and why no more.
type CPUs struct {
	// Usable is the least of Bounds: a real number, as quotas are.
	Usable float64 `json:"usable"`
	// Workers is Usable rounded up. Rounding down would leave a part of a quota
	// unused, while being throttled at times costs no throughput.
	Workers int `json:"workers"`
	// Bound is the name of the bound that won; of equal ones, the first.
	Bound string `json:"bound"`
	// Bounds are all that were found, in the order they are looked for.
	Bounds []Bound `json:"bounds"`
	// Logical is the number of CPUs that are online in the machine.
	Logical int `json:"logical"`
	// Notes say what was found and not understood, one sentence each.
	Notes []string `json:"notes,omitempty"`
}

// A Bound is one limit on the CPUs that may be used.
type Bound struct {
	// Name is "cores" (all of the machine's), "affinity", "cgroup quota",
	// "--cpus", or the name of an environment variable.
	Name string  `json:"name"`
	CPUs float64 `json:"cpus"`
	// Detail says where it was read, for people.
	Detail string `json:"detail,omitempty"`
}

// cpuVariables are set by batch schedulers, or by users for the pools of
// Python, to say how many CPUs a program may take.
var cpuVariables = []struct{ name, by string }{
	{"SLURM_CPUS_PER_TASK", "set by Slurm"},
	{"PBS_NUM_PPN", "set by PBS"},
	{"NCPUS", "set by PBS"},
	{"NSLOTS", "set by Grid Engine"},
	{"LOKY_MAX_CPU_COUNT", "a limit for joblib and loky"},
	{"PYTHON_CPU_COUNT", "a limit for Python"},
}

// CPUs returns how many CPUs a run may use. limit is the user's own (--cpus);
// 0 for none.
func (s System) CPUs(limit float64) CPUs { return s.cpus(s.cgroups(), limit) }

func (s System) cpus(groups cgroups, limit float64) CPUs {
	c := CPUs{Logical: s.online()}
	affinity := Bound{"affinity", float64(s.Affinity()), fmt.Sprintf("of the %d that are online", c.Logical)}
	if affinity.CPUs >= float64(c.Logical) {
		affinity.Name, affinity.Detail = "cores", "all that are online"
	}
	c.Bounds = append(c.Bounds, affinity)
	for _, g := range groups.groups("cpu") {
		if b, ok := s.quota(g); ok {
			c.Bounds = append(c.Bounds, b)
		}
	}
	if limit > 0 {
		c.Bounds = append(c.Bounds, Bound{"--cpus", limit, "asked for"})
	}
	c.addVariables(s)
	c.settle()
	return c
}

func (c *CPUs) addVariables(s System) {
	for _, v := range cpuVariables {
		value, set := s.Getenv(v.name)
		// "default" is how PYTHON_CPU_COUNT says that there is no limit.
		if !set || value == "" || value == "default" {
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil || !(n > 0) {
			c.Notes = append(c.Notes, fmt.Sprintf("%s=%q is not a number of CPUs above 0; it is ignored", v.name, value))
			continue
		}
		c.Bounds = append(c.Bounds, Bound{v.name, n, v.by})
	}
}

func (c *CPUs) settle() {
	least := c.Bounds[0]
	for _, b := range c.Bounds[1:] {
		if b.CPUs < least.CPUs {
			least = b
		}
	}
	c.Usable, c.Bound = least.CPUs, least.Name
	// A quota of 200000 in 100000 us is 2 exactly; one that was written as a
	// fraction may come out a hair above a whole number.
	const hair = 1e-6
	c.Workers = max(1, int(math.Ceil(c.Usable-hair)))
}

// quota reads the CPU quota of a control group.
func (s System) quota(g group) (Bound, bool) {
	var quota, period, file string
	if g.v2 {
		file = g.dir + "/cpu.max"
		quota, period, _ = strings.Cut(s.text(file), " ")
	} else {
		file = g.dir + "/cpu.cfs_quota_us"
		if quota = s.text(file); quota != "" && quota[0] != '-' {
			period = s.text(g.dir + "/cpu.cfs_period_us")
		}
	}
	q, ok := parseNumber(quota)
	if !ok || q <= 0 { // "max", -1 or no such file
		return Bound{}, false
	}
	p, ok := parseNumber(period)
	if !ok || p <= 0 {
		p = 100_000 // us; the kernel's own default
	}
	return Bound{"cgroup quota", float64(q) / float64(p), fmt.Sprintf("%s: %d of %d us", file, q, p)}, true
}

// online returns the number of logical CPUs of the machine.
func (s System) online() int {
	if n := countList(s.text("/sys/devices/system/cpu/online")); n > 0 {
		return n
	}
	return max(runtime.NumCPU(), s.Affinity())
}

// countList counts the members of a list of the kernel's, such as "0-3,8".
func countList(text string) int {
	n := 0
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		a, ok := parseNumber(first)
		b := a
		if isRange && ok {
			b, ok = parseNumber(last)
		}
		if ok && b >= a {
			n += int(b-a) + 1
		}
	}
	return n
}
