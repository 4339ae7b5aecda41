package engine

import (
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/internal/proc"
	"github.com/poolwise/poolwise/internal/sink"
	"github.com/poolwise/poolwise/internal/supervisor"
)

// hand is a chunk that a worker holds. An item whose outcome is known has
// Attempt 0.
type hand struct {
	items []batch.Item
	left  int // without outcome
}

// lane keeps one worker: starts it, feeds it, records what it answers, buries
// and replaces it. All but the marked fields belong to its goroutine.
type lane struct {
	run    *Run
	number int
	slots  int

	mode      mode // of the worker
	measuring bool // the worker is
	renewed   int  // Course.Renew when the worker was started

	hands  []hand // oldest first
	held   int    // items in hands without outcome
	window int    // chosen by the user; 0: adapt
	sizer  sizer
	alone  bool // what is held is to be held alone
	// barren counts the deaths in a row that neither a result nor a charged
	// item explains.
	barren int

	lines  []byte // journal lines of the results at hand
	places []sink.Place
	scrap  []byte // for inputs and failures
	told   Answer // what the observer is told
	handed int64  // when the last chunk was handed over

	hungry atomic.Bool // could take items, and waits

	mu     sync.Mutex // guards what follows, also for other goroutines
	worker Worker
	stats  laneStats
}

func newLane(r *Run, n int) *lane {
	return &lane{
		run: r, number: n, slots: 1,
		window: r.cfg.Window, sizer: newSizer(r.cfg.Chunk), stats: newLaneStats(),
	}
}

// loop runs workers, one after another, until there is nothing left to do.
func (l *lane) loop() {
	for l.run.feed.awaitWork(l.number) && !l.run.stopping.Load() {
		course := l.run.course.Load()
		worker, err := l.run.cfg.Start(l.run.starting, l.number, course.Plan)
		if err != nil {
			if l.run.startFailed(err) {
				return
			}
			continue
		}
		l.run.startWorked()
		l.mode, l.slots = modeOf(course.Plan), course.Plan.Slots
		l.renewed, l.measuring = course.Renew, false
		l.setWorker(worker)
		if o := l.run.cfg.Observer; o != nil {
			o.Up(l.number, worker)
		}
		err = l.serve(worker)
		l.setWorker(nil)
		if !l.ended(err) {
			return
		}
	}
}

// serve keeps a worker busy until it ends.
func (l *lane) serve(w Worker) error {
	for {
		course := l.run.course.Load()
		l.refill(w, course)
		if l.held == 0 && (l.run.feed.over() || l.dismissed(course)) || l.run.stopping.Load() {
			w.Drain()
		}
		results, err := w.Wait()
		if len(results) > 0 {
			if bad := l.answer(results); bad != nil {
				return l.reject(w, bad)
			}
		}
		if err != nil {
			return err
		}
	}
}

// reject ends a worker whose answers make no sense, or cannot be recorded.
func (l *lane) reject(w Worker, bad error) error {
	w.Kill()
	for {
		if _, err := w.Wait(); err != nil {
			var d *supervisor.Death
			if errors.As(err, &d) {
				// No item is at fault, so none is charged.
				d.Killed, d.Ended, d.Cause, d.Running = false, true, bad.Error(), nil
			}
			return err
		}
	}
}

// refill hands chunks to the worker while it should hold more.
func (l *lane) refill(w Worker, c *Course) {
	l.hungry.Store(false)
	if !l.follow(w, c) {
		return
	}
	for !l.run.stopping.Load() {
		q, ok := l.request(c)
		if !ok {
			return
		}
		items, alone := l.take(q)
		if items == nil {
			return
		}
		for i := range items {
			items[i].Attempt = max(items[i].Attempt, 1)
		}
		l.hands = append(l.hands, hand{items: items, left: len(items)})
		l.held += len(items)
		l.alone = alone
		if l.run.cfg.Observer != nil {
			l.handed = proc.Now()
		}
		if w.Submit(items) != nil {
			return // Wait tells why
		}
	}
}

// take asks the feed. A lane that gets nothing and could run something says
// so before it asks once more: what comes in between is not missed.
func (l *lane) take(q request) ([]batch.Item, bool) {
	if l.run.cfg.Sink.Behind() > maxBehind {
		return nil, false // SinkReady wakes this lane
	}
	items, alone := l.run.feed.take(q)
	if items == nil && l.held < l.slots {
		l.hungry.Store(true)
		if items, alone = l.run.feed.take(q); items != nil {
			l.hungry.Store(false)
		}
	}
	return items, alone
}

// sampleChunk is the largest chunk that is measured: a sample of large chunks
// would be of few places.
const sampleChunk = 32

// maxBehind is how many results may wait for the output to take them before
// no more items are handed out.
const maxBehind = 1 << 16

