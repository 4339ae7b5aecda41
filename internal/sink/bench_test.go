package sink

import (
	"io"
	"sync"
	"testing"

	"github.com/poolwise/poolwise/internal/journal"
)

// interleaved writes a journal of n items as two workers would: each takes the
// next chunk, and their blocks alternate.
func interleaved(b *testing.B, n, chunk int) (*book, [2][][]Place) {
	book := newBook(b, b.TempDir())
	var lanes [2][][]Place
	entries := make([]journal.Entry, 0, chunk)
	for from := 0; from < n; from += chunk {
		entries = entries[:0]
		for i := from; i < min(from+chunk, n); i++ {
			entries = append(entries, journal.Entry{Index: uint64(i), Attempt: 1, Value: []byte("12345678")})
		}
		lane := from / chunk % 2
		lanes[lane] = append(lanes[lane], book.enter(b, entries...))
	}
	return book, lanes
}

func benchmarkDelivery(b *testing.B, opts Options) {
	const n = 1_000_000
	book, lanes := interleaved(b, n, 8192)
	defer book.w.CloseUnsynced()
	opts.Out, opts.Journal, opts.Dir = io.Discard, book.w, book.dir
	for b.Loop() {
		s := New(opts)
		var adding sync.WaitGroup
		for _, lane := range lanes {
			adding.Go(func() {
				for _, places := range lane {
					s.Add(places)
				}
			})
		}
		adding.Wait()
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/item")
}

func BenchmarkOrdered(b *testing.B)        { benchmarkDelivery(b, Options{}) }
func BenchmarkOrderedRecords(b *testing.B) { benchmarkDelivery(b, Options{Format: Records}) }
func BenchmarkUnordered(b *testing.B)      { benchmarkDelivery(b, Options{Unordered: true}) }

// BenchmarkSpilled is Ordered with a ring that holds next to nothing.
func BenchmarkSpilled(b *testing.B) { benchmarkDelivery(b, Options{Ring: 1024}) }

// BenchmarkAdd is what a worker's goroutine pays: the output takes nothing.
func BenchmarkAdd(b *testing.B) {
	const n = 1_000_000
	book, lanes := interleaved(b, n, 8192)
	defer book.w.CloseUnsynced()
	for b.Loop() {
		b.StopTimer()
		s := New(Options{Out: io.Discard, Journal: book.w, Dir: book.dir, Ring: 1 << 20})
		b.StartTimer()
		for i := range lanes[0] {
			s.Add(lanes[0][i])
			if i < len(lanes[1]) {
				s.Add(lanes[1][i])
			}
		}
		b.StopTimer()
		s.Stop()
		s.Close()
		b.StartTimer()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/item")
}
