package pilot

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/internal/engine"
	"github.com/poolwise/poolwise/internal/proc"
	"github.com/poolwise/poolwise/internal/supervisor"
	"github.com/poolwise/poolwise/internal/wire"
	"github.com/poolwise/poolwise/measure"
)

// gauges are what the lanes have told. The lanes add to them from their own
// goroutines; all but news and quiet is guarded by mu.
type gauges struct {
	news  chan struct{} // has room for one: something was told
	quiet atomic.Bool   // nobody waits for news of answers

	mu          sync.Mutex
	workers     map[int]engine.Worker // that are up, by their lanes
	upSince     int64                 // of lane 0's worker
	lastTold    int64                 // of the last answer
	start       measure.Startup       // of the first worker
	base        int64                 // memory of a worker that has loaded the task, bytes
	async       bool
	free        bool // the interpreter has no lock
	fresh       bool // lane 0's worker has not answered yet
	done        uint64
	wall        time.Duration // summed, of done
	sampling    bool
	sampleSince int64
	before      wire.MeasuredBody // what was counted before the sample
	based       bool              // before is set
	items       []measure.Item    // of lane 0 while sampling
	messages    []time.Duration
	plain       plainTime
	largest     int64   // memory of a command, bytes
	twoSlots    float64 // the rate of two threads over that of one; 0: not tried
	ascent      *ascent
}

// plainTime is how long items took in a worker that times none of them by
// itself, all that belongs to an item included.
type plainTime struct {
	items, chunks int
	time          time.Duration
}

// keepItems bounds how many items of a sample are kept; they are far more than
// the planner looks at.
const keepItems = 4096

func (g *gauges) init() {
	g.news = make(chan struct{}, 1)
	g.workers = map[int]engine.Worker{}
	g.sampling = true
}

func (g *gauges) signal() {
	select {
	case g.news <- struct{}{}:
	default:
	}
}

// gauge is what a worker of the supervisor tells of itself.
type gauge interface {
	Started() supervisor.StartTimes
	Ready() wire.ReadyBody
	Hello() wire.HelloBody
	Measured() (wire.MeasuredBody, bool)
}

// Up is part of engine.Observer.
func (g *gauges) Up(lane int, w engine.Worker) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.workers[lane] = w
	if lane == 0 {
		g.upSince, g.fresh, g.based = proc.Now(), true, false
		if g.sampleSince == 0 {
			g.sampleSince = g.upSince
		}
	}
	if w, ok := w.(gauge); ok && g.start.Spawn == 0 {
		s, ready := w.Started(), w.Ready()
		g.start = measure.Startup{Spawn: s.Spawn + s.Hello, Import: s.Import, CPU: s.CPU}
		g.base, g.async = ready.RSS, ready.Async
		g.free = !w.Hello().GIL
	}
	g.signal()
}

// Down is part of engine.Observer.
func (g *gauges) Down(lane, killed int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.workers, lane)
	g.done += uint64(killed)
	g.signal()
}

// Answered is part of engine.Observer.
func (g *gauges) Answered(a *engine.Answer) {
	g.mu.Lock()
	var wall int64
	for i := range a.Results {
		wall += a.Results[i].End - a.Results[i].Start
	}
	g.lastTold = a.Now
	g.done += uint64(len(a.Results))
	g.wall += time.Duration(wall)
	if g.sampling && a.Lane == 0 {
		g.take(a)
	}
	climbed := g.ascent != nil && g.ascent.add(len(a.Results), time.Duration(a.Now), time.Duration(wall))
	g.mu.Unlock()
	if climbed || !g.quiet.Load() {
		g.signal()
	}
}

// take adds the answers of the worker that is measured to the sample.
func (g *gauges) take(a *engine.Answer) {
	first, last := &a.Results[0], &a.Results[len(a.Results)-1]
	if a.Last {
		took, inside := time.Duration(a.Now-a.Handed), time.Duration(last.End-first.Start)
		if measured(first) {
			g.messages = append(g.messages, max(0, took-inside))
		} else if a.Handed <= first.Start { // all of the chunk is here
			g.plain.items += len(a.Results)
			g.plain.chunks++
			g.plain.time += took
		}
	}
	if m, told := g.counters(); told && !g.based {
		g.before, g.based = m, true // it has told so when it began to measure
	}
	for i := range a.Results {
		r := &a.Results[i]
		g.largest = max(g.largest, r.PeakRSS)
		if len(g.items) < keepItems && measured(r) {
			g.items = append(g.items, measure.Item{
				Wall: time.Duration(r.End - r.Start), CPU: time.Duration(r.CPU), Process: time.Duration(r.Process),
				In: a.Sizes[i], Out: len(r.Value), First: g.fresh,
			})
		}
		g.fresh = false
	}
}

func measured(r *batch.Result) bool { return r.CPU >= 0 }

// ended returns how many items have an outcome.
func (g *gauges) ended() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.done
}

// started returns how many workers are up.
func (g *gauges) started() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return max(1, len(g.workers))
}

// typical returns the mean wall time of the items so far, 0 before the first.
func (g *gauges) typical() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.done == 0 {
		return 0
	}
	return g.wall / time.Duration(g.done)
}

// A mark is how far the run had come when it last told of something.
type mark struct {
	done uint64
	wall time.Duration // summed item time
	at   int64         // on the clock of the results
}

func (g *gauges) mark() mark {
	g.mu.Lock()
	defer g.mu.Unlock()
	return mark{g.done, g.wall, g.lastTold}
}

// counters returns what lane 0's worker has counted.
func (g *gauges) counters() (wire.MeasuredBody, bool) {
	if w, ok := g.workers[0].(gauge); ok {
		return w.Measured()
	}
	return wire.MeasuredBody{}, false
}

// warnings returns what makes the task unfit for threads.
func (g *gauges) warnings() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, w := range g.workers {
		if w, ok := w.(gauge); ok {
			if m, told := w.Measured(); told && len(m.Warnings) > 0 {
				return m.Warnings
			}
		}
	}
	return nil
}
