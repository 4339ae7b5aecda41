package supervisor

import (
	"sync/atomic"
	"unsafe"

	"github.com/poolwise/poolwise/internal/batch"
)

// The page is memory that a worker shares with poolwise. It is made of 64-bit
// words in the machine's own byte order: the magic, the control word, six
// words of zero, then two words a slot: the index plus 1 of the item that it
// runs (0 for none), and when it was started, in ns of the monotonic clock.
// After a crash it tells exactly which items were in hand.
const (
	pageMagic  = 0x3145_4741_5057_5F50 // "P_WPAGE1", least significant byte first
	pageHeader = 8                     // words
	slotWords  = 2

	controlWord = 1
	controlStop = 1 // start no further item
)

type page struct {
	bytes []byte // the mapping
	words []uint64
	slots int
}

func pageSize(slots int) int { return 8 * (pageHeader + slotWords*slots) }

func newPage(mapping []byte, slots int) *page {
	p := &page{bytes: mapping, slots: slots}
	p.words = unsafe.Slice((*uint64)(unsafe.Pointer(&mapping[0])), len(mapping)/8)
	atomic.StoreUint64(&p.words[0], pageMagic)
	return p
}

func (p *page) stop() { atomic.StoreUint64(&p.words[controlWord], controlStop) }

// running appends what the slots have in hand. The two words of a slot are not
// written as one: an item may be shown with the start of the one before it.
func (p *page) running(buf []batch.Running) []batch.Running {
	for slot := range p.slots {
		at := pageHeader + slotWords*slot
		if key := atomic.LoadUint64(&p.words[at]); key != 0 {
			since := int64(atomic.LoadUint64(&p.words[at+1]))
			buf = append(buf, batch.Running{Slot: slot, Index: key - 1, Since: since})
		}
	}
	return buf
}
