package plan

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

const (
	// waitsMuch and waitsSome are the parts of an item's time that it waits from
	// which it is taken for waiting work, and from which more processes than
	// CPUs are weighed.
	waitsMuch, waitsSome = 0.5, 0.2
	// leastStart and mostStart bound the slots that a climb begins with.
	leastStart, mostStart = 4, 32
	// waitsAll is the part of the time from which nothing is known of what binds
	// before it is tried.
	waitsAll = 0.97
	// perCPU is the most processes for each CPU.
	perCPU = 4
)

// cpus is how many processes can compute at a time.
func (mo *model) cpus() int { return max(1, int(math.Ceil(mo.machine.CPUs-1e-6))) }

// waiting is the part of an item's time in which it does not compute.
func (mo *model) waiting() float64 {
	return max(0, 1-mo.centre.cpu/max(mo.centre.wall, leastWall))
}

// fitting is how many workers fit into the memory; at least one, for there is
// no run without.
func (mo *model) fitting() int {
	one := mo.task.BaseMemory + mo.task.ItemMemory
	if one <= 0 || mo.machine.Memory <= 0 {
		return MaxProcesses
	}
	return max(1, int(MemoryShare*float64(mo.machine.Memory)/float64(one)))
}

// mostProcesses is how many workers there may be.
func (mo *model) mostProcesses() int {
	most := min(MaxProcesses, max(1, mo.batch.Items), mo.fitting())
	if limit := mo.machine.MaxProcesses; limit > 0 {
		most = min(most, limit)
	}
	return most
}

// balance is how many items at a time keep the CPUs busy (Goetz, Java
// Concurrency in Practice, 8.2).
func (mo *model) balance() float64 {
	return mo.machine.CPUs * mo.centre.wall / max(mo.centre.cpu, leastWall)
}

// climbStart is how many slots waiting work begins with.
func (mo *model) climbStart() int {
	start := int(min(max(mo.balance(), leastStart), mostStart))
	return max(1, min(start, mo.batch.Items))
}

// space returns the plans to weigh, and why others are not.
func (mo *model) space(r Rules) (plans []Plan, out []Excluded) {
	plans = append(plans, Plan{Processes: 1, Slots: 1, Kind: Serial})
	counts, why := mo.processCounts()
	for _, n := range counts {
		plans = append(plans, Plan{Processes: n, Slots: 1, Kind: Processes})
	}
	out = append(out, why...)
	if mo.task.Command {
		return plans, append(out, Excluded{"threads, async", "a command runs in a process of its own"})
	}
	kind, other := Threads, Excluded{"async", "the task is a plain def, not a coroutine function"}
	if mo.task.Async {
		kind, other = Async, Excluded{"threads", "a coroutine function runs on an event loop"}
	}
	out = append(out, other)
	if reason := mo.noThreads(r); kind == Threads && reason != "" {
		out = append(out, Excluded{"threads", reason})
	} else {
		plans = append(plans, mo.slotPlans(kind, r)...)
	}
	return plans, append(out, Excluded{"interpreters", "not available yet"})
}

// noThreads says why the task cannot run in threads, "" if it can.
func (mo *model) noThreads(r Rules) string {
	if r.Threads == ThreadsNever {
		return "ruled out by --no-threads"
	}
	var does []string
	if slices.Contains(mo.task.Warnings, "chdir") {
		does = append(does, "calls os.chdir, which moves all threads of its process")
	}
	if slices.Contains(mo.task.Warnings, "signal") {
		does = append(does, "calls signal.signal, which only a main thread may")
	}
	if does == nil {
		return ""
	}
	return "the task " + strings.Join(does, " and ")
}

// processCounts returns the numbers of processes to weigh, from 2 on.
func (mo *model) processCounts() (counts []int, out []Excluded) {
	cpus, most := mo.cpus(), mo.mostProcesses()
	want := []int{cpus}
	for n := 2; n < cpus; n++ {
		// Every number up to 8, then steps of a sixth or less.
		if n <= 8 || n%(1<<(bitLen(n)-3)) == 0 {
			want = append(want, n)
		}
	}
	if mo.waiting() >= waitsSome {
		want = append(want, 2*cpus, 3*cpus, perCPU*cpus)
		if mo.task.Command {
			want = append(want, mo.climbStart())
		}
	}
	slices.Sort(want)
	for _, n := range want {
		if n = min(n, most); n > 1 {
			counts = append(counts, n)
		}
	}
	counts = slices.Compact(counts)
	switch fit := mo.fitting(); {
	case fit < cpus && fit < mo.batch.Items:
		out = append(out, Excluded{fmt.Sprintf("processes:%d", fit+1), mo.memoryReason(fit)})
	case cpus == 1 && counts == nil && mo.batch.Items > 1:
		out = append(out, Excluded{"processes", fmt.Sprintf("%s (%s)", cpuText(mo.machine.CPUs), mo.machine.CPUBound)})
	}
	if limit := mo.machine.MaxProcesses; limit > 0 && limit < cpus && limit < mo.batch.Items {
		out = append(out, Excluded{fmt.Sprintf("processes:%d", limit+1), fmt.Sprintf("no more than %d workers: %s", limit, mo.machine.ProcessBound)})
	}
	return counts, out
}

func bitLen(n int) int {
	bits := 0
	for ; n > 0; n >>= 1 {
		bits++
	}
	return bits
}

func (mo *model) memoryReason(fit int) string {
	one := mo.task.BaseMemory + mo.task.ItemMemory
	return fmt.Sprintf("memory: a worker takes %s, and %d%% of %s (%s) lets %d run", bytesText(one), int(MemoryShare*100),
		bytesText(mo.machine.Memory), mo.machine.MemoryBound, fit)
}

// slotPlans returns the plans with several slots in a process.
func (mo *model) slotPlans(kind Kind, r Rules) (plans []Plan) {
	for _, p := range mo.slotProcesses(kind) {
		// Twice what keeps the CPUs busy: more would only wait for them. Where
		// hardly anything computes, how many pay is found by a climb.
		most := min(mostStart, int(min(2*mo.balance(), 1e6)/float64(p))+1, max(1, (mo.batch.Items+p-1)/p))
		if r.MaxSlots > 0 {
			most = min(most, r.MaxSlots)
		}
		for slots := 2; ; slots *= 2 {
			slots = min(slots, most)
			candidate := Plan{Processes: p, Slots: slots, Kind: kind}
			if slots > 1 && mo.fits(candidate) && !slices.Contains(plans, candidate) {
				plans = append(plans, candidate)
			}
			if slots >= most {
				break
			}
		}
	}
	return plans
}

// slotProcesses returns how many processes with several slots each are weighed:
// more than one only where one is bound by its interpreter, and not by the
// slots that it is given.
func (mo *model) slotProcesses(kind Kind) []int {
	counts := []int{1}
	one := Plan{Processes: 1, Slots: mostStart, Kind: kind}
	if _, bound := mo.rate(one, mo.centre); bound != boundGIL || mo.waiting() < waitsSome || mo.waiting() > waitsAll {
		return counts
	}
	most := min(mo.cpus(), mo.mostProcesses())
	for n := 2; n < most; n *= 2 {
		counts = append(counts, n)
	}
	return append(counts, most)
}

func (mo *model) fits(p Plan) bool {
	return mo.machine.Memory <= 0 || float64(mo.memory(p)) <= MemoryShare*float64(mo.machine.Memory)
}
