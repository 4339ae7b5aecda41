package wire

import (
	"encoding/binary"
	"math"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/internal/jsontext"
)

// Flags of a chunk frame.
const (
	chunkRaw      = 1 << 0 // items are raw bytes of text, not a JSON array
	chunkIndexes  = 1 << 1 // there is a column of indexes
	chunkAttempts = 1 << 2 // there is a column of attempts
)

// rawFrom is the size of a text item from which it travels as raw bytes: JSON
// escapes cost a scan on either side, which short items do not feel and one of
// 10 MB does (a prototype took 3,252 against 2,152 ms for a hundred of them).
const rawFrom = 64 << 10

const chunkHead = 16 // count, flags, first index

// AppendChunk appends a chunk frame. Items of Form Invalid must not be among
// them.
//
// The body is: count (4 bytes), flags (1), zero (3), first index (8), then the
// columns that the flags name - indexes (8 each), attempts (4 each) - then the
// length of each item (8 each), then the items: one JSON array without spaces,
// or, with flag 1, their bytes one after another.
func AppendChunk(dst []byte, items []batch.Item) []byte {
	start := len(dst)
	flags := chunkFlags(items)
	dst = AppendHeader(dst, Chunk, 0)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(items)))
	dst = append(dst, flags, 0, 0, 0)
	dst = binary.LittleEndian.AppendUint64(dst, firstIndex(items))
	if flags&chunkIndexes != 0 {
		for i := range items {
			dst = binary.LittleEndian.AppendUint64(dst, items[i].Index)
		}
	}
	if flags&chunkAttempts != 0 {
		for i := range items {
			dst = binary.LittleEndian.AppendUint32(dst, items[i].Attempt)
		}
	}
	if flags&chunkRaw != 0 {
		dst = appendRaw(dst, items)
	} else {
		dst = appendArray(dst, items)
	}
	binary.LittleEndian.PutUint64(dst[start+1:], uint64(len(dst)-start-HeaderSize))
	return dst
}

func firstIndex(items []batch.Item) uint64 {
	if len(items) == 0 {
		return 0
	}
	return items[0].Index
}

func chunkFlags(items []batch.Item) byte {
	raw, indexes, attempts := false, false, false
	allText := true
	for i := range items {
		it := &items[i]
		raw = raw || len(it.Data) >= rawFrom
		allText = allText && it.Form == batch.Text
		indexes = indexes || it.Index != items[0].Index+uint64(i)
		attempts = attempts || it.Attempt != 1
	}
	var flags byte
	if raw && allText {
		flags |= chunkRaw
	}
	if indexes {
		flags |= chunkIndexes
	}
	if attempts {
		flags |= chunkAttempts
	}
	return flags
}

func appendRaw(dst []byte, items []batch.Item) []byte {
	for i := range items {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(len(items[i].Data)))
	}
	for i := range items {
		dst = append(dst, items[i].Data...)
	}
	return dst
}

// appendArray writes the items first and fills in their lengths afterwards:
// only then are the lengths of escaped texts known.
func appendArray(dst []byte, items []batch.Item) []byte {
	sizes := len(dst)
	dst = append(dst, make([]byte, 8*len(items))...)
	dst = append(dst, '[')
	for i := range items {
		if i > 0 {
			dst = append(dst, ',')
		}
		at := len(dst)
		dst = AppendValue(dst, &items[i])
		binary.LittleEndian.PutUint64(dst[sizes+8*i:], uint64(len(dst)-at))
	}
	return append(dst, ']')
}

// AppendValue appends an item as one JSON value.
func AppendValue(dst []byte, it *batch.Item) []byte {
	if it.Form == batch.JSON {
		return append(dst, it.Data...)
	}
	return jsontext.AppendQuoted(dst, it.Data)
}

// ParseChunk reads the body of a chunk frame: the worker's side, for tests and
// for workers written in Go. Text comes back as JSON, except in raw chunks. The
// items alias body. The error is a *FormatError.
func ParseChunk(body []byte) ([]batch.Item, error) {
	const what = "chunk frame"
	if len(body) < chunkHead {
		return nil, malformed(what, "%d bytes are too few", len(body))
	}
	n := int(binary.LittleEndian.Uint32(body))
	flags, first := body[4], binary.LittleEndian.Uint64(body[8:])
	rest := body[chunkHead:]
	width := 8
	if flags&chunkIndexes != 0 {
		width += 8
	}
	if flags&chunkAttempts != 0 {
		width += 4
	}
	if n > len(rest)/width {
		return nil, malformed(what, "%d bytes are too few for the columns of %d items", len(rest), n)
	}
	items := make([]batch.Item, n)
	for i := range items {
		items[i] = batch.Item{Index: first + uint64(i), Attempt: 1, Form: batch.JSON}
	}
	if flags&chunkIndexes != 0 {
		for i := range items {
			items[i].Index = binary.LittleEndian.Uint64(rest[8*i:])
		}
		rest = rest[8*n:]
	}
	if flags&chunkAttempts != 0 {
		for i := range items {
			items[i].Attempt = binary.LittleEndian.Uint32(rest[4*i:])
		}
		rest = rest[4*n:]
	}
	return items, cutItems(items, rest[:8*n], rest[8*n:], flags&chunkRaw != 0)
}

// cutItems gives each item its part of the text.
func cutItems(items []batch.Item, sizes, text []byte, raw bool) error {
	const what = "chunk frame"
	gap := 1
	if raw {
		gap = 0
	} else if len(text) < 2 || text[0] != '[' || text[len(text)-1] != ']' {
		return malformed(what, "its items are no JSON array")
	}
	at := gap
	for i := range items {
		size := binary.LittleEndian.Uint64(sizes[8*i:])
		if size > math.MaxInt64/2 || at > len(text) || int(size) > len(text)-at-gap {
			return malformed(what, "item %d does not fit", i)
		}
		items[i].Data = text[at : at+int(size)]
		if raw {
			items[i].Form = batch.Text
		}
		at += int(size) + gap
	}
	if want := len(text); at != want && !(len(items) == 0 && !raw && want == 2) {
		return malformed(what, "%d bytes are left over", want-at)
	}
	return nil
}
