package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/internal/jsontext"
)

// indexes are drawn so that they follow one another in half of the cases.
func drawIndexes(t *rapid.T, n int) []uint64 {
	first := rapid.Uint64Range(0, math.MaxUint64-uint64(n)-1).Draw(t, "first")
	out := make([]uint64, n)
	apart := rapid.Bool().Draw(t, "apart")
	for i := range out {
		out[i] = first + uint64(i)
		if apart {
			out[i] = rapid.Uint64().Draw(t, "index")
		}
	}
	return out
}

func drawItem(t *rapid.T, index uint64) batch.Item {
	it := batch.Item{Index: index, Attempt: 1}
	if rapid.IntRange(0, 3).Draw(t, "again") == 0 {
		it.Attempt = rapid.Uint32().Draw(t, "attempt")
	}
	if rapid.Bool().Draw(t, "json") {
		it.Form = batch.JSON
		it.Data = []byte(rapid.SampledFrom([]string{"1", "[ ]", `{"a":[1,"x"]}`, `"a]"`, "-0.5e3", "null"}).Draw(t, "value"))
		return it
	}
	it.Data = rapid.SliceOf(rapid.Byte()).Draw(t, "text")
	if rapid.IntRange(0, 20).Draw(t, "large") == 0 {
		it.Data = bytes.Repeat([]byte{'"', 0x97}, rawFrom/2)
	}
	return it
}

func TestChunkRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var items []batch.Item
		for _, index := range drawIndexes(t, rapid.IntRange(0, 20).Draw(t, "n")) {
			items = append(items, drawItem(t, index))
		}
		kind, body, rest, ok, err := Cut(AppendChunk(nil, items), math.MaxInt64)
		if kind != Chunk || len(rest) != 0 || !ok || err != nil {
			t.Fatalf("cut: type %d, %d bytes left, %v, %v", kind, len(rest), ok, err)
		}
		got, err := ParseChunk(body)
		if err != nil || len(got) != len(items) {
			t.Fatalf("%d items came back, want %d: %v", len(got), len(items), err)
		}
		for i := range got {
			sameItem(t, items[i], got[i])
		}
	})
}

func sameItem(t *rapid.T, want, got batch.Item) {
	if want.Form == batch.Text && got.Form == batch.JSON {
		text, err := jsontext.AppendUnquoted(nil, got.Data)
		if err != nil {
			t.Fatal(err)
		}
		got.Form, got.Data = batch.Text, text
	}
	if got.Index != want.Index || got.Attempt != want.Attempt || got.Form != want.Form || !bytes.Equal(got.Data, want.Data) {
		t.Fatalf("came back as %+v, want %+v", got, want)
	}
}

func TestResultsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var frames Results
		var want []batch.Result
		for range rapid.IntRange(0, 4).Draw(t, "frames") {
			var some []batch.Result
			for _, index := range drawIndexes(t, rapid.IntRange(1, 10).Draw(t, "n")) {
				some = append(some, drawResult(t, index))
			}
			want = append(want, some...)
			if err := frames.Parse(AppendResults(nil, some)[HeaderSize:]); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(want, frames.All()[:len(want):len(want)]); diff != "" && len(want) > 0 {
			t.Fatal(diff)
		}
		frames.Reset()
		if len(frames.All()) != 0 {
			t.Fatal("results are left after Reset")
		}
	})
}

func drawResult(t *rapid.T, index uint64) batch.Result {
	r := batch.Result{Index: index, Attempt: rapid.Uint32().Draw(t, "attempt")}
	r.Start, r.End = rapid.Int64().Draw(t, "start"), rapid.Int64().Draw(t, "end")
	text := []byte(rapid.SampledFrom([]string{"1", `"é"`, "{}", `"a\nb"`, "null"}).Draw(t, "text"))
	if rapid.Bool().Draw(t, "failed") {
		r.Status, r.Error = batch.Failed, text
	} else {
		r.Value = text
	}
	return r
}

func TestAppendResultsOfNone(t *testing.T) {
	if got := AppendResults([]byte("x"), nil); string(got) != "x" {
		t.Errorf("a frame without results: %x", got)
	}
}

// put builds a body out of integers of the sizes of their types, and texts.
func put(parts ...any) []byte {
	var out []byte
	for _, part := range parts {
		if text, ok := part.(string); ok {
			out = append(out, text...)
			continue
		}
		var err error
		if out, err = binary.Append(out, binary.LittleEndian, part); err != nil {
			panic(err)
		}
	}
	return out
}

type (
	u8  = uint8
	u32 = uint32
	u64 = uint64
)

