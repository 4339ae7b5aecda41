package sink

import (
	"fmt"
	"io"
)

// A WriteError reports that the output takes no more.
type WriteError struct {
	Target string // its name
	Err    error  // the system's, such as syscall.EPIPE or syscall.ENOSPC
}

func (e *WriteError) Error() string {
	return fmt.Sprintf("the output %s cannot be written: %v; the results are in the run's journal", e.Target, e.Err)
}

// Unwrap returns the system's error.
func (e *WriteError) Unwrap() error { return e.Err }

// outputBuffer is the size of a usual write. A pipe takes 64 KiB at a time.
const outputBuffer = 64 << 10

// output is a buffer before an io.Writer that keeps to its contract or not.
type output struct {
	to   io.Writer
	name string
	buf  []byte
}

func newOutput(to io.Writer) *output {
	o := &output{to: to, name: "of the run", buf: make([]byte, 0, outputBuffer)}
	if named, ok := to.(interface{ Name() string }); ok {
		o.name = named.Name()
	}
	return o
}

// write writes p, at once or later.
func (o *output) write(p []byte) error {
	if len(o.buf)+len(p) > outputBuffer {
		if err := o.flush(); err != nil {
			return err
		}
		if len(p) >= outputBuffer {
			return o.direct(p)
		}
	}
	o.buf = append(o.buf, p...)
	return nil
}

// flush writes what is in the buffer.
func (o *output) flush() error {
	if len(o.buf) == 0 {
		return nil
	}
	err := o.direct(o.buf)
	o.buf = o.buf[:0]
	return err
}

func (o *output) direct(p []byte) error {
	n, err := o.to.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return &WriteError{Target: o.name, Err: err}
	}
	return nil
}

// window is a part of the journal in memory.
type window struct {
	from io.ReaderAt
	buf  []byte
	off  int64 // of the journal, at the beginning of buf
}

const (
	// windowSize is the largest part that is read at a time.
	windowSize = 256 << 10
	// worthGap is how many bytes that nobody asked for may be read for each
	// entry instead of asking the system once more: about what it copies in
	// the time of a system call.
	worthGap = 4 << 10
)

// get returns the text of the first turn, which is at most windowSize long,
// and reads ahead for the ones after it. It is valid until the next call.
func (w *window) get(turns []turn) ([]byte, error) {
	first := turns[0].entry
	if first.off < w.off || first.off+first.length() > w.off+int64(len(w.buf)) {
		from, to := extent(turns)
		if err := w.load(from, to); err != nil {
			return nil, err
		}
	}
	return w.buf[first.off-w.off:][:first.length()], nil
}

// extent returns a range of the journal that holds the first turn and as many
// after it as are worth being read with it.
func extent(turns []turn) (from, to int64) {
	from = turns[0].off
	to = from + turns[0].length()
	worth := to - from
	for _, t := range turns[1:] {
		if t.kind() != text {
			continue
		}
		f, t, n := min(from, t.off), max(to, t.off+t.length()), t.length()
		worth += n + worthGap
		if t-f > windowSize || t-f > worth {
			break
		}
		from, to = f, t
	}
	return from, to
}

func (w *window) load(from, to int64) error {
	if w.buf == nil {
		w.buf = make([]byte, windowSize)
	}
	w.buf, w.off = w.buf[:to-from], from
	if err := readAt(w.from, w.buf, from); err != nil {
		w.buf = w.buf[:0]
		return err
	}
	return nil
}

// readAt fills p.
func readAt(r io.ReaderAt, p []byte, off int64) error {
	n, err := r.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("the journal cannot be read back at byte %d: %w", off+int64(n), err)
}
