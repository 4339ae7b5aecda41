package plan

import (
	"container/heap"
	"math"
	"math/rand/v2"
)

// When no items are left to hand out, each slot is somewhere in its last one;
// the run lasts until the last of them has ended. Items that are few altogether
// are not a flow at all: then the schedule itself is simulated.

// tail returns by how much the last of so many slots ends later than their
// mean, over the mean time of an item. The rest of an item that is met at a
// random moment has the density (1-F)/mean; the largest time that was seen is
// taken to be the last of one more, since there may be larger ones.
func (mo *model) tail(slots int) float64 {
	slots = max(1, min(slots, mo.batch.Items))
	if slots == 1 {
		return 0
	}
	if v, known := mo.tails[slots]; known {
		return v
	}
	w := append(mo.walls[:len(mo.walls):len(mo.walls)], mo.walls[len(mo.walls)-1])
	var mean float64
	for _, v := range w {
		mean += v / float64(len(w))
	}
	// Between two neighbours F is constant, and so is the density.
	var below, cumulated, longest, average float64
	for i, v := range w {
		if step := v - below; step > 0 {
			density := (1 - float64(i)/float64(len(w))) / mean
			const parts = 8
			for range parts {
				middle := cumulated + density*step/parts/2
				longest += (1 - math.Pow(min(middle, 1), float64(slots))) * step / parts
				average += (1 - min(middle, 1)) * step / parts
				cumulated += density * step / parts
			}
		}
		below = v
	}
	v := max(0, longest-average)
	mo.tails[slots] = v
	return v
}

// fewRounds is how many items a slot may have for the schedule to be simulated,
// and mostScheduled how many there may be altogether.
const fewRounds, mostScheduled = 4, 400

// short reports whether there are too few items for a flow.
func (mo *model) short(p Plan) bool {
	n := mo.batch.Items
	return n <= mostScheduled && n <= fewRounds*p.Total()
}

// slotQueue holds the times at which slots are free, the earliest first.
type slotQueue []float64

func (q slotQueue) Len() int           { return len(q) }
func (q slotQueue) Less(i, j int) bool { return q[i] < q[j] }
func (q slotQueue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *slotQueue) Push(x any)        { *q = append(*q, x.(float64)) }
func (q *slotQueue) Pop() any          { panic("nothing is taken out") }

// schedule simulates the handing out of the items that are left, each to the
// slot that is free first, and returns how long that takes for each of a few
// draws.
func (mo *model) schedule(p Plan) []float64 {
	random := rand.New(rand.NewPCG(2, uint64(mo.batch.Items)))
	times := make([]float64, fewDraws)
	up := min(p.Processes, mo.batch.Started)
	ready := 0.0
	if !mo.task.Command && p.Processes > up {
		ready = mo.ready(p.Processes - up)
	}
	for i := range times {
		d := mo.draws[i]
		together := min(p.Total(), mo.batch.Items)
		c := mo.course(p, d)
		alone := mo.wallIn(p, d)
		// What others beside it make it wait; it does not grow with the item.
		beside := max(float64(together)/c.rate-alone, mo.codec+mo.message)
		slots := make(slotQueue, 0, p.Total())
		for s := range p.Total() {
			at := 0.0
			if s/p.Slots >= up {
				at = ready
			}
			slots = append(slots, at)
		}
		heap.Init(&slots)
		end := 0.0
		for range mo.batch.Items {
			slots[0] += alone*mo.walls[random.IntN(len(mo.walls))] + beside
			end = max(end, slots[0])
			heap.Fix(&slots, 0)
		}
		times[i] = end
	}
	return times
}
