package ui

import (
	"math"
	"strconv"
	"time"

	"github.com/poolwise/poolwise/internal/batch"
)

// A Snapshot is the state of a run at one moment, as the displays are fed.
type Snapshot struct {
	// Done counts the items that have an outcome, by it.
	Done [batch.NumStatus]uint64
	// Resumed is how many of Done an earlier run had finished.
	Resumed uint64
	// Read is the number of items that were read so far.
	Read uint64
	// Total is the number of items that there are, when TotalKnown.
	Total      uint64
	TotalKnown bool
	// BytesRead is how far the input was read, of BytesTotal, which is 0 where
	// the size of the input is not known. Total is estimated from them.
	BytesRead, BytesTotal int64
	// Running is the number of items in hand, OldestIndex the one that has been
	// for the longest time, Oldest that time.
	Running     int
	Oldest      time.Duration
	OldestIndex uint64
	// Typical is a time that few items exceed, such as the 95th percentile.
	Typical time.Duration
	CPU     float64 // CPUs in use
	RSS     int64   // bytes of memory held by the workers
	Workers int
	Plan    string
	// Elapsed is the time since the run began. It must not go back.
	Elapsed time.Duration
	// Phase says in a word or two what goes on when it is not the run proper,
	// such as "measuring" or "writing results"; "" otherwise.
	Phase string
}

// done is the number of items that were tried and have an outcome.
func (s *Snapshot) done() uint64 { return s.Done[batch.OK] + s.failures() }

func (s *Snapshot) failures() uint64 {
	return s.Done[batch.Failed] + s.Done[batch.TimedOut] + s.Done[batch.Killed]
}

// An item is unusual, and named, when it has run for longer than both of these.
// The first keeps short-lived noise out, such as a worker that starts; the
// second is well beyond what the slowest one in twenty takes.
const (
	unusualAge    = 10 * time.Second
	unusualFactor = 5
)

func (s *Snapshot) unusual() bool {
	return s.Running > 0 && s.Oldest > max(unusualAge, unusualFactor*s.Typical)
}

// total returns the number of items there are, as far as can be told.
func (s *Snapshot) total() (n uint64, estimated, ok bool) {
	if s.TotalKnown {
		return s.Total, false, true
	}
	// Over less than this the size of an item says little about the others.
	const enough = 20
	if s.BytesTotal <= 0 || s.BytesRead <= 0 || s.Read < enough {
		return 0, true, false
	}
	whole := float64(s.Read) * max(1, float64(s.BytesTotal)/float64(s.BytesRead))
	return uint64(math.Round(whole)), true, true
}

// A view is a snapshot with what follows from it and those before.
type view struct {
	Snapshot
	Rate   float64       // items a second, of late
	ETA    time.Duration // until the end
	HasETA bool
}

// rateSpan is how far back the rate looks: long enough to even out chunks that
// end together, short enough to follow a change.
const rateSpan = 30 * time.Second

// A tracker makes views of the snapshots of one run.
type tracker struct{ marks []mark }

type mark struct {
	at   time.Duration
	done uint64
}

func (t *tracker) view(s Snapshot) view {
	v := view{Snapshot: s}
	now := mark{s.Elapsed, s.done()}
	t.marks = append(t.marks, now)
	for len(t.marks) > 2 && now.at-t.marks[1].at >= rateSpan {
		t.marks = t.marks[1:]
	}
	since := t.marks[0]
	if now.at <= rateSpan {
		since = mark{done: s.Resumed} // how the run began
	}
	if span := now.at - since.at; span > 0 && now.done > since.done {
		v.Rate = float64(now.done-since.done) / span.Seconds()
	}
	if total, _, ok := s.total(); ok && v.Rate > 0 {
		left := float64(total) - float64(now.done)
		v.ETA, v.HasETA = seconds(max(0, left)/v.Rate), true
	}
	return v
}

// seconds converts without overflow: an ETA may be of any size.
func seconds(s float64) time.Duration {
	const most = 10 * 365 * 24 * time.Hour
	if s > most.Seconds() {
		return most
	}
	return time.Duration(s * float64(time.Second))
}

// The parts of a line, in the order they stand in.
const (
	partPhase = iota
	partCount
	partShare
	partRate
	partETA
	partFailed
	partRunning
	partCPU
	partMemory
	partOldest
	numParts
)

// parts returns the facts of a line; those that there is nothing to say about
// are empty.
func (v *view) parts() [numParts]string {
	var p [numParts]string
	p[partPhase] = Escape(v.Phase)
	p[partCount], p[partShare] = v.count()
	if v.Rate > 0 {
		p[partRate] = Rate(v.Rate)
	}
	p[partETA] = v.eta()
	if n := v.failures(); n > 0 {
		p[partFailed] = Count(n) + " failed"
	}
	if v.Running > 0 {
		p[partRunning] = Count(uint64(v.Running)) + " running"
	}
	if v.Workers > 0 {
		p[partCPU] = "CPU " + decimal(math.Round(v.CPU*10)/10)
		p[partMemory] = Bytes(v.RSS)
	}
	if v.unusual() {
		p[partOldest] = "item " + strconv.FormatUint(v.OldestIndex, 10) + " running " + Duration(v.Oldest.Truncate(time.Second))
	}
	return p
}

func (v *view) eta() string {
	switch {
	case !v.HasETA || v.ETA <= 0:
		return ""
	case v.ETA < time.Second:
		return "ETA < 1 s"
	}
	return "ETA " + Duration(v.ETA.Truncate(time.Second))
}

func (v *view) count() (count, share string) {
	total, estimated, ok := v.total()
	if !ok {
		return Count(v.done()) + " done", ""
	}
	mark := ""
	if estimated {
		mark = "~"
	}
	percent := uint64(100)
	if total > 0 {
		percent = min(percent, v.done()*100/total)
	}
	return Count(v.done()) + "/" + mark + Count(total), strconv.FormatUint(percent, 10) + "%"
}

// fraction tells how much is done, from 0 to 1; 0 when it cannot be told.
func (v *view) fraction() float64 {
	total, _, ok := v.total()
	switch {
	case !ok:
		return 0
	case total == 0:
		return 1
	}
	return min(1, float64(v.done())/float64(total))
}
