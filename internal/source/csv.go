package source

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/internal/jsontext"
)

// tableCutter cuts the rows of a CSV or TSV text into JSON objects. It does
// not use encoding/csv, which would wait for a whole row on a pipe while
// finished ones are at hand, hold a row of any size, and change the line ends
// in quoted fields.
type tableCutter struct {
	in     *input
	row    rowScan
	comma  byte
	header [][]byte // the keys as JSON strings with a colon; nil before the header row
	line   int64    // newlines before data
	fields fieldReader
	width  int // bytes that the keys take in each object
	// skipping: the row that data starts in is over the limit and was reported.
	skipping bool
}

func newTable(in *input, comma byte, strict bool) cutter {
	return &tableCutter{
		in: in, comma: comma,
		row:    rowScan{comma: comma},
		fields: fieldReader{comma: comma, strict: strict},
	}
}

func (c *tableCutter) cut(o *out, data []byte, final bool) (int, error) {
	used := 0
	for used < len(data) {
		rest := data[used:]
		n, done := c.row.find(rest)
		if !done && !final {
			n, err := c.partial(o, rest)
			return used + n, err
		}
		if o.full(n) {
			break
		}
		if err := c.take(o, rest[:n]); err != nil {
			return used, err
		}
		c.line += newlines(rest[:n])
		c.row.reset()
		used += n
	}
	return used, nil
}

// partial deals with data that ends within a row.
func (c *tableCutter) partial(o *out, data []byte) (int, error) {
	if !c.skipping && int64(len(data)) > c.in.limit && !o.full(0) {
		c.skipping = true
		if err := c.tooLong(o); err != nil {
			return 0, err
		}
	}
	if !c.skipping {
		return 0, nil
	}
	c.line += newlines(data)
	c.row.pos = 0
	return len(data), nil
}

// tooLong reports the row that data starts with. Without a header no row can
// be understood.
func (c *tableCutter) tooLong(o *out) error {
	if c.header == nil {
		return c.fail(fmt.Errorf("the header row is larger than %s, the limit for one item; raise it with --max-item", sizeText(c.in.limit)))
	}
	o.invalid(nil, tooLong(c.in.at(c.line+1), c.in.limit))
	return nil
}

// take deals with a row that is complete, its line end included.
func (c *tableCutter) take(o *out, row []byte) error {
	if c.skipping {
		c.skipping = false
		return nil
	}
	text := trimLineEnd(row)
	switch {
	case len(text) == 0:
		return nil
	case int64(len(text)) > c.in.limit:
		return c.tooLong(o)
	}
	fields, err := c.fields.split(text)
	switch {
	case c.header == nil && err != nil:
		return c.fail(err)
	case c.header == nil:
		return c.setHeader(fields)
	case err != nil:
		o.invalid(text, problem("%s: %v", c.in.at(c.line+1), err))
	case len(fields) != len(c.header):
		o.invalid(text, problem("%s: %s, but the header has %d", c.in.at(c.line+1), count(len(fields), "field"), len(c.header)))
	default:
		c.addRow(o, fields, len(text))
	}
	return nil
}

func (c *tableCutter) fail(err error) error { return &placed{line: c.line + 1, err: err} }

// setHeader makes the keys, which have to tell the fields apart.
func (c *tableCutter) setHeader(fields [][]byte) error {
	const advice = "name every column, once, in the first row"
	places := make(map[string]int, len(fields))
	for i, name := range fields {
		if len(name) == 0 {
			return c.fail(fmt.Errorf("column %d has no name; %s", i+1, advice))
		}
		if first, ok := places[string(name)]; ok {
			return c.fail(fmt.Errorf("columns %d and %d are both called %q; %s", first, i+1, name, advice))
		}
		places[string(name)] = i + 1
		key := append(jsontext.AppendQuoted(nil, name), ':')
		c.header = append(c.header, key)
		c.width += len(key)
	}
	return nil
}

