package pilot

import (
	"fmt"
	"time"

	"github.com/poolwise/poolwise/internal/climb"
	"github.com/poolwise/poolwise/measure"
	"github.com/poolwise/poolwise/plan"
)

// ascent is the search for the number of slots that waiting work wants, fed
// with the answers as they come.
type ascent struct {
	*climb.Climb
	typical float64 // seconds an item, the latest ones counting most
	over    bool
}

// newest is the weight of the latest answer in the time that is typical.
const newest = 0.1

// add counts n items that took wall together. It reports whether there is
// something to be done.
func (a *ascent) add(n int, now, wall time.Duration) bool {
	each := wall.Seconds() / float64(n)
	if a.typical == 0 {
		a.typical = each
	}
	a.typical += newest * (each - a.typical)
	if a.over {
		return false
	}
	changed := a.Add(n, now, wall, time.Duration(a.typical*float64(time.Second)))
	a.over = a.Done()
	return changed || a.over
}

// Most processes that a climb may reach: a command that waits takes little but
// a place in the table of processes, a Python worker the memory of one.
const (
	mostCommands  = 256
	mostPerCPU    = 4
	mostAtOnePass = 4096 // slots of one worker
)

// climb raises the number of slots while throughput grows: how many requests
// the other side can serve at a time is nowhere to be read.
func (p *Pilot) climb(d *Decision) {
	start := d.Plan.Total()
	if prior := p.cfg.Prior; prior != nil && d.Cause == Profile {
		start = max(start, prior.Slots/2)
	}
	most := p.most(d)
	p.mu.Lock()
	p.ascent = &ascent{Climb: climb.New(start, most, meanWall(&d.Task))}
	p.mu.Unlock()
	p.quiet.Store(true)
	for over := false; !over; {
		p.mu.Lock()
		slots := p.ascent.Slots()
		over = p.ascent.over
		p.mu.Unlock()
		if to := spread(d.Plan, slots); to != p.course.Plan {
			p.onPlan(to)
		}
		if !over && (!p.wait(lookEvery) || p.conflict()) {
			return
		}
	}
	p.arrive(d)
}

// meanWall returns the mean wall time of the items of a sample.
func meanWall(t *measure.Task) time.Duration {
	items := t.Steady()
	var sum time.Duration
	for _, it := range items {
		sum += it.Wall
	}
	return sum / time.Duration(max(len(items), 1))
}

// arrive tells where a climb has ended.
func (p *Pilot) arrive(d *Decision) {
	p.mu.Lock()
	slots, rate := p.ascent.Best()
	p.mu.Unlock()
	p.settled = slots
	if rate <= 0 {
		return
	}
	end := p.choose(Climb, fmt.Sprintf("%.3g items/s with %d at a time; more of them gain less than 3%%", rate, slots))
	end.Plan, end.Choice = p.course.Plan, d.Choice
	best := &end.Choice.Best
	best.Plan, best.Rate, best.Bound = end.Plan, rate, "slots"
	best.Time = time.Duration(float64(end.Batch.Items) / rate * float64(time.Second))
	best.Low, best.P75, best.High = best.Time*9/10, best.Time*21/20, best.Time*5/4
	p.chosen = end
	p.tell(end)
}

// most returns the largest number of slots that may be tried.
func (p *Pilot) most(d *Decision) int {
	most := min(max(d.Batch.Items, 1), mostAtOnePass)
	m := p.cfg.Machine
	if d.Plan.Kind == plan.Threads || d.Plan.Kind == plan.Async {
		if limit := p.cfg.Rules.MaxSlots; limit > 0 {
			most = min(most, limit*d.Plan.Processes)
		}
		if one := d.Task.ItemMemory; one > 0 && m.Memory > 0 {
			room := plan.MemoryShare*float64(m.Memory) - float64(d.Task.BaseMemory)*float64(d.Plan.Processes)
			most = min(most, max(1, int(room/float64(one))))
		}
		return most
	}
	if m.MaxProcesses > 0 {
		most = min(most, m.MaxProcesses)
	}
	most = min(most, p.fitting())
	if p.cfg.Command {
		if one := d.Task.ItemMemory; one > 0 && m.Memory > 0 {
			most = min(most, max(1, int(plan.MemoryShare*float64(m.Memory)/float64(one))))
		}
		return min(most, mostCommands)
	}
	return min(most, mostPerCPU*p.cpus())
}

// spread returns the plan with so many slots in all, of the same kind.
func spread(like plan.Plan, slots int) plan.Plan {
	if like.Kind == plan.Threads || like.Kind == plan.Async {
		like.Slots = max(1, (slots+like.Processes-1)/like.Processes)
		return like
	}
	return processes(slots)
}
