package source

import (
	"bytes"
	"fmt"
	"io"

	"github.com/poolwise/poolwise/internal/batch"
)

// jsonState is what a JSON text may go on with.
type jsonState uint8

const (
	jsonStart   jsonState = iota // an array, or the first of several values
	jsonFirst                    // in the array: an element or its end
	jsonElement                  // in the array, after a comma: an element
	jsonComma                    // in the array, after an element: a comma or its end
	jsonValues                   // no array: one more value or the end
	jsonEnd                      // after the array: nothing
)

// jsonCutter cuts one array into its elements, or a text into its values. It
// only finds out where each value ends; whether it is valid is seen then.
type jsonCutter struct {
	in    *input
	state jsonState
	line  int64 // newlines before data
	// The value that data starts with, where one is under way:
	inside   bool
	scan     valueScan
	skipping bool // it is over the limit and was reported
}

func newJSON(in *input) cutter { return &jsonCutter{in: in} }

func (c *jsonCutter) cut(o *out, data []byte, final bool) (int, error) {
	used := 0
	for {
		if !c.inside {
			n, err := c.between(data[used:])
			used += n
			if err != nil {
				return used, err
			}
			if !c.inside {
				return used, c.finish(final)
			}
		}
		rest := data[used:]
		n, done := c.scan.find(rest)
		if !done && !(final && c.scan.scalar()) {
			n, err := c.partial(o, rest, final)
			return used + n, err
		}
		if o.full(n) {
			return used, nil
		}
		if err := c.value(o, rest[:n]); err != nil {
			return used, err
		}
		used += n
	}
}

// between steps over what stands between values, up to where one begins.
func (c *jsonCutter) between(data []byte) (int, error) {
	for i, b := range data {
		switch {
		case b == '\n':
			c.line++
		case b == ' ' || b == '\t' || b == '\r':
		case b == '[' && c.state == jsonStart:
			c.state = jsonFirst
		case b == ']' && (c.state == jsonFirst || c.state == jsonComma):
			c.state = jsonEnd
		case b == ',' && c.state == jsonComma:
			c.state = jsonElement
		case c.mayBegin(b):
			c.inside, c.scan = true, valueScan{}
			return i, nil
		default:
			return i, c.fail(0, 0, c.misplaced(b))
		}
	}
	return len(data), nil
}

// mayBegin reports whether a value may begin here, with byte b. What no value
// begins with is found here already; the rest is left to the validator.
func (c *jsonCutter) mayBegin(b byte) bool {
	return c.state != jsonComma && c.state != jsonEnd && bytes.IndexByte([]byte(",:]}"), b) < 0
}

func (c *jsonCutter) misplaced(b byte) error {
	switch c.state {
	case jsonComma:
		return fmt.Errorf("invalid character %q after an element of the array", b)
	case jsonEnd:
		return fmt.Errorf("invalid character %q after the array; where each line is a value, use --from jsonl", b)
	}
	return fmt.Errorf("invalid character %q where a value should begin", b)
}

// finish tells whether the text may end here.
func (c *jsonCutter) finish(final bool) error {
	open := c.state == jsonFirst || c.state == jsonElement || c.state == jsonComma
	if final && open {
		return c.fail(0, 0, fmt.Errorf("the array is not closed: %w", io.ErrUnexpectedEOF))
	}
	return nil
}

// partial deals with data that ends within a value.
func (c *jsonCutter) partial(o *out, data []byte, final bool) (int, error) {
	switch {
	case final:
		return 0, c.fail(0, 0, fmt.Errorf("the value that begins here is not complete: %w", io.ErrUnexpectedEOF))
	case !c.skipping && int64(len(data)) > c.in.limit && !o.full(0):
		c.skipping = true
		o.invalid(nil, tooLong(c.in.at(c.line+1), c.in.limit))
	}
	if !c.skipping {
		return 0, nil
	}
	c.line += newlines(data)
	c.scan.pos = 0
	return len(data), nil
}

