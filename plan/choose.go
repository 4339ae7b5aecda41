package plan

import (
	"cmp"
	"slices"
	"time"

	"github.com/poolwise/poolwise/measure"
)

const (
	// A heavier plan must save that share of the time, and that time.
	heavierShare, heavierTime = 0.10, 50 * time.Millisecond
	// Threads that nobody has asked for must save that much over the best plan
	// without them: what they may break is not to be seen.
	unaskedShare, unaskedTime = 0.25, time.Second
	// alike is the share of the time within which fewer slots of the same kind
	// are preferred.
	alike = 0.01
	// Two plans are raced that are closer than closeShare, where the run is at
	// least worthRace long, unless one is better by clearly in certain of all draws.
	closeShare, worthRace = 0.10, 2 * time.Second
	clearly, certain      = 0.05, 0.9
)

// Choose weighs all plans and returns the best by its 75th percentile, the
// simplest one where a heavier one saves little. The same arguments always give
// the same choice.
func Choose(t *measure.Task, m Machine, b Batch, r Rules) Choice {
	mo := newModel(t, m, b)
	plans, out := mo.space(r)
	all := make([]outcome, len(plans))
	for i, p := range plans {
		all[i] = mo.predict(p)
	}
	c := Choice{Serial: all[0].Prediction, Excluded: out}
	best := mo.pick(all, r, &c)
	c.Best = best.Prediction
	if fit := mo.fitting(); fit < mo.cpus() && fit < b.Items && c.Best.Plan.Processes == fit && c.Best.Plan.Slots == 1 {
		c.Best.Bound = boundMemory
	}
	c.Climb = mo.climbs(c.Best.Plan)
	c.Race = mo.race(best, all, r, c.Climb)
	c.Thumb = mo.thumb(all, c.Best.Plan)
	slices.SortStableFunc(all, func(a, b outcome) int { return cmp.Compare(a.P75, b.P75) })
	for _, o := range all {
		c.All = append(c.All, o.Prediction)
	}
	return c
}

// weights orders kinds from the simplest to the heaviest.
var weights = map[Kind]int{Serial: 0, Async: 1, Threads: 2, Processes: 3}

// weight tells how heavy a plan is: first by what it is made of, then by how
// much of it there is.
func weight(p Plan) int {
	w := weights[p.Kind]
	if p.Processes > 1 && p.Slots > 1 {
		w += len(weights)
	}
	return w
}

// pick chooses among the outcomes of all plans.
func (mo *model) pick(all []outcome, r Rules, c *Choice) outcome {
	var free, threads []outcome // without threads, and with them
	for _, group := range groups(all) {
		if group.Plan.Kind == Threads {
			threads = append(threads, group)
		} else {
			free = append(free, group)
		}
	}
	if r.Threads == ThreadsOK {
		return simplest(append(free, threads...))
	}
	best := simplest(free)
	if len(threads) == 0 {
		return best
	}
	with := simplest(threads)
	if saves(best.Prediction, with.Prediction, unaskedShare, unaskedTime) {
		return with
	}
	if saves(best.Prediction, with.Prediction, heavierShare, heavierTime) {
		c.Forgone = &with.Prediction
	}
	return best
}

// groups returns the best of each kind of plan: the one with the fewest slots
// of those that are as good as any.
func groups(all []outcome) []outcome {
	byWeight := map[int][]outcome{}
	for _, o := range all {
		byWeight[weight(o.Plan)] = append(byWeight[weight(o.Plan)], o)
	}
	best := make([]outcome, 0, len(byWeight))
	for _, group := range byWeight {
		slices.SortFunc(group, func(a, b outcome) int {
			return cmp.Or(cmp.Compare(a.Plan.Total(), b.Plan.Total()), cmp.Compare(a.Plan.Processes, b.Plan.Processes))
		})
		least := slices.MinFunc(group, func(a, b outcome) int { return cmp.Compare(a.P75, b.P75) })
		for _, o := range group {
			if float64(o.P75) <= (1+alike)*float64(least.P75) {
				best = append(best, o)
				break
			}
		}
	}
	return best
}

// simplest returns the lightest plan that no heavier one is clearly better than.
func simplest(of []outcome) outcome {
	slices.SortFunc(of, func(a, b outcome) int { return cmp.Compare(weight(a.Plan), weight(b.Plan)) })
	best := of[0]
	for _, o := range of[1:] {
		if saves(best.Prediction, o.Prediction, heavierShare, heavierTime) {
			best = o
		}
	}
	return best
}

// saves reports whether a plan is better than another by that share and time.
func saves(than, by Prediction, share float64, least time.Duration) bool {
	saved := than.P75 - by.P75
	return saved >= least && float64(saved) >= share*float64(than.P75)
}

// climbs reports whether the number of slots is to be found by trying.
func (mo *model) climbs(p Plan) bool {
	if mo.waiting() < waitsMuch || mo.batch.Items <= p.Total() {
		return false
	}
	return p.Slots > 1 || mo.task.Command
}

// race returns the two plans that are too close to call, nil if there are none.
func (mo *model) race(best outcome, all []outcome, r Rules, climb bool) []Plan {
	if climb || best.Time < worthRace {
		return nil
	}
	var rival *outcome
	for _, o := range groups(all) {
		unasked := o.Plan.Kind == Threads && r.Threads != ThreadsOK
		if o.Plan == best.Plan || unasked || mo.climbs(o.Plan) || len(o.times) != len(best.times) {
			continue
		}
		if rival == nil || o.P75 < rival.P75 {
			rival = &o
		}
	}
	if rival == nil || float64(max(rival.P75, best.P75)) > (1+closeShare)*float64(min(rival.P75, best.P75)) {
		return nil
	}
	ahead, behind := 0, 0
	for i := range best.times {
		switch {
		case best.times[i] < (1-clearly)*rival.times[i]:
			ahead++
		case rival.times[i] < (1-clearly)*best.times[i]:
			behind++
		}
	}
	if sure := certain * float64(len(best.times)); float64(ahead) >= sure || float64(behind) >= sure {
		return nil
	}
	return []Plan{best.Plan, rival.Plan}
}
