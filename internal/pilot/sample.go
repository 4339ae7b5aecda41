package pilot

import (
	"math"
	"slices"
	"time"

	"github.com/poolwise/poolwise/internal/engine"
	"github.com/poolwise/poolwise/internal/proc"
	"github.com/poolwise/poolwise/measure"
	"github.com/poolwise/poolwise/plan"
)

const (
	// sampleItems is how many items are measured at most, unless they are so
	// short that this is nothing.
	sampleItems = 64
	// sampleWork is how long the measured items should take together, and
	// sampleShare the part of the predicted time that measuring may cost.
	sampleWork  = 100 * time.Millisecond
	sampleShare = 0.05
	// patientFor is how many times the items of a sample are run before a choice
	// is made without all that it should rest on.
	patientFor = 3
	// enoughKnocks are observations that tell a task that holds the GIL from
	// one that does not: the share is known to 0.1.
	enoughKnocks = 25
	// minPlain is how many short items are timed by whole chunks.
	minPlain = 512
	// waitsPlainly is the part of an item's time from which waiting is all that
	// counts: while a sample waits, nothing else does.
	waitsPlainly = 0.8
	// longItem is the time after which a first item that has not ended is
	// reason to start another worker: there is more to win than a start costs.
	longItem = 50 * time.Millisecond
)

// sample has the first worker run items one chunk at a time until enough is
// known to choose a plan. Further workers are started meanwhile where that is
// sure to pay. It reports false when the run is over before.
func (p *Pilot) sample() bool {
	defer p.endSampling()
	looked := 0 // items when the planner was last asked
	patience := longItem
	for {
		left := p.untilImpatient(patience)
		if left < 0 {
			p.widen()
			patience *= 2
			continue
		}
		if !p.wait(left) {
			return false
		}
		n := p.sampled()
		if n == 0 || n < looked+looked/2+1 && !p.plainNow() {
			continue
		}
		looked = n
		task, batch := p.task(), p.batch()
		choice := plan.Choose(&task, p.cfg.Machine, batch, p.cfg.Rules)
		if p.enough(&task, &choice) {
			return true
		}
		if !onlyFirst(&task) || task.Items[0].Wall >= longItem {
			p.growEarly(&choice)
		}
	}
}

// sampleAnew begins another sample: items are not what they were.
func (p *Pilot) sampleAnew() bool {
	p.mu.Lock()
	p.sampling, p.sampleSince = true, proc.Now()
	p.items, p.messages, p.plain = nil, nil, plainTime{}
	p.based = false
	p.mu.Unlock()
	p.quiet.Store(false)
	c := p.course
	c.Plan, c.Sample, c.Measure = processes(c.Plan.Processes), true, true
	p.steer(c)
	return p.sample()
}

func (p *Pilot) endSampling() {
	p.mu.Lock()
	p.sampling = false
	p.mu.Unlock()
}

// sampled returns how many items were measured.
func (p *Pilot) sampled() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.items)
}

// untilImpatient returns how long to wait for a first item before another
// worker is started; below 0 it is time, 0 is for ever. If all items take as long
// as the first one has by then, a start is worth its time.
func (p *Pilot) untilImpatient(patience time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sampleSince == 0 || len(p.items) > 0 {
		return 0
	}
	open, _ := p.run.Left()
	patience = max(patience, (p.start.Spawn+p.start.Import)/time.Duration(max(open, 1)))
	left := patience - time.Duration(proc.Now()-p.sampleSince)
	if left <= 0 {
		return -1
	}
	return left
}

// widen doubles the processes, up to one for each CPU.
func (p *Pilot) widen() {
	n := min(2*p.course.Plan.Processes, p.cpus(), p.fitting())
	if open, _ := p.run.Left(); n > p.course.Plan.Processes && open >= n {
		p.onPlan(processes(n))
	}
}

// cpus returns the number of processes that can compute at a time.
func (p *Pilot) cpus() int {
	n := max(1, int(math.Ceil(p.cfg.Machine.CPUs-1e-6)))
	if most := p.cfg.Machine.MaxProcesses; most > 0 {
		n = min(n, most)
	}
	return n
}

