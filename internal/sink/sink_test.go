package sink

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/internal/journal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// book is a journal being written, and the places in it.
type book struct {
	w   *journal.Writer
	dir string
}

type fataler interface {
	Helper()
	Fatal(...any)
}

func newBook(t fataler, dir string) *book {
	t.Helper()
	os.Remove(filepath.Join(dir, "journal.jsonl"))
	w, err := journal.Create(filepath.Join(dir, "journal.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return &book{w, dir}
}

// enter writes entries as one block and returns their places.
func (b *book) enter(t fataler, entries ...journal.Entry) []Place {
	t.Helper()
	var lines []byte
	var places []Place
	for i := range entries {
		e := &entries[i]
		at := len(lines)
		var value int
		lines, value = journal.AppendLine(lines, e)
		places = append(places, Place{
			Index: e.Index, Status: e.Status, Line: int64(at), LineLen: int64(len(lines) - at),
			Value: int64(value), ValueLen: int64(len(e.Value)),
		})
	}
	off, err := b.w.Append(lines)
	if err != nil {
		t.Fatal(err)
	}
	for i := range places {
		places[i].Line += off
		places[i].Value += off
	}
	return places
}

func okEntry(index uint64, value string) journal.Entry {
	return journal.Entry{Index: index, Attempt: 1, Wall: 1500, Value: []byte(value), Input: []byte(fmt.Sprint(index))}
}

func failedEntry(index uint64) journal.Entry {
	return journal.Entry{Index: index, Attempt: 3, Status: batch.Failed, Error: []byte(`{"type":"E","message":"m"}`)}
}

// written runs a sink over blocks of entries and returns its output.
func written(t *testing.T, opts Options, blocks ...[]journal.Entry) string {
	t.Helper()
	b := newBook(t, t.TempDir())
	defer b.w.CloseUnsynced()
	var out bytes.Buffer
	opts.Out, opts.Journal = &out, b.w
	if opts.Dir == "" {
		opts.Dir = b.dir
	}
	s := New(opts)
	for _, block := range blocks {
		s.Add(b.enter(t, block...))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestWhatIsWritten(t *testing.T) {
	blocks := [][]journal.Entry{
		{okEntry(2, `"two"`), failedEntry(1)},
		{okEntry(0, `{"a":[0]}`)},
	}
	const zero = `{"index":0,"status":"ok","input":0,"value":{"a":[0]},"attempts":1,"seconds":0.0000015}` + "\n"
	const one = `{"index":1,"status":"failed","error":{"type":"E","message":"m"},"attempts":3,"seconds":0}` + "\n"
	const two = `{"index":2,"status":"ok","input":2,"value":"two","attempts":1,"seconds":0.0000015}` + "\n"
	for _, c := range []struct {
		name string
		opts Options
		want string
	}{
		{"values", Options{}, "{\"a\":[0]}\n\"two\"\n"},
		{"values, null", Options{OnError: Null}, "{\"a\":[0]}\nnull\n\"two\"\n"},
		{"values, unordered", Options{Unordered: true, OnError: Null}, "\"two\"\nnull\n{\"a\":[0]}\n"},
		{"records", Options{Format: Records}, zero + one + two},
		{"records, unordered", Options{Format: Records, Unordered: true}, two + one + zero},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := gocmp.Diff(c.want, written(t, c.opts, blocks...)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestItemsThatNeverCome(t *testing.T) {
	const five = `{"index":5,"status":"ok","input":5,"value":5,"attempts":1,"seconds":0.0000015}` + "\n"
	const three = `{"index":3,"status":"not_run","attempts":0,"seconds":0}` + "\n"
	for _, c := range []struct {
		name string
		opts Options
		want string
	}{
		{"values", Options{}, "5\n"},
		{"null", Options{OnError: Null}, "null\n5\n"},
		{"records", Options{Format: Records}, three + five},
		{"command", Options{Command: true}, "five"},
	} {
		for _, unordered := range []bool{false, true} {
			t.Run(fmt.Sprint(c.name, unordered), func(t *testing.T) {
				b := newBook(t, t.TempDir())
				defer b.w.CloseUnsynced()
				var out bytes.Buffer
				c.opts.Out, c.opts.Journal, c.opts.Dir, c.opts.Unordered, c.opts.Ring = &out, b.w, b.dir, unordered, 4
				s := New(c.opts)
				s.skip(3)
				e := okEntry(5, "5")
				if c.opts.Command {
					e.Value = []byte(`{"exit":0,"stdout":"five","stderr":""}`)
				}
				s.Add(b.enter(t, e))
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				if d := gocmp.Diff(c.want, out.String()); d != "" {
					t.Error(d)
				}
			})
		}
	}
}

func TestSeconds(t *testing.T) {
	for _, c := range []struct {
		ns   int64
		want string
	}{
		{0, "0"}, {1, "0.000000001"}, {100_000_000, "0.1"}, {1_000_000_000, "1"}, {61_030_000_000, "61.03"},
		{-1_500_000_000, "-1.5"}, {-1 << 63, "-9223372036.854775808"},
	} {
		if got := string(appendSeconds(nil, c.ns)); got != c.want {
			t.Errorf("%d ns: %s, want %s", c.ns, got, c.want)
		}
	}
}

// TestAnyOrderAndChunking compares the output with the plain list, whatever
// the order in which items end, the blocks they come in, and the ring.
func TestAnyOrderAndChunking(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		b := newBook(t, dir)
		defer b.w.CloseUnsynced()
		n := rapid.IntRange(1, 200).Draw(t, "items")
		entries := make([]journal.Entry, n)
		for i := range entries {
			entries[i] = okEntry(uint64(i), fmt.Sprintf("[%d,%q]", i, strings.Repeat("x", i%7)))
			if i%11 == 3 {
				entries[i] = failedEntry(uint64(i))
			}
		}
		opts := Options{
			Format: Format(rapid.IntRange(0, 1).Draw(t, "format")), Unordered: rapid.Bool().Draw(t, "unordered"),
			OnError: OnError(rapid.IntRange(0, 1).Draw(t, "on error")), Journal: b.w, Dir: dir,
			Ring: 1 << rapid.IntRange(0, 8).Draw(t, "ring"),
		}
		var out bytes.Buffer
		opts.Out = &out
		arrival := slices.Clone(entries)
		if rapid.Bool().Draw(t, "late") { // the first item comes last
			arrival = append(arrival[1:], arrival[0])
		} else {
			keys := rapid.SliceOfN(rapid.IntRange(0, 3*n), n, n).Draw(t, "keys")
			slices.SortStableFunc(arrival, func(a, b journal.Entry) int { return cmp.Compare(keys[a.Index], keys[b.Index]) })
		}
		s := New(opts)
		for rest := arrival; len(rest) > 0; {
			k := rapid.IntRange(1, len(rest)).Draw(t, "block")
			s.Add(b.enter(t, rest[:k]...))
			rest = rest[k:]
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		want := entries
		if opts.Unordered {
			want = arrival
		}
		compare(t, &opts, want, out.String())
	})
	if left, _ := filepath.Glob(filepath.Join(dir, "waiting-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// compare holds an output against the entries it should show.
func compare(t *rapid.T, opts *Options, want []journal.Entry, got string) {
	lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
	if got == "" {
		lines = nil
	}
	for _, e := range want {
		if opts.Format == Values && e.Status != batch.OK && opts.OnError == Omit {
			continue
		}
		if len(lines) == 0 {
			t.Fatalf("item %d is missing", e.Index)
		}
		line := lines[0]
		lines = lines[1:]
		if opts.Format == Values {
			if text := string(e.Value); line != text && (line != "null" || text != "") {
				t.Fatalf("%s where %q belongs", line, text)
			}
			continue
		}
		var r struct {
			Index  uint64
			Status string
			Value  json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.Index != e.Index || r.Status != e.Status.String() || string(r.Value) != string(e.Value) {
			t.Fatalf("%v: %s where item %d belongs", err, line, e.Index)
		}
	}
	if len(lines) > 0 {
		t.Fatalf("left over: %q", lines)
	}
}

func TestLongValues(t *testing.T) {
	long := `"` + strings.Repeat("0123456789", windowSize/4) + `"`
	exact := `"` + strings.Repeat("y", windowSize-2) + `"`
	got := written(t, Options{}, []journal.Entry{okEntry(0, "0"), okEntry(1, long), okEntry(2, exact), okEntry(3, "3")})
	if want := "0\n" + long + "\n" + exact + "\n3\n"; got != want {
		t.Errorf("%d bytes, want %d", len(got), len(want))
	}
	got = written(t, Options{Format: Records}, []journal.Entry{okEntry(0, long), okEntry(1, "1")})
	if !strings.Contains(got, long) || strings.Count(got, "\n") != 2 {
		t.Errorf("records: %d bytes", len(got))
	}
}
