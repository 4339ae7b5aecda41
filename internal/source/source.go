// Package source reads the items of a batch from files, standard input,
// wildcards or the command line. It reads lazily: no more is held than the
// batch at hand and what one read has given beyond it, so that an endless pipe
// is as good an input as a file, and an item is passed on as soon as its last
// byte has come.
package source

import (
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"github.com/poolwise/poolwise/internal/batch"
)

// DefaultMaxItem is the limit for one item where Config names none, in bytes.
// It is far above any record that is meant as one, and below what would end
// the process for lack of memory.
const DefaultMaxItem = 256 << 20

// Config says what to read. Its zero value reads nothing.
type Config struct {
	// Inputs are names of files that hold items, read one after the other;
	// "-" is Stdin. With the format Paths they are names and wildcards that
	// are the items themselves.
	Inputs []string
	// Args are items given on the command line, where it is not nil; it
	// excludes Inputs. They are text, but for JSON and JSONLines, where each of
	// them is one JSON value.
	Args []string
	// Format is how all inputs are cut. Auto decides for each.
	Format Format
	// Stdin is read for the input "-". It is never closed.
	Stdin io.Reader
	// Dir is what relative names are relative to; "" is the working directory.
	Dir string
	// MaxItem is the size of the largest item, in bytes; 0 stands for
	// DefaultMaxItem. A larger one becomes an item of Form Invalid and its
	// bytes are skipped without being held.
	MaxItem int64
	// Exclude names files, by absolute path, that no wildcard yields, such as
	// the run's own output.
	Exclude []string
	// CR says what becomes of a carriage return at the end of a line.
	CR CRMode
	// KeepEmpty makes an empty line, in format Lines, an item.
	KeepEmpty bool
}

// A producer is a part of the input that gives items.
type producer interface {
	// fill appends at least one item to o, or returns why there is none: io.EOF
	// at the end.
	fill(o *out) error
}

// A Reader reads the items of a batch. Next is for one goroutine; all other
// methods may be called from any, at any time.
type Reader struct {
	cfg    Config
	notes  notes
	inputs []*input // those not yet begun
	out    out
	block  block
	cur    producer
	failed error // what Next returns from now on

	total      uint64
	totalKnown bool
	size       int64 // bytes of all inputs; 0 when unknown
	bytes      atomic.Int64

	mu     sync.Mutex
	closed bool
	src    io.Closer // of the input at hand
}

// Open checks all inputs and returns a Reader for them, which has to be
// closed. The error is an *InputError, or tells of a Config that contradicts
// itself; nothing has been read then.
func Open(cfg Config) (*Reader, error) {
	if cfg.MaxItem <= 0 {
		cfg.MaxItem = DefaultMaxItem
	}
	r := &Reader{cfg: cfg}
	switch {
	case cfg.Args != nil && len(cfg.Inputs) > 0:
		return nil, errors.New("items behind ::: and input files exclude each other; give one or the other")
	case cfg.Args != nil:
		return r, r.openArgs()
	case cfg.Format == Paths:
		return r, r.openPaths()
	}
	return r, r.openFiles()
}

func (r *Reader) openFiles() error {
	r.totalKnown = len(r.cfg.Inputs) == 0
	sized, stdin := true, false
	for _, name := range r.cfg.Inputs {
		in, err := newInput(&r.cfg, &r.notes, name)
		if err != nil {
			return err
		}
		if in.stdin && stdin {
			return &InputError{Input: name, Reason: "standard input is given twice", Advice: "it can be read once"}
		}
		stdin = stdin || in.stdin
		sized = sized && in.regular
		r.size += in.size
		r.inputs = append(r.inputs, in)
	}
	if !sized {
		r.size = 0
	}
	return nil
}

// Next returns the next items, with consecutive indices from 0 over all
// batches. It waits for one item at most and returns what is there: up to 4096
// items and 256 KiB, or one larger item alone. The items belong to the caller.
//
// The error is io.EOF at the end, os.ErrClosed after Close, or a *ReadError
// where an input cannot be read on; it comes without items and stays.
func (r *Reader) Next() ([]batch.Item, error) {
	r.out.begin()
	for r.failed == nil {
		if r.cur == nil {
			r.failed = r.advance()
			continue
		}
		err := r.cur.fill(&r.out)
		switch {
		case r.isClosed():
			r.failed = os.ErrClosed
		case err == nil:
			return r.out.end(), nil
		case err == io.EOF:
			r.cur = nil
			_ = r.closeSource() // it was read to its end
		default:
			r.failed = err
		}
	}
	return nil, r.failed
}

// advance begins the next input.
func (r *Reader) advance() error {
	if r.isClosed() {
		return os.ErrClosed
	}
	if len(r.inputs) == 0 {
		return io.EOF
	}
	in := r.inputs[0]
	r.inputs = r.inputs[1:]
	src, err := in.reader()
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.src = src
	r.mu.Unlock()
	if r.isClosed() { // Close may have come before it could see src
		_ = r.closeSource()
		return os.ErrClosed
	}
	r.cur = &stream{in: in, src: src, block: &r.block, cutter: in.cutter(), bytes: &r.bytes}
	return nil
}

func (r *Reader) isClosed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closed
}

// closeSource closes the input at hand, if there is one.
func (r *Reader) closeSource() error {
	r.mu.Lock()
	src := r.src
	r.src = nil
	r.mu.Unlock()
	if src == nil {
		return nil
	}
	return src.Close()
}

// Close ends the reading and releases the inputs. A Next that waits for a pipe
// or a FIFO returns os.ErrClosed. Where a read of standard input cannot be
// interrupted, as on a terminal, a goroutine stays in it until it returns.
func (r *Reader) Close() error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	return r.closeSource()
}

// Notes returns what the user should know about the inputs, as far as they
// have been read: what was dropped, stripped or not found. Each kind is said
// once.
func (r *Reader) Notes() []string { return r.notes.texts() }

// Total returns how many items there are, where that is known without reading:
// for arguments and for paths without wildcards.
func (r *Reader) Total() (n uint64, known bool) { return r.total, r.totalKnown }

// Bytes returns how many bytes have been read and how many there are in all.
// The latter is 0 where it is unknown: for a pipe, or a file that has grown.
func (r *Reader) Bytes() (read, total int64) {
	read, total = r.bytes.Load(), r.size
	if read > total {
		total = 0
	}
	return read, total
}
