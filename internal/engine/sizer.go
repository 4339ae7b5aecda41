package engine

import "time"

const (
	// chunkWork is how long the items of a chunk should take together. It is
	// long against the cost of a message, tens of microseconds, and short
	// enough that nobody waits for a chunk.
	chunkWork = 4 * time.Millisecond
	// chunkBytes bounds a chunk's data, so that a worker never holds much more
	// than it needs.
	chunkBytes = 1 << 20
	// slowItem is the time from which an item is worth a message of its own
	// that is sent only when the one before it has ended: the worker then
	// idles for the time of a message, less than 1% of this, and no item waits
	// behind a slow one while another worker is free.
	slowItem = 20 * time.Millisecond
	// newShare is the weight of the newest chunk in the mean time of an item.
	newShare = 0.2
)

// sizer chooses how many items a chunk has, from the time that items took.
type sizer struct {
	fixed   int     // chosen by the user; 0: adapt
	size    int     // of the next chunk
	perItem float64 // ns of slot time; 0 until the first is known
}

func newSizer(fixed int) sizer { return sizer{fixed: fixed, size: max(fixed, 1)} }

// known reports whether any item's time is known.
func (s *sizer) known() bool { return s.perItem > 0 }

// slow reports whether items are so slow that none should wait in a worker.
func (s *sizer) slow() bool { return s.perItem >= float64(slowItem) }

// observe learns that n items took this long in a slot, one after another. A
// chunk that was slower than expected counts at once, a faster one slowly.
func (s *sizer) observe(n int, took int64) {
	if n == 0 {
		return
	}
	now := max(float64(took)/float64(n), 1)
	mean := now
	if s.known() {
		mean = (1-newShare)*s.perItem + newShare*now
	}
	s.perItem = max(mean, now)
	if want := s.want(); s.fixed == 0 && s.size > want {
		s.size = want
	}
}

// grow is called once a chunk is done: the next may be twice as large.
func (s *sizer) grow() {
	if s.fixed == 0 && s.known() {
		s.size = min(2*s.size, s.want())
	}
}

// want is the number of items that take chunkWork.
func (s *sizer) want() int {
	return int(min(max(float64(chunkWork)/s.perItem, 1), 1<<20))
}

// ahead returns how many items a worker with many slots should hold besides
// those that it runs.
func (s *sizer) ahead(slots int) int {
	if !s.known() || s.slow() {
		return 0
	}
	return max(int(float64(slots)*float64(chunkWork)/s.perItem), 1)
}
