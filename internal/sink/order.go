package sink

// ring holds the entries of the indices from tail on, as many as it has room
// for; those that are further ahead wait in the spill. The entries from tail
// to head are those whose turn has come.
type ring struct {
	slots      []entry
	mask       uint64
	tail, head uint64
	end        uint64 // after the highest index that was put
	spill      spill
}

func newRing(size int, dir string) *ring {
	return &ring{slots: make([]entry, size), mask: uint64(size) - 1, spill: spill{dir: dir}}
}

func (r *ring) put(places []Place, c *coder) error {
	for i := range places {
		p := &places[i]
		if p.Index-r.tail < uint64(len(r.slots)) {
			r.slots[p.Index&r.mask] = c.entry(p)
		} else if err := r.ahead(p.Index, c.entry(p)); err != nil {
			return err
		}
		r.end = max(r.end, p.Index+1)
	}
	return r.settle()
}

func (r *ring) skip(index uint64, e entry) error {
	if index-r.tail < uint64(len(r.slots)) {
		r.slots[index&r.mask] = e
	} else if err := r.ahead(index, e); err != nil {
		return err
	}
	r.end = max(r.end, index+1)
	return r.settle()
}

// ahead keeps an entry that has no room in the ring; one that had its turn
// already is dropped.
func (r *ring) ahead(index uint64, e entry) error {
	if index < r.tail {
		return nil
	}
	return r.spill.put(index, e)
}

// settle writes out what put has collected, and finds the new head.
func (r *ring) settle() error {
	if err := r.spill.flush(); err != nil {
		return err
	}
	r.advance()
	return nil
}

func (r *ring) advance() {
	end := r.tail + uint64(len(r.slots))
	for r.head < end && r.slots[r.head&r.mask].size != unfinished {
		r.head++
	}
}

func (r *ring) ready() int { return int(r.head - r.tail) }

func (r *ring) take(dst []turn) ([]turn, error) {
	n := min(r.head-r.tail, batchSize)
	for i := r.tail; i < r.tail+n; i++ {
		dst = append(dst, turn{r.slots[i&r.mask], i})
	}
	return dst, r.move(n)
}

// move moves the ring on by n indices, and refills it from the spill.
func (r *ring) move(n uint64) error {
	for i := r.tail; i < r.tail+n; i++ {
		r.slots[i&r.mask] = entry{}
	}
	from := r.tail + uint64(len(r.slots))
	r.tail += n
	r.head = max(r.head, r.tail)
	err := r.spill.get(from, n, func(index uint64, e entry) { r.slots[index&r.mask] = e })
	r.advance()
	return err
}

func (r *ring) jump() (bool, error) {
	for r.head == r.tail && r.tail < r.end {
		gap := uint64(0)
		for gap < uint64(len(r.slots)) && r.tail+gap < r.end && r.slots[(r.tail+gap)&r.mask].size == unfinished {
			gap++
		}
		if err := r.move(gap); err != nil {
			return false, err
		}
	}
	return r.head > r.tail, nil
}

func (r *ring) close() { r.spill.close() }

// queue is the order of arrival.
type queue struct {
	turns []turn
	next  int // turns[:next] were taken
}

func (q *queue) put(places []Place, c *coder) error {
	for i := range places {
		q.turns = append(q.turns, turn{c.entry(&places[i]), places[i].Index})
	}
	return nil
}

func (q *queue) skip(index uint64, e entry) error {
	q.turns = append(q.turns, turn{e, index})
	return nil
}

func (q *queue) ready() int { return len(q.turns) - q.next }

func (q *queue) take(dst []turn) ([]turn, error) {
	n := min(q.ready(), batchSize)
	dst = append(dst, q.turns[q.next:q.next+n]...)
	q.next += n
	switch {
	case q.next == len(q.turns):
		q.turns, q.next = q.turns[:0], 0
	case q.next > len(q.turns)/2:
		q.turns, q.next = q.turns[:copy(q.turns, q.turns[q.next:])], 0
	}
	return dst, nil
}

func (q *queue) jump() (bool, error) { return q.ready() > 0, nil }

func (q *queue) close() {}
