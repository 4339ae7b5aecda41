package supervisor

import (
	"sort"
	"sync/atomic"
	"unsafe"

	"github.com/poolwise/poolwise/internal/batch"
)

// The page is memory that a worker shares with poolwise. It is made of 64-bit
// words in the machine's own byte order: the magic, the control word, the
// count, five words of zero, then two words a slot: the index plus 1 of the
// item that it runs (0 for none), and when it was started, in ns of the
// monotonic clock. After a crash it tells exactly which items were in hand.
//
// Writing two words for each item is more than the shortest items take. A
// worker with one slot therefore shows the whole chunk that it runs, items that
// follow one another: the first slot names the first of them and its start, the
// count says how many there are, and in the strip, which takes the place of the
// other slots, stands the end of each that is done, 0 for the others. The first
// without an end is the one that is running, since the end before it. A count
// of 0 says that there is no strip, and that all slots are what they seem.
const (
	pageMagic  = 0x3145_4741_5057_5F50 // "P_WPAGE1", least significant byte first
	pageHeader = 8                     // words
	slotWords  = 2
	// stripWords is the longest chunk that is shown as one.
	stripWords = 4096
	stripAt    = pageHeader + slotWords

	controlWord = 1
	countWord   = 2
	controlStop = 1 // start no further item
)

type page struct {
	bytes    []byte // the mapping
	words    []uint64
	capacity int // the most slots that the worker may have
}

// pageSize is the size in bytes of a page for so many slots. It has room for
// the strip in any case: the worker may have one slot at times.
func pageSize(capacity int) int {
	return 8 * (pageHeader + max(slotWords*capacity, slotWords+stripWords))
}

func newPage(mapping []byte, capacity int) *page {
	p := &page{bytes: mapping, capacity: capacity}
	p.words = unsafe.Slice((*uint64)(unsafe.Pointer(&mapping[0])), len(mapping)/8)
	atomic.StoreUint64(&p.words[0], pageMagic)
	return p
}

func (p *page) stop() { atomic.StoreUint64(&p.words[controlWord], controlStop) }

func (p *page) word(at int) uint64 { return atomic.LoadUint64(&p.words[at]) }

func (p *page) hasStrip() bool { return p.word(countWord) > 0 }

// pageReads bounds how often something is read that changes meanwhile. A slot
// that changes so fast has nothing in hand for long.
const pageReads = 16

// running appends what the slots have in hand. A worker that turns from slots
// to a strip writes the count before the strip, and the other way round: what
// was read while the count stayed as it was has been taken for what it is.
func (p *page) running(buf []batch.Running) []batch.Running {
	given := len(buf)
	for range pageReads {
		strip, slots := p.hasStrip(), p.capacity
		if strip {
			slots = 1
		}
		buf = buf[:given]
		for slot := range slots {
			if r, ok := p.inSlot(slot, strip); ok {
				buf = append(buf, r)
			}
		}
		if p.hasStrip() == strip {
			break
		}
	}
	return buf
}

// inSlot returns what a slot has in hand. A worker shows nothing between two
// items, or two chunks: if the slot is the same after the reading as before,
// what was read between belongs together.
func (p *page) inSlot(slot int, strip bool) (r batch.Running, ok bool) {
	at := pageHeader + slotWords*slot
	for range pageReads {
		key, since := p.word(at), p.word(at+1)
		if key == 0 {
			return r, false
		}
		r, ok = batch.Running{Slot: slot, Index: key - 1, Since: int64(since)}, true
		if strip {
			ok = p.inStrip(&r, p.word(countWord))
		}
		if p.word(at) == key && p.word(at+1) == since {
			break
		}
	}
	return r, ok
}

// inStrip finds the running one of n items of which r is the first. It reports
// false when all are done.
func (p *page) inStrip(r *batch.Running, n uint64) bool {
	n = min(n, stripWords) // a worker can write anything
	done := sort.Search(int(n), func(i int) bool { return p.word(stripAt+i) == 0 })
	if done == int(n) {
		return false
	}
	if done > 0 {
		r.Since = int64(p.word(stripAt + done - 1))
	}
	r.Index += uint64(done)
	return true
}
