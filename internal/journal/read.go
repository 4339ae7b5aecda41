package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// Damage tells what of a journal could not be read. The bytes stay in the file.
type Damage struct {
	// Ranges are the damaged ranges in the order of the file, at most 1,000.
	Ranges []Range
	// Count is the number of all damaged ranges, Bytes their length together.
	Count int
	Bytes int64
	// Torn means that the last of them is the end of the file: a line that was
	// being written when the run died.
	Torn bool
}

// A Range is a part of a file, in bytes.
type Range struct{ Offset, Length int64 }

// maxRanges bounds the memory for the damage of a hopeless file.
const maxRanges = 1000

// String says what is lost, for a message to the user; "" when nothing is.
func (d Damage) String() string {
	switch {
	case d.Count == 0:
		return ""
	case d.Count == 1 && d.Torn:
		return fmt.Sprintf("the last line is cut short (%d bytes)", d.Bytes)
	}
	return fmt.Sprintf("%d damaged places (%d bytes, the first at byte %d)", d.Count, d.Bytes, d.Ranges[0].Offset)
}

// add notes a damaged range, or extends the last one.
func (d *Damage) add(offset, length int64) {
	d.Bytes += length
	if n := len(d.Ranges); n > 0 && d.Count == n {
		if last := &d.Ranges[n-1]; last.Offset+last.Length == offset {
			last.Length += length
			return
		}
	}
	d.Count++
	if len(d.Ranges) < maxRanges {
		d.Ranges = append(d.Ranges, Range{offset, length})
	}
}

// A VersionError reports a journal that this version of poolwise cannot read.
type VersionError struct {
	Path string
	Line string // the version line
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("journal %s: written by another version of poolwise (this one reads version %d, the file begins with %s); use that version",
		e.Path, Version, e.Line)
}

// ErrNotJournal reports a file in which no line is one of a journal.
var ErrNotJournal = errors.New("not a journal of poolwise")

// Read calls each for every entry of a journal, in the order of the file, with
// the offset of its line. The entry and its slices are valid only during the
// call. A bad line voids itself alone: reading goes on after the next newline,
// and the Damage tells of it. Memory is that of the longest line.
//
// The error is that of each, which ends reading; a *VersionError; ErrNotJournal;
// or what the system says about the file.
func Read(path string, each func(off int64, e *Entry) error) (Damage, error) {
	f, err := os.Open(path)
	if err != nil {
		return Damage{}, fmt.Errorf("the journal cannot be read: %w", err)
	}
	defer f.Close()
	return Scan(f, path, each)
}

// Scan is Read for something that is open already; path is for messages.
func Scan(r io.Reader, path string, each func(off int64, e *Entry) error) (Damage, error) {
	s := scan{path: path, each: each}
	lines := lineReader{r: r, buf: make([]byte, readBuffer), limit: maxLine}
	for {
		l, err := lines.next()
		if err == io.EOF {
			return s.damage, s.verdict()
		}
		if err != nil {
			return s.damage, fmt.Errorf("journal %s cannot be read: %w", path, err)
		}
		if err := s.line(l); err != nil {
			return s.damage, err
		}
	}
}

type scan struct {
	path    string
	each    func(off int64, e *Entry) error
	damage  Damage
	good    int  // lines that are as they should be
	newborn bool // all there is is the beginning of a version line
	entry   Entry
}

// line takes one line, good or bad.
func (s *scan) line(l line) error {
	if known, err := s.take(l.text, l.off); known || err != nil {
		return err
	}
	if cut := s.seam(l.text); cut > 0 {
		s.damage.add(l.off+int64(cut)-1, 1)
		if _, err := s.take(l.text[:cut-1], l.off); err != nil || cut == len(l.text) {
			return err
		}
		_, err := s.take(l.text[cut:], l.off+int64(cut))
		return err
	}
	s.damage.add(l.off, l.size)
	s.damage.Torn = !l.ended
	s.newborn = l.off == 0 && !l.ended && bytes.HasPrefix(versionLine(Version), l.text)
	return nil
}

// take uses a line if it is a good one, and reports whether it is.
func (s *scan) take(text []byte, off int64) (bool, error) {
	if ParseLine(text, &s.entry) == nil {
		s.good++
		return true, s.each(off, &s.entry)
	}
	known, err := checkVersion(s.path, text)
	if known {
		s.good++
	}
	return known, err
}

// entryStart is how every entry begins.
const entryStart = `{"i":`