func (c *tableCutter) addRow(o *out, fields [][]byte, size int) {
	// Two quotes and a comma go around each value. Where values need escapes,
	// the buffer grows by itself.
	buf := o.scratch(c.width + size + 3*len(fields) + 2)
	start := len(buf)
	buf = append(buf, '{')
	for i, field := range fields {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = append(buf, c.header[i]...)
		buf = jsontext.AppendQuoted(buf, field)
	}
	o.add(batch.JSON, o.keep(append(buf, '}'), start))
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// trimLineEnd takes one LF, CR LF or, at the end of the text, CR off a row.
func trimLineEnd(row []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(row, []byte{'\n'}), []byte{'\r'})
}

// rowPlace is where in a row a byte stands.
type rowPlace uint8

const (
	fieldStart rowPlace = iota
	fieldBare           // in a field without quotes, or behind a closing quote
	fieldQuoted
	fieldQuote // behind a quote in a quoted field: its end, or the first of two
)

// rowScan finds the end of a row in data that grows. Quotes matter only in a
// field that starts with one, so a stray quote cannot swallow the rows after it.
type rowScan struct {
	comma byte
	pos   int // bytes looked at
	place rowPlace
	done  bool
}

func (s *rowScan) reset() { *s = rowScan{comma: s.comma} }

// find returns how many bytes of data are the row, and whether that is sure.
func (s *rowScan) find(data []byte) (int, bool) {
	for !s.done && s.pos < len(data) {
		if s.place == fieldQuoted {
			s.toQuote(data)
			continue
		}
		b := data[s.pos]
		s.pos++
		switch {
		case b == '\n':
			s.done = true
		case b == s.comma:
			s.place = fieldStart
		case b == '"' && s.place != fieldBare:
			s.place = fieldQuoted
		default:
			s.place = fieldBare
		}
	}
	return s.pos, s.done
}

func (s *rowScan) toQuote(data []byte) {
	n := bytes.IndexByte(data[s.pos:], '"')
	if n < 0 {
		s.pos = len(data)
		return
	}
	s.pos += n + 1
	s.place = fieldQuote
}

// What can be wrong with a row but its number of fields.
var (
	errBareQuote = errors.New(`a quote within a field that does not start with one; write "a ""quoted"" word"`)
	errAfter     = errors.New(`text behind the quote that ends a field; write a quote within a field as ""`)
	errOpenQuote = errors.New("a field starts with a quote and does not end with one")
)

// fieldReader splits rows. What split returns is valid until its next call.
type fieldReader struct {
	comma    byte
	strict   bool // a quote in a field without quotes is an error
	fields   [][]byte
	unquoted []byte // fields that had doubled quotes
}

func (r *fieldReader) split(row []byte) ([][]byte, error) {
	r.fields, r.unquoted = r.fields[:0], r.unquoted[:0]
	for {
		var field []byte
		var err error
		if len(row) > 0 && row[0] == '"' {
			field, row, err = r.quoted(row[1:])
		} else {
			field, row, err = r.bare(row)
		}
		if err != nil {
			return nil, err
		}
		r.fields = append(r.fields, field)
		if len(row) == 0 {
			return r.fields, nil
		}
		row = row[1:] // the comma
	}
}

func (r *fieldReader) bare(row []byte) (field, rest []byte, err error) {
	n := bytes.IndexByte(row, r.comma)
	if n < 0 {
		n = len(row)
	}
	if r.strict && bytes.IndexByte(row[:n], '"') >= 0 {
		return nil, nil, errBareQuote
	}
	return row[:n], row[n:], nil
}

// quoted reads a field from behind its opening quote.
func (r *fieldReader) quoted(row []byte) (field, rest []byte, err error) {
	start, doubled := len(r.unquoted), false
	for {
		n := bytes.IndexByte(row, '"')
		if n < 0 {
			return nil, nil, errOpenQuote
		}
		part, behind := row[:n], row[n+1:]
		switch {
		case len(behind) > 0 && behind[0] == '"':
			r.unquoted = append(r.unquoted, row[:n+1]...)
			doubled = true
			row = behind[1:]
			continue
		case len(behind) > 0 && behind[0] != r.comma:
			return nil, nil, errAfter
		case doubled:
			r.unquoted = append(r.unquoted, part...)
			part = r.unquoted[start:]
		}
		return part, behind, nil
	}
}
