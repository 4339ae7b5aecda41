package pilot

import (
	"fmt"
	"strings"
	"time"

	"github.com/poolwise/poolwise/plan"
)

const (
	// lookEvery is how often the run is looked at once its plan is settled.
	lookEvery = 500 * time.Millisecond
	// A window of the watch has as many items at least, and as many rounds of
	// all slots: fewer say little of how items are.
	watchItems, watchRounds = 32, 4
	// drifted is the factor by which items must have changed, in two windows
	// one after the other, for the plan to be reconsidered.
	drifted = 1.5
	// A change of plan must save that share of the time that is left, and so
	// many times what it costs.
	changeSaving, changeCosts = 0.1, 3
)

// watch looks at the run until it is over. Once, when items have clearly become
// others, the plan is reconsidered.
func (p *Pilot) watch() {
	p.quiet.Store(true)
	last := p.mark()
	var usual time.Duration // of an item, in the first window
	off := 0                // windows in a row that were unlike it
	for p.wait(lookEvery) {
		if p.conflict() {
			last, usual = p.mark(), 0
			continue
		}
		now := p.mark()
		n := now.done - last.done
		if n < watchItems || n < watchRounds*uint64(p.course.Plan.Total()) {
			continue
		}
		mean := (now.wall - last.wall) / time.Duration(n)
		last = now
		switch {
		case usual == 0:
			usual = mean
		case float64(mean) > drifted*float64(usual) || drifted*float64(mean) < float64(usual):
			off++
		default:
			off = 0
		}
		if off == 2 {
			p.reconsider(usual, mean)
			break
		}
	}
	for p.wait(lookEvery) {
		p.conflict()
	}
}

// reconsider samples once more and changes the plan if that saves enough.
func (p *Pilot) reconsider(usual, now time.Duration) {
	was := p.course.Plan
	if !p.sampleAnew() {
		return
	}
	d := p.choose(Drift, fmt.Sprintf("an item takes %v and has taken %v", round(now), round(usual)))
	p.quiet.Store(true)
	stay := plan.Predict(&d.Task, p.cfg.Machine, d.Batch, was)
	saves := stay.Time - d.Choice.Best.Time
	if d.Plan.Kind == was.Kind && d.Plan.Kind != plan.Processes && d.Choice.Climb ||
		saves < time.Duration(changeSaving*float64(stay.Time)) || saves < changeCosts*d.Task.Startup.Total() {
		c := p.course
		c.Plan, c.Sample, c.Measure = was, false, false
		p.steer(c)
		return
	}
	p.carryOut(d)
	p.quiet.Store(true)
}

// conflict leaves threads if the task does what must not be done in them. It
// reports whether it did.
func (p *Pilot) conflict() bool {
	if p.course.Plan.Kind != plan.Threads {
		return false
	}
	warnings := p.warnings()
	if len(warnings) == 0 {
		return false
	}
	d := p.choose(Conflict, conflictNote(warnings))
	if d.Plan.Kind == plan.Threads { // the planner does not know of the warning yet
		return false
	}
	d.Choice.Climb = false
	p.chosen = d
	c := p.course
	c.Plan, c.Measure, c.Sample, c.Renew = d.Plan, false, false, c.Renew+1
	p.steer(c)
	p.tell(d)
	return true
}

func conflictNote(warnings []string) string {
	does := map[string]string{
		"chdir":  "changes the working directory, which all threads of a process share",
		"signal": "sets a signal handler, which only the main thread of a process may",
	}
	var parts []string
	for _, w := range warnings {
		if text, known := does[w]; known {
			parts = append(parts, text)
		}
	}
	return "the task " + strings.Join(parts, " and ") + "; results of items that ran beside each other may be wrong"
}

// round shortens a time to three digits.
func round(d time.Duration) time.Duration {
	step := time.Duration(1)
	for d/step >= 1000 {
		step *= 10
	}
	return d.Round(step)
}
