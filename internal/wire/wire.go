// Package wire holds the frames that poolwise and its workers exchange, and
// their codecs. It does no I/O. docs/protocol.md describes the same, and the
// vectors in testdata are read by the tests of every worker's language.
package wire

import (
	"encoding/binary"
	"fmt"
)

// Protocol is the version of the protocol that this package speaks.
const Protocol = 1

// Type is the first byte of a frame.
type Type uint8

// Frames that poolwise sends.
const (
	Load  Type = 1 // JSON: Task and settings
	Chunk Type = 2 // items
	Drain Type = 3 // empty: start no further item, finish, say bye
	// Measure is JSON: time more than the wall clock from now on, or stop.
	Measure Type = 4
	// Slots is JSON: run another number of items at a time, or in another way.
	Slots Type = 5
)

// Frames that a worker sends.
const (
	Hello  Type = 64 // JSON: versions
	Ready  Type = 65 // JSON: the task is loaded
	Cannot Type = 66 // JSON: the task cannot be loaded
	Result Type = 67 // results
	Output Type = 68 // text that an item printed
	Bye    Type = 69 // empty: nothing follows
	// Measured is JSON: what was counted while measuring.
	Measured Type = 70
)

// HeaderSize is the size of a frame's header: type and length of the body.
const HeaderSize = 9

// A FormatError reports bytes that break the protocol.
type FormatError struct {
	What string // which part, such as "result frame"
	Why  string
}

func (e *FormatError) Error() string { return "protocol: " + e.What + ": " + e.Why }

func malformed(what, format string, args ...any) error {
	return &FormatError{What: what, Why: fmt.Sprintf(format, args...)}
}

// AppendHeader appends the header of a frame whose body is size bytes long.
func AppendHeader(dst []byte, t Type, size int) []byte {
	dst = append(dst, byte(t))
	return binary.LittleEndian.AppendUint64(dst, uint64(size))
}

// AppendFrame appends a whole frame.
func AppendFrame(dst []byte, t Type, body []byte) []byte {
	return append(AppendHeader(dst, t, len(body)), body...)
}

// ParseHeader reads a frame's header. The error is a *FormatError: the body
// would be larger than limit.
func ParseHeader(header []byte, limit int64) (Type, int, error) {
	if len(header) < HeaderSize {
		return 0, 0, malformed("header", "%d bytes, want %d", len(header), HeaderSize)
	}
	size := binary.LittleEndian.Uint64(header[1:])
	if size > uint64(limit) {
		return 0, 0, malformed("header", "a frame of type %d with %d bytes is larger than the limit of %d", header[0], size, limit)
	}
	return Type(header[0]), int(size), nil
}

// Cut returns the first frame of data and what follows it. ok is false while
// data does not hold a whole frame.
func Cut(data []byte, limit int64) (t Type, body, rest []byte, ok bool, err error) {
	if len(data) < HeaderSize {
		return 0, nil, data, false, nil
	}
	t, size, err := ParseHeader(data, limit)
	if err != nil || len(data)-HeaderSize < size {
		return 0, nil, data, false, err
	}
	end := HeaderSize + size
	return t, data[HeaderSize:end], data[end:], true, nil
}
