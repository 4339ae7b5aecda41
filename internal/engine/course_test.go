package engine_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/internal/engine"
	"github.com/poolwise/poolwise/internal/supervisor"
	"github.com/poolwise/poolwise/plan"
)

// tunedWorker is a fake that notes how it is tuned.
type tunedWorker struct {
	*fakeWorker
	t         testing.TB
	kind      string
	slots     int
	measuring bool
}

func (w *tunedWorker) Measure(on bool) {
	if w.measuring == on {
		w.t.Errorf("worker %d is told to measure: %v, twice", w.number, on)
	}
	w.measuring = on
}

func (w *tunedWorker) Slots(kind string, n int) error {
	if kind != w.kind && len(w.queue) > 0 {
		w.t.Errorf("worker %d changes from %s to %s while it holds items", w.number, w.kind, kind)
	}
	w.kind, w.slots = kind, n
	return nil
}

// eventLog is an Observer that counts.
type eventLog struct {
	mu       sync.Mutex
	up       map[int]int
	down     map[int]int
	answered []uint64
	killed   int
	seen     func(a *engine.Answer)
}

func newEventLog() *eventLog { return &eventLog{up: map[int]int{}, down: map[int]int{}} }

func (o *eventLog) Up(lane int, _ engine.Worker) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.up[lane]++
}

func (o *eventLog) Down(lane, killed int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.down[lane]++
	o.killed += killed
}

func (o *eventLog) Answered(a *engine.Answer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range a.Results {
		o.answered = append(o.answered, a.Results[i].Index)
		if a.Sizes[i] == 0 {
			panic("an item without its size")
		}
	}
	if o.seen != nil {
		o.seen(a)
	}
}

// Whatever course a run is put on, and however often, each item ends once.
func TestEveryItemHasOneOutcomeOnAnyCourse(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 400).Draw(rt, "items")
		courses := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) engine.Course {
			kind := rapid.SampledFrom([]plan.Kind{plan.Serial, plan.Processes, plan.Threads, plan.Async}).Draw(rt, "kind")
			p := plan.Plan{Processes: 1, Slots: 1, Kind: kind}
			if kind != plan.Serial {
				p.Processes = rapid.IntRange(1, 5).Draw(rt, "processes")
			}
			if kind == plan.Threads || kind == plan.Async {
				p.Slots = rapid.IntRange(1, 5).Draw(rt, "slots")
			}
			return engine.Course{
				Plan: p, Keep: rapid.Bool().Draw(rt, "keep"), Sample: rapid.Bool().Draw(rt, "sample"),
				Measure: rapid.Bool().Draw(rt, "measure"), Renew: rapid.IntRange(0, 2).Draw(rt, "renew"),
			}
		}), 0, 6).Draw(rt, "courses")
		deadly := rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 0, min(n, 5), rapid.ID).Draw(rt, "deadly")
		observer := newEventLog()
		start := func(_ context.Context, number int, p plan.Plan) (engine.Worker, error) {
			return &tunedWorker{fakeWorker: newWorker(number, func(w *fakeWorker, it batch.Item) (batch.Result, error) {
				if slices.Contains(deadly, int(it.Index)) {
					return batch.Result{}, &supervisor.Death{Exit: 1, Running: []batch.Running{{Index: it.Index}}}
				}
				return echo(w, it)
			}), t: t, kind: p.Kind.String(), slots: p.Slots}, nil
		}
		steer := func(r *engine.Run) {
			for _, c := range courses {
				r.Steer(c)
			}
			<-r.Over()
		}
		f := newRun(t, engine.Config{
			Plan: plan.Plan{Processes: 1, Slots: 1, Kind: plan.Serial}, Start: start,
			Sample: true, Steer: steer, Observer: observer,
		}, newSource(n, rapid.IntRange(1, 100).Draw(rt, "batch")))
		if err := f.Do(); err != nil {
			rt.Fatal(err)
		}
		f.checkAll(t, n)
		if got := len(observer.answered) + observer.killed; got != n || observer.killed != len(deadly) {
			rt.Fatalf("the observer heard of %d answers and %d killed, want %d items and %d", len(observer.answered), observer.killed, n, len(deadly))
		}
		for lane, ups := range observer.up {
			if observer.down[lane] != ups {
				rt.Fatalf("worker %d came up %d times and went down %d times", lane, ups, observer.down[lane])
			}
		}
	})
}

