package climb_test

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/poolwise/poolwise/internal/climb"
)

// A server answers at most limit requests at a time, each in latency; further
// ones wait in line.
type server struct {
	limit   int
	latency time.Duration
	noise   float64 // of the latency, +- this part
	random  *rand.Rand
}

type times []time.Duration

func (t times) Len() int           { return len(t) }
func (t times) Less(i, j int) bool { return t[i] < t[j] }
func (t times) Swap(i, j int)      { t[i], t[j] = t[j], t[i] }
func (t *times) Push(x any)        { *t = append(*t, x.(time.Duration)) }
func (t *times) Pop() any {
	last := len(*t) - 1
	x := (*t)[last]
	*t = (*t)[:last]
	return x
}

// A request of ours, which ends when it is answered.
type request struct{ start, end time.Duration }

type requests []request

func (r requests) Len() int           { return len(r) }
func (r requests) Less(i, j int) bool { return r[i].end < r[j].end }
func (r requests) Swap(i, j int)      { r[i], r[j] = r[j], r[i] }
func (r *requests) Push(x any)        { *r = append(*r, x.(request)) }
func (r *requests) Pop() any {
	last := len(*r) - 1
	x := (*r)[last]
	*r = (*r)[:last]
	return x
}

// serve runs items until the climb is done, or there are no more. It returns
// how many were run.
func (s *server) serve(t interface{ Fatalf(string, ...any) }, c *climb.Climb, items, most int) (ran int) {
	var free times // when a place at the server is free
	var running requests
	for range s.limit {
		heap.Push(&free, time.Duration(0))
	}
	now := time.Duration(0)
	for !c.Done() && ran < items {
		if c.Slots() > most {
			t.Fatalf("%d slots, and there may be %d", c.Slots(), most)
		}
		for running.Len() < c.Slots() && ran+running.Len() < items {
			begin := max(now, heap.Pop(&free).(time.Duration))
			took := time.Duration(float64(s.latency) * (1 + s.noise*(2*s.random.Float64()-1)))
			heap.Push(&free, begin+took)
			heap.Push(&running, request{now, begin + took})
		}
		if running.Len() == 0 {
			break
		}
		r := heap.Pop(&running).(request)
		now = r.end
		n, walls := 1, r.end-r.start
		for running.Len() > 0 && running[0].end == now {
			r := heap.Pop(&running).(request)
			walls += r.end - r.start
			n++
		}
		ran += n
		c.Add(n, now, walls, s.latency)
	}
	return ran
}

// Whatever the server bears, the climb finds enough slots to keep it busy, and
// not many more.
func TestFindsTheLimitOfAServer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &server{
			limit:   rapid.IntRange(1, 300).Draw(t, "limit"),
			latency: time.Duration(rapid.IntRange(1, 2000).Draw(t, "latency")) * time.Millisecond,
			noise:   rapid.SampledFrom([]float64{0, 0.05, 0.2}).Draw(t, "noise"),
			random:  rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)),
		}
		start, most := rapid.IntRange(1, 32).Draw(t, "start"), rapid.IntRange(1, 1024).Draw(t, "most")
		most = max(most, start)
		alone := rapid.SampledFrom([]time.Duration{0, s.latency}).Draw(t, "alone")
		c := climb.New(start, most, alone)
		s.serve(t, c, 1<<20, most)
		if !c.Done() {
			t.Fatal("it has found no end")
		}
		reachable := min(s.limit, most)
		if c.Slots() < int(math.Ceil(0.75*float64(reachable))) {
			t.Fatalf("%d slots leave a server of %d idle; tried %v", c.Slots(), reachable, c.Tried())
		}
		// A window of few items may take noise for a gain of 3%.
		if limit := 4 * max(s.limit, start); c.Slots() > limit {
			t.Fatalf("%d slots for a server of %d; tried %v", c.Slots(), s.limit, c.Tried())
		}
		if doublings := math.Log2(float64(most)/float64(start)) + 3; float64(len(c.Tried())) > doublings {
			t.Fatalf("%d steps from %d to %d: %v", len(c.Tried()), start, most, c.Tried())
		}
	})
}

// A climb costs few items: all that it needs ends within a few rounds.
func TestCostsFewItems(t *testing.T) {
	s := &server{limit: 64, latency: 100 * time.Millisecond, random: rand.New(rand.NewPCG(1, 2))}
	c := climb.New(16, 1024, 0)
	ran := s.serve(t, c, 1<<20, 1024)
	if c.Slots() != 64 {
		t.Errorf("settled on %d, want 64; tried %v", c.Slots(), c.Tried())
	}
	if ran > 900 {
		t.Errorf("%d items were run to find out", ran)
	}
}

// Where items take no longer than alone, each doubling takes one round.
func TestDoublesWithoutWaiting(t *testing.T) {
	s := &server{limit: 10_000, latency: 100 * time.Millisecond, random: rand.New(rand.NewPCG(1, 2))}
	c := climb.New(32, 512, s.latency)
	if ran := s.serve(t, c, 32+64+128+256, 512); ran != 32+64+128+256 || c.Slots() != 512 {
		t.Errorf("after %d items there are %d slots; tried %v", ran, c.Slots(), c.Tried())
	}
}

func TestNothingToFind(t *testing.T) {
	for _, c := range []*climb.Climb{climb.New(8, 8, 0), climb.New(8, 2, 0), climb.New(0, 0, 0)} {
		if !c.Done() || c.Slots() < 1 {
			t.Errorf("%d slots, done: %v; there is only one number to choose", c.Slots(), c.Done())
		}
	}
	if c := climb.New(8, 2, 0); c.Slots() != 2 {
		t.Errorf("%d slots, and there may be 2", c.Slots())
	}
	c := climb.New(4, 64, 0)
	if c.Add(0, time.Second, time.Second, time.Second) || c.Done() {
		t.Error("nothing ended, and something has changed")
	}
	if slots, rate := c.Best(); slots != 4 || rate != 0 {
		t.Errorf("before anything was tried the best is %d at %v", slots, rate)
	}
}

// A server that gets slower under load is not driven on.
func TestStopsWhereMoreIsWorse(t *testing.T) {
	c := climb.New(4, 1024, 0)
	now := time.Duration(0)
	for range 10_000 {
		if c.Done() {
			break
		}
		slots := c.Slots()
		// The rate rises up to 16 at a time, and falls beyond.
		rate := 10 * float64(min(slots, 16))
		if slots > 16 {
			rate *= 16 / float64(slots)
		}
		now += time.Duration(float64(time.Second) / rate)
		c.Add(1, now, 10*time.Millisecond, 10*time.Millisecond)
	}
	if !c.Done() || c.Slots() != 16 {
		t.Errorf("settled: %v, on %d slots, want 16; tried %v", c.Done(), c.Slots(), c.Tried())
	}
}
