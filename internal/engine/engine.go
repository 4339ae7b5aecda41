// Package engine runs a batch: it decides which item goes where and when, and
// sees to it that every item read ends in exactly one way.
//
// Data flows one way: the reader fills the feed, each lane takes chunks from
// it, hands them to its worker, writes the results to the journal and tells the
// sink where they stand. Each lane is one goroutine and keeps one worker
// process; it does all of this itself, so that no result is handed from
// goroutine to goroutine.
package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/internal/journal"
	"github.com/poolwise/poolwise/internal/sink"
	"github.com/poolwise/poolwise/plan"
)

// A Source yields the items of a batch; *source.Reader is one.
type Source interface {
	// Next returns the next items, in order, as soon as there are some. It
	// returns io.EOF at the end, and another error when the rest of the input
	// cannot be read. The caller owns what it gets.
	Next() ([]batch.Item, error)
	// Close ends reading; a Next under way returns where the system allows it.
	Close() error
}

// A Sink is told of every result once the journal has it.
type Sink interface {
	// Add never blocks on the output.
	Add(places []sink.Place)
	// Behind returns how many results could be written out and are not yet.
	Behind() int64
}

// Config is all that a run needs.
type Config struct {
	Plan plan.Plan
	// Chunk is how many items are handed over in one message, Window how many
	// chunks a worker may hold. 0: chosen and adapted by the engine.
	Chunk, Window int
	Source        Source
	// Start starts worker number n for a plan and returns when it is ready.
	Start   func(ctx context.Context, n int, p plan.Plan) (Worker, error)
	Journal *journal.Writer
	Sink    Sink
	// KeepInput writes each item into its journal line, for outputs that show
	// it. Without it only a preview of items that did not end ok is kept.
	KeepInput bool
	// Grace is how long running items may go on after a stop.
	Grace time.Duration
	// Origin is the reading of the monotonic clock, in ns, from which the
	// journal counts.
	Origin int64
	// Note receives what the user should hear of once; it may be nil.
	Note func(text string)
	// Steer runs beside the lanes and may change the course with Run.Steer; it
	// returns soon after Run.Over is closed. Both it and Observer may be nil:
	// then the run keeps to Plan.
	Steer    func(*Run)
	Observer Observer
	// Sample begins the run with a sample that is measured; see Course.
	Sample bool
}

// A Run is one execution of a batch.
type Run struct {
	cfg      Config
	feed     *feed
	course   atomic.Pointer[Course]
	allLanes atomic.Pointer[[]*lane]
	working  sync.WaitGroup // the lanes, and Config.Steer

	ctx    context.Context // ends when workers must go at once
	cancel context.CancelCauseFunc
	// starting ends when no worker is to be started any more: one that is not
	// ready yet runs no item that would be waited for.
	starting context.Context
	noMore   context.CancelCauseFunc

	stopping atomic.Bool
	mu       sync.Mutex
	err      error // the first reason for which the run stopped early
	starts   startFailures
	failures []FailedItem
	invalid  [batch.NumStatus]uint64 // outcomes that no lane has recorded
}

// Reasons for an early end that are no errors of the system.
var (
	// ErrInterrupted is the cause of a stop that the user asked for.
	ErrInterrupted = errors.New("interrupted")
	// errOver ends the start of workers that nobody needs any more.
	errOver = errors.New("all items have ended")
	// errKilled is the cause of an end that does not wait for running items.
	errKilled = errors.New("ended at once")
)

// An OutputError reports that results can no longer be recorded or delivered.
type OutputError struct{ Err error }

func (e *OutputError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the journal or the sink.
func (e *OutputError) Unwrap() error { return e.Err }

// An InputError reports that the input cannot be read to its end.
type InputError struct{ Err error }

func (e *InputError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the source.
func (e *InputError) Unwrap() error { return e.Err }

// New prepares a run.
func New(cfg Config) *Run {
	r := &Run{cfg: cfg}
	r.ctx, r.cancel = context.WithCancelCause(context.Background())
	r.starting, r.noMore = context.WithCancelCause(r.ctx)
	r.feed = newFeed(cfg.Plan.Processes)
	r.course.Store(&Course{Plan: cfg.Plan, Sample: cfg.Sample, Measure: cfg.Sample})
	r.allLanes.Store(&[]*lane{})
	return r
}

// Do runs the batch to its end. It returns nil when every item that was read
// has an outcome, whatever it is; otherwise the reason of the early end: the
// argument of Stop, an *InputError, an *OutputError, a *supervisor.StartError.
// Nothing that the run started is left when it returns.
func (r *Run) Do() error {
	var reader sync.WaitGroup
	reader.Go(r.readAll)
	r.addLanes(r.cfg.Plan.Processes)
	r.working.Go(func() {
		<-r.feed.closed
		r.noMore(errOver)
	})
	if r.cfg.Steer != nil {
		r.working.Go(func() { r.cfg.Steer(r) })
	}
	r.working.Wait()
	r.feed.stop()
	r.cfg.Source.Close()
	reader.Wait()
	r.cancel(nil)
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Stop hands out no more items. Those that are running may go on for the grace
// period; then their workers are ended. The first cause counts.
func (r *Run) Stop(cause error) {
	r.mu.Lock()
	if r.err == nil {
		r.err = cause
	}
	r.mu.Unlock()
	if r.stopping.Swap(true) {
		return
	}
	r.feed.stop()
	r.noMore(cause)
	r.wakeAll()
	time.AfterFunc(r.cfg.Grace, r.Kill)
}

// Kill ends all workers at once.
func (r *Run) Kill() {
	r.stopping.Store(true)
	r.feed.stop()
	r.cancel(errKilled)
	for _, l := range r.lanes() {
		l.kill()
	}
}

func (r *Run) wakeAll() {
	for _, l := range r.lanes() {
		l.wake()
	}
}

// SinkReady is to be called when the sink has caught up: items may be handed
// out again.
func (r *Run) SinkReady() { r.wakeAll() }

func (r *Run) note(format string, args ...any) {
	if r.cfg.Note != nil {
		r.cfg.Note(fmt.Sprintf(format, args...))
	}
}

// readAll moves items from the source to the feed until the end.
func (r *Run) readAll() {
	for {
		items, err := r.cfg.Source.Next()
		if len(items) > 0 {
			items = r.setAside(items)
			if !r.feed.put(items) {
				return
			}
			r.wakeIdle(len(items))
		}
		switch {
		case err == nil:
			continue
		case err != io.EOF:
			// What was read is finished; the run is then reported as incomplete.
			r.mu.Lock()
			if r.err == nil && !r.stopping.Load() {
				r.err = &InputError{Err: err}
			}
			r.mu.Unlock()
		}
		r.feed.end()
		r.wakeAll()
		return
	}
}

// wakeIdle wakes as many lanes as there are items for.
func (r *Run) wakeIdle(items int) {
	for _, l := range r.lanes() {
		if items == 0 {
			return
		}
		if l.hungry.CompareAndSwap(true, false) {
			l.wake()
			items--
		}
	}
}
