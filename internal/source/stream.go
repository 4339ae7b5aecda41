package source

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"
	"sync/atomic"
)

// An input is one file, or standard input, whose bytes hold items.
type input struct {
	cfg    *Config
	notes  *notes
	name   string // as it was given
	path   string // where it is opened
	place  string // what messages call it
	format Format
	limit  int64 // bytes of the largest item
	stdin  bool
	// regular: reading never waits for anybody, and size is how much there is.
	regular bool
	size    int64
}

// at names a line of the input.
func (in *input) at(line int64) string { return in.place + ":" + strconv.FormatInt(line, 10) }

func (in *input) cutter() cutter {
	switch in.format {
	case NUL:
		return newNUL(in)
	case JSONLines:
		return newJSONLines(in)
	case JSON:
		return newJSON(in)
	case CSV:
		return newTable(in, ',', true)
	case TSV:
		return newTable(in, '\t', false)
	}
	return newLines(in)
}

// placed is an error of a cutter: it knows how far behind its own place the
// error lies, and the stream knows where that is.
type placed struct {
	bytes int64
	line  int64
	err   error
}

func (e *placed) Error() string { return e.err.Error() }

// maxIdle is how often in turn a reader may return nothing and no error, which
// io.Reader discourages, before it is taken for broken. As in bufio.
const maxIdle = 100

// A stream reads one input and has it cut into items.
type stream struct {
	in     *input
	src    io.ReadCloser
	block  *block // passes from input to input
	cutter cutter
	bytes  *atomic.Int64 // read of all inputs
	offset int64         // of what is pending
	begun  bool          // the byte order mark has been dealt with
	eof    bool
	later  error // came together with the bytes of the last read
	failed error // what ended the stream
	idle   int
}

// fill appends at least one item to o, or returns why there is none: io.EOF at
// the end, a *ReadError where the input cannot be read. It waits for nobody
// once there is an item; a regular file keeps nobody waiting and fills o.
func (s *stream) fill(o *out) error {
	for s.failed == nil {
		if s.begun || s.begin() {
			used, err := s.cutter.cut(o, s.block.pending(), s.eof)
			s.consume(used)
			if err != nil {
				s.failed = s.locate(err)
			}
		}
		if len(o.items) > 0 && (o.full(0) || s.eof || !s.in.regular) {
			return nil
		}
		switch {
		case s.failed != nil:
		case s.eof:
			s.failed = io.EOF
		default:
			s.read()
		}
	}
	if len(o.items) > 0 {
		return nil
	}
	return s.failed
}

func (s *stream) consume(n int) {
	s.block.consume(n)
	s.offset += int64(n)
}

func (s *stream) locate(err error) error {
	e := &ReadError{Path: s.in.place, Offset: s.offset, Err: err}
	if p := (*placed)(nil); errors.As(err, &p) {
		e.Line, e.Err = p.line, p.err
		e.Offset += p.bytes
	}
	return e
}

// read takes whatever one call of the source gives.
func (s *stream) read() {
	n, err := 0, s.later
	if err == nil {
		n, err = s.src.Read(s.block.room())
	}
	s.block.filled(n)
	s.bytes.Add(int64(n))
	s.idle++
	switch {
	case err == io.EOF:
		s.eof = true
	case err != nil && n > 0:
		s.later = err
	case err != nil:
		s.fail(err)
	case n > 0:
		s.idle = 0
	case s.idle >= maxIdle:
		s.fail(io.ErrNoProgress)
	}
}

// fail ends the stream at the end of what has been read.
func (s *stream) fail(err error) {
	s.consume(len(s.block.pending()))
	s.failed = s.locate(err)
}

// A mark is what a text may start with that is no part of its items.
type mark struct{ bytes, kind, advice string }

const (
	byteOrderMark = "\xef\xbb\xbf"

	adviceUTF16 = "convert it first, such as by iconv -f UTF-16 -t UTF-8 FILE | poolwise run ... -"
)

// foreign are the marks of what holds no items in any format known here.
var foreign = []mark{
	{"\x1f\x8b", "gzip data", "unpack it first, such as by gzip -dc FILE | poolwise run ... -"},
	{"\x28\xb5\x2f\xfd", "zstd data", "unpack it first, such as by zstd -dc FILE | poolwise run ... -"},
	{"\xff\xfe", "UTF-16 text", adviceUTF16},
	{"\xfe\xff", "UTF-16 text", adviceUTF16},
}

// begin deals with the start of the text, as soon as enough of it is there.
func (s *stream) begin() bool {
	head := s.block.pending()
	if s.in.format != NUL {
		if !s.eof && undecided(head) {
			return false
		}
		s.dropMark(head)
	}
	s.begun = true
	return true
}

// undecided reports that what follows head may make it a mark. Few texts start
// like one, so that next to none has to wait.
func undecided(head []byte) bool {
	could := func(m string) bool { return len(head) < len(m) && m[:len(head)] == string(head) }
	return could(byteOrderMark) || slices.ContainsFunc(foreign, func(m mark) bool { return could(m.bytes) })
}

// dropMark drops a byte order mark, and warns of bytes that are no text. They
// are read all the same: nobody can be sure.
func (s *stream) dropMark(head []byte) {
	if bytes.HasPrefix(head, []byte(byteOrderMark)) {
		s.consume(len(byteOrderMark))
		s.in.notes.add("bom", "%s: starts with a byte order mark, which was dropped", s.in.place)
	}
	for _, m := range foreign {
		if bytes.HasPrefix(head, []byte(m.bytes)) {
			s.in.notes.add("foreign", "%s: looks like %s and is read as it is; %s", s.in.place, m.kind, m.advice)
		}
	}
}
