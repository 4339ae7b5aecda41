// Package pilot steers a run that was given no plan: it has the first items
// measured, asks the planner, puts the run on course, and keeps watching.
//
// The lanes tell it what happens (gather.go); one goroutine of its own decides
// (Steer): first a sample (sample.go), then the choice and, where that leaves a
// question, a trial on real items (race.go) or a search for the number of slots
// (climb.go), and then a look now and then (watch.go).
package pilot

import (
	"errors"
	"time"

	"github.com/poolwise/poolwise/internal/engine"
	"github.com/poolwise/poolwise/internal/proc"
	"github.com/poolwise/poolwise/internal/profile"
	"github.com/poolwise/poolwise/measure"
	"github.com/poolwise/poolwise/plan"
)

// Config is what a pilot is to know.
type Config struct {
	Machine plan.Machine
	Rules   plan.Rules
	// Command: the task is a command.
	Command bool
	// Total returns how many items there will be, or an estimate of it; 0 where
	// nothing is known before they are read.
	Total func() (n uint64, certain bool)
	// Resident returns the memory that processes hold, in bytes; it may be nil.
	Resident func(pids []int) int64
	// Prior is what an earlier run has learnt of the task; it may be nil.
	Prior *profile.Profile
	// SampleOnly stops the run with ErrPlanned once a plan was chosen.
	SampleOnly bool
	// Decided is told of each decision, from the goroutine of Steer.
	Decided func(*Decision)
	// Steered is told of each plan before it is put into effect; it may be nil.
	Steered func(plan.Plan)
}

// ErrPlanned is why a run ends that was to be planned only.
var ErrPlanned = errors.New("the sample is complete")

// A Cause is what a decision rests on.
type Cause string

// The causes of decisions.
const (
	Sample   Cause = "sample"
	Profile  Cause = "profile"  // what an earlier run learnt, confirmed by the sample
	Race     Cause = "race"     // two plans were tried on real items
	Climb    Cause = "climb"    // numbers of slots were tried on real items
	Drift    Cause = "drift"    // items are no longer what they were in the sample
	Conflict Cause = "conflict" // the task does what threads must not
)

// A Decision is a plan for what is left, and what it rests on.
type Decision struct {
	Cause  Cause
	Note   string // what happened, where the cause does not say it all
	Plan   plan.Plan
	Choice plan.Choice
	Task   measure.Task
	Batch  plan.Batch
	// Ran is how many items had an outcome, After the time since the run began.
	Ran   uint64
	After time.Duration
}

// A Pilot steers one run. It is the run's engine.Observer.
type Pilot struct {
	cfg   Config
	run   *engine.Run
	begun int64 // on the clock of the results
	gauges

	course  engine.Course
	chosen  *Decision // the last one
	settled int       // slots that a climb has settled on
}

// New returns a pilot for a run that begins now.
func New(cfg Config) *Pilot {
	p := &Pilot{cfg: cfg, begun: proc.Now()}
	p.gauges.init()
	return p
}

// Start returns the plan that the run is to begin with: a single worker, unless
// an earlier run has found that more pay.
func (p *Pilot) Start() plan.Plan {
	start := plan.Plan{Processes: 1, Slots: 1, Kind: plan.Serial}
	if prior := p.cfg.Prior; prior != nil {
		if was, err := plan.Parse(prior.Plan); err == nil && was.Processes > 1 {
			start = processes(min(was.Processes, p.cpus(), p.fitting()))
		}
	}
	return start
}

// Steer steers the run until it is over; it is the run's engine.Config.Steer.
func (p *Pilot) Steer(run *engine.Run) {
	p.run, p.course = run, run.Course()
	if !p.sample() {
		return
	}
	d := p.choose(p.sampleCause(), "")
	if p.cfg.SampleOnly {
		p.tell(d)
		run.Stop(ErrPlanned)
		return
	}
	p.carryOut(d)
	p.watch()
}

// trifle is the time of what is left below which there is nothing to choose,
// and nothing to tell.
const trifle = 50 * time.Millisecond

