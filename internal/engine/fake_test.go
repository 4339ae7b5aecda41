package engine_test

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/internal/engine"
	"github.com/poolwise/poolwise/internal/journal"
	"github.com/poolwise/poolwise/internal/sink"
	"github.com/poolwise/poolwise/internal/supervisor"
)

// fakeSource yields items in batches of the given sizes.
type fakeSource struct {
	n, batch int
	next     int
	err      error         // instead of io.EOF
	hold     chan struct{} // when set, each batch waits for a token
	bad      map[int]bool  // invalid records
	closed   chan struct{}
	once     sync.Once
}

func newSource(n, size int) *fakeSource {
	return &fakeSource{n: n, batch: size, closed: make(chan struct{})}
}

func (s *fakeSource) Next() ([]batch.Item, error) {
	if s.hold != nil {
		select {
		case <-s.hold:
		case <-s.closed:
			return nil, errors.New("closed")
		}
	}
	var items []batch.Item
	for len(items) < s.batch && s.next < s.n {
		it := batch.Item{Index: uint64(s.next), Form: batch.JSON, Data: fmt.Append(nil, s.next)}
		if s.bad[s.next] {
			it.Form, it.Problem = batch.Invalid, &batch.Failure{Type: "InvalidInput", Message: "bad"}
		}
		items = append(items, it)
		s.next++
	}
	if len(items) > 0 {
		return items, nil
	}
	if s.err != nil {
		return nil, s.err
	}
	return nil, io.EOF
}

func (s *fakeSource) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

// fakeSink remembers what it was told.
type fakeSink struct {
	mu     sync.Mutex
	status map[uint64][]batch.Status
	behind int64
}

func (s *fakeSink) Add(places []sink.Place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range places {
		s.status[p.Index] = append(s.status[p.Index], p.Status)
	}
}

func (s *fakeSink) Behind() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.behind
}

func (s *fakeSink) setBehind(n int64) {
	s.mu.Lock()
	s.behind = n
	s.mu.Unlock()
}

// indices returns the items that ended so, in order.
func (s *fakeSink) indices(want batch.Status) []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []int
	for index, all := range s.status {
		if slices.Contains(all, want) {
			out = append(out, int(index))
		}
	}
	slices.Sort(out)
	return out
}

// fakeWorker runs items in its owner's goroutine, so that a test decides in
// which order things happen.
type fakeWorker struct {
	number int
	run    func(w *fakeWorker, it batch.Item) (batch.Result, error)
	queue  []batch.Item
	max    int // the most items it ever held
	limit  int // results a Wait returns at most

	mu       sync.Mutex
	woken    *sync.Cond
	awake    bool
	killed   bool
	draining bool
	running  []batch.Running
}

func newWorker(n int, run func(*fakeWorker, batch.Item) (batch.Result, error)) *fakeWorker {
	w := &fakeWorker{number: n, run: run, limit: 1 << 30}
	w.woken = sync.NewCond(&w.mu)
	return w
}

func (w *fakeWorker) Submit(chunk []batch.Item) error {
	w.queue = append(w.queue, chunk...)
	w.max = max(w.max, len(w.queue))
	return nil
}

func (w *fakeWorker) Wait() ([]batch.Result, error) {
	if err := w.wait(); err != nil {
		return nil, err
	}
	var out []batch.Result
	for len(w.queue) > 0 && len(out) < w.limit {
		it := w.queue[0]
		res, err := w.run(w, it)
		var d *supervisor.Death
		if errors.As(err, &d) && len(out) > 0 {
			break // what is done is told first
		}
		if err != nil {
			return nil, err
		}
		w.queue = w.queue[1:]
		out = append(out, res)
	}
	return out, nil
}

// wait waits for something to do.
func (w *fakeWorker) wait() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) == 0 && !w.draining && !w.killed {
		for !w.awake && !w.killed && !w.draining {
			w.woken.Wait()
		}
		w.awake = false
	}
	switch {
	case w.killed:
		return &supervisor.Death{Exit: -1, Signal: 9, Killed: true}
	case w.draining:
		return io.EOF
	}
	return nil
}

func (w *fakeWorker) Wake() {
	w.mu.Lock()
	w.awake = true
	w.woken.Broadcast()
	w.mu.Unlock()
}

func (w *fakeWorker) Drain() {
	w.mu.Lock()
	w.draining = true
	w.mu.Unlock()
}

func (w *fakeWorker) Kill() {
	w.mu.Lock()
	w.killed = true
	w.woken.Broadcast()
	w.mu.Unlock()
}

// awaitKill is an item that does not end by itself.
func (w *fakeWorker) awaitKill() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for !w.killed {
		w.woken.Wait()
	}
}

func (w *fakeWorker) Running(buf []batch.Running) []batch.Running { return append(buf, w.running...) }

// echo answers with the item itself.
func echo(_ *fakeWorker, it batch.Item) (batch.Result, error) {
	return batch.Result{Index: it.Index, Attempt: it.Attempt, Start: 1000, End: 2000, Value: it.Data}, nil
}

// fixture is a run with fakes around it.
type fixture struct {
	*engine.Run
	sink    *fakeSink
	source  *fakeSource
	journal string
}

func newRun(t *testing.T, cfg engine.Config, src *fakeSource) *fixture {
	t.Helper()
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	w, err := journal.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	f := &fixture{sink: &fakeSink{status: map[uint64][]batch.Status{}}, source: src, journal: path}
	cfg.Journal, cfg.Sink, cfg.Source = w, f.sink, src
	f.Run = engine.New(cfg)
	return f
}

// checkAll fails the test unless every item has exactly one outcome.
func (f *fixture) checkAll(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		if got := f.sink.status[uint64(i)]; len(got) != 1 {
			t.Errorf("item %d has outcomes %v, want one", i, got)
		}
	}
	s := f.Outcome()
	var sum uint64
	for _, c := range s.Counts {
		sum += c
	}
	if sum != s.Read || s.Read != uint64(n) {
		t.Errorf("read %d, outcomes %v add up to %d; want %d", s.Read, s.Counts, sum, n)
	}
}
