package source

import (
	"bytes"

	"github.com/poolwise/poolwise/internal/batch"
)

// A cutter cuts the bytes of one input into items. It keeps what it has found
// out about an incomplete record between two calls, so that no byte is looked
// at twice however a record is spread over reads.
type cutter interface {
	// cut appends the items of the complete records at the start of data to o,
	// until o is full, and returns how many bytes it is done with. The next call
	// gets the bytes after those, and more behind them. final says that nothing
	// follows data. After an error the input cannot be read on.
	cut(o *out, data []byte, final bool) (int, error)
}

// lineCutter cuts records that end in one certain byte.
type lineCutter struct {
	in       *input
	sep      byte
	each     func(o *out, record []byte, terminated bool)
	seen     int   // bytes at the start of data known to have no sep
	line     int64 // records before data
	skipping bool  // the record is over the limit and was reported
}

func (c *lineCutter) cut(o *out, data []byte, final bool) (int, error) {
	used := 0
	for {
		rest := data[used:]
		n := bytes.IndexByte(rest[c.seen:], c.sep)
		if n < 0 {
			return used + c.partial(o, rest, final), nil
		}
		n += c.seen
		if o.full(n) {
			c.seen = n
			return used, nil
		}
		c.seen = 0
		used += n + 1
		c.record(o, rest[:n], true)
	}
}

// partial deals with data that holds no separator.
func (c *lineCutter) partial(o *out, data []byte, final bool) int {
	switch {
	case final && len(data) > 0 && o.full(len(data)):
	case final && len(data) > 0:
		c.record(o, data, false)
		c.seen = 0
		return len(data)
	case c.skipping:
		return len(data)
	case int64(len(data)) > c.in.limit && !o.full(0):
		c.skipping = true
		c.seen = 0
		o.invalid(nil, tooLong(c.in.at(c.line+1), c.in.limit))
		return len(data)
	}
	c.seen = len(data)
	return 0
}

func (c *lineCutter) record(o *out, data []byte, terminated bool) {
	c.line++
	switch {
	case c.skipping:
		c.skipping = false
	case int64(len(data)) > c.in.limit:
		o.invalid(nil, tooLong(c.in.at(c.line), c.in.limit))
	default:
		c.each(o, data, terminated)
	}
}

// newNUL cuts at zero bytes and changes nothing.
func newNUL(in *input) cutter {
	return &lineCutter{in: in, sep: 0, each: func(o *out, record []byte, _ bool) {
		o.add(batch.Text, record)
	}}
}

// textLines cuts lines of text and knows what to do about carriage returns.
type textLines struct {
	lineCutter
	decided   bool
	strip     bool
	mixed     bool // a line without a carriage return was seen among others
	keepEmpty bool
}

func newLines(in *input) cutter {
	t := &textLines{keepEmpty: in.cfg.KeepEmpty}
	t.lineCutter = lineCutter{in: in, sep: '\n', each: t.add}
	switch in.cfg.CR {
	case CRStrip:
		t.decided, t.strip = true, true
	case CRKeep:
		t.decided = true
	}
	return t
}

func (t *textLines) cut(o *out, data []byte, final bool) (int, error) {
	if !t.decided {
		t.decide(data)
	}
	return t.lineCutter.cut(o, data, final)
}

// decide looks at the complete lines in data, if there are any.
func (t *textLines) decide(data []byte) {
	lines := newlines(data[t.seen:])
	if lines == 0 {
		return
	}
	t.decided = true
	with := int64(bytes.Count(data, []byte("\r\n")))
	t.strip = with == lines
	switch {
	case t.strip:
		t.in.notes.add("cr", "%s: lines end in CR LF; the CR is not part of the items (--cr keep leaves it there)", t.in.place)
	case with > 0:
		t.in.notes.add("cr kept", "%s: some lines end in a CR and some do not; the CR is part of the items (--cr strip takes it off)", t.in.place)
	}
}

func (t *textLines) add(o *out, line []byte, terminated bool) {
	if t.strip && terminated {
		line = t.stripped(line)
	}
	if len(line) == 0 && !t.keepEmpty {
		return
	}
	o.add(batch.Text, line)
}

func (t *textLines) stripped(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == '\r' {
		return line[:n-1]
	}
	if !t.mixed && t.in.cfg.CR == CRAuto {
		t.mixed = true
		t.in.notes.add("cr mixed", "%s: first its lines end in CR LF, but not line %d; the CR is taken off where there is one (--cr keep leaves it there)", t.in.place, t.line)
	}
	return line
}
