package sink

import "github.com/poolwise/poolwise/internal/batch"

// An entry is what is kept of a place while it waits: a range of the journal
// and what to do with it. The zero entry is that of an item that is not
// finished, as unwritten parts of a file read as zeros.
type entry struct {
	off  int64
	size int64 // the length shifted by kindBits, and the kind
}

// entrySize is the size of an entry in bytes, in memory and on file.
const entrySize = 16

const kindBits = 2

// The kinds of entries.
const (
	unfinished = iota
	text       // the range is to be written
	null       // null is to be written
	nothing    // nothing is to be written
)

// absent, as the offset of an entry of kind null, is that of an item without a
// line in the journal.
const absent = -1

func (e entry) kind() int     { return int(e.size & (1<<kindBits - 1)) }
func (e entry) length() int64 { return e.size >> kindBits }

// A turn is an entry whose turn has come.
type turn struct {
	entry
	index uint64
}

// coder makes entries.
type coder struct {
	records bool
	always  bool  // the value is written whatever the status
	failed  entry // for an item without a value to write
}

func newCoder(opts *Options) coder {
	c := coder{records: opts.Format == Records, always: opts.Command, failed: entry{size: nothing}}
	if c.records || opts.OnError == Null && !opts.Command {
		c.failed = entry{off: absent, size: null}
	}
	return c
}

func (c *coder) entry(p *Place) entry {
	switch {
	case c.records:
		return entry{p.Line, p.LineLen<<kindBits | text}
	case p.ValueLen > 0 && (p.Status == batch.OK || c.always):
		return entry{p.Value, p.ValueLen<<kindBits | text}
	}
	return c.failed
}

// missing is the entry of an item that has no place.
func (c *coder) missing() entry { return c.failed }
