//go:build linux || darwin

package workertest

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/poolwise/poolwise/internal/batch"
)

func wakeBefore(t *testing.T, k Kind) {
	l := start(t, k, Echo)
	for range 3 {
		l.w.Wake()
		l.woken()
	}
}

// woken calls Wait, which must return with nothing to tell.
func (l *lane) woken() {
	l.t.Helper()
	if results, err := l.wait(); len(results) > 0 || err != nil {
		l.t.Fatalf("Wait returns %v, %v", results, err)
	}
}

func wakeDuring(t *testing.T, k Kind) {
	l := start(t, k, Echo)
	stop := make(chan struct{})
	var wakers sync.WaitGroup
	for range 4 {
		wakers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					l.w.Wake()
				}
			}
		})
	}
	for range 200 {
		l.woken()
	}
	l.submit(items(0, "x", "y"))
	l.collect(2)
	l.w.Drain()
	l.drained()
	close(stop) // they have gone on past the end
	wakers.Wait()
}

func wakeWithResults(t *testing.T, k Kind) {
	l := start(t, k, Echo)
	for i := range 50 {
		l.submit(items(uint64(i), "x"))
		l.w.Wake()
		l.collect(i + 1)
	}
}

func running(t *testing.T, k Kind) {
	g := newGate(t)
	l := start(t, k, Waits)
	before := clock()
	held := l.fill(g)
	first := batch.Running{Slot: -1, Index: 99}
	got := l.w.Running([]batch.Running{first})
	if got[0] != first {
		t.Errorf("Running does not append: %v", got)
	}
	got = got[1:]
	if !slices.Equal(inHand(got), upTo(held)) {
		t.Errorf("in hand are %v, want items 0 to %d", got, held-1)
	}
	slots := map[int]bool{}
	for _, r := range got {
		slots[r.Slot] = true
		if r.Slot < 0 || r.Slot >= k.Slots || r.Since < before || r.Since > clock() {
			t.Errorf("started between %d and %d: %+v", before, clock(), r)
		}
	}
	if len(slots) != held {
		t.Errorf("slots are shared: %v", got)
	}
	g.open(held)
	l.collect(held)
	l.idle()
}

// idle waits until no item is in hand. A result may arrive a moment before its
// slot is shown as free.
func (l *lane) idle() {
	l.t.Helper()
	for deadline := time.Now().Add(patience); len(l.w.Running(nil)) > 0; {
		if time.Now().After(deadline) {
			l.t.Fatalf("in hand are %v, want none", l.w.Running(nil))
		}
		time.Sleep(time.Millisecond) // a page has no event
	}
}

func drainIdle(t *testing.T, k Kind) {
	l := start(t, k, Echo)
	l.submit(items(0, "x"))
	l.collect(1)
	l.w.Drain()
	l.w.Drain()
	l.drained()
	if len(l.answers) != 1 {
		t.Errorf("answers: %v", l.answers)
	}
}

func drainAtOnce(t *testing.T, k Kind) {
	g := newGate(t)
	l := start(t, k, Waits)
	count := g.pass()
	l.submit(items(0, slices.Repeat([]string{g.dir}, 3000)...))
	l.w.Drain()
	if l.w.Submit(items(3000, "late")) == nil {
		t.Error("Submit takes items after Drain")
	}
	l.drained()
	if started := count(); started != len(l.answers) || started >= 3000 {
		t.Errorf("of 3000 items %d have started and %d were answered", started, len(l.answers))
	}
}

func drainRunning(t *testing.T, k Kind) {
	g := newGate(t)
	l := start(t, k, Waits)
	held := l.fill(g)
	l.submit(items(uint64(held), slices.Repeat([]string{g.dir}, 3000)...))
	l.submit(items(uint64(held+3000), "quick", g.dir))
	l.w.Drain()
	g.open(held)
	count := g.pass()
	l.drained()
	// A worker may start some more before it learns of the end, never all.
	if started := held + count(); started != len(l.answers) || started >= 3000 {
		t.Errorf("%d items have started and %d were answered", started, len(l.answers))
	}
	if got := l.indexes(); len(slices.Compact(got)) != len(l.answers) {
		t.Errorf("answered twice: %v", got)
	}
}

func killIdle(t *testing.T, k Kind) {
	l := start(t, k, Echo)
	l.submit(items(0, "x"))
	l.collect(1)
	l.idle()
	began := time.Now()
	l.w.Kill()
	l.killed(began)
}

func killRunning(t *testing.T, k Kind) {
	g := newGate(t)
	l := start(t, k, Waits)
	held := l.fill(g)
	l.submit(items(uint64(held), "x", "y"))
	began := time.Now()
	l.w.Kill()
	d := l.killed(began)
	if got := inHand(d.Running); !slices.Equal(got, upTo(held)) {
		t.Errorf("in hand were %v, want items 0 to %d", got, held-1)
	}
}

func killDraining(t *testing.T, k Kind) {
	g := newGate(t)
	l := start(t, k, Waits)
	l.fill(g)
	l.w.Drain()
	l.w.Wake()
	l.woken()
	began := time.Now()
	l.w.Kill()
	l.killed(began)
}

func killFromMany(t *testing.T, k Kind) {
	for range 5 {
		g := newGate(t)
		l := start(t, k, Waits)
		l.fill(g)
		var others sync.WaitGroup
		began := time.Now()
		for range 4 {
			others.Go(func() {
				for range 100 {
					l.w.Running(nil)
					l.w.Wake()
				}
				for range 100 {
					l.w.Kill()
					l.w.Running(nil)
					l.w.Wake()
				}
			})
		}
		l.killed(began)
		others.Wait()
	}
}

func killTree(t *testing.T, k Kind) {
	g := newGate(t)
	l := start(t, k, Leaves)
	l.submit(items(0, g.dir))
	pid, err := strconv.Atoi(g.arrived())
	if err != nil || !alive(pid) {
		t.Fatalf("the item started process %d: %v", pid, err)
	}
	began := time.Now()
	l.w.Kill()
	l.killed(began)
	Gone(t, pid)
}

func startCancelled(t *testing.T, k Kind) {
	NothingLeft(t)
	why := errors.New("no longer wanted")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if w, err := k.Start(ctx, Echo, nil); !errors.Is(err, why) {
		t.Errorf("Start returns %v, %v", w, err)
	}
}

// startCancelledMidway cancels at a moment that nobody chose.
func startCancelledMidway(t *testing.T, k Kind) {
	NothingLeft(t)
	why := errors.New("no longer wanted")
	for range 10 {
		ctx, cancel := context.WithCancelCause(t.Context())
		after := time.AfterFunc(rand.N(40*time.Millisecond), func() { cancel(why) })
		w, err := k.Start(ctx, Echo, func(batch.Output) {})
		after.Stop()
		switch {
		case err == nil:
			w.Drain()
			for err == nil {
				_, err = w.Wait()
			}
			if err != io.EOF {
				t.Errorf("a worker that has started ends with %v", err)
			}
		case !errors.Is(err, why):
			t.Errorf("Start returns %v", err)
		}
		cancel(nil)
	}
}
