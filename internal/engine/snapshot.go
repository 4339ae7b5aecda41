package engine

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/internal/proc"
)

// Item times are kept as a histogram of nanoseconds with 2 significant digits;
// longer ones count as maxItemTime.
const (
	maxItemTime = int64(7 * 24 * time.Hour)
	itemDigits  = 2
)

// laneStats are what a lane knows of its items.
type laneStats struct {
	counts [batch.NumStatus]uint64
	times  *hdrhistogram.Histogram
	sum    int64 // ns
	max    int64 // ns
}

func newLaneStats() laneStats {
	return laneStats{times: hdrhistogram.New(1, maxItemTime, itemDigits)}
}

func (l *lane) count(results []batch.Result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range results {
		wall := results[i].End - results[i].Start
		l.stats.counts[results[i].Status]++
		l.stats.sum += wall
		l.stats.max = max(l.stats.max, wall)
		l.stats.times.RecordValue(min(max(wall, 1), maxItemTime))
	}
}

// A Snapshot is the state of a run at one moment.
type Snapshot struct {
	// Counts are the items with an outcome, by it. NotRun is 0 until the end.
	Counts [batch.NumStatus]uint64
	// Read is how many items were read. ReadAll: there are no others.
	Read    uint64
	ReadAll bool
	// Running is how many items are in hand, Oldest the one that has been for
	// the longest time, OldestAge.
	Running   int
	Oldest    uint64
	OldestAge time.Duration
	// Workers are the process ids of the workers that are up.
	Workers []int
	// Of the items that ended: the sum of their times, and the distribution.
	Sum, Median, P95, Max time.Duration
}

// Snapshot returns the present state. It may be called at any time.
func (r *Run) Snapshot() Snapshot {
	var s Snapshot
	r.mu.Lock()
	s.Counts = r.invalid
	r.mu.Unlock()
	times := hdrhistogram.New(1, maxItemTime, itemDigits)
	var running []batch.Running
	for _, l := range r.lanes() {
		l.mu.Lock()
		for i, n := range l.stats.counts {
			s.Counts[i] += n
		}
		times.Merge(l.stats.times)
		s.Sum += time.Duration(l.stats.sum)
		s.Max = max(s.Max, time.Duration(l.stats.max))
		if l.worker != nil {
			running = l.worker.Running(running)
			if p, ok := l.worker.(interface{ PID() int }); ok {
				s.Workers = append(s.Workers, p.PID())
			}
		}
		l.mu.Unlock()
	}
	s.Median = time.Duration(times.ValueAtQuantile(50))
	s.P95 = min(time.Duration(times.ValueAtQuantile(95)), s.Max)
	s.Median = min(s.Median, s.Max)
	s.Running = len(running)
	now := proc.Now()
	for _, it := range running {
		if age := time.Duration(now - it.Since); age > s.OldestAge {
			s.Oldest, s.OldestAge = it.Index, age
		}
	}
	s.Read, _, s.ReadAll = r.feed.counts()
	return s
}

// Failures returns the first items that did not end ok.
func (r *Run) Failures() []FailedItem {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failures
}

// Outcome returns the final counts: what has no outcome counts as not run.
func (r *Run) Outcome() Snapshot {
	s := r.Snapshot()
	_, open, _ := r.feed.counts()
	s.Counts[batch.NotRun] = uint64(open)
	return s
}
