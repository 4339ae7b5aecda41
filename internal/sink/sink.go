// Package sink writes the output of a run: a view of its journal. It is told
// where finished items stand there and reads them back when their turn has
// come, so that no value waits in memory, however long an earlier item takes.
package sink

import (
	"io"
	"sync"

	"github.com/poolwise/poolwise/internal/batch"
)

// A Place says where the journal has the line of an item that is finished.
// Offsets and lengths are in bytes of the journal.
type Place struct {
	Index   uint64
	Status  batch.Status
	Line    int64 // where the line begins
	LineLen int64 // its length; its newline may be counted or not
	Value   int64 // where the value begins; of no meaning when ValueLen is 0
	// ValueLen is 0 when there is no value.
	ValueLen int64
}

// Format is what is written of an item.
type Format uint8

const (
	// Values writes the value of each item that ended ok; for commands, the
	// bytes they wrote to their standard output, however they ended.
	Values Format = iota
	// Records writes one JSON object for each item, whatever became of it.
	Records
)

// OnError says what Values writes for an item that did not end ok.
type OnError uint8

const (
	// Omit writes nothing.
	Omit OnError = iota
	// Null writes null, so that line n is item n.
	Null
)

// Options are all that a Sink needs to know.
type Options struct {
	Format    Format
	Unordered bool    // write in the order of Add, not of the input
	OnError   OnError // for Format Values
	Command   bool    // the values are ends of commands, as internal/command writes them
	// Out is written to by one goroutine. If it has a method Name, errors call
	// it by that name.
	Out     io.Writer
	Journal io.ReaderAt
	// Dir is the run directory: files that values refer to are in it, and
	// places that have to wait long are kept in a file there.
	Dir string
	// Room is called, if it is not nil, whenever Behind has fallen to
	// RoomMark after it was higher.
	Room func()
	// Fail is called once, if it is not nil, when nothing more can be written;
	// Err has the same error. Both are called by the sink's goroutine, and
	// must not call Close.
	Fail func(error)
	// Ring is for tests: how many indices ahead are kept in memory, a power of
	// two. 0: 262,144.
	Ring int
}

const (
	// ringSize times 16 bytes is 4 MiB: more than the items that can be under
	// way on one machine, so that only real stragglers cost a file.
	ringSize = 1 << 18
	// RoomMark is the value of Behind at which Room is called. It is half of
	// what the engine allows, so that handing out does not stutter.
	RoomMark = 1 << 15
	// batchSize is how many items are taken at a time: few enough for the
	// places to stay in the cache, many enough for one read of the journal.
	batchSize = 4096
)

// A Sink writes finished items. Add, Behind and Err may be called from
// any goroutine.
type Sink struct {
	opts  Options
	coder coder

	mu      sync.Mutex
	wake    sync.Cond // signalled when there is something for the goroutine
	order   order
	writing int  // items that the goroutine has in hand
	full    bool // Behind was above RoomMark since Room was last called
	waiting bool // the goroutine waits for wake
	closing bool // no more will be added
	stopped bool // nothing more is to be written
	err     error

	done sync.WaitGroup
}

// order holds the places of finished items until their turn. The ones that
// have it are taken away with take.
type order interface {
	put(places []Place, c *coder) error
	// skip tells of an item that has no place.
	skip(index uint64, e entry) error
	// ready is the number of items whose turn has come.
	ready() int
	// take appends some of those to dst.
	take(dst []turn) ([]turn, error)
	// jump makes the next item's turn come though others before it are
	// missing. It reports whether there is one.
	jump() (bool, error)
	close()
}

// New returns a sink that is at work. It must be closed.
func New(opts Options) *Sink {
	s := &Sink{opts: opts, coder: newCoder(&opts)}
	s.wake.L = &s.mu
	if opts.Ring == 0 {
		opts.Ring = ringSize
	}
	if opts.Unordered {
		s.order = &queue{}
	} else {
		s.order = newRing(opts.Ring, opts.Dir)
	}
	s.done.Go(s.loop)
	return s
}

// Add tells of items whose lines are in the journal. It does not wait for the
// output and does not keep places.
func (s *Sink) Add(places []Place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return
	}
	s.added(s.order.put(places, &s.coder))
}

// skip tells of an item that will have no line, because the run ends before it
// was tried. Those that skip was not told of are passed over by Close.
func (s *Sink) skip(index uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return
	}
	s.added(s.order.skip(index, s.coder.missing()))
}

// added wakes the goroutine if there is a reason to. s.mu is held.
func (s *Sink) added(err error) {
	if err != nil && s.err == nil {
		s.err = err
	}
	ready := s.order.ready()
	if ready+s.writing > RoomMark {
		s.full = true
	}
	if s.waiting && (ready > 0 || s.err != nil) {
		s.waiting = false
		s.wake.Signal()
	}
}

// Behind returns how many items could be written and are not yet. It is never
// more than the ring holds when the output is in order, and 0 after a failure.
func (s *Sink) Behind() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return 0
	}
	return int64(s.order.ready() + s.writing)
}

// Err returns the reason for which nothing more is written, nil while all is
// well: a *WriteError for the output; anything else is about the run directory.
func (s *Sink) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Stop makes the sink write nothing more. It does not wait.
func (s *Sink) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	s.wake.Signal()
}

// Close writes what was added and is not yet written, whatever is missing
// before it, and returns what Err does then. It waits for the output; the call
// of Add must be over.
func (s *Sink) Close() error {
	s.mu.Lock()
	s.closing = true
	s.wake.Signal()
	s.mu.Unlock()
	s.done.Wait()
	return s.Err()
}

// loop is the goroutine that writes.
func (s *Sink) loop() {
	v := newView(&s.opts)
	turns := make([]turn, 0, batchSize)
	for {
		var err error
		turns, err = s.next(turns[:0], v.flush)
		if err == nil && len(turns) > 0 {
			err = v.write(turns)
		}
		if err != nil {
			s.fail(err)
		}
		if err != nil || len(turns) == 0 {
			break
		}
		s.wrote(len(turns))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	s.order.close()
}

// next waits for items whose turn has come; none come any more when it returns
// none. What was written so far is flushed before waiting.
func (s *Sink) next(dst []turn, flush func() error) ([]turn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	flushed := false
	for {
		if s.stopped || s.err != nil {
			return dst, s.err
		}
		if s.order.ready() > 0 {
			turns, err := s.order.take(dst)
			s.writing = len(turns)
			return turns, err
		}
		if s.closing {
			if more, err := s.order.jump(); more || err != nil {
				if err != nil {
					return dst, err
				}
				continue
			}
		}
		switch {
		case !flushed:
			s.mu.Unlock()
			err := flush()
			s.mu.Lock()
			if err != nil {
				return dst, err
			}
			flushed = true
		case s.closing:
			return dst, nil
		default:
			s.waiting = true
			s.wake.Wait()
		}
	}
}

// wrote says that n items were written.
func (s *Sink) wrote(n int) {
	s.mu.Lock()
	s.writing -= n
	room := s.full && s.order.ready()+s.writing <= RoomMark
	if room {
		s.full = false
	}
	s.mu.Unlock()
	if room && s.opts.Room != nil {
		s.opts.Room()
	}
}

func (s *Sink) fail(err error) {
	s.mu.Lock()
	if s.err == nil {
		s.err = err
	}
	s.stopped = true
	s.mu.Unlock()
	if s.opts.Fail != nil {
		s.opts.Fail(err)
	}
}
