// Package measure describes what was measured of a task while its first items
// ran, and sums it up: medians, quantiles, intervals. It is pure: no I/O and no
// clock.
package measure

import (
	"math"
	"slices"
	"time"
)

// An Item is what one item cost. Durations are -1 where they were not measured.
type Item struct {
	// Wall is the time from the item's start to its end.
	Wall time.Duration
	// CPU is the CPU time of the thread that ran it; for a command, that of its
	// processes.
	CPU time.Duration
	// Process is the CPU time of the whole worker process meanwhile, threads of
	// libraries included.
	Process time.Duration
	// In and Out are the bytes of the item and of its value.
	In, Out int
	// First: it was the first of its worker, and may have paid for what later
	// ones found ready.
	First bool
}

// A Share is a part of a whole, 0 to 1, seen in N observations; N is 0 where
// it was not measured.
type Share struct {
	Value float64
	N     int
}

// SE returns the standard error of the share: that of a proportion, with one
// success and one failure added (Agresti and Coull), so that it is not 0 where
// all observations agree. It is 0.5 for N = 0.
func (s Share) SE() float64 {
	if s.N <= 0 {
		return 0.5
	}
	n := float64(s.N) + 2
	p := (s.Value*float64(s.N) + 1) / n
	return math.Sqrt(p * (1 - p) / n)
}

// A Startup says how long a worker takes until it runs items.
type Startup struct {
	// Spawn is from its start until it loads the task, Import the loading of
	// the task, First what its first item took more than later ones.
	Spawn, Import, First time.Duration
	// CPU is the CPU time that it takes in Spawn and Import.
	CPU time.Duration
}

// Total returns the time from the start of a worker until it runs at full speed.
func (s Startup) Total() time.Duration { return s.Spawn + s.Import + s.First }

// A Task is all that was measured of a task.
type Task struct {
	// Items are those that ran alone in a worker of one slot.
	Items []Item
	// Held is the share of an item's wall time during which it held the
	// interpreter's lock. N is 0 for what has none, such as commands.
	Held Share
	// Async: the task is a coroutine function.
	Async bool
	// Command: the task is a command; each item is a process of its own.
	Command bool
	// FreeThreaded: the interpreter has no lock.
	FreeThreaded bool
	// Codec is the worker's time to decode an item and to encode its value,
	// Engine the CPU time of poolwise for an item, Message the time that a
	// message and its answer take beyond the items in them.
	Codec, Engine, Message time.Duration
	// Queued is the share of the time during which the worker was able to run,
	// and waited for a CPU that others had.
	Queued float64
	// Startup is that of a worker; all zero for commands, which have none.
	Startup Startup
	// BaseMemory is the memory of a worker that has loaded the task, ItemMemory
	// what it takes more for each item in hand; bytes.
	BaseMemory, ItemMemory int64
	// TwoSlots is the rate of two threads of one worker, over that of one, as it
	// was measured on real items; 0: not tried.
	TwoSlots float64
	// Warnings say what makes the task unfit for threads: "chdir", "signal".
	Warnings []string
}

// Steady returns the items that were not the first of their worker; all items
// where there are no others.
func (t *Task) Steady() []Item {
	steady := slices.DeleteFunc(slices.Clone(t.Items), func(it Item) bool { return it.First })
	if len(steady) == 0 {
		return t.Items
	}
	return steady
}

// shortest is the wall time from which the CPU time of a process says something
// of an item: reading that clock takes part of a microsecond.
const shortest = 100 * time.Microsecond

// Inner returns how many CPUs one item keeps busy while it computes with
// threads of its own: the process's CPU time over the wall time, summed over the
// items; 1 where it computes in one thread or that is not known, as for very
// short items.
func (t *Task) Inner() float64 {
	var wall, process time.Duration
	for _, it := range t.Steady() {
		if it.Process >= 0 && it.Wall >= shortest {
			wall += it.Wall
			process += it.Process
		}
	}
	if wall <= 0 {
		return 1
	}
	return max(1, float64(process)/float64(wall))
}

// Median returns the median of durations, 0 of none.
func Median(d []time.Duration) time.Duration { return Quantile(d, 0.5) }

// Quantile returns the value below which a share q, 0 to 1, of the durations
// lies, interpolated between neighbours; 0 of none.
func Quantile(d []time.Duration, q float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(d))
	at := q * float64(len(sorted)-1)
	low := int(at)
	if low+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	part := at - float64(low)
	return sorted[low] + time.Duration(part*float64(sorted[low+1]-sorted[low]))
}
