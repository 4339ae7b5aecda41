package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/internal/engine"
	"github.com/poolwise/poolwise/internal/supervisor"
	"github.com/poolwise/poolwise/internal/wire"
	"github.com/poolwise/poolwise/plan"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type runFunc = func(*fakeWorker, batch.Item) (batch.Result, error)

// starter starts fake workers that run items this way.
func starter(run runFunc) func(context.Context, int, plan.Plan) (engine.Worker, error) {
	return func(_ context.Context, n int, _ plan.Plan) (engine.Worker, error) { return newWorker(n, run), nil }
}

func processes(n int) plan.Plan { return plan.Plan{Processes: n, Slots: 1, Kind: plan.Processes} }

func TestEveryItemHasOneOutcome(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(0, 300).Draw(rt, "items")
		p := plan.Plan{
			Processes: rapid.IntRange(1, 4).Draw(rt, "processes"),
			Slots:     rapid.IntRange(1, 4).Draw(rt, "slots"), Kind: plan.Threads,
		}
		deadly := rapid.SliceOfDistinct(rapid.IntRange(0, 299), rapid.ID).Draw(rt, "deadly")
		run := func(w *fakeWorker, it batch.Item) (batch.Result, error) {
			if slices.Contains(deadly, int(it.Index)) {
				return batch.Result{}, &supervisor.Death{Exit: 1, Running: []batch.Running{{Index: it.Index}}}
			}
			return echo(w, it)
		}
		src := newSource(n, rapid.IntRange(1, 100).Draw(rt, "batch"))
		f := newRun(t, engine.Config{
			Plan: p, Start: starter(run),
			Chunk:  rapid.IntRange(0, 9).Draw(rt, "chunk"),
			Window: rapid.IntRange(0, 3).Draw(rt, "window"),
		}, src)
		if err := f.Do(); err != nil {
			rt.Fatal(err)
		}
		f.checkAll(t, n)
		slices.Sort(deadly)
		deadly = slices.DeleteFunc(deadly, func(i int) bool { return i >= n })
		if got := f.sink.indices(batch.Killed); !slices.Equal(got, deadly) {
			rt.Fatalf("killed %v, want %v", got, deadly)
		}
	})
}

func TestInvalidRecordsFailAndTheRestRuns(t *testing.T) {
	src := newSource(10, 4)
	src.bad = map[int]bool{0: true, 5: true, 9: true}
	f := newRun(t, engine.Config{Plan: processes(2), Start: starter(echo)}, src)
	if err := f.Do(); err != nil {
		t.Fatal(err)
	}
	f.checkAll(t, 10)
	if got := f.sink.indices(batch.Failed); !slices.Equal(got, []int{0, 5, 9}) {
		t.Errorf("failed %v", got)
	}
}

func TestUnreadableInputEndsTheRunAfterWhatWasRead(t *testing.T) {
	src := newSource(10, 4)
	src.err = errors.New("disk on fire")
	f := newRun(t, engine.Config{Plan: processes(2), Start: starter(echo)}, src)
	var input *engine.InputError
	if err := f.Do(); !errors.As(err, &input) || !errors.Is(err, src.err) {
		t.Fatalf("got %v, want an InputError", err)
	}
	f.checkAll(t, 10)
}

func TestATaskThatCannotBeLoadedEndsTheRunAtOnce(t *testing.T) {
	var starts atomic.Int32
	start := func(context.Context, int, plan.Plan) (engine.Worker, error) {
		starts.Add(1)
		return nil, &supervisor.StartError{Cannot: &wire.CannotBody{Reason: "no such function"}}
	}
	f := newRun(t, engine.Config{Plan: processes(1), Start: start}, newSource(10, 4))
	var failed *supervisor.StartError
	if err := f.Do(); !errors.As(err, &failed) {
		t.Fatalf("got %v, want a StartError", err)
	}
	if starts.Load() != 1 {
		t.Errorf("%d starts, want 1", starts.Load())
	}
	if s := f.Outcome(); s.Counts[batch.NotRun] != s.Read {
		t.Errorf("counts %v of %d", s.Counts, s.Read)
	}
}

