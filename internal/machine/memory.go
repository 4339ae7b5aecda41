package machine

import (
	"math"
	"strings"
)

// Memory tells how much memory a run may take, and why no more. All sizes are
// in bytes; 0 is not known.
type Memory struct {
	Total int64 `json:"total_bytes"`
	// Available is what programs can still take without swapping, by the
	// system's own estimate.
	Available int64 `json:"available_bytes"`
	// Usable is the least of Available and what the limits leave.
	Usable int64 `json:"usable_bytes"`
	// Bound is what Usable comes from: "available", or "cgroup limit".
	Bound string `json:"bound"`
	// Limits are those of control groups that are below Total, from the
	// process's own group upwards.
	Limits []MemoryLimit `json:"limits,omitempty"`
}

// A MemoryLimit is the limit of one control group.
type MemoryLimit struct {
	// File is where the limit was read.
	File  string `json:"file"`
	Limit int64  `json:"limit_bytes"`
	// Used is what the group holds and could not give back at once: file pages
	// that nobody used lately are not counted.
	Used int64 `json:"used_bytes"`
}

// Free returns what the limit leaves.
func (l MemoryLimit) Free() int64 { return max(0, l.Limit-l.Used) }

// Memory returns how much memory a run may take.
func (s System) Memory() Memory { return s.memory(s.cgroups()) }

func (s System) memory(groups cgroups) Memory {
	m := Memory{Bound: "available"}
	info := s.text("/proc/meminfo")
	if total, ok := field(info, "MemTotal:"); ok {
		available, _ := field(info, "MemAvailable:")
		m.Total, m.Available = total<<10, available<<10
	} else {
		m.Total, m.Available = platformMemory()
	}
	m.Usable = m.Available
	for _, g := range groups.groups("memory") {
		for _, file := range limitFiles(g) {
			limit, ok := s.number(file)
			if !ok || limit >= m.total() { // "max", absent, or version 1's huge number
				continue
			}
			m.add(MemoryLimit{File: file, Limit: limit, Used: s.memoryUsed(g)})
		}
	}
	return m
}

func (m *Memory) total() int64 {
	if m.Total == 0 {
		return math.MaxInt64
	}
	return m.Total
}

func (m *Memory) add(l MemoryLimit) {
	known := m.Available > 0 || len(m.Limits) > 0
	m.Limits = append(m.Limits, l)
	if !known || l.Free() < m.Usable {
		m.Usable, m.Bound = l.Free(), "cgroup limit"
	}
}

// limitFiles are the files that limit the memory of a group. Above memory.high
// nothing is killed, but every allocation is made to wait.
func limitFiles(g group) []string {
	if g.v2 {
		return []string{g.dir + "/memory.max", g.dir + "/memory.high"}
	}
	return []string{g.dir + "/memory.limit_in_bytes"}
}

func (s System) memoryUsed(g group) int64 {
	usage, cold := "/memory.current", "inactive_file"
	if !g.v2 {
		usage, cold = "/memory.usage_in_bytes", "total_inactive_file"
	}
	used, _ := s.number(g.dir + usage)
	idle, _ := field(s.text(g.dir+"/memory.stat"), cold)
	return max(0, used-idle)
}

// sharedMemory is where POSIX shared memory lives on Linux.
const sharedMemory = "/dev/shm"

// Limits are those on numbers of things. A nil pointer is no limit, or none
// that is known.
type Limits struct {
	// OpenFiles is the number of files that this process may hold open.
	OpenFiles *int64 `json:"open_files"`
	// Processes is the number of processes and threads that the user may have,
	// those of other programs included.
	Processes *int64 `json:"processes"`
	// Tasks is the number of processes and threads that may still be started in
	// the control group.
	Tasks *int64 `json:"tasks_free"`
	// SharedMemory is the size of /dev/shm in bytes.
	SharedMemory *int64 `json:"shared_memory_bytes"`
}

// Limits returns the limits that hold for this process.
func (s System) Limits() Limits { return s.limits(s.cgroups()) }

func (s System) limits(groups cgroups) Limits {
	var l Limits
	l.OpenFiles, l.Processes = resourceLimits()
	l.SharedMemory = fileSystemSize(sharedMemory)
	for _, g := range groups.groups("pids") {
		most, ok := s.number(g.dir + "/pids.max")
		if !ok {
			continue
		}
		used, _ := s.number(g.dir + "/pids.current")
		if free := max(0, most-used); l.Tasks == nil || free < *l.Tasks {
			l.Tasks = &free
		}
	}
	return l
}

// head returns the start of a file, for those of which the first lines say all
// and the rest is slow to make, as /proc/cpuinfo is on a large machine.
func (s System) head(name string) string {
	if s.Root == nil {
		return ""
	}
	f, err := s.Root.Open(strings.TrimPrefix(name, "/"))
	if err != nil {
		return ""
	}
	defer f.Close()
	buf := make([]byte, 2048) // one processor's lines
	n, _ := f.Read(buf)
	return string(buf[:n])
}
