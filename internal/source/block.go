package source

import (
	"bytes"
	"slices"

	"github.com/poolwise/poolwise/internal/batch"
)

const (
	// blockSize is how much is read at a time and how much data a batch holds
	// at most, a single larger item aside. Measured on a million short lines,
	// 64 KiB to 1 MiB and 512 to 4096 items do not differ beyond the noise. This
	// is what keeps system calls rare for longer lines, too, and holds little.
	blockSize = 256 << 10
	// maxBatch bounds the items of a batch, for the same reasons.
	maxBatch = 4096
	// minRead is the least room worth a read; a block with less is left behind.
	minRead = 4 << 10
)

// A block is a buffer that is filled at one end and cut into items at the
// other. Bytes that were cut off belong to whoever holds the items and are
// never written again: when a block is full, what is left of it moves to a new
// one.
type block struct {
	buf        []byte
	start, end int // what is not yet cut: buf[start:end]
}

func (b *block) pending() []byte { return b.buf[b.start:b.end:b.end] }

// consume cuts n bytes off. A block that grew for a large item is left behind
// with that item: the small ones after it should not keep it in memory.
func (b *block) consume(n int) {
	b.start += n
	if n > 0 && len(b.buf) > 2*blockSize && b.end-b.start <= blockSize {
		b.renew()
	}
}

// room returns where to read to. It is never more than blockSize, so that few
// bytes follow a large item into its large block.
func (b *block) room() []byte {
	if len(b.buf)-b.end < minRead {
		b.renew()
	}
	return b.buf[b.end:min(len(b.buf), b.end+blockSize)]
}

// renew moves what is pending to a new block, twice as large as needed: a large
// item is copied a constant number of times, however large it is.
func (b *block) renew() {
	pending := b.pending()
	buf := make([]byte, max(blockSize, 2*len(pending)))
	b.end = copy(buf, pending)
	b.buf, b.start = buf, 0
}

func (b *block) filled(n int) { b.end += n }

// out collects the items of the next batch.
type out struct {
	items []batch.Item
	next  uint64 // index of the next item
	size  int    // bytes of input that the items take
	last  int    // items of the batch before: a guess at the size of this one
	text  []byte // where items that are written rather than cut go
}

func (o *out) begin() {
	o.items = make([]batch.Item, 0, max(o.last, 1))
	o.size = 0
}

func (o *out) end() []batch.Item {
	o.last = len(o.items)
	items := o.items
	o.items = nil
	return items
}

// full reports that the batch should take no item of size n more.
func (o *out) full(n int) bool {
	return len(o.items) >= maxBatch || len(o.items) > 0 && o.size+n > blockSize
}

// add appends an item whose data is a part of a block. It fills the item in
// place: copying one in costs a write barrier for each of its pointers.
func (o *out) add(form batch.Form, data []byte) {
	n := len(o.items)
	if n == cap(o.items) {
		o.items = slices.Grow(o.items, max(n, 1))
	}
	o.items = o.items[:n+1]
	it := &o.items[n]
	it.Index = o.next
	it.Data = data[:len(data):len(data)]
	it.Form = form
	o.next++
	o.size += len(data)
}

// invalid appends an item that cannot be read; data may be nil.
func (o *out) invalid(data []byte, why *batch.Failure) {
	o.add(batch.Invalid, data)
	o.items[len(o.items)-1].Problem = why
}

// scratch returns a buffer with room for n bytes, to append an item's data to.
// keep takes it back.
func (o *out) scratch(n int) []byte {
	if cap(o.text)-len(o.text) < n {
		o.text = make([]byte, 0, max(blockSize/4, n))
	}
	return o.text
}

// keep takes back what scratch gave, with data appended from offset start, and
// returns that data.
func (o *out) keep(text []byte, start int) []byte {
	o.text = text
	return text[start:len(text):len(text)]
}

// addText appends an item whose data is a string.
func (o *out) addText(text string) {
	buf := o.scratch(len(text))
	start := len(buf)
	o.add(batch.Text, o.keep(append(buf, text...), start))
}

func newlines(data []byte) int64 { return int64(bytes.Count(data, []byte{'\n'})) }