// seam returns where in a bad line a second good one begins after a good one
// and one byte, which was their newline before it was damaged; 0 when there is
// no such place. The second may be missing, the first not. Both have to be whole: a value may contain what looks like a line.
func (s *scan) seam(text []byte) int {
	if n := len(text); n > 0 && s.whole(text[:n-1]) {
		return n // the last newline of the file
	}
	for from := 1; from < len(text); {
		i := bytes.Index(text[from:], []byte(entryStart))
		if i < 0 {
			return 0
		}
		cut := from + i
		if s.whole(text[:cut-1]) && s.whole(text[cut:]) {
			return cut
		}
		from = cut + 1
	}
	return 0
}

func (s *scan) whole(text []byte) bool {
	if ParseLine(text, &s.entry) == nil {
		return true
	}
	known, _ := checkVersion(s.path, text)
	return known
}

// verdict is the error at the end of the file.
func (s *scan) verdict() error {
	if s.good == 0 && s.damage.Count > 0 && !s.newborn {
		return fmt.Errorf("%s: %w", s.path, ErrNotJournal)
	}
	return nil
}

// maxVersionLine is more than the version line of any version will have.
const maxVersionLine = 256

// checkVersion reports whether text is a version line of this version. The
// error is a *VersionError for one of another version; a line that is damaged
// is no error.
func checkVersion(path string, text []byte) (bool, error) {
	if len(text) > maxVersionLine || !bytes.HasPrefix(text, []byte(versionPrefix)) {
		return false, nil
	}
	if _, err := checkSum(text); err != nil {
		return false, nil
	}
	if string(text)+"\n" != string(versionLine(Version)) {
		return false, &VersionError{Path: path, Line: string(text)}
	}
	return true, nil
}

const (
	// A buffer of this size reads a journal about as fast as a larger one.
	readBuffer = 1 << 20
	// maxLine is longer than any line can get with the default limit for items
	// (256 MiB) on the way in and out. It bounds the memory for reading a file
	// that lost its newlines.
	maxLine = 1 << 30
)

// A line is one line of a file.
type line struct {
	text  []byte // without the newline; nil when it is too long to be one of ours
	off   int64  // where it begins
	size  int64  // bytes in the file, newline included
	ended bool   // the newline is there
}

// lineReader cuts a stream into lines.
type lineReader struct {
	r     io.Reader
	buf   []byte
	from  int   // buf[from:to] is read and not yet returned
	to    int   //
	off   int64 // of buf[from]
	limit int   // bytes of the longest line
}

// next returns the next line, valid until the next call, or io.EOF.
func (l *lineReader) next() (line, error) {
	seen := 0
	for {
		if i := bytes.IndexByte(l.buf[l.from+seen:l.to], '\n'); i >= 0 {
			return l.cut(seen+i, true), nil
		}
		if seen = l.to - l.from; seen > l.limit {
			return l.tooLong()
		}
		err := l.fill()
		switch {
		case err == io.EOF && seen > 0:
			return l.cut(seen, false), nil
		case err != nil:
			return line{}, err
		}
	}
}

// cut returns the line of n bytes at the front.
func (l *lineReader) cut(n int, ended bool) line {
	got := line{text: l.buf[l.from : l.from+n : l.from+n], off: l.off, size: int64(n), ended: ended}
	if ended {
		got.size++
	}
	l.from += int(got.size)
	l.off += got.size
	return got
}

// fill reads more, and makes room for it first.
func (l *lineReader) fill() error {
	switch {
	case l.from > 0:
		l.to = copy(l.buf, l.buf[l.from:l.to])
		l.from = 0
	case l.to == len(l.buf):
		l.buf = append(l.buf, make([]byte, len(l.buf))...)
	}
	for {
		n, err := l.r.Read(l.buf[l.to:])
		l.to += n
		if n > 0 {
			return nil // an error comes again with the next read
		}
		if err != nil {
			return err
		}
	}
}

// tooLong drops everything up to the next newline.
func (l *lineReader) tooLong() (line, error) {
	got := line{off: l.off}
	for {
		if i := bytes.IndexByte(l.buf[l.from:l.to], '\n'); i >= 0 {
			got.size += l.cut(i, true).size
			got.ended = true
			return got, nil
		}
		got.size += l.cut(l.to-l.from, false).size
		if err := l.fill(); err == io.EOF {
			return got, nil
		} else if err != nil {
			return got, err
		}
	}
}
