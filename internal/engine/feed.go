package engine

import (
	"math/bits"
	"slices"
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
	closed chan struct{} // closed at the end of all items, or by stop

	mu      sync.Mutex
	lanes   int       // that may take items
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
	spots   uint32    // how often items were taken from all over
}

func newFeed(lanes int) *feed {
	f := &feed{lanes: lanes, closed: make(chan struct{})}
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
	f.closeIfOver()
	f.more.Broadcast()
	f.mu.Unlock()
}

// closeIfOver tells who waits for it that there is nothing more to do.
func (f *feed) closeIfOver() {
	select {
	case <-f.closed:
	default:
		if f.stopped || f.ended && f.open == 0 {
			close(f.closed)
		}
	}
}

// setLanes says how many lanes may take items.
func (f *feed) setLanes(n int) {
	f.mu.Lock()
	f.lanes = n
	f.more.Broadcast()
	f.mu.Unlock()
}

// stop ends handing out, and reading.
func (f *feed) stop() {
	f.mu.Lock()
	f.stopped = true
	f.closeIfOver()
	f.more.Broadcast()
	f.room.Broadcast()
	f.mu.Unlock()
}

// awaitWork returns when there is work for the worker of a lane: the lane may
// take items, more have come than lanes before it could be busy with, and some
// still wait. It returns false when there will be none.
func (f *feed) awaitWork(lane int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		switch {
		case f.stopped:
			return false
		case f.items > 0 && lane < f.lanes && f.read > uint64(lane):
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
		f.closeIfOver()
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
	// spread takes them not from the front, but from all over what is there,
	// elsewhere each time.
	spread bool
}

// take returns the next chunk, nil when there is none for this lane now. The
// items belong to the caller. alone: it must hold nothing else meanwhile.
func (f *feed) take(q request) (items []batch.Item, alone bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped || f.items == 0 {
		return nil, false
	}
	from, at := &f.lots, 0
	if len(f.again) > 0 {
		from = &f.again
	} else if q.spread {
		at = f.openAt(f.nextSpot())
	}
	first := &(*from)[at]
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
		*from = slices.Delete(*from, at, at+1)
	}
	f.items -= n
	f.bytes -= size
	f.room.Signal()
	return items, alone
}

// nextSpot returns a place among the items that wait. The fractions are those
// of the van der Corput sequence, 0, 1/2, 1/4, 3/4, 1/8, ...: wherever it ends,
// the places are spread evenly.
func (f *feed) nextSpot() int {
	spot := float64(bits.Reverse32(f.spots)) / (1 << 32)
	f.spots++
	return int(spot * float64(f.items))
}

// openAt splits the lots so that one begins at this place, and returns which.
func (f *feed) openAt(place int) int {
	for i, l := range f.lots {
		switch {
		case place >= len(l.items):
			place -= len(l.items)
		case place == 0:
			return i
		default:
			f.lots[i].items = l.items[:place:place]
			f.lots = slices.Insert(f.lots, i+1, lot{items: l.items[place:], alone: l.alone})
			return i + 1
		}
	}
	return 0
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