// fitting returns how many workers fit into the memory, as far as it is known
// what one takes.
func (p *Pilot) fitting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.base
	var pids []int
	if w, ok := p.workers[0].(interface{ PID() int }); ok && p.cfg.Resident != nil {
		pids = append(pids, w.PID())
		one = max(one, p.cfg.Resident(pids))
	}
	if prior := p.cfg.Prior; prior != nil {
		one = max(one, prior.Task.BaseMemory+prior.Task.ItemMemory)
	}
	if one <= 0 || p.cfg.Machine.Memory <= 0 {
		return plan.MaxProcesses
	}
	return max(1, int(plan.MemoryShare*float64(p.cfg.Machine.Memory)/float64(one)))
}

// enough reports whether the sample tells which plan to choose.
func (p *Pilot) enough(t *measure.Task, c *plan.Choice) bool {
	wall, computing := nature(t)
	n := p.sampled()
	if wall < fastItem {
		return p.enoughFast(n)
	}
	if n >= sampleItems {
		return true
	}
	least := int(min(max(sampleWork/wall, 1), sampleItems))
	if p.confirmed(t) || computing < 1-waitsPlainly {
		least = 1 // how much they wait is seen from the first
	}
	if !p.informed(t, c, computing) {
		return n >= patientFor*least // a busy machine disturbs the knocks: it has to do without
	}
	return n >= least || p.spent() > sampleShare*c.Best.Time.Seconds()
}

// informed reports whether nothing is missing that the choice depends on.
func (p *Pilot) informed(t *measure.Task, c *plan.Choice, computing float64) bool {
	switch {
	case c.Best.Plan.Kind == plan.Serial && c.Serial.Time < sampleWork:
		return true // hardly anything is left
	case !t.Command && !p.counted():
		return false // what makes the task unfit for threads comes with the counters
	case !t.Command && onlyFirst(t) && (computing > 1-waitsPlainly || t.Items[0].Wall < longItem):
		// Of the first item alone nobody can tell what it loads for all others.
		return false
	case t.Command || t.FreeThreaded || t.Async || p.cfg.Rules.Threads == plan.ThreadsNever || computing < 0.1:
		return true // the GIL does not come in
	}
	return t.Held.N >= enoughKnocks
}

// counted reports whether the worker has told of its counters after an item.
func (p *Pilot) counted() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	m, told := p.counters()
	return told && m.Items > p.before.Items
}

func onlyFirst(t *measure.Task) bool {
	return !slices.ContainsFunc(t.Items, func(it measure.Item) bool { return !it.First })
}

// enoughFast turns to items that are not timed one by one once there are enough
// of the others, and reports whether there are enough of both.
func (p *Pilot) enoughFast(n int) bool {
	if p.plainNow() {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.plain.items >= minPlain
	}
	if n >= sampleItems {
		p.mu.Lock()
		p.plain = plainTime{}
		p.mu.Unlock()
		c := p.course
		c.Measure = false
		p.steer(c)
	}
	return false
}

// plainNow reports whether items are no longer timed one by one.
func (p *Pilot) plainNow() bool { return !p.course.Measure }

// spent returns how long the sample has taken so far, in seconds: the part of
// the CPUs that stood idle meanwhile.
func (p *Pilot) spent() float64 {
	p.mu.Lock()
	since := p.sampleSince
	p.mu.Unlock()
	idle := 1 - float64(p.course.Plan.Processes)/float64(p.cpus())
	return time.Duration(proc.Now()-since).Seconds() * max(idle, 0)
}

// growEarly starts more processes before the sample is complete where it looks
// as if they paid: what that costs if they do not is the CPU time of a start.
func (p *Pilot) growEarly(c *plan.Choice) {
	n := c.Best.Plan.Processes
	if c.Best.Bound == "cpu" {
		n = min(n, p.cpus())
	}
	if n > p.course.Plan.Processes && c.Best.Plan.Slots == 1 {
		p.onPlan(processes(n))
	}
}

// sampleCause tells whether the choice rests on an earlier run as well.
func (p *Pilot) sampleCause() Cause {
	if t := p.task(); p.confirmed(&t) {
		return Profile
	}
	return Sample
}

var _ engine.Observer = (*Pilot)(nil)
