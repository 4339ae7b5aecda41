package sink

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/poolwise/poolwise/internal/journal"
)

// view turns entries into output.
type view struct {
	out     *output
	journal window
	opts    *Options
	entry   journal.Entry
	scratch []byte
	piece   []byte // for what is longer than the window
}

func newView(opts *Options) *view {
	return &view{out: newOutput(opts.Out), journal: window{from: opts.Journal}, opts: opts}
}

func (v *view) flush() error { return v.out.flush() }

// write writes items, in this order.
func (v *view) write(turns []turn) error {
	for i := range turns {
		if err := v.item(turns[i:]); err != nil {
			return err
		}
	}
	return nil
}

// item writes the first of turns.
func (v *view) item(turns []turn) error {
	t := &turns[0]
	switch {
	case t.kind() == nothing:
		return nil
	case t.kind() == null && v.opts.Format == Records:
		return v.notRun(t.index)
	case t.kind() == null:
		return v.out.write([]byte("null\n"))
	case t.length() > windowSize && v.opts.Format == Values && !v.opts.Command:
		return v.stream(t)
	}
	text, err := v.text(turns)
	if err != nil {
		return err
	}
	switch {
	case v.opts.Format == Records:
		return v.record(t.index, text)
	case v.opts.Command:
		return v.stdout(text)
	}
	if err := v.out.write(text); err != nil {
		return err
	}
	return v.out.write(newline)
}

var newline = []byte("\n")

// text reads what the first of turns points to. What is longer than the window
// is read into memory of its own: records and ends of commands are needed
// whole, and long output of commands is in files.
func (v *view) text(turns []turn) ([]byte, error) {
	t := &turns[0]
	if t.length() <= windowSize {
		return v.journal.get(turns)
	}
	whole := make([]byte, t.length())
	return whole, readAt(v.opts.Journal, whole, t.off)
}

// stream writes a long value piece by piece.
func (v *view) stream(t *turn) error {
	if v.piece == nil {
		v.piece = make([]byte, windowSize)
	}
	for off, end := t.off, t.off+t.length(); off < end; {
		piece := v.piece[:min(end-off, windowSize)]
		if err := readAt(v.opts.Journal, piece, off); err != nil {
			return err
		}
		if err := v.out.write(piece); err != nil {
			return err
		}
		off += int64(len(piece))
	}
	return v.out.write(newline)
}

// record writes an item as a JSON object.
func (v *view) record(index uint64, line []byte) error {
	e := &v.entry
	if err := journal.ParseLine(bytes.TrimSuffix(line, newline), e); err != nil {
		return fmt.Errorf("the journal's line for item %d cannot be read back: %w", index, err)
	}
	b := v.scratch[:0]
	b = append(b, `{"index":`...)
	b = strconv.AppendUint(b, index, 10)
	b = append(b, `,"status":"`...)
	b = append(b, e.Status.String()...)
	b = append(b, '"')
	b = appendMember(b, "input", e.Input)
	if !v.opts.Command {
		b = appendMember(b, "value", e.Value)
	}
	b = appendMember(b, "error", e.Error)
	v.scratch = b
	if err := v.out.write(b); err != nil {
		return err
	}
	if v.opts.Command && len(e.Value) > 0 {
		if err := v.commandMembers(index, e.Value); err != nil {
			return err
		}
	}
	b = append(v.scratch[:0], `,"attempts":`...)
	b = strconv.AppendUint(b, uint64(e.Attempt), 10)
	b = append(b, `,"seconds":`...)
	b = appendSeconds(b, e.Wall)
	b = append(b, "}\n"...)
	v.scratch = b
	if cap(v.scratch) > windowSize {
		defer func() { v.scratch = nil }()
	}
	return v.out.write(b)
}

// appendMember appends a member of an object that has one already; none when
// there is no value.
func appendMember(b []byte, key string, value []byte) []byte {
	if len(value) == 0 {
		return b
	}
	b = append(b, `,"`...)
	b = append(b, key...)
	b = append(b, `":`...)
	return append(b, value...)
}

// notRun writes the record of an item of which the journal knows nothing.
func (v *view) notRun(index uint64) error {
	b := append(v.scratch[:0], `{"index":`...)
	b = strconv.AppendUint(b, index, 10)
	b = append(b, `,"status":"not_run","attempts":0,"seconds":0}`+"\n"...)
	v.scratch = b
	return v.out.write(b)
}

// appendSeconds appends nanoseconds as a decimal number of seconds, exactly.
func appendSeconds(b []byte, ns int64) []byte {
	if ns < 0 {
		b = append(b, '-')
	}
	u := uint64(max(ns, -ns))
	b = strconv.AppendUint(b, u/1e9, 10)
	rest := u % 1e9
	if rest == 0 {
		return b
	}
	b = append(b, '.')
	for unit := uint64(1e8); rest > 0; unit /= 10 {
		b = append(b, byte('0'+rest/unit))
		rest %= unit
	}
	return b
}