func TestThreeFailedStartsEndTheRun(t *testing.T) {
	var starts atomic.Int32
	start := func(context.Context, int, plan.Plan) (engine.Worker, error) {
		starts.Add(1)
		return nil, &supervisor.StartError{Err: &supervisor.Death{Exit: -1, Signal: 11}}
	}
	f := newRun(t, engine.Config{Plan: processes(1), Start: start}, newSource(10, 4))
	if err := f.Do(); err == nil {
		t.Fatal("the run ended well")
	}
	if starts.Load() != 3 {
		t.Errorf("%d starts, want 3", starts.Load())
	}
}

// An item that closed the worker's socket is not the one that the page shows:
// the suspects run alone, and only the guilty one is charged.
func TestALostChannelIsChargedToTheItemThatDoesItAlone(t *testing.T) {
	run := func(w *fakeWorker, it batch.Item) (batch.Result, error) {
		for _, held := range w.queue {
			if held.Index == 5 {
				return batch.Result{}, &supervisor.Death{
					Exit: 87, ChannelLost: true, Running: []batch.Running{{Index: w.queue[len(w.queue)-1].Index}},
				}
			}
		}
		return echo(w, it)
	}
	f := newRun(t, engine.Config{Plan: processes(2), Start: starter(run), Chunk: 4}, newSource(20, 20))
	if err := f.Do(); err != nil {
		t.Fatal(err)
	}
	f.checkAll(t, 20)
	if got := f.sink.indices(batch.Killed); !slices.Equal(got, []int{5}) {
		t.Errorf("killed %v, want [5]", got)
	}
}

func TestWorkersThatDieWithoutAReasonEndTheRun(t *testing.T) {
	run := func(w *fakeWorker, it batch.Item) (batch.Result, error) {
		return batch.Result{}, &supervisor.Death{Exit: 1}
	}
	f := newRun(t, engine.Config{Plan: processes(1), Start: starter(run)}, newSource(20, 20))
	err := f.Do()
	if err == nil || !strings.Contains(err.Error(), "3 times in a row") {
		t.Fatalf("got %v", err)
	}
}

func TestAWorkerThatAnswersForWhatItNeverHadIsNotTrusted(t *testing.T) {
	var lies atomic.Int32
	run := func(w *fakeWorker, it batch.Item) (batch.Result, error) {
		res, err := echo(w, it)
		if it.Index == 3 && lies.Add(1) == 1 {
			res.Index = 1000
		}
		return res, err
	}
	f := newRun(t, engine.Config{Plan: processes(1), Start: starter(run), Chunk: 1}, newSource(10, 10))
	if err := f.Do(); err != nil {
		t.Fatal(err)
	}
	f.checkAll(t, 10)
}

func TestWorkersThatNeverAnswerRightEndTheRun(t *testing.T) {
	lie := func(w *fakeWorker, it batch.Item) (batch.Result, error) {
		res, err := echo(w, it)
		res.Attempt = 7
		return res, err
	}
	f := newRun(t, engine.Config{Plan: processes(1), Start: starter(lie)}, newSource(10, 10))
	err := f.Do()
	if err == nil || !strings.Contains(err.Error(), "3 times in a row") || !strings.Contains(err.Error(), "did not hold") {
		t.Fatalf("got %v", err)
	}
	if s := f.Outcome(); s.Counts[batch.NotRun] != 10 {
		t.Errorf("counts %v", s.Counts)
	}
}

func TestStopFinishesWhatRunsAndStartsNoMore(t *testing.T) {
	reason := errors.New("enough")
	var f *fixture
	run := func(w *fakeWorker, it batch.Item) (batch.Result, error) {
		if it.Index == 5 {
			f.Stop(reason)
		}
		return echo(w, it)
	}
	start := func(_ context.Context, n int, _ plan.Plan) (engine.Worker, error) {
		w := newWorker(n, run)
		w.limit = 1
		return w, nil
	}
	f = newRun(t, engine.Config{Plan: processes(1), Start: start, Chunk: 3, Window: 1, Grace: time.Hour}, newSource(100, 10))
	if err := f.Do(); err != reason {
		t.Fatalf("got %v, want %v", err, reason)
	}
	s := f.Outcome()
	if s.Counts[batch.OK] != 6 || s.Counts[batch.OK]+s.Counts[batch.NotRun] != s.Read {
		t.Errorf("counts %v of %d read", s.Counts, s.Read)
	}
}

