package machine

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// fixture makes a machine out of lines "path: content"; "\n" may be written.
func fixture(affinity int, files map[string]string, env ...string) System {
	root := fstest.MapFS{}
	for name, content := range files {
		root[strings.TrimPrefix(name, "/")] = &fstest.MapFile{Data: []byte(content + "\n")}
	}
	return System{Root: root, Env: env, Affinity: func() int { return affinity }}
}

const (
	mountV2  = "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate"
	mountCPU = "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct"
	online8  = "/sys/devices/system/cpu/online"
)

func TestCPUs(t *testing.T) {
	for _, test := range []struct {
		name     string
		affinity int
		files    map[string]string
		env      []string
		limit    float64
		usable   float64
		workers  int
		bound    string
	}{
		{name: "nothing to be read", affinity: 8, usable: 8, workers: 8, bound: "cores"},
		{name: "affinity of one", affinity: 1, usable: 1, workers: 1, bound: "affinity"},
		{
			name: "version 2, half a CPU", affinity: 8, usable: 0.5, workers: 1, bound: "cgroup quota",
			files: map[string]string{
				"/proc/self/cgroup": "0::/job", "/proc/self/mountinfo": mountV2,
				"/sys/fs/cgroup/job/cpu.max": "50000 100000",
			},
		},
		{
			name: "version 2, two and a half, an odd period", affinity: 8, usable: 2.5, workers: 3, bound: "cgroup quota",
			files: map[string]string{
				"/proc/self/cgroup": "0::/job", "/proc/self/mountinfo": mountV2,
				"/sys/fs/cgroup/job/cpu.max": "25000 10000",
			},
		},
		{
			name: "version 2, no quota", affinity: 8, usable: 8, workers: 8, bound: "cores",
			files: map[string]string{
				"/proc/self/cgroup": "0::/job", "/proc/self/mountinfo": mountV2,
				"/sys/fs/cgroup/job/cpu.max": "max 100000",
			},
		},
		{
			name: "version 2, a slice above is tighter", affinity: 8, usable: 1.5, workers: 2, bound: "cgroup quota",
			files: map[string]string{
				"/proc/self/cgroup": "0::/user.slice/user-1000.slice/run-3.scope", "/proc/self/mountinfo": mountV2,
				"/sys/fs/cgroup/user.slice/cpu.max":                             "150000 100000",
				"/sys/fs/cgroup/user.slice/user-1000.slice/cpu.max":             "max 100000",
				"/sys/fs/cgroup/user.slice/user-1000.slice/run-3.scope/cpu.max": "400000 100000",
			},
		},
		{
			name: "version 2, the files of the own group are missing", affinity: 8, usable: 2, workers: 2, bound: "cgroup quota",
			files: map[string]string{
				"/proc/self/cgroup": "0::/a/b (deleted)", "/proc/self/mountinfo": mountV2,
				"/sys/fs/cgroup/a/cpu.max": "200000 100000",
			},
		},
		{
			name: "version 2, a file cut short has the period of the kernel", affinity: 8, usable: 2, workers: 2, bound: "cgroup quota",
			files: map[string]string{
				"/proc/self/cgroup": "0::/", "/proc/self/mountinfo": mountV2,
				"/sys/fs/cgroup/cpu.max": "200000",
			},
		},
		{
			name: "version 1", affinity: 8, usable: 0.5, workers: 1, bound: "cgroup quota",
			files: map[string]string{
				"/proc/self/cgroup":                                "4:cpu,cpuacct:/job\n3:memory:/other",
				"/proc/self/mountinfo":                             mountCPU,
				"/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us":  "50000",
				"/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us": "100000",
			},
		},
		{
			name: "version 1, no quota here but one above", affinity: 8, usable: 2.5, workers: 3, bound: "cgroup quota",
			files: map[string]string{
				"/proc/self/cgroup":    "4:cpu,cpuacct:/job/step",
				"/proc/self/mountinfo": mountCPU,
				"/sys/fs/cgroup/cpu,cpuacct/job/step/cpu.cfs_quota_us": "-1",
				"/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us":      "250000",
				"/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us":     "100000",
			},
		},
		{
			name: "version 1, a controller of a similar name is another one", affinity: 8, usable: 8, workers: 8, bound: "cores",
			files: map[string]string{
				"/proc/self/cgroup":                           "4:cpuset:/job",
				"/proc/self/mountinfo":                        "32 31 0:29 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset",
				"/sys/fs/cgroup/cpuset/job/cpu.cfs_quota_us":  "50000",
				"/sys/fs/cgroup/cpuset/job/cpu.cfs_period_us": "100000",
			},
		},
		{
			name: "hybrid: version 1 holds the quota", affinity: 8, usable: 3, workers: 3, bound: "cgroup quota",
			files: map[string]string{
				"/proc/self/cgroup":                                "4:cpu,cpuacct:/job\n1:name=systemd:/job\n0::/job",
				"/proc/self/mountinfo":                             mountCPU + "\n41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw",
				"/sys/fs/cgroup/unified/job/cgroup.procs":          "1",
				"/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us":  "300000",
				"/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us": "100000",
			},
		},
		{
			name: "container without a cgroup namespace: the mount shows the own group as its top", affinity: 8, usable: 2, workers: 2, bound: "cgroup quota",
			files: map[string]string{
				"/proc/self/cgroup":                               "4:cpu,cpuacct:/docker/abc/inner",
				"/proc/self/mountinfo":                            "32 31 0:29 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu,cpuacct",
				"/sys/fs/cgroup/cpu/cpu.cfs_quota_us":             "200000",
				"/sys/fs/cgroup/cpu/cpu.cfs_period_us":            "100000",
				"/sys/fs/cgroup/cpu/inner/cpu.cfs_quota_us":       "400000",
				"/sys/fs/cgroup/cpu/inner/cpu.cfs_period_us":      "100000",
				"/sys/fs/cgroup/cpu/docker/abc/cpu.cfs_quota_us":  "1",
				"/sys/fs/cgroup/cpu/docker/abc/cpu.cfs_period_us": "100000",
			},
		},
		{
			name: "a group outside of the namespace: the top of the mount stands for it", affinity: 8, usable: 1, workers: 1, bound: "cgroup quota",
			files: map[string]string{
				"/proc/self/cgroup": "0::/../../system.slice/job", "/proc/self/mountinfo": mountV2,
				"/sys/fs/cgroup/cpu.max": "100000 100000",
			},
		},
		{
			name: "a mount from outside of the namespace", affinity: 8, usable: 1, workers: 1, bound: "cgroup quota",
			files: map[string]string{
				"/proc/self/cgroup": "0::/../../job", "/proc/self/mountinfo": strings.Replace(mountV2, "0:28 /", "0:28 /../..", 1),
				"/sys/fs/cgroup/cpu.max":     "400000 100000",
				"/sys/fs/cgroup/job/cpu.max": "100000 100000",
			},
		},
		{
			name: "a mount point with a space", affinity: 8, usable: 1, workers: 1, bound: "cgroup quota",
			files: map[string]string{
				"/proc/self/cgroup": "0::/", "/proc/self/mountinfo": strings.Replace(mountV2, "/sys/fs/cgroup", `/odd\040place`, 1),
				"/odd place/cpu.max": "100000 100000",
			},
		},
		{
			name: "no groups are mounted", affinity: 8, usable: 8, workers: 8, bound: "cores",
			files: map[string]string{"/proc/self/cgroup": "0::/job"},
		},
		{name: "--cpus, a fraction", affinity: 8, limit: 2.25, usable: 2.25, workers: 3, bound: "--cpus"},
		{name: "--cpus above what there is", affinity: 4, limit: 16, usable: 4, workers: 4, bound: "affinity"},
		{name: "Slurm", affinity: 8, env: []string{"SLURM_CPUS_PER_TASK=4"}, usable: 4, workers: 4, bound: "SLURM_CPUS_PER_TASK"},
		{name: "Grid Engine", affinity: 8, env: []string{"NSLOTS=2"}, usable: 2, workers: 2, bound: "NSLOTS"},
		{name: "PBS and loky", affinity: 8, env: []string{"NCPUS=6", "PBS_NUM_PPN=5", "LOKY_MAX_CPU_COUNT=3"}, usable: 3, workers: 3, bound: "LOKY_MAX_CPU_COUNT"},
		{name: "Python's variable without a limit", affinity: 8, env: []string{"PYTHON_CPU_COUNT=default"}, usable: 8, workers: 8, bound: "cores"},
		{name: "Python's variable", affinity: 8, env: []string{"PYTHON_CPU_COUNT=1"}, usable: 1, workers: 1, bound: "PYTHON_CPU_COUNT"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.files == nil {
				test.files = map[string]string{}
			}
			test.files[online8] = "0-7"
			got := fixture(test.affinity, test.files, test.env...).CPUs(test.limit)
			if got.Usable != test.usable || got.Workers != test.workers || got.Bound != test.bound {
				t.Errorf("got %v CPUs, %d workers by %q; want %v, %d by %q\nall: %+v",
					got.Usable, got.Workers, got.Bound, test.usable, test.workers, test.bound, got.Bounds)
			}
			if len(got.Notes) > 0 {
				t.Errorf("unwanted notes: %q", got.Notes)
			}
		})
	}
}

