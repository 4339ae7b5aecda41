// Package climb finds how many items of waiting work to run at a time. The limit
// of the other side - a server, a disk, a rate - is nowhere to be read, so the
// number is raised while throughput grows. It is pure: no clock, no goroutines.
//
// The rule is that of a BBR start (Cardwell et al., ACM Queue 2016): double
// while that gains a quarter. What is settled on is the fewest slots that are
// within 3% of the best rate.
//
// While items take no longer than they took alone, the rate is the number of
// slots over their time (Little's law) and need not be measured: one round of
// such items is enough to double again.
package climb

import "time"

const (
	// gain is by how much doubling the slots must raise the rate for another
	// doubling, and doubt the gain from which one window is not taken for an
	// answer.
	gain  = 1.25
	doubt = 1.05
	// near is the part of the best rate that is good enough with fewer slots.
	near = 0.97
	// A window has that many completions a slot, and that many at least.
	rounds, leastItems = 2, 16
	// unhurried is the factor up to which items take no longer than alone.
	unhurried = 1.1
)

// A Step is a number of slots that was tried, and the items that ended in a
// second meanwhile.
type Step struct {
	Slots int
	Rate  float64
}

// A Climb is one search. It is for one goroutine at a time.
type Climb struct {
	slots, most int
	alone       time.Duration // that an item takes with nothing beside it; 0: unknown
	tried       []Step
	again       bool // the window at hand confirms the one before
	done        bool

	skip   int           // completions that belong to the slots before
	since  time.Duration // when the window began
	ended  int           // completions in it
	opened bool
	last   time.Duration // when something ended last

	round int           // completions since the slots were changed
	walls time.Duration // and how long they took together
}

// New returns a climb that begins with start slots and never tries more than
// most. alone is the mean time of an item with nothing beside it; 0 if that is
// not known.
func New(start, most int, alone time.Duration) *Climb {
	most = max(1, most)
	c := &Climb{slots: min(max(1, start), most), most: most, alone: alone}
	if c.slots == c.most {
		c.done = true // there is nothing to find
	}
	c.skip = c.slots
	return c
}

// Slots returns how many items to run at a time now.
func (c *Climb) Slots() int { return c.slots }

// Done reports whether the number is settled.
func (c *Climb) Done() bool { return c.done }

// Tried returns the steps so far.
func (c *Climb) Tried() []Step { return c.tried }

// Best returns the slots that are settled on, or the best so far, and their
// rate; 0 where none is known.
func (c *Climb) Best() (slots int, rate float64) {
	for _, s := range c.tried {
		if s.Slots == c.slots {
			return s.Slots, s.Rate
		}
	}
	return c.slots, 0
}

// Add counts n items that have ended by now, a reading of any monotonic clock,
// and took walls together. typical is how long an item takes: a window is no
// shorter. It reports whether Slots has changed.
func (c *Climb) Add(n int, now, walls, typical time.Duration) (changed bool) {
	if c.done || n <= 0 {
		return false
	}
	c.round += n
	c.walls += walls
	if mean := c.walls / time.Duration(c.round); c.round >= max(c.slots, leastItems) && c.slots < c.most &&
		c.alone > 0 && mean > 0 && float64(mean) <= unhurried*float64(c.alone) {
		c.tried = append(c.tried, Step{c.slots, float64(c.slots) / mean.Seconds()})
		return c.move(min(2*c.slots, c.most))
	}
	if c.skip > 0 {
		c.skip -= n
		c.last = now
		return false
	}
	if !c.opened {
		// The window begins with the answer before this one: items of equal
		// length end together, and the time that they took comes before them.
		c.opened, c.since, c.ended = true, c.last, 0
	}
	c.ended += n
	c.last = now
	took := now - c.since
	if c.ended < max(rounds*c.slots, leastItems) || took < typical || took <= 0 {
		return false
	}
	return c.judge(float64(c.ended) / took.Seconds())
}

// judge decides what the rate of a window means.
func (c *Climb) judge(rate float64) (changed bool) {
	if c.again && len(c.tried) > 0 {
		last := &c.tried[len(c.tried)-1]
		last.Rate = (last.Rate + rate) / 2
		rate = last.Rate
	} else {
		c.tried = append(c.tried, Step{c.slots, rate})
	}
	before := 0.0
	if len(c.tried) > 1 {
		before = c.tried[len(c.tried)-2].Rate
	}
	switch grown := rate / max(before, 1e-9); {
	case grown >= gain && c.slots < c.most:
		return c.move(min(2*c.slots, c.most))
	case grown >= doubt && grown < gain && !c.again:
		c.again, c.opened = true, false
		return false
	}
	return c.settle()
}

func (c *Climb) move(slots int) (changed bool) {
	// What is in hand now was begun beside fewer others.
	c.skip, c.opened, c.again = c.slots, false, false
	c.round, c.walls = 0, 0
	changed = slots != c.slots
	c.slots = slots
	return changed
}

// settle ends the climb with the fewest slots that are nearly as good as the
// best.
func (c *Climb) settle() (changed bool) {
	best := 0.0
	for _, s := range c.tried {
		best = max(best, s.Rate)
	}
	c.done = true
	for _, s := range c.tried {
		if s.Rate >= near*best {
			return c.move(s.Slots)
		}
	}
	return false
}
