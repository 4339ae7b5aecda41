package machine

import (
	"strings"
	"testing"
	"time"
)

func ref[T any](v T) *T { return &v }

// sound is a machine on which nothing is to be found.
func sound() *Context {
	c := &Context{
		KernelFeatures: &Kernel{Pidfd: true, Memfd: true},
		Python:         &PythonFacts{Version: "3.13.1", Python: Python{Path: "/usr/bin/python3"}},
		Processor:      Processor{Load: []float64{0.4, 0, 0}},
	}
	c.CPUs = CPUs{Usable: 8, Workers: 8, Logical: 8, Bound: "cores"}
	c.Memory = Memory{Total: 16 * gib, Available: 8 * gib, Usable: 8 * gib, Bound: "available"}
	c.Limits = Limits{OpenFiles: ref[int64](1 << 20), Processes: ref[int64](60000), SharedMemory: ref[int64](8 * gib)}
	return c
}

func TestFindings(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*Context)
		want   string // of the text and the remedy of the only finding; "" for none
	}{
		{"nothing", func(*Context) {}, ""},
		{"quota", func(c *Context) {
			c.CPUs = CPUs{Usable: 2.5, Workers: 3, Logical: 8, Bound: "cgroup quota", Bounds: []Bound{{"cgroup quota", 2.5, "file"}}}
		}, "2.5 of the 8 CPUs may be used: cgroup quota (file)|raise the quota"},
		{"affinity", func(c *Context) { c.CPUs.Usable, c.CPUs.Bound = 1, "affinity" }, "1 of the 8 CPUs|without taskset"},
		{"variable", func(c *Context) { c.CPUs.Usable, c.CPUs.Bound = 4, "NSLOTS" }, "4 of the 8 CPUs|unset NSLOTS"},
		{"busy", func(c *Context) { c.Processor.Load[0] = 4.5 }, "load average of the last minute is 4.5|wait"},
		{"note", func(c *Context) { c.CPUs.Notes = []string{"odd"} }, "odd|"},
		{"inner threads", func(c *Context) { c.ThreadPools = map[string]*string{"OMP_NUM_THREADS": ref("16")} }, "OMP_NUM_THREADS=16|unset"},
		{"few inner threads", func(c *Context) { c.ThreadPools = map[string]*string{"OMP_NUM_THREADS": ref("1")} }, ""},
		{"little memory", func(c *Context) { c.Memory.Usable = 100 << 20 }, "100 MiB of memory|end other programs"},
		{"a small limit", func(c *Context) { c.Memory.Usable, c.Memory.Bound = 1<<20, "cgroup limit" }, "1 MiB of memory|raise the memory limit"},
		{"little shared memory", func(c *Context) { c.Limits.SharedMemory = ref[int64](64 << 20) }, "/dev/shm has 64 MiB|--shm-size"},
		{"few files", func(c *Context) { c.Limits.OpenFiles = ref[int64](256) }, "256 files|ulimit -n"},
		{"few files for Python", func(c *Context) { c.Python.OpenFiles = ref[int64](100) }, "100 files|ulimit -n"},
		{"few processes", func(c *Context) { c.Limits.Processes = ref[int64](100) }, "100 processes|ulimit -u"},
		{"few tasks", func(c *Context) { c.Limits.Tasks = ref[int64](10) }, "10 more|pids limit"},
		{"no pidfd", func(c *Context) { c.KernelFeatures.Pidfd = false }, "no pidfd|newer kernel"},
		{"no memfd", func(c *Context) { c.KernelFeatures.Memfd = false }, "no memfd|newer kernel"},
		{"not Linux", func(c *Context) { c.KernelFeatures = nil }, ""},
		{"no Python", func(c *Context) { c.Python, c.PythonProblem = nil, "none was found" }, "commands can: none was found|"},
		{"old Python", func(c *Context) { c.Python.Version = "3.7.17" }, "too old|--python"},
		{"shim", func(c *Context) {
			c.Python.Shim, c.Python.ShimTime = "/shims/python3", 80*time.Millisecond
		}, "/shims/python3 is a script that costs each run 80 ms|--python /usr/bin/python3"},
		{"no bytecode", func(c *Context) { c.NoBytecode = true }, "PYTHONDONTWRITEBYTECODE|unset"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := sound()
			test.change(c)
			found := Findings(c)
			if test.want == "" {
				if len(found) > 0 {
					t.Errorf("unwanted: %+v", found)
				}
				return
			}
			text, do, _ := strings.Cut(test.want, "|")
			if len(found) != 1 || !strings.Contains(found[0].Text, text) || !strings.Contains(found[0].Do, do) {
				t.Errorf("got %+v, want %q", found, test.want)
			}
		})
	}
}

func TestTooOld(t *testing.T) {
	for version, want := range map[string]bool{"2.7.18": true, "3.7.9": true, "3.8.0": false, "3.14.0rc1": false, "": false, "4.0": false} {
		if got := tooOld(version); got != want {
			t.Errorf("tooOld(%q) = %v", version, got)
		}
	}
}
