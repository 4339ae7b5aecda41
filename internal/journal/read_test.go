package journal

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// journalOf returns a journal of n entries and the offsets of their lines.
func journalOf(n int) (data []byte, offsets []int64) {
	data = versionLine(Version)
	for i := range n {
		e := sample(uint64(i))
		offsets = append(offsets, int64(len(data)))
		data, _ = AppendLine(data, &e)
	}
	return data, offsets
}

func TestOneDamagedByteCostsOneLine(t *testing.T) {
	data, offsets := journalOf(5)
	for at := range data {
		for _, flip := range []byte{1, 0x80, data[at] ^ '\n'} {
			if flip == 0 {
				continue
			}
			bad := bytes.Clone(data)
			bad[at] ^= flip
			hit := -1
			for i, off := range offsets {
				if int64(at) >= off && data[at] != '\n' {
					hit = i
				}
			}
			var want []uint64
			for i := range offsets {
				if i != hit {
					want = append(want, uint64(i))
				}
			}
			got := scanAll(t, bad)
			if d := cmp.Diff(want, got.entries); d != "" {
				t.Fatalf("byte %d changed from %q to %q: %s", at, data[at], bad[at], d)
			}
			if got.damage.Count == 0 && at < len(data)-1 {
				t.Fatalf("byte %d changed from %q to %q: no damage is told", at, data[at], bad[at])
			}
		}
	}
}

func TestDamageIsTold(t *testing.T) {
	data, offsets := journalOf(4)
	bad := bytes.Clone(data)
	bad[offsets[1]+3] = 'x'
	bad[offsets[2]+3] = 'x' // next to the last: one range
	got := scanAll(t, bad[:len(bad)-5])
	want := Damage{
		Ranges: []Range{{offsets[1], int64(len(data)) - 5 - offsets[1]}},
		Count:  1, Bytes: int64(len(data)) - 5 - offsets[1], Torn: true,
	}
	if d := cmp.Diff(want, got.damage); d != "" {
		t.Error(d)
	}
	if text := got.damage.String(); !strings.Contains(text, "cut short") {
		t.Errorf("told as %q", text)
	}
	if got := scanAll(t, data).damage; got.Count != 0 || got.Torn || got.String() != "" {
		t.Errorf("a sound journal: %+v", got)
	}
}

func TestRangesAreBounded(t *testing.T) {
	var d Damage
	for i := range int64(3 * maxRanges) {
		d.add(i*10, 5)
	}
	if len(d.Ranges) != maxRanges || d.Count != 3*maxRanges || d.Bytes != 15*maxRanges {
		t.Errorf("%d ranges, %d counted, %d bytes", len(d.Ranges), d.Count, d.Bytes)
	}
}

// scanError returns the error of a scan that is to fail.
func scanError(data []byte) error {
	_, err := Scan(bytes.NewReader(data), "a.jsonl", func(int64, *Entry) error { return nil })
	return err
}

func TestOtherFilesAreRefused(t *testing.T) {
	entries, _ := journalOf(1)
	entries = entries[len(versionLine(Version)):]
	var other *VersionError
	if err := scanError(append(versionLine(2), entries...)); !errors.As(err, &other) || !strings.Contains(err.Error(), `"version":2`) {
		t.Errorf("version 2: %v", err)
	}
	for _, text := range []string{"hello\n", "\n", "\x00\x00\x00", `{"journal":`, "{\"a\":1}\n{\"b\":2}\n"} {
		err := scanError([]byte(text))
		if wrong := !errors.Is(err, ErrNotJournal); wrong != (text == `{"journal":`) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := scanError(nil); err != nil {
		t.Errorf("an empty file: %v", err)
	}
	f := &memFile{data: versionLine(2), room: -1}
	if _, err := f.options().OpenAppend("a.jsonl"); !errors.As(err, &other) {
		t.Errorf("OpenAppend of version 2: %v", err)
	}
}

func TestErrorsEndTheScan(t *testing.T) {
	data, _ := journalOf(3)
	stop := errors.New("stop")
	n := 0
	_, err := Scan(bytes.NewReader(data), "a", func(int64, *Entry) error { n++; return stop })
	if err != stop || n != 1 {
		t.Errorf("%v after %d entries", err, n)
	}
	broken := io.MultiReader(bytes.NewReader(data), iotest.ErrReader(stop))
	if _, err := Scan(broken, "a", func(int64, *Entry) error { return nil }); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}

func TestLinesOfAnyLength(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var text []byte
		var want []string
		for range rapid.IntRange(0, 6).Draw(t, "lines") {
			n := rapid.IntRange(0, 50).Draw(t, "length")
			text = append(append(text, bytes.Repeat([]byte("x"), n)...), '\n')
			if n > 40 {
				n = 0
			}
			want = append(want, strings.Repeat("x", n))
		}
		buffer := rapid.IntRange(1, 20).Draw(t, "buffer")
		lines := lineReader{r: iotest.HalfReader(bytes.NewReader(text)), buf: make([]byte, buffer), limit: 20}
		at := int64(0)
		for i := 0; ; i++ {
			l, err := lines.next()
			if err == io.EOF {
				if i != len(want) || at != int64(len(text)) {
					t.Fatalf("%d lines to byte %d, want %d", i, at, len(want))
				}
				return
			}
			// Between the limit and twice the buffer a line may pass.
			if len(l.text) > 0 && string(l.text) != strings.Repeat("x", int(l.size)-1) || l.off != at || !l.ended {
				t.Fatalf("line %d: %+v", i, l)
			}
			if l.size <= 20 && string(l.text) != want[i] {
				t.Fatalf("line %d: %q, want %q", i, l.text, want[i])
			}
			at += l.size
		}
	})
}

func FuzzRead(f *testing.F) {
	data, _ := journalOf(3)
	f.Add(data, 50, byte(1))
	f.Add(data[:len(data)-7], 0, byte(0))
	f.Fuzz(func(t *testing.T, data []byte, at int, flip byte) {
		ignore := func(int64, *Entry) error { return nil }
		Scan(bytes.NewReader(data), "a", ignore)
		// After whatever that was, a whole line is read.
		e := sample(77)
		line, _ := AppendLine(nil, &e)
		found := false
		Scan(bytes.NewReader(append(append(bytes.Clone(data), '\n'), line...)), "a", func(_ int64, e *Entry) error {
			found = found || e.Index == 77
			return nil
		})
		if !found && scanError(data) == nil {
			t.Fatalf("the line after %q is lost", data)
		}
	})
}

func BenchmarkScan(b *testing.B) {
	data, _ := journalOf(100_000)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if err := scanError(data); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100_000, "ns/line")
}