func TestMalformedChunks(t *testing.T) {
	head := func(n u32, flags u8) []byte { return put(n, flags, u8(0), u8(0), u8(0), u64(0)) }
	cases := []struct {
		name string
		body []byte
		why  string
	}{
		{"empty", nil, "0 bytes are too few"},
		{"half a head", make([]byte, chunkHead-1), "too few"},
		{"more items than bytes", head(math.MaxUint32, 0), "too few for the columns"},
		{"columns cut", append(head(1, chunkIndexes|chunkAttempts), make([]byte, 19)...), "too few for the columns"},
		{"no array", put(head(1, 0), u64(1), "1"), "no JSON array"},
		{"array not closed", put(head(1, 0), u64(1), "[1"), "no JSON array"},
		{"item too long", put(head(1, 0), u64(2), "[1]"), "item 0 does not fit"},
		{"length near the end of integers", put(head(1, 0), u64(math.MaxUint64), "[1]"), "item 0 does not fit"},
		{"second item missing", put(head(2, 0), u64(1), u64(1), "[1]"), "item 1 does not fit"},
		{"left over", put(head(1, 0), u64(1), "[1,2]"), "2 bytes are left over"},
		{"raw item too long", put(head(1, chunkRaw), u64(2), "1"), "item 0 does not fit"},
		{"raw left over", put(head(1, chunkRaw), u64(1), "12"), "1 bytes are left over"},
		{"none but bytes", put(head(0, chunkRaw), "1"), "1 bytes are left over"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := ParseChunk(c.body)
			checkFormat(t, err, "chunk frame", c.why)
		})
	}
}

func checkFormat(t *testing.T, err error, what, why string) {
	t.Helper()
	var format *FormatError
	if !errors.As(err, &format) || format.What != what || !strings.Contains(err.Error(), why) {
		t.Errorf("error %v, want one of the %s with %q", err, what, why)
	}
}

func TestMalformedResults(t *testing.T) {
	head := func(n, flags u32) []byte { return put(n, flags, u64(3), u64(9)) }
	cases := []struct {
		name string
		body []byte
		why  string
	}{
		{"empty", nil, "too few"},
		{"half a head", make([]byte, resultHead-1), "too few"},
		{"no results", head(0, 0), "do not hold 0 results"},
		{"more results than bytes", put(head(math.MaxUint32, 0), u64(1), "1"), "do not hold"},
		{"columns cut", put(head(1, 15), make([]byte, 28)), "do not hold 1 results"},
		{"no value", put(head(1, 0), u64(1)), "value 0 is empty"},
		{"too few values", put(head(2, 0), u64(1), u64(2), "1"), "another number of lines"},
		{"too many values", put(head(1, 0), u64(1), "1\n2"), "another number of lines"},
		{"newline at the end", put(head(1, 0), u64(1), "1\n"), "another number of lines"},
		{"empty value", put(head(2, 0), u64(1), u64(2), "\n2"), "value 0 is empty"},
		{"empty value at the end", put(head(2, 0), u64(1), u64(2), "1\n"), "value 1 is empty"},
		{"status timeout", put(head(1, resultStatuses), u8(2), u64(1), "1"), "cannot report status 2"},
		{"status 255", put(head(1, resultStatuses), u8(255), u64(1), "1"), "cannot report status 255"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var r Results
			good := put(head(1, 0), u64(10), "true")
			if err := r.Parse(good); err != nil {
				t.Fatal(err)
			}
			checkFormat(t, r.Parse(c.body), "result frame", c.why)
			if len(r.All()) != 1 || string(r.All()[0].Value) != "true" {
				t.Errorf("the results before it are %v now", r.All())
			}
		})
	}
}

func TestMalformedOutput(t *testing.T) {
	for _, body := range [][]byte{nil, make([]byte, 15), make([]byte, 16), append([]byte{3}, make([]byte, 20)...)} {
		_, err := ParseOutput(body)
		checkFormat(t, err, "output frame", "head is wrong")
	}
}

func TestCut(t *testing.T) {
	data := AppendFrame(AppendFrame(nil, Result, []byte("abc")), 200, nil) // 200: a type of the future
	for n := range data {
		_, _, rest, ok, err := Cut(data[:n], 100)
		if err != nil || ok != (n >= HeaderSize+3) {
			t.Errorf("%d bytes: %v, %v", n, ok, err)
		}
		if !ok && len(rest) != n {
			t.Errorf("%d of %d bytes are left", len(rest), n)
		}
	}
	kind, body, rest, _, _ := Cut(data, 3)
	if kind != Result || string(body) != "abc" {
		t.Errorf("frame of type %d with %q", kind, body)
	}
	kind, body, rest, ok, err := Cut(rest, 3)
	if kind != 200 || len(body) != 0 || len(rest) != 0 || !ok || err != nil {
		t.Errorf("frame of type %d, %d bytes, %d left, %v, %v", kind, len(body), len(rest), ok, err)
	}
}

func TestLimit(t *testing.T) {
	for _, size := range []u64{101, math.MaxInt64, math.MaxInt64 + 1, math.MaxUint64} {
		_, _, _, _, err := Cut(put(u8(Result), size), 100)
		checkFormat(t, err, "header", "larger than the limit of 100")
	}
	_, _, err := ParseHeader(make([]byte, HeaderSize-1), 100)
	checkFormat(t, err, "header", "8 bytes, want 9")
}
