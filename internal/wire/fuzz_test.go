package wire

import (
	"runtime"
	"testing"

	"github.com/poolwise/poolwise/internal/batch"
)

// perByte bounds what a parser may allocate for a byte of a body: a result of
// 9 bytes becomes a batch.Result, with room to grow.
const perByte = 64

// within fails a test whose call allocates more than a body of n bytes may.
func within(t *testing.T, n int, call func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	call()
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > uint64(perByte*n+64<<10) {
		t.Errorf("%d bytes made it allocate %d", n, grown)
	}
}

func FuzzParseChunk(f *testing.F) {
	for _, v := range readVectors(f).Chunk {
		f.Add(v.body(f))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		within(t, len(body), func() {
			items, err := ParseChunk(body)
			total := 0
			for _, it := range items {
				total += len(it.Data)
			}
			if err == nil && total > len(body) {
				t.Errorf("items of %d bytes out of %d", total, len(body))
			}
		})
	})
}

func FuzzResults(f *testing.F) {
	for _, v := range readVectors(f).Result {
		f.Add(v.body(f))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		within(t, len(body), func() {
			var r Results
			err := r.Parse(body)
			if (err == nil) != (len(r.All()) > 0) {
				t.Errorf("%d results and error %v", len(r.All()), err)
			}
			for _, one := range r.All() {
				if len(one.Value)+len(one.Error) == 0 || one.Status > batch.Failed {
					t.Errorf("result %+v", one)
				}
			}
		})
	})
}

func FuzzCut(f *testing.F) {
	f.Add(AppendFrame(nil, Ready, []byte("{}")), int64(10))
	f.Add(AppendHeader(nil, 255, 1<<40), int64(1)<<50)
	f.Fuzz(func(t *testing.T, data []byte, limit int64) {
		if limit < 0 {
			return
		}
		_, body, rest, ok, err := Cut(data, limit)
		if ok && (err != nil || int64(len(body)) > limit || HeaderSize+len(body)+len(rest) != len(data)) {
			t.Errorf("a frame of %d bytes, %d left of %d, %v", len(body), len(rest), len(data), err)
		}
		if !ok && len(rest) != len(data) {
			t.Errorf("no frame, and %d bytes of %d", len(rest), len(data))
		}
	})
}

func FuzzParseOutput(f *testing.F) {
	for _, v := range readVectors(f).Output {
		f.Add(v.body(f))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		out, err := ParseOutput(body)
		if err == nil && (out.Stream == "" || len(out.Data)+16 != len(body)) {
			t.Errorf("output %+v", out)
		}
	})
}
