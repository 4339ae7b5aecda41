package sink

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/poolwise/poolwise/internal/journal"
)

// gate is a writer that takes nothing until it is opened.
type gate struct {
	open chan struct{}
	bytes.Buffer
}

func (g *gate) Write(p []byte) (int, error) {
	<-g.open
	return g.Buffer.Write(p)
}

func TestASlowOutputIsToldOfAndNotWaitedFor(t *testing.T) {
	b := newBook(t, t.TempDir())
	defer b.w.CloseUnsynced()
	g := &gate{open: make(chan struct{})}
	room := make(chan int64, 10)
	var s *Sink
	s = New(Options{Out: g, Journal: b.w, Dir: b.dir, Room: func() { room <- s.Behind() }})
	const n = RoomMark + 3*batchSize
	long := strings.Repeat("9", 100) // more than the buffer holds, so that the output is needed
	for i := uint64(0); i < n; i += batchSize {
		var block []journal.Entry
		for j := range uint64(batchSize) {
			block = append(block, okEntry(i+j, long))
		}
		s.Add(b.enter(t, block...)) // would never return if it waited
	}
	if got := s.Behind(); got != n {
		t.Errorf("%d behind, want %d", got, n)
	}
	close(g.open)
	if got := <-room; got > RoomMark {
		t.Errorf("told of room with %d behind", got)
	}
	if err := s.Close(); err != nil || g.Len() != n*101 {
		t.Errorf("%v, %d bytes", err, g.Len())
	}
	if len(room) > 0 {
		t.Error("told of room more than once")
	}
}

func TestBehindIsBoundedByTheRing(t *testing.T) {
	b := newBook(t, t.TempDir())
	defer b.w.CloseUnsynced()
	g := &gate{open: make(chan struct{})}
	s := New(Options{Out: g, Journal: b.w, Dir: b.dir, Ring: 16})
	var all []journal.Entry
	for i := range uint64(1000) {
		all = append(all, okEntry(i, strings.Repeat("7", 5000)))
	}
	s.Add(b.enter(t, all...))
	if got := s.Behind(); got > 32 {
		t.Errorf("%d behind with a ring of 16", got)
	}
	close(g.open)
	if err := s.Close(); err != nil || g.Len() != 1000*5001 {
		t.Errorf("%v, %d bytes", err, g.Len())
	}
}

// breaking is a writer that takes a number of bytes and then fails.
type breaking struct {
	room int
	err  error
}

func (w *breaking) Name() string { return "out.jsonl" }

func (w *breaking) Write(p []byte) (int, error) {
	n := min(len(p), w.room)
	w.room -= n
	if n < len(p) {
		return n, w.err
	}
	return n, nil
}

func TestABrokenOutputIsToldAtOnce(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want error
	}{{"closed pipe", syscall.EPIPE, syscall.EPIPE}, {"disk full", syscall.ENOSPC, syscall.ENOSPC}, {"short write", nil, io.ErrShortWrite}} {
		t.Run(c.name, func(t *testing.T) {
			b := newBook(t, t.TempDir())
			defer b.w.CloseUnsynced()
			failed := make(chan error, 1)
			s := New(Options{Out: &breaking{3, c.err}, Journal: b.w, Dir: b.dir, Fail: func(err error) { failed <- err }})
			s.Add(b.enter(t, okEntry(0, "1"), okEntry(1, "22222")))
			err := <-failed
			var w *WriteError
			if !errors.As(err, &w) || w.Target != "out.jsonl" || !errors.Is(err, c.want) {
				t.Errorf("got %v", err)
			}
			s.Add(b.enter(t, okEntry(2, "3")))
			if s.Behind() != 0 || s.Err() != err || s.Close() != err {
				t.Errorf("then: %d behind, %v", s.Behind(), s.Err())
			}
		})
	}
}

func TestStopWritesNoMore(t *testing.T) {
	b := newBook(t, t.TempDir())
	defer b.w.CloseUnsynced()
	var out bytes.Buffer
	s := New(Options{Out: &out, Journal: b.w, Dir: b.dir})
	s.Stop()
	s.Add(b.enter(t, okEntry(0, "1")))
	if err := s.Close(); err != nil || out.Len() > 0 {
		t.Errorf("%v, %q", err, out.String())
	}
}

func TestADamagedJournalIsAnError(t *testing.T) {
	for _, format := range []Format{Values, Records} {
		var out bytes.Buffer
		s := New(Options{Format: format, Out: &out, Journal: bytes.NewReader([]byte("0123456789")), Dir: t.TempDir()})
		s.Add([]Place{{Line: 2, LineLen: 7, Value: 4, ValueLen: 10}})
		if err := s.Close(); err == nil || !strings.Contains(err.Error(), "journal") {
			t.Errorf("got %v, wrote %q", err, out.String())
		}
	}
}

func TestNoPlaceToWait(t *testing.T) {
	b := newBook(t, t.TempDir())
	defer b.w.CloseUnsynced()
	s := New(Options{Out: io.Discard, Journal: b.w, Dir: filepath.Join(b.dir, "gone"), Ring: 2})
	s.Add(b.enter(t, okEntry(7, "1")))
	if err := s.Close(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestResultsAppearWithoutWaitingForMore(t *testing.T) {
	b := newBook(t, t.TempDir())
	defer b.w.CloseUnsynced()
	r, w := io.Pipe()
	s := New(Options{Out: w, Journal: b.w, Dir: b.dir})
	s.Add(b.enter(t, okEntry(0, "1"), okEntry(2, "3")))
	got := make([]byte, 10)
	if n, err := r.Read(got); err != nil || string(got[:n]) != "1\n" {
		t.Errorf("%q, %v", got[:n], err)
	}
	var all []byte
	var reading sync.WaitGroup
	reading.Go(func() { all, _ = io.ReadAll(r) })
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	w.Close()
	reading.Wait()
	if string(all) != "3\n" {
		t.Errorf("at the end: %q", all)
	}
}

// TestAStragglerCostsNoMemory is C36 for ordered output: a million items pass
// one that is slow.
func TestAStragglerCostsNoMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 16 MB of places")
	}
	b := newBook(t, t.TempDir())
	defer b.w.CloseUnsynced()
	line := b.enter(t, okEntry(0, "1"))[0] // all share one line
	var out counting
	s := New(Options{Out: &out, Journal: b.w, Dir: b.dir})
	const n = 1_000_000
	before := heap()
	places := make([]Place, 0, batchSize)
	for i := uint64(1); i < n; {
		for places = places[:0]; len(places) < batchSize && i < n; i++ {
			line.Index = i
			places = append(places, line)
		}
		s.Add(places)
	}
	if grown := heap() - before; grown > 8<<20 {
		t.Errorf("%d MB more while %d items wait", grown>>20, n)
	}
	line.Index = 0
	s.Add([]Place{line})
	if err := s.Close(); err != nil || out.n != 2*n {
		t.Errorf("%v, %d bytes", err, out.n)
	}
}

// counting is a writer that only counts.
type counting struct{ n int }

func (c *counting) Write(p []byte) (int, error) {
	c.n += len(p)
	return len(p), nil
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