// value deals with a value that is complete.
func (c *jsonCutter) value(o *out, data []byte) error {
	lines := newlines(data)
	switch {
	case c.skipping:
	case int64(len(data)) > c.in.limit:
		o.invalid(nil, tooLong(c.in.at(c.line+1), c.in.limit))
	default:
		if err := c.checked(o, data, lines > 0); err != nil {
			return err
		}
	}
	c.line += lines
	c.inside, c.skipping = false, false
	if c.state == jsonStart || c.state == jsonValues {
		c.state = jsonValues
	} else {
		c.state = jsonComma
	}
	return nil
}

// checked appends a value that is within the limit. Text that is not JSON ends
// the reading, since nobody knows where the next value begins; text that is
// JSON but not UTF-8 is an invalid item, since its end is known.
func (c *jsonCutter) checked(o *out, data []byte, broken bool) error {
	at, err := checkJSON(data)
	switch {
	case err == errNotUTF8:
		where := c.in.at(c.line + 1 + newlines(data[:at]))
		o.invalid(data, problem("%s: %v", where, err))
	case err != nil:
		at = min(at, len(data))
		return c.fail(at, newlines(data[:at]), err)
	case broken:
		o.add(batch.JSON, compact(data))
	default:
		o.add(batch.JSON, data)
	}
	return nil
}

// fail makes the error of a text that cannot be read on, for a place some bytes
// and lines behind the one that cut has reached.
func (c *jsonCutter) fail(bytes int, lines int64, err error) error {
	return &placed{bytes: int64(bytes), line: c.line + 1 + lines, err: err}
}

// compact takes the white space outside of strings out of a valid JSON value,
// in place. Numbers keep their text.
func compact(data []byte) []byte {
	kept := data[:0]
	quoted := false
	for i := 0; i < len(data); i++ {
		b := data[i]
		switch {
		case quoted && b == '\\':
			kept = append(kept, b)
			i++
			b = data[i]
		case b == '"':
			quoted = !quoted
		case !quoted && (b == ' ' || b == '\t' || b == '\r' || b == '\n'):
			continue
		}
		kept = append(kept, b)
	}
	return kept
}

// valueScan finds the end of a JSON value in data that grows.
type valueScan struct {
	pos     int // bytes looked at
	depth   int // brackets and braces open
	kind    byte
	quoted  bool // within a string
	escaped bool // after a backslash
	done    bool // the end has been found, at pos
}

// Kinds of values, as the first byte tells them.
const (
	kindString = '"'
	kindNested = '{'
	kindScalar = '0'
)

// scalar reports a value that ends where the text does.
func (s *valueScan) scalar() bool { return s.kind == kindScalar }

// find returns how many bytes of data are the value, and whether that is sure.
func (s *valueScan) find(data []byte) (int, bool) {
	if s.kind == 0 {
		s.begin(data[0])
	}
	if !s.done {
		s.done = s.advance(data)
	}
	return s.pos, s.done
}

func (s *valueScan) advance(data []byte) bool {
	switch s.kind {
	case kindScalar:
		return s.toDelimiter(data)
	case kindString:
		return s.toQuote(data)
	}
	return s.toClosing(data)
}

func (s *valueScan) begin(first byte) {
	switch first {
	case '"':
		s.kind, s.quoted, s.pos = kindString, true, 1
	case '{', '[':
		s.kind = kindNested
	default:
		s.kind = kindScalar
	}
}

func (s *valueScan) toDelimiter(data []byte) bool {
	n := bytes.IndexAny(data[s.pos:], ",:]}[{\" \t\r\n")
	if n < 0 {
		s.pos = len(data)
		return false
	}
	s.pos += n
	return true
}

// toQuote steps to behind the quote that ends the string at hand.
func (s *valueScan) toQuote(data []byte) bool {
	for s.pos < len(data) {
		b := data[s.pos]
		s.pos++
		switch {
		case s.escaped:
			s.escaped = false
		case b == '\\':
			s.escaped = true
		case b == '"':
			s.quoted = false
			return true
		}
	}
	return false
}

// toClosing steps to behind the bracket or brace that closes the first one.
func (s *valueScan) toClosing(data []byte) bool {
	for s.pos < len(data) {
		if s.quoted {
			s.toQuote(data)
			continue
		}
		b := data[s.pos]
		s.pos++
		switch b {
		case '"':
			s.quoted = true
		case '{', '[':
			s.depth++
		case '}', ']':
			if s.depth--; s.depth == 0 {
				return true
			}
		}
	}
	return false
}
