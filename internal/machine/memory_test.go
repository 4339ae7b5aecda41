package machine

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	gib        = 1 << 30
	meminfo16  = "MemTotal:       16777216 kB\nMemFree:         1048576 kB\nMemAvailable:    8388608 kB"
	mountMemV1 = "33 31 0:30 / /sys/fs/cgroup/memory rw shared:10 - cgroup cgroup rw,memory"
)

func TestMemory(t *testing.T) {
	for _, test := range []struct {
		name  string
		files map[string]string
		want  Memory
	}{
		{name: "no groups", want: Memory{Usable: 8 * gib, Bound: "available"}},
		{
			name: "version 2: cold file pages do not count",
			files: map[string]string{
				"/proc/self/cgroup": "0::/job", "/proc/self/mountinfo": mountV2,
				"/sys/fs/cgroup/job/memory.max": "1073741824", "/sys/fs/cgroup/job/memory.high": "max",
				"/sys/fs/cgroup/job/memory.current": "536870912",
				"/sys/fs/cgroup/job/memory.stat":    "anon 268435456\nfile 268435456\ninactive_file 268435456",
			},
			want: Memory{
				Usable: gib * 3 / 4, Bound: "cgroup limit",
				Limits: []MemoryLimit{{"/sys/fs/cgroup/job/memory.max", gib, gib / 4}},
			},
		},
		{
			name: "version 2: the slice above is tighter",
			files: map[string]string{
				"/proc/self/cgroup": "0::/a/b", "/proc/self/mountinfo": mountV2,
				"/sys/fs/cgroup/a/b/memory.max": "4294967296", "/sys/fs/cgroup/a/b/memory.current": "0",
				"/sys/fs/cgroup/a/memory.high": "2147483648", "/sys/fs/cgroup/a/memory.current": "1073741824",
			},
			want: Memory{
				Usable: gib, Bound: "cgroup limit",
				Limits: []MemoryLimit{{"/sys/fs/cgroup/a/b/memory.max", 4 * gib, 0}, {"/sys/fs/cgroup/a/memory.high", 2 * gib, gib}},
			},
		},
		{
			name: "a limit that leaves more than there is does not bind",
			files: map[string]string{
				"/proc/self/cgroup": "0::/a", "/proc/self/mountinfo": mountV2,
				"/sys/fs/cgroup/a/memory.max": "12884901888",
			},
			want: Memory{
				Usable: 8 * gib, Bound: "available",
				Limits: []MemoryLimit{{"/sys/fs/cgroup/a/memory.max", 12 * gib, 0}},
			},
		},
		{
			name: "version 1",
			files: map[string]string{
				"/proc/self/cgroup": "5:memory:/job", "/proc/self/mountinfo": mountMemV1,
				"/sys/fs/cgroup/memory/memory.limit_in_bytes":     "9223372036854771712",
				"/sys/fs/cgroup/memory/job/memory.limit_in_bytes": "2147483648",
				"/sys/fs/cgroup/memory/job/memory.usage_in_bytes": "2147483648",
				"/sys/fs/cgroup/memory/job/memory.stat":           "inactive_file 1\ntotal_inactive_file 1073741824",
			},
			want: Memory{
				Usable: gib, Bound: "cgroup limit",
				Limits: []MemoryLimit{{"/sys/fs/cgroup/memory/job/memory.limit_in_bytes", 2 * gib, gib}},
			},
		},
		{
			name: "a group that is over its limit leaves nothing",
			files: map[string]string{
				"/proc/self/cgroup": "0::/a", "/proc/self/mountinfo": mountV2,
				"/sys/fs/cgroup/a/memory.high": "1000", "/sys/fs/cgroup/a/memory.current": "2000",
			},
			want: Memory{
				Usable: 0, Bound: "cgroup limit",
				Limits: []MemoryLimit{{"/sys/fs/cgroup/a/memory.high", 1000, 2000}},
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			files := map[string]string{"/proc/meminfo": meminfo16}
			for name, content := range test.files {
				files[name] = content
			}
			test.want.Total, test.want.Available = 16*gib, 8*gib
			if diff := cmp.Diff(test.want, fixture(8, files).Memory()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTasksOfTheGroupsAbove(t *testing.T) {
	s := fixture(8, map[string]string{
		"/proc/self/cgroup": "0::/a/b", "/proc/self/mountinfo": mountV2,
		"/sys/fs/cgroup/a/b/pids.max": "max", "/sys/fs/cgroup/a/b/pids.current": "7",
		"/sys/fs/cgroup/a/pids.max": "100", "/sys/fs/cgroup/a/pids.current": "58",
	})
	if got := s.Limits().Tasks; got == nil || *got != 42 {
		t.Errorf("tasks left: %v, want 42", got)
	}
	if got := fixture(8, nil).Limits().Tasks; got != nil {
		t.Errorf("tasks left without a limit: %d", *got)
	}
}
