package wire

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/poolwise/poolwise/internal/batch"
)

// Flags of a result frame.
const (
	resultIndexes  = 1 << 0 // there is a column of indexes
	resultAttempts = 1 << 1 // there is a column of attempts
	resultStatuses = 1 << 2 // there is a column of statuses
	resultStarts   = 1 << 3 // there is a column of start times
	resultCosts    = 1 << 4 // there are two columns of CPU times
)

const resultHead = 24 // count, flags, first index, first start

// Results is a decoder of result frames that reuses its memory.
type Results struct {
	items []batch.Result
}

// Reset forgets the results that were read.
func (r *Results) Reset() { r.items = r.items[:0] }

// All returns the results of all frames parsed since Reset. They alias the
// bodies of these frames, and are valid until the next Reset.
func (r *Results) All() []batch.Result { return r.items }

// Parse reads the body of a result frame and adds its results to those of the
// frames before it. The error is a *FormatError; nothing is added then.
//
// The body is: count (4 bytes), flags (4), first index (8), start of the first
// item (8), then the columns that the flags name - indexes (8 each), attempts
// (4 each), statuses (1 each), starts (8 each), CPU times of the thread and then
// of the process (8 each) - then the end of each item (8 each), then the values
// as JSON text, one a line. Without the column of indexes they follow one
// another; without that of starts each item started when the one before it
// ended; without CPU times these are -1.
func (r *Results) Parse(body []byte) error {
	const what = "result frame"
	if len(body) < resultHead {
		return malformed(what, "%d bytes are too few", len(body))
	}
	n := int(binary.LittleEndian.Uint32(body))
	flags := binary.LittleEndian.Uint32(body[4:])
	rest := body[resultHead:]
	if need := resultWidth(flags); n == 0 || n > len(rest)/need {
		return malformed(what, "%d bytes do not hold %d results", len(rest), n)
	}
	old := len(r.items)
	r.items = slices.Grow(r.items, n)[:old+n]
	items := r.items[old:]
	rest, err := parseColumns(items, body, rest, flags)
	if err == nil {
		err = cutValues(items, rest)
	}
	if err != nil {
		r.items = r.items[:old]
	}
	return err
}

// resultWidth is the number of bytes of the columns for one result.
func resultWidth(flags uint32) int {
	width := 8
	for bit, size := range [...]int{8, 4, 1, 8, 16} {
		if flags&(1<<bit) != 0 {
			width += size
		}
	}
	return width
}

// parseColumns fills in all but the values and returns the bytes of these.
func parseColumns(items []batch.Result, head, rest []byte, flags uint32) ([]byte, error) {
	n := len(items)
	first, start := binary.LittleEndian.Uint64(head[8:]), int64(binary.LittleEndian.Uint64(head[16:]))
	for i := range items {
		items[i] = batch.Result{Index: first + uint64(i), Attempt: 1, CPU: -1, Process: -1}
	}
	if flags&resultIndexes != 0 {
		for i := range items {
			items[i].Index = binary.LittleEndian.Uint64(rest[8*i:])
		}
		rest = rest[8*n:]
	}
	if flags&resultAttempts != 0 {
		for i := range items {
			items[i].Attempt = binary.LittleEndian.Uint32(rest[4*i:])
		}
		rest = rest[4*n:]
	}
	if flags&resultStatuses != 0 {
		for i, s := range rest[:n] {
			if batch.Status(s) != batch.OK && batch.Status(s) != batch.Failed {
				return nil, malformed("result frame", "a worker cannot report status %d", s)
			}
			items[i].Status = batch.Status(s)
		}
		rest = rest[n:]
	}
	if flags&resultStarts != 0 {
		for i := range items {
			items[i].Start = int64(binary.LittleEndian.Uint64(rest[8*i:]))
		}
		rest = rest[8*n:]
	}
	if flags&resultCosts != 0 {
		for i := range items {
			items[i].CPU = int64(binary.LittleEndian.Uint64(rest[8*i:]))
			items[i].Process = int64(binary.LittleEndian.Uint64(rest[8*(n+i):]))
		}
		rest = rest[16*n:]
	}
	for i := range items {
		end := int64(binary.LittleEndian.Uint64(rest[8*i:]))
		if flags&resultStarts == 0 {
			items[i].Start = start
			start = end
		}
		items[i].End = end
	}
	return rest[8*n:], nil
}

// cutValues splits the text at newlines, which no JSON value holds raw.
func cutValues(items []batch.Result, text []byte) error {
	for i := range items {
		value := text
		at := bytes.IndexByte(text, '\n')
		switch {
		case at >= 0 && i < len(items)-1:
			value, text = text[:at], text[at+1:]
		case at >= 0 || i < len(items)-1:
			return malformed("result frame", "%d values, but another number of lines", len(items))
		}
		if len(value) == 0 {
			return malformed("result frame", "value %d is empty", i)
		}
		if items[i].Status == batch.OK {
			items[i].Value = value
		} else {
			items[i].Error = value
		}
	}
	return nil
}

// AppendResults appends a result frame with all its columns, those of CPU times
// only if one was measured: the worker's side, for tests and for workers written
// in Go.
func AppendResults(dst []byte, results []batch.Result) []byte {
	if len(results) == 0 {
		return dst
	}
	start := len(dst)
	flags := uint32(resultIndexes | resultAttempts | resultStatuses | resultStarts)
	if slices.ContainsFunc(results, func(r batch.Result) bool { return r.CPU != -1 || r.Process != -1 }) {
		flags |= resultCosts
	}
	dst = AppendHeader(dst, Result, 0)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(results)))
	dst = binary.LittleEndian.AppendUint32(dst, flags)
	dst = binary.LittleEndian.AppendUint64(dst, results[0].Index)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(results[0].Start))
	for i := range results {
		dst = binary.LittleEndian.AppendUint64(dst, results[i].Index)
	}
	for i := range results {
		dst = binary.LittleEndian.AppendUint32(dst, results[i].Attempt)
	}
	for i := range results {
		dst = append(dst, byte(results[i].Status))
	}
	for i := range results {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(results[i].Start))
	}
	if flags&resultCosts != 0 {
		for i := range results {
			dst = binary.LittleEndian.AppendUint64(dst, uint64(results[i].CPU))
		}
		for i := range results {
			dst = binary.LittleEndian.AppendUint64(dst, uint64(results[i].Process))
		}
	}
	for i := range results {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(results[i].End))
	}
	for i := range results {
		if i > 0 {
			dst = append(dst, '\n')
		}
		if results[i].Status == batch.OK {
			dst = append(dst, results[i].Value...)
		} else {
			dst = append(dst, results[i].Error...)
		}
	}
	binary.LittleEndian.PutUint64(dst[start+1:], uint64(len(dst)-start-HeaderSize))
	return dst
}

// ParseOutput reads the body of an output frame: stream (1 byte: 1 stdout, 2
// stderr), zero (3), attempt (4), index plus 1 or 0 for no item (8), then the
// bytes. The error is a *FormatError.
func ParseOutput(body []byte) (batch.Output, error) {
	if len(body) < 16 || body[0] < 1 || body[0] > 2 {
		return batch.Output{}, malformed("output frame", "its head is wrong")
	}
	out := batch.Output{Stream: [...]string{1: "stdout", 2: "stderr"}[body[0]], Data: body[16:]}
	if key := binary.LittleEndian.Uint64(body[8:]); key != 0 {
		attempt := binary.LittleEndian.Uint32(body[4:])
		out.Items = []batch.Running{{Index: key - 1, Attempt: attempt}}
	}
	return out, nil
}