// What a stop cuts off has no outcome, and is not run; what dies by itself
// meanwhile is killed.
func TestWhatAStopCutsOffIsNotRun(t *testing.T) {
	for name, c := range map[string]struct {
		grace  time.Duration
		ours   bool // the worker is ended by poolwise
		killed uint64
	}{
		"after the grace":      {time.Millisecond, true, 0},
		"dies in the meantime": {time.Hour, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var f *fixture
			run := func(w *fakeWorker, it batch.Item) (batch.Result, error) {
				if it.Index < 3 {
					return echo(w, it)
				}
				f.Stop(errors.New("enough"))
				d := &supervisor.Death{Exit: -1, Signal: 9, Running: []batch.Running{{Index: it.Index}}}
				if c.ours {
					w.awaitKill()
					d.Killed = true
				}
				return batch.Result{}, d
			}
			f = newRun(t, engine.Config{Plan: processes(1), Start: starter(run), Chunk: 1, Grace: c.grace}, newSource(10, 10))
			if err := f.Do(); err == nil {
				t.Fatal("no error")
			}
			want := [batch.NumStatus]uint64{batch.OK: 3, batch.Killed: c.killed, batch.NotRun: 7 - c.killed}
			if s := f.Outcome(); s.Counts != want {
				t.Errorf("counts %v, want %v", s.Counts, want)
			}
		})
	}
}

// A worker that hangs in its start runs no item that a stop would wait for.
func TestStopDoesNotWaitForAStart(t *testing.T) {
	reason := errors.New("enough")
	hangs := make(chan struct{})
	start := func(ctx context.Context, _ int, _ plan.Plan) (engine.Worker, error) {
		close(hangs)
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	f := newRun(t, engine.Config{Plan: processes(1), Start: start, Grace: time.Hour}, newSource(3, 3))
	done := make(chan error)
	go func() { done <- f.Do() }()
	<-hangs
	f.Stop(reason)
	if err := <-done; err != reason {
		t.Errorf("got %v, want %v", err, reason)
	}
	if s := f.Outcome(); s.Counts[batch.NotRun] != s.Read {
		t.Errorf("counts %v of %d read", s.Counts, s.Read)
	}
}

// The end does not wait for a worker that nobody needs any more.
func TestTheEndDoesNotWaitForAStart(t *testing.T) {
	hangs := make(chan struct{})
	start := func(ctx context.Context, n int, _ plan.Plan) (engine.Worker, error) {
		if n == 0 {
			<-hangs // both are needed until then
			return newWorker(n, echo), nil
		}
		close(hangs)
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	f := newRun(t, engine.Config{Plan: processes(2), Start: start}, newSource(10, 10))
	if err := f.Do(); err != nil {
		t.Fatal(err)
	}
	f.checkAll(t, 10)
}

func TestASlowOutputHoldsBackItems(t *testing.T) {
	src := newSource(100, 10)
	f := newRun(t, engine.Config{Plan: processes(1), Start: starter(echo)}, src)
	f.sink.setBehind(1 << 40)
	done := make(chan error)
	go func() { done <- f.Do() }()
	// The reader reads ahead of a lane that takes nothing.
	for f.Snapshot().Read < 100 {
		time.Sleep(time.Millisecond)
	}
	if got := f.sink.indices(batch.OK); len(got) > 0 {
		t.Errorf("%d items ran although the output was behind", len(got))
	}
	f.sink.setBehind(0)
	f.SinkReady()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	f.checkAll(t, 100)
}

func TestItemsThatComeOneByOneRunAtOnce(t *testing.T) {
	src := newSource(5, 1)
	src.hold = make(chan struct{})
	ran := make(chan uint64)
	run := func(w *fakeWorker, it batch.Item) (batch.Result, error) {
		ran <- it.Index
		return echo(w, it)
	}
	f := newRun(t, engine.Config{Plan: processes(2), Start: starter(run)}, src)
	done := make(chan error)
	go func() { done <- f.Do() }()
	for i := range uint64(5) {
		src.hold <- struct{}{}
		if got := <-ran; got != i {
			t.Errorf("item %d ran, want %d", got, i)
		}
	}
	close(src.hold)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	f.checkAll(t, 5)
}
