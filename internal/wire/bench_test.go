package wire

import (
	"fmt"
	"testing"

	"github.com/poolwise/poolwise/internal/batch"
)

const benchItems = 4096

func perItem(b *testing.B) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchItems, "ns/item")
}

func BenchmarkAppendChunk(b *testing.B) {
	var items []batch.Item
	for i := range benchItems {
		items = append(items, batch.Item{Index: uint64(i), Attempt: 1, Data: fmt.Appendf(nil, "item %d", i)})
	}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = AppendChunk(buf[:0], items)
	}
	perItem(b)
}

// The frame is that of a worker with one slot: no columns but the ends.
func BenchmarkResultsParse(b *testing.B) {
	body := put(u32(benchItems), u32(0), u64(0), u64(0), make([]byte, 8*benchItems))
	for i := range benchItems {
		body = fmt.Appendf(body, "%d\n", i)
	}
	body = body[:len(body)-1]
	var r Results
	b.ReportAllocs()
	for b.Loop() {
		r.Reset()
		if err := r.Parse(body); err != nil {
			b.Fatal(err)
		}
	}
	perItem(b)
}