// carryOut puts the run on the course of a decision, and settles on real items
// what it leaves open.
func (p *Pilot) carryOut(d *Decision) {
	p.follow(d)
	if d.Choice.Serial.P75 < trifle {
		return
	}
	p.tell(d)
	switch {
	case d.Choice.Climb:
		p.climb(d)
	case len(d.Choice.Race) > 1:
		p.race(d)
	case d.Plan.Kind == plan.Threads:
		p.tryTwo(d)
	}
}

// Learnt returns what is worth remembering of the task, nil if that is nothing.
func (p *Pilot) Learnt() *profile.Profile {
	if p.chosen == nil {
		return nil
	}
	return &profile.Profile{Plan: p.chosen.Plan.String(), Task: p.chosen.Task, Slots: p.settled}
}

// choose has the planner choose for what is left.
func (p *Pilot) choose(cause Cause, note string) *Decision {
	task, batch := p.task(), p.batch()
	choice := plan.Choose(&task, p.cfg.Machine, batch, p.cfg.Rules)
	return &Decision{
		Cause: cause, Note: note, Plan: choice.Best.Plan, Choice: choice, Task: task, Batch: batch,
		Ran: p.ended(), After: time.Duration(proc.Now() - p.begun),
	}
}

// follow puts the run on the course of a decision.
func (p *Pilot) follow(d *Decision) {
	p.chosen = d
	c := engine.Course{Plan: d.Plan, Renew: p.course.Renew}
	if wall, _ := nature(&d.Task); d.Plan.Kind == plan.Threads && wall >= watchedItem {
		c.Measure = true // a worker that measures notices what threads must not do
	}
	// A library asks when it is loaded how many threads it may use, and the
	// workers that are up were told a number that was for fewer of them.
	if d.Task.Inner() > innerThreads && d.Plan.Processes != p.course.Plan.Processes {
		c.Renew++
	}
	p.steer(c)
}

// watchedItem is the time of an item from which it bears being measured, some
// microseconds, all the time.
const watchedItem = 2 * time.Millisecond

// innerThreads is the number of CPUs that an item uses from which it is taken
// to have threads of its own.
const innerThreads = 1.3

func (p *Pilot) tell(d *Decision) {
	if p.cfg.Decided != nil {
		p.cfg.Decided(d)
	}
}

func (p *Pilot) steer(c engine.Course) {
	if p.cfg.Steered != nil {
		p.cfg.Steered(c.Plan)
	}
	p.course = c
	p.run.Steer(c)
}

// onPlan changes no more than the plan.
func (p *Pilot) onPlan(to plan.Plan) {
	c := p.course
	c.Plan = to
	p.steer(c)
}

// processes is the plan of n processes with one slot each.
func processes(n int) plan.Plan {
	if n <= 1 {
		return plan.Plan{Processes: 1, Slots: 1, Kind: plan.Serial}
	}
	return plan.Plan{Processes: n, Slots: 1, Kind: plan.Processes}
}

// unknownWork is how long the items of an input without a known end are taken
// to need, one after another: long enough that starting workers pays.
const unknownWork = time.Minute

// batch returns what is left to do.
func (p *Pilot) batch() plan.Batch {
	open, all := p.run.Left()
	b := plan.Batch{Items: open, Known: all, Started: p.started()}
	if all {
		return b
	}
	if total, certain := p.cfg.Total(); total > 0 {
		b.Items, b.Known = max(open, int(total)-int(p.ended())), certain
		return b
	}
	if wall := p.typical(); wall > 0 {
		b.Items = max(open, int(unknownWork/wall))
	}
	return b
}

// wait returns when something was told, or after the time d if it is above 0.
// It reports false once the run is over.
func (p *Pilot) wait(d time.Duration) bool {
	var timer <-chan time.Time
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		timer = t.C
	}
	select {
	case <-p.run.Over():
	case <-p.news:
	case <-timer:
	}
	select {
	case <-p.run.Over():
		return false
	default:
		return true
	}
}