func TestCPUsSaysWhichVariablesItIgnores(t *testing.T) {
	for _, value := range []string{"four", "0", "-1", "NaN"} {
		got := fixture(8, nil, "SLURM_CPUS_PER_TASK="+value).CPUs(0)
		want := []string{fmt.Sprintf("SLURM_CPUS_PER_TASK=%q is not a number of CPUs above 0; it is ignored", value)}
		if diff := cmp.Diff(want, got.Notes); diff != "" || got.Usable != 8 {
			t.Errorf("%s: %v usable\n%s", value, got.Usable, diff)
		}
	}
}

func TestCPUsListsEveryBound(t *testing.T) {
	s := fixture(4, map[string]string{
		online8: "0-7", "/proc/self/cgroup": "0::/a/b", "/proc/self/mountinfo": mountV2,
		"/sys/fs/cgroup/a/cpu.max": "250000 100000", "/sys/fs/cgroup/a/b/cpu.max": "300000 100000",
	}, "NSLOTS=6")
	want := []Bound{
		{"affinity", 4, "of the 8 that are online"},
		{"cgroup quota", 3, "/sys/fs/cgroup/a/b/cpu.max: 300000 of 100000 us"},
		{"cgroup quota", 2.5, "/sys/fs/cgroup/a/cpu.max: 250000 of 100000 us"},
		{"--cpus", 7, "asked for"},
		{"NSLOTS", 6, "set by Grid Engine"},
	}
	if diff := cmp.Diff(want, s.CPUs(7).Bounds); diff != "" {
		t.Error(diff)
	}
}

func TestCountList(t *testing.T) {
	for text, want := range map[string]int{"": 0, "0": 1, "0-7": 8, "0-3,8,10-11": 7, "x": 0, "3-1": 0} {
		if got := countList(text); got != want {
			t.Errorf("countList(%q) = %d, want %d", text, got, want)
		}
	}
}
