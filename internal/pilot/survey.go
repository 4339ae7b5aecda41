package pilot

import (
	"time"

	"github.com/poolwise/poolwise/measure"
)

const (
	// engineTime is the CPU time that poolwise itself takes for an item, and
	// engineByte for each byte of it and of its value: a million items without
	// work, and 2,000 of a megabyte, on one core.
	engineTime = 500 * time.Nanosecond
	engineByte = time.Nanosecond
	// plannedItems bounds the items that the planner is given: it draws from
	// them hundreds of times.
	plannedItems = 128
	// fastItem is the time up to which items are run without being timed one
	// by one as well, since reading the clocks takes as long as they do.
	fastItem = 200 * time.Microsecond
	// tinyItem is the time below which the CPU clocks tell nothing of an item:
	// to read them takes a good part of a microsecond.
	tinyItem = 10 * time.Microsecond
)

// task sums up what was measured.
func (p *Pilot) task() measure.Task {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := measure.Task{
		Items: thin(p.items, plannedItems), Async: p.async, Command: p.cfg.Command, FreeThreaded: p.free,
		Startup: p.start, BaseMemory: p.base, Message: measure.Median(p.messages), TwoSlots: p.twoSlots,
	}
	if p.cfg.Command {
		t.BaseMemory, t.ItemMemory = 0, p.largest
	}
	if m, told := p.counters(); told {
		m.Knocks -= p.before.Knocks
		m.Held -= p.before.Held
		m.Items -= p.before.Items
		m.DecodeNS -= p.before.DecodeNS
		m.EncodeNS -= p.before.EncodeNS
		if m.Knocks > 0 && !p.free {
			t.Held = measure.Share{Value: float64(m.Held) / float64(m.Knocks), N: int(m.Knocks)}
		}
		if m.Items > 0 {
			t.Codec = time.Duration((m.DecodeNS + m.EncodeNS) / m.Items)
		}
		if p.before.QueueAtNS > 0 && m.QueueNS > p.before.QueueNS {
			// The counters come after their items; those of the last are under way.
			t.Queued = queued(p.items[:min(len(p.items), int(m.Items))], time.Duration(m.QueueNS-p.before.QueueNS))
		}
		t.ItemMemory = max(0, m.PeakRSS-p.base)
		t.Warnings = m.Warnings
	}
	t.Startup.First = firstExtra(p.items)
	t.Engine = engineTime + engineByte*time.Duration(meanBytes(t.Items))
	p.correct(&t)
	p.recall(&t)
	return t
}

// queued returns the share of the items' time in which the worker waited for a
// CPU: at most what they did not compute.
func queued(items []measure.Item, waited time.Duration) float64 {
	var wall, cpu time.Duration
	for _, it := range items {
		wall += it.Wall
		cpu += max(0, it.CPU)
	}
	if wall <= 0 {
		return 0
	}
	return max(0, min(waited.Seconds(), (wall-cpu).Seconds())/wall.Seconds())
}

// correct takes out of short items what it cost to time them. What a worker
// takes for an item when it times none is known from whole chunks.
func (p *Pilot) correct(t *measure.Task) {
	if p.plain.items < minPlain {
		return
	}
	// A message takes its time once, however many items are in it.
	whole := max(p.plain.time/10, p.plain.time-time.Duration(p.plain.chunks)*t.Message) / time.Duration(p.plain.items)
	var walls []time.Duration
	for _, it := range t.Steady() {
		walls = append(walls, it.Wall)
	}
	typical := measure.Median(walls)
	if typical > whole {
		scale := float64(whole) / float64(typical)
		for i := range t.Items {
			it := &t.Items[i]
			it.Wall, it.CPU, it.Process = scaled(it.Wall, scale), scaled(it.CPU, scale), scaled(it.Process, scale)
			if it.Wall < tinyItem {
				it.CPU = it.Wall // there is no time to wait in
			}
			it.Process = it.CPU
		}
		typical = whole
	}
	t.Codec = whole - typical
}

func scaled(d time.Duration, by float64) time.Duration {
	if d < 0 {
		return d // not measured
	}
	return time.Duration(float64(d) * by)
}

// thin returns n of the items at most, evenly spread, and always the first.
func thin(items []measure.Item, n int) []measure.Item {
	if len(items) <= n {
		return append([]measure.Item(nil), items...)
	}
	kept := make([]measure.Item, n)
	for i := range kept {
		kept[i] = items[i*len(items)/n]
	}
	return kept
}

// firstExtra returns what a worker's first item took more than later ones; 0
// where that is not far from how they differ among themselves.
func firstExtra(items []measure.Item) time.Duration {
	if len(items) < 2 || !items[0].First {
		return 0
	}
	var later []time.Duration
	for _, it := range items[1:] {
		later = append(later, it.Wall)
	}
	const far = 2
	if items[0].Wall <= far*measure.Quantile(later, 0.95) {
		return 0
	}
	return items[0].Wall - measure.Median(later)
}

func meanBytes(items []measure.Item) int {
	if len(items) == 0 {
		return 0
	}
	sum := 0
	for _, it := range items {
		sum += it.In + it.Out
	}
	return sum / len(items)
}

// alike is the factor within which two measurements are taken to agree.
const alike = 1.5

// confirmed reports whether what an earlier run has learnt agrees with what was
// measured so far.
func (p *Pilot) confirmed(now *measure.Task) bool {
	prior := p.cfg.Prior
	if prior == nil || len(now.Steady()) == 0 {
		return false
	}
	wall, share := nature(now)
	wallThen, shareThen := nature(&prior.Task)
	ratio := wall.Seconds() / wallThen.Seconds()
	return ratio > 1/alike && ratio < alike && abs(share-shareThen) < 0.2
}

// nature returns the median wall time of an item, and the share of the time in
// which items compute. Time in which others had the CPU is no part of either.
func nature(t *measure.Task) (wall time.Duration, computing float64) {
	var walls []time.Duration
	var cpu, sum time.Duration
	for _, it := range t.Steady() {
		own := max(scaled(it.Wall, 1-t.Queued), it.CPU)
		walls = append(walls, own)
		if it.CPU >= 0 {
			cpu, sum = cpu+it.CPU, sum+own
		}
	}
	if sum > 0 {
		computing = cpu.Seconds() / sum.Seconds()
	}
	return measure.Median(walls), computing
}

func abs(x float64) float64 { return max(x, -x) }

// recall fills in from an earlier run what this one has seen too little of.
func (p *Pilot) recall(t *measure.Task) {
	if !p.confirmed(t) {
		return
	}
	prior := &p.cfg.Prior.Task
	if t.Held.N < prior.Held.N {
		t.Held = prior.Held
	}
	if len(t.Items) < len(prior.Items) {
		t.Items = append(t.Items, prior.Items...)
	}
	if t.TwoSlots == 0 {
		t.TwoSlots = prior.TwoSlots
	}
	t.ItemMemory = max(t.ItemMemory, prior.ItemMemory)
}
