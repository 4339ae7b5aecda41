package plan

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/poolwise/poolwise/measure"
)

const (
	// numDraws is how often the sample is drawn from anew, to learn how far a
	// prediction may be off; fewDraws where each costs a simulation.
	numDraws, fewDraws = 200, 60
	// newness is the standard deviation, in logarithms, of the mean time of all
	// items around that of one item: the items that come may be others. It falls
	// with the root of the number that was seen.
	newness = 0.3
)

// params are the means of one draw, in seconds an item.
type params struct {
	wall    float64 // alone in a worker
	cpu     float64 // of the thread that runs it
	process float64 // of the process, threads of libraries included
	held    float64 // holding the GIL
	mix     float64 // 0 to 1: where between the bounds of regular and random items
}

// A model predicts plans for one task, machine and batch.
type model struct {
	task    *measure.Task
	machine Machine
	batch   Batch
	walls   []float64 // of the steady items, sorted, over their mean
	centre  params
	draws   []params
	tails   map[int]float64 // by slots; see tail.go
	// meetings are shares that have been computed; see meeting.
	meetings map[station]float64
	codec    float64 // seconds
	engine   float64
	message  float64
	inner    float64
	// computing is the part of the items' time in which they compute.
	computing float64
}

func newModel(t *measure.Task, m Machine, b Batch) *model {
	if !(m.CPUs > 0) {
		m.CPUs = 1
	}
	b.Started = max(1, b.Started)
	mo := &model{
		task: t, machine: m, batch: b, tails: map[int]float64{}, meetings: map[station]float64{},
		codec: t.Codec.Seconds(), engine: t.Engine.Seconds(), message: t.Message.Seconds(), inner: t.Inner(),
	}
	mo.sample(t.Steady())
	return mo
}

// leastWall keeps what takes no time from being divided by: a nanosecond.
const leastWall = 1e-9

// sample draws from the items. The generator's seed is fixed, so that the same
// measurements always give the same choice, and all plans are compared on the
// same draws.
func (mo *model) sample(items []measure.Item) {
	rows := make([]params, len(items))
	for i, it := range items {
		rows[i] = mo.row(it)
	}
	if len(rows) == 0 {
		rows = []params{{wall: leastWall}}
	}
	random := rand.New(rand.NewPCG(1, uint64(len(rows))))
	mean := meanRow(rows, nil)
	mo.computing = mean.cpu / max(mean.wall, leastWall)
	mo.centre = mo.finish(mean, mo.task.Held.Value, 0.5, 1)
	mo.draws = make([]params, numDraws)
	pick := make([]int, len(rows))
	spread := newness / math.Sqrt(float64(len(items)+1))
	for d := range mo.draws {
		for i := range pick {
			pick[i] = random.IntN(len(rows))
		}
		held := mo.task.Held.Value
		if mo.task.Held.N > 0 {
			held = min(max(held+mo.task.Held.SE()*random.NormFloat64(), 0), 1)
		}
		scale := math.Exp(spread * random.NormFloat64())
		mo.draws[d] = mo.finish(meanRow(rows, pick), held, random.Float64(), scale)
	}
	mo.walls = make([]float64, len(rows))
	for i, r := range rows {
		mo.walls[i] = r.wall / max(mo.centre.wall, leastWall)
	}
	slices.Sort(mo.walls)
}

// row reads an item. What was not measured counts as computing: it is the
// careful guess. Time in which the worker waited for a CPU that others had is
// no part of the item.
func (mo *model) row(it measure.Item) params {
	r := params{wall: max(it.Wall.Seconds(), leastWall)}
	r.cpu = r.wall
	if it.CPU >= 0 {
		r.cpu = it.CPU.Seconds()
	}
	r.process = r.cpu
	if it.Process >= 0 {
		r.process = max(r.cpu, it.Process.Seconds())
	}
	if queued := mo.task.Queued; queued > leastQueued {
		r.wall = max(r.wall*(1-queued), min(r.cpu, r.wall))
	}
	if !mo.task.Command {
		r.cpu = min(r.cpu, r.wall)
	}
	return r
}

// leastQueued is the share of time spent waiting for a CPU that is disturbance,
// and not what the clocks make of nothing.
const leastQueued = 0.1

func meanRow(rows []params, pick []int) (mean params) {
	n := len(rows)
	for i := range n {
		r := rows[i]
		if pick != nil {
			r = rows[pick[i]]
		}
		mean.wall += r.wall
		mean.cpu += r.cpu
		mean.process += r.process
	}
	mean.wall /= float64(n)
	mean.cpu /= float64(n)
	mean.process /= float64(n)
	return mean
}

func (mo *model) finish(p params, held, mix, scale float64) params {
	p.wall, p.cpu, p.process, p.mix = p.wall*scale, p.cpu*scale, p.process*scale, mix
	switch {
	case mo.task.Command, mo.task.FreeThreaded:
	case mo.task.Held.N == 0:
		p.held = p.cpu // not measured: all that it computes, to be careful
	case mo.holdsIdle():
		p.held = held * p.wall
	default:
		// What holds the GIL computes; the rest is a probe that was late.
		p.held = min(held*p.wall, p.cpu)
	}
	return p
}

// holdsIdle reports whether items hold the GIL while they wait: what was seen
// is far more than they compute. A busy machine makes looks late too: a fifth of
// those at a task that sleeps were, on two CPUs with six others running.
func (mo *model) holdsIdle() bool {
	held := mo.task.Held
	return held.N >= 100 && held.Value-3*held.SE() > mo.computing+0.3
}
