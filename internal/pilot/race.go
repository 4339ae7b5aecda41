package pilot

import (
	"fmt"
	"math"
	"time"

	"github.com/poolwise/poolwise/internal/proc"
	"github.com/poolwise/poolwise/plan"
)

const (
	// windowTime and windowRounds are how long a plan is tried at least: that
	// time, and that many completions of each slot but one.
	windowTime   = 100 * time.Millisecond
	windowRounds = 7
	// A race is decided between leastPairs and mostPairs pairs of windows, or
	// left undecided when it has cost raceShare of the time predicted.
	leastPairs, mostPairs = 3, 5
	raceShare             = 0.05
	// tryTwoFrom is the predicted time from which it pays to try whether two
	// threads do what was predicted.
	tryTwoFrom = 2 * time.Second
)

// race tries two plans that are too close to call on real items, in turns, so
// that what the machine does meanwhile and the drift of the items fall on both.
func (p *Pilot) race(d *Decision) {
	first, second := d.Choice.Race[0], d.Choice.Race[1]
	until := proc.Now() + int64(raceShare*float64(d.Choice.Best.Time))
	var ratios []float64
	for pair := 0; pair < mostPairs && proc.Now() < until; pair++ {
		a, b := first, second
		if pair%2 == 1 {
			a, b = second, first
		}
		rateA, okA := p.window(a)
		if !okA {
			return
		}
		rateB, okB := p.window(b)
		if !okB {
			return
		}
		if pair%2 == 1 {
			rateA, rateB = rateB, rateA
		}
		ratios = append(ratios, math.Log(rateB/rateA))
		if mean, se := meanOf(ratios); len(ratios) >= leastPairs && math.Abs(mean) > 2*se {
			break
		}
	}
	winner, note := d.Plan, fmt.Sprintf("%s and %s are equally fast", first, second)
	mean, se := meanOf(ratios)
	if len(ratios) >= leastPairs && math.Abs(mean) > 2*se {
		gain := math.Exp(math.Abs(mean))
		winner, note = first, fmt.Sprintf("%s is %.2f times as fast as %s", first, gain, second)
		if mean > 0 {
			winner, note = second, fmt.Sprintf("%s is %.2f times as fast as %s", second, gain, first)
		}
	}
	p.settle(Race, note, winner, d)
}

// settle follows a plan that real items have decided for.
func (p *Pilot) settle(cause Cause, note string, winner plan.Plan, d *Decision) {
	end := p.choose(cause, note)
	for _, c := range end.Choice.All {
		if c.Plan == winner {
			end.Choice.Best = c
		}
	}
	end.Plan, end.Choice.Best.Plan = winner, winner
	p.follow(end)
	p.tell(end)
}

// window runs items by a plan and returns how many ended in a second. What was
// in hand when the plan came into effect does not count.
func (p *Pilot) window(by plan.Plan) (rate float64, ok bool) {
	p.quiet.Store(false)
	c := p.course
	c.Plan, c.Keep = by, true
	p.steer(c)
	slots := uint64(by.Total())
	begin := p.mark()
	start := begin
	for start.done < begin.done+slots {
		if !p.wait(0) {
			return 0, false
		}
		start = p.mark()
	}
	for {
		now := p.mark()
		took := time.Duration(now.at - start.at)
		if n := now.done - start.done; took >= windowTime && n >= windowRounds*max(slots-1, 1) {
			return float64(n) / took.Seconds(), true
		}
		if !p.wait(0) {
			return 0, false
		}
	}
}

// tryTwo runs real items in two threads, where threads were chosen for work
// that holds the GIL at times: the share of that time says less than a trial.
func (p *Pilot) tryTwo(d *Decision) {
	held := d.Task.Held.Value
	if d.Task.TwoSlots > 0 || d.Task.FreeThreaded || held < 0.1 || held > 0.9 || d.Choice.Best.Time < tryTwoFrom {
		return
	}
	wall, _ := nature(&d.Task)
	rate, ok := p.window(plan.Plan{Processes: 1, Slots: 2, Kind: plan.Threads})
	if !ok || wall <= 0 {
		return
	}
	p.mu.Lock()
	p.twoSlots = rate * wall.Seconds()
	p.mu.Unlock()
	end := p.choose(Race, fmt.Sprintf("two threads do %.2f times the work of one", rate*wall.Seconds()))
	p.follow(end)
	p.tell(end)
}

// meanOf returns the mean and its standard error.
func meanOf(x []float64) (mean, se float64) {
	if len(x) == 0 {
		return 0, math.Inf(1)
	}
	for _, v := range x {
		mean += v
	}
	n := float64(len(x))
	mean /= n
	var sum float64
	for _, v := range x {
		sum += (v - mean) * (v - mean)
	}
	if n < 2 {
		return mean, math.Inf(1)
	}
	return mean, math.Sqrt(sum / (n - 1) / n)
}