// request says what the lane's worker could take now.
func (l *lane) request(c *Course) (request, bool) {
	if l.held > 0 && l.alone {
		return request{}, false
	}
	q := request{bytes: chunkBytes, share: l.sizer.fixed == 0, idle: l.held == 0}
	switch {
	case c.Sample && l.number == 0:
		q.items, q.spread = l.sizer.size, true
		if c.Measure {
			q.items = min(q.items, sampleChunk)
		}
		return q, l.held == 0
	case l.slots > 1 && l.sizer.fixed == 0 && l.window == 0:
		// Enough for each slot, and a little ahead; refilled in few messages.
		want := l.slots + l.sizer.ahead(l.slots)
		q.items = want - l.held
		return q, q.items > 0 && (l.held < l.slots || q.items >= max(want/8, 1))
	case l.slots > 1:
		q.items = l.sizer.size
		window := l.window
		if window == 0 {
			window = l.slots/l.sizer.size + 2
		}
		return q, len(l.hands) < window
	}
	q.items = l.sizer.size
	switch {
	case len(l.hands) == 0:
		return q, true
	case l.window > 0:
		return q, len(l.hands) < l.window
	}
	// A second chunk keeps the worker from idling for the time of a message,
	// unless items are slow, or so few that another worker should have them.
	more := len(l.hands) < 2 && l.sizer.known() && !l.sizer.slow()
	return q, more && l.run.feed.waiting() >= c.Plan.Processes
}

// answer records results and learns from them. An error means that the worker
// is not to be trusted or that the record failed.
func (l *lane) answer(results []batch.Result) error {
	done := 0
	l.lines, l.places, l.told.Sizes = l.lines[:0], l.places[:0], l.told.Sizes[:0]
	observer := l.run.cfg.Observer
	for i := range results {
		it, finished, err := l.match(&results[i])
		if err != nil {
			return err
		}
		l.line(it, &results[i])
		if observer != nil {
			l.told.Sizes = append(l.told.Sizes, len(it.Data))
		}
		it.Attempt, it.Data = 0, nil
		if finished {
			done++
		}
	}
	if err := l.record(results); err != nil {
		return err
	}
	l.barren = 0
	l.learn(results, done)
	if observer != nil {
		l.told.Lane, l.told.Worker, l.told.Results = l.number, l.worker, results
		l.told.Handed, l.told.Now, l.told.Last = l.handed, proc.Now(), l.held == 0
		observer.Answered(&l.told)
	}
	return nil
}

// learn adapts the size of chunks.
func (l *lane) learn(results []batch.Result, chunks int) {
	if l.slots == 1 {
		first, last := &results[0], &results[len(results)-1]
		l.sizer.observe(len(results), last.End-first.Start)
	} else {
		var sum int64
		for i := range results {
			sum += results[i].End - results[i].Start
		}
		l.sizer.observe(len(results), sum)
	}
	for range chunks {
		l.sizer.grow()
	}
}

// match finds the item that a result belongs to. finished: it was the last of
// its chunk.
func (l *lane) match(res *batch.Result) (it *batch.Item, finished bool, err error) {
	for h := range l.hands {
		at := l.hands[h].find(res.Index)
		if at < 0 {
			continue
		}
		it = &l.hands[h].items[at]
		if it.Attempt == 0 || it.Attempt != res.Attempt {
			break
		}
		l.held--
		if l.hands[h].left--; l.hands[h].left == 0 {
			l.hands = slices.Delete(l.hands, h, h+1)
			return it, true, nil
		}
		return it, false, nil
	}
	return nil, false, &answerError{index: res.Index, attempt: res.Attempt}
}

// find returns the place of an item in the chunk, or -1. Chunks are nearly
// always of items that follow one another.
func (h *hand) find(index uint64) int {
	if at := index - h.items[0].Index; at < uint64(len(h.items)) && h.items[at].Index == index {
		return int(at)
	}
	return slices.IndexFunc(h.items, func(it batch.Item) bool { return it.Index == index })
}

// ended deals with the end of a worker. It reports whether the lane goes on.
func (l *lane) ended(err error) bool {
	var death *supervisor.Death
	killed := 0
	if errors.As(err, &death) && !death.Killed {
		killed = l.bury(death)
	} else if err != io.EOF && death == nil {
		l.run.abort(err)
	}
	if o := l.run.cfg.Observer; o != nil {
		o.Down(l.number, killed)
	}
	rest := l.unfinished()
	stopping := l.run.stopping.Load()
	if !stopping {
		l.run.feed.giveBack(rest, l.alone && death != nil)
		l.run.wakeIdle(len(rest))
	}
	l.hands, l.held, l.alone = nil, 0, false
	return !stopping
}

// unfinished returns what the worker held and has not told of.
func (l *lane) unfinished() []batch.Item {
	var rest []batch.Item
	for _, h := range l.hands {
		for _, it := range h.items {
			if it.Attempt != 0 {
				rest = append(rest, it)
			}
		}
	}
	return rest
}

func (l *lane) setWorker(w Worker) {
	l.mu.Lock()
	l.worker = w
	l.mu.Unlock()
	if w != nil && l.run.ctx.Err() != nil {
		w.Kill() // Kill came before it was known
	}
}

func (l *lane) wake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.worker != nil {
		l.worker.Wake()
	}
}

func (l *lane) kill() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.worker != nil {
		l.worker.Kill()
	}
}