func TestSampleIsSpreadOverWhatWasRead(t *testing.T) {
	const n = 1024
	observer := newEventLog()
	ready := make(chan struct{}) // closed once all has been read
	enough := make(chan struct{})
	var once sync.Once
	observer.seen = func(*engine.Answer) {
		if len(observer.answered) >= 16 {
			once.Do(func() { close(enough) })
		}
	}
	var f *fixture
	start := func(_ context.Context, number int, p plan.Plan) (engine.Worker, error) {
		<-ready
		w := newWorker(number, echo)
		return &tunedWorker{fakeWorker: w, t: t, kind: p.Kind.String()}, nil
	}
	f = newRun(t, engine.Config{
		Plan: plan.Plan{Processes: 1, Slots: 1, Kind: plan.Serial}, Start: start, Chunk: 1,
		Sample: true, Observer: observer,
		Steer: func(r *engine.Run) {
			for r.Read() < n {
			}
			close(ready)
			<-enough
			r.Steer(engine.Course{Plan: processes(2)})
			<-r.Over()
		},
	}, newSource(n, 64))
	if err := f.Do(); err != nil {
		t.Fatal(err)
	}
	f.checkAll(t, n)
	sampled := slices.Clone(observer.answered[:16])
	slices.Sort(sampled)
	for i, index := range sampled {
		if int(index)/(n/16) != i {
			t.Fatalf("the first 16 items that ran were %v: not one of each sixteenth", sampled)
		}
	}
}

// Workers beyond the plan go when they hold nothing, or stay if they are kept.
func TestWorkersBeyondThePlanGo(t *testing.T) {
	for _, keep := range []bool{false, true} {
		t.Run(fmt.Sprint("keep ", keep), func(t *testing.T) {
			observer := newEventLog()
			release := make(chan struct{})
			var begun atomic.Int32
			start := starter(func(w *fakeWorker, it batch.Item) (batch.Result, error) {
				if begun.Add(1) <= 3 {
					<-release
				}
				return echo(w, it)
			})
			f := newRun(t, engine.Config{
				Plan: processes(3), Start: start, Chunk: 1, Window: 1, Observer: observer,
				Steer: func(r *engine.Run) {
					for begun.Load() < 3 {
					}
					r.Steer(engine.Course{Plan: processes(1), Keep: keep})
					close(release)
					<-r.Over()
				},
			}, newSource(200, 10))
			if err := f.Do(); err != nil {
				t.Fatal(err)
			}
			f.checkAll(t, 200)
			for lane := range 3 {
				if observer.up[lane] != 1 {
					t.Errorf("worker %d came up %d times, want once", lane, observer.up[lane])
				}
			}
		})
	}
}

// Renew replaces the workers that were started before, and loses nothing.
func TestRenewReplacesWorkers(t *testing.T) {
	observer := newEventLog()
	reached, steered, replaced := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var once, again sync.Once
	var starts [2]atomic.Int32
	observer.seen = func(*engine.Answer) {
		if len(observer.answered) >= 10 {
			once.Do(func() { close(reached) })
		}
	}
	f := newRun(t, engine.Config{
		Plan: processes(2), Chunk: 1, Window: 1, Observer: observer,
		Start: func(_ context.Context, n int, _ plan.Plan) (engine.Worker, error) {
			if starts[n].Add(1) == 2 {
				again.Do(func() { close(replaced) })
			}
			return newWorker(n, func(w *fakeWorker, it batch.Item) (batch.Result, error) {
				if it.Index > 50 {
					<-steered
				}
				if it.Index > 100 {
					<-replaced // a worker that came up late is new already, and could do all
				}
				return echo(w, it)
			}), nil
		},
		Steer: func(r *engine.Run) {
			<-reached
			r.Steer(engine.Course{Plan: processes(2), Renew: 1})
			close(steered)
			<-r.Over()
		},
	}, newSource(300, 10))
	if err := f.Do(); err != nil {
		t.Fatal(err)
	}
	f.checkAll(t, 300)
	if max(observer.up[0], observer.up[1]) < 2 {
		t.Errorf("the workers came up %v times: none was replaced", observer.up)
	}
}
