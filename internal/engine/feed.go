package engine

import (
	"sync"

	"github.com/poolwise/poolwise/internal/batch"
)

const (
	// Items read ahead of the workers: enough that no worker waits for the
	// reader, whatever the size of items and chunks.
	aheadItems = 64 << 10
	aheadBytes = 16 << 20
)

// A lot is a number of items that may be handed out in parts. Alone: each of
// them is to be the only one that its worker holds.
type lot struct {
	items []batch.Item
	alone bool
}

// feed holds the items between the reader and the lanes, and those that are
// handed out again.
type feed struct {
	lanes int

	mu      sync.Mutex
	room    sync.Cond // signalled when items were taken
	more    sync.Cond // signalled when items came, or the end
	lots    []lot     // in the order read
	again   []lot     // before all others
	items   int       // in both
	bytes   int       // in both
	read    uint64    // items that have come so far
	open    int       // items that have come and have no outcome yet
	ended   bool      // no more will be read
	stopped bool      // nothing more is handed out
}

func newFeed(lanes int) *feed {
	f := &feed{lanes: lanes}
	f.room.L, f.more.L = &f.mu, &f.mu
	return f
}

// put adds items from the reader, and waits first while there are enough. It
// reports whether more are wanted.
func (f *feed) put(items []batch.Item) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for !f.stopped && f.items > 0 && (f.items >= aheadItems || f.bytes >= aheadBytes) {
		f.room.Wait()
	}
	f.read += uint64(len(items))
	f.open += len(items)
	if len(items) > 0 {
		f.lots = append(f.lots, lot{items: items})
		f.items += len(items)
		f.bytes += sizeOf(items)
	}
	f.more.Broadcast()
	return !f.stopped
}

func sizeOf(items []batch.Item) int {
	n := 0
	for i := range items {
		n += len(items[i].Data)
	}
	return n
}

// counted adds items that came and have their outcome already.
func (f *feed) counted(n int) {
	f.mu.Lock()
	f.read += uint64(n)
	f.mu.Unlock()
}

// end says that no more items will be read.
func (f *feed) end() {
	f.mu.Lock()
	f.ended = true
	f.more.Broadcast()
	f.mu.Unlock()
}

// stop ends handing out, and reading.
func (f *feed) stop() {
	f.mu.Lock()
	f.stopped = true
	f.more.Broadcast()
	f.room.Broadcast()
	f.mu.Unlock()
}

// awaitWork returns when there is work for a further worker: more items have
// come than workers that were started before it, and some still wait. It
// returns false when there will be none.
func (f *feed) awaitWork(before int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		switch {
		case f.stopped:
			return false
		case f.items > 0 && f.read > uint64(before):
			return true
		case f.ended && f.open == 0:
			return false
		}
		f.more.Wait()
	}
}

// settle says that n items got their outcome. It reports whether these were
// the last.
func (f *feed) settle(n int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open -= n
	if f.open == 0 && f.ended {
		f.more.Broadcast()
		return true
	}
	return false
}

// over reports whether a lane that holds nothing may let its worker go.
func (f *feed) over() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stopped || (f.ended && f.open == 0)
}

// request says what a lane would take.
type request struct {
	items int  // at most, 1 or more
	bytes int  // at most, but one item of any size
	share bool // no more than a fair share of what is there
	idle  bool // the lane holds nothing
}

// take returns the next chunk, nil when there is none for this lane now. The
// items belong to the caller. alone: it must hold nothing else meanwhile.
func (f *feed) take(q request) (items []batch.Item, alone bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped || f.items == 0 {
		return nil, false
	}
	from := &f.lots
	if len(f.again) > 0 {
		from = &f.again
	}
	first := &(*from)[0]
	if first.alone {
		if !q.idle {
			return nil, false
		}
		q.items = 1
	}
	if q.share {
		// Half a fair share, so that the last chunks are small and the workers
		// end together.
		q.items = min(q.items, (f.items+2*f.lanes-1)/(2*f.lanes))
	}
	n, size := 0, 0
	for n < len(first.items) && n < q.items {
		size += len(first.items[n].Data)
		if n > 0 && size > q.bytes {
			size -= len(first.items[n].Data)
			break
		}
		n++
	}
	items, alone = first.items[:n:n], first.alone
	first.items = first.items[n:]
	if len(first.items) == 0 {
		*from = (*from)[1:]
	}
	f.items -= n
	f.bytes -= size
	f.room.Signal()
	return items, alone
}

// waiting returns how many items could be taken.
func (f *feed) waiting() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.items
}

// giveBack hands items out again, before all others.
func (f *feed) giveBack(items []batch.Item, alone bool) {
	if len(items) == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.again = append(f.again, lot{items: items, alone: alone})
	f.items += len(items)
	f.bytes += sizeOf(items)
	f.more.Broadcast()
}

// counts returns how many items were read and how many have no outcome.
func (f *feed) counts() (read uint64, open int, ended bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.read, f.open, f.ended
}
