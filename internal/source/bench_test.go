package source

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

// benchmarkRead reads a million records and reports how many a second.
func benchmarkRead(b *testing.B, format Format, record func(i int) string) {
	const records = 1_000_000
	var text strings.Builder
	for i := range records {
		text.WriteString(record(i))
	}
	dir := folder(b, map[string]string{"data": text.String()})
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		r, err := Open(Config{Dir: dir, Inputs: []string{"data"}, Format: format})
		if err != nil {
			b.Fatal(err)
		}
		for {
			items, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
			n += len(items)
		}
		r.Close()
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "items/s")
}

func BenchmarkLines(b *testing.B) {
	benchmarkRead(b, Lines, func(i int) string { return fmt.Sprintf("image-%06d.jpg\n", i) })
}

func BenchmarkNumbersAsLines(b *testing.B) {
	benchmarkRead(b, Lines, func(i int) string { return fmt.Sprintf("%d\n", i) })
}

func BenchmarkJSONLines(b *testing.B) {
	benchmarkRead(b, JSONLines, func(i int) string {
		return fmt.Sprintf("{\"id\":%d,\"name\":\"image-%06d.jpg\",\"tags\":[\"a\",\"b\"]}\n", i, i)
	})
}

func BenchmarkNumbersAsJSONLines(b *testing.B) {
	benchmarkRead(b, JSONLines, func(i int) string { return fmt.Sprintf("%d\n", i) })
}

func BenchmarkJSON(b *testing.B) {
	benchmarkRead(b, JSON, func(i int) string {
		before := ","
		if i == 0 {
			before = "["
		}
		after := ""
		if i == 999_999 {
			after = "]"
		}
		return fmt.Sprintf("%s{\"id\":%d,\"name\":\"image-%06d.jpg\"}%s\n", before, i, i, after)
	})
}

func BenchmarkCSV(b *testing.B) {
	benchmarkRead(b, CSV, func(i int) string {
		if i == 0 {
			return "id,name\n"
		}
		return fmt.Sprintf("%d,image-%06d.jpg\n", i, i)
	})
}
