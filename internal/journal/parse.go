package journal

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math"

	"github.com/poolwise/poolwise/internal/batch"
)

// A LineError says why a line is no entry of a journal.
type LineError struct {
	At     int // the byte of the line, from 0, at which it was found out
	Reason string
}

func (e *LineError) Error() string { return "damaged journal line: " + e.Reason }

// ParseLine reads a line, without its newline, as AppendLine wrote it. The
// slices of e alias line. Keys that this version does not know are skipped
// where they stand between "s" and "crc". The error is a *LineError, and e is
// then not to be used. The JSON values are delimited and not validated: the
// checksum says that they are as they were written.
func ParseLine(line []byte, e *Entry) error {
	body, err := checkSum(line)
	if err != nil {
		return err
	}
	c := cursor{b: body}
	c.skip(`{"i":`)
	e.Index = c.uint(math.MaxUint64)
	c.skip(`,"h":"`)
	c.hash(&e.Hash)
	c.skip(`","a":`)
	e.Attempt = uint32(c.uint(math.MaxUint32))
	c.skip(`,"w":`)
	e.Worker = int(c.int())
	c.skip(`,"t":`)
	e.Start = c.int()
	c.skip(`,"d":`)
	e.Wall = c.int()
	c.skip(`,"s":"`)
	e.Status = c.status()
	e.Value, e.Error, e.Input = nil, nil, nil
	e.LineLen, e.ValueAt = len(line), -1
	for c.reason == "" && c.p < len(c.b) {
		c.member(e)
	}
	if c.reason != "" {
		return &LineError{At: c.p, Reason: c.reason}
	}
	return nil
}

// checkSum verifies the end of a line and returns what stands before it.
func checkSum(line []byte) ([]byte, error) {
	n := len(line) - sumSize
	if n < 0 || string(line[n:n+len(sumKey)]) != sumKey || string(line[len(line)-len(sumEnd):]) != sumEnd {
		return nil, &LineError{At: max(n, 0), Reason: "it does not end in a checksum"}
	}
	if binary.BigEndian.Uint64(line[n+len(sumKey):]) != hexDigits(crc32.Checksum(line[:n], castagnoli)) {
		return nil, &LineError{At: n, Reason: "its checksum is wrong"}
	}
	return line[:n], nil
}

// cursor walks over a line; after the first thing that is not as expected it
// only remembers the reason.
type cursor struct {
	b      []byte
	p      int
	reason string
}

func (c *cursor) fail(reason string) {
	if c.reason == "" {
		c.reason = reason
	}
}

// skip moves past a fixed text. It is small enough to be inlined, which makes
// the comparison one of machine words.
func (c *cursor) skip(text string) {
	if end := c.p + len(text); end <= len(c.b) && string(c.b[c.p:end]) == text {
		c.p = end
		return
	}
	c.fail("a key is missing, or not where it belongs")
}

// uint reads a number.
func (c *cursor) uint(limit uint64) uint64 {
	digits := c.b[c.p:]
	size, n := 0, uint64(0)
	for size < len(digits) && digits[size]-'0' <= 9 {
		n = n*10 + uint64(digits[size]-'0')
		size++
	}
	c.p += size
	switch {
	case size == 0 || digits[0] == '0' && size > 1:
		c.fail("a number is malformed")
	case n > limit || size > 20 || size == 20 && (n < powers[19] || digits[0] != '1'):
		// Twenty digits that overflow come out below 10^19, or begin with more than 1.
		c.fail("a number is too large")
	}
	return n
}

// int reads a number, which may be negative.
func (c *cursor) int() int64 {
	if c.p < len(c.b) && c.b[c.p] == '-' {
		c.p++
		return -int64(c.uint(1 << 63))
	}
	return int64(c.uint(math.MaxInt64))
}

func (c *cursor) hash(hash *[16]byte) {
	if c.p+32 > len(c.b) {
		c.fail("the hash is cut")
		return
	}
	if !parseHash(c.b[c.p:c.p+32], hash) {
		c.fail("the hash is malformed")
	}
	c.p += 32
}

func (c *cursor) status() batch.Status {
	if bytes.HasPrefix(c.b[c.p:], []byte(`ok"`)) {
		c.p += len(`ok"`)
		return batch.OK
	}
	n := bytes.IndexByte(c.b[c.p:], '"')
	if n < 0 {
		c.fail("the status is cut")
		return 0
	}
	s, ok := batch.ParseStatus(string(c.b[c.p : c.p+n]))
	if !ok {
		c.fail("the status is unknown")
	}
	c.p += n + 1
	return s
}

// member reads one of the keys after "s", with its value.
func (c *cursor) member(e *Entry) {
	c.skip(`,"`)
	n := bytes.IndexByte(c.b[c.p:], '"')
	if n < 0 || c.p+n+1 >= len(c.b) || c.b[c.p+n+1] != ':' {
		c.fail("a key is cut")
		return
	}
	key := c.b[c.p : c.p+n]
	c.p += n + 2
	at := c.p
	value := c.value()
	switch string(key) {
	case "v":
		c.once(&e.Value, value)
		e.ValueAt = at
	case "e":
		c.once(&e.Error, value)
	case "in":
		c.once(&e.Input, value)
	}
}

func (c *cursor) once(to *[]byte, value []byte) {
	if *to != nil {
		c.fail("a key stands twice")
	}
	*to = value
}

// value moves past one JSON value: to the next comma outside of strings and
// brackets, or to the end.
func (c *cursor) value() []byte {
	n, reason := valueLen(c.b[c.p:])
	if reason != "" {
		c.fail(reason)
		return nil
	}
	v := c.b[c.p : c.p+n : c.p+n]
	c.p += n
	return v
}

// valueLen returns the length of the JSON value at the start of b, which ends
// at a comma of its own level or with b.
func valueLen(b []byte) (n int, reason string) {
	depth := 0
	for n < len(b) {
		switch b[n] {
		case '"':
			n = stringEnd(b, n+1)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return 0, "a bracket closes that was not opened"
			}
		case ',':
			if depth == 0 {
				b = b[:n]
				continue
			}
		}
		n++
	}
	switch {
	case n > len(b):
		return 0, "a string is cut"
	case n == 0:
		return 0, "a value is missing"
	case depth != 0:
		return 0, "a bracket is not closed"
	}
	return n, ""
}

// stringEnd returns the index after the closing quote of a JSON string whose
// text begins at p, or more than len(b) when there is none.
func stringEnd(b []byte, p int) int {
	for p < len(b) {
		i := bytes.IndexByte(b[p:], '"')
		if i < 0 {
			break
		}
		quote := p + i
		back := quote
		for back > p && b[back-1] == '\\' {
			back--
		}
		if (quote-back)%2 == 0 {
			return quote + 1
		}
		p = quote + 1
	}
	return len(b) + 1
}
