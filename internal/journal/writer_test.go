package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memFile is a File that remembers what of it would survive a power loss.
type memFile struct {
	mu      sync.Mutex
	data    []byte
	synced  int
	syncs   int
	room    int // bytes that may yet be written; no limit below 0
	syncErr error
}

func (f *memFile) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := len(p)
	var err error
	if f.room >= 0 && n > f.room {
		n, err = f.room, syscall.ENOSPC
	}
	if f.room >= 0 {
		f.room -= n
	}
	f.data = append(f.data, p[:n]...)
	return n, err
}

func (f *memFile) ReadAt(p []byte, off int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return bytes.NewReader(f.data).ReadAt(p, off)
}

func (f *memFile) Datasync() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.syncs++
	f.synced = len(f.data)
	return f.syncErr
}

func (f *memFile) Size() (int64, error) { return int64(len(f.data)), nil }
func (f *memFile) Close() error         { return nil }

func (f *memFile) state() (synced, syncs int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.synced, f.syncs
}

func (f *memFile) options() WriterOptions {
	return WriterOptions{Open: func(string, bool) (File, error) { return f, nil }}
}

// memWriter returns a new journal in memory, its version line on the disk.
func memWriter(t *testing.T) (*Writer, *memFile) {
	t.Helper()
	f := &memFile{room: -1}
	w, err := f.options().Create("journal.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Sync(); err != nil {
		t.Fatal(err)
	}
	return w, f
}

func TestWritesAreOnTheDiskInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f := memWriter(t)
		defer w.Close()
		time.Sleep(time.Second) // virtual time: what the version line set off is over
		_, before := f.state()
		for range 4 {
			if _, err := w.Append([]byte("0123456789\n")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(45 * time.Millisecond)
		}
		if _, syncs := f.state(); syncs != before {
			t.Fatalf("%d syncs after 180 ms, want none", syncs-before)
		}
		time.Sleep(21 * time.Millisecond)
		synctest.Wait()
		if synced, syncs := f.state(); syncs != before+1 || synced != len(f.data) {
			t.Fatalf("after 201 ms: %d syncs, %d bytes of %d", syncs-before, synced, len(f.data))
		}
		time.Sleep(time.Hour)
		if _, syncs := f.state(); syncs != before+1 {
			t.Fatalf("%d syncs without a write", syncs-before-1)
		}
	})
}

func TestManyBytesAreSyncedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, f := memWriter(t)
		defer w.Close()
		block := bytes.Repeat([]byte("x"), 1<<20)
		for range 4 {
			if _, err := w.Append(block); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if synced, _ := f.state(); synced != len(f.data) {
			t.Fatalf("%d bytes of %d are synced without any time passing", synced, len(f.data))
		}
	})
}

func TestCloseSyncsUnlessToldNotTo(t *testing.T) {
	w, f := memWriter(t)
	w.Append([]byte("line\n"))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if synced, _ := f.state(); synced != len(f.data) {
		t.Errorf("Close left %d bytes unsynced", len(f.data)-synced)
	}
	w, f = memWriter(t)
	w.Append([]byte("line\n"))
	if err := w.CloseUnsynced(); err != nil {
		t.Fatal(err)
	}
	if synced, _ := f.state(); synced == len(f.data) {
		t.Error("CloseUnsynced synced")
	}
	if _, err := w.Append([]byte("x")); !errors.Is(err, errClosed) {
		t.Errorf("Append after Close: %v", err)
	}
}

func TestAFullDiskIsFinalAndLeavesAReadableJournal(t *testing.T) {
	path := "run/journal.jsonl"
	e := sample(1)
	line, _ := AppendLine(nil, &e)
	for _, room := range []int{0, 1, len(line) - 1, len(line), len(line) + 20} {
		t.Run(fmt.Sprint(room), func(t *testing.T) {
			w, f := memWriter(t)
			f.room = room
			_, err := w.Append(append(bytes.Clone(line), line...))
			var failed *WriteError
			if !errors.As(err, &failed) || failed.Path != "journal.jsonl" || !errors.Is(err, syscall.ENOSPC) {
				t.Fatalf("got %v", err)
			}
			f.room = -1
			if _, again := w.Append(line); again != err {
				t.Errorf("then %v, want the same error", again)
			}
			if got := w.Close(); !errors.Is(got, syscall.ENOSPC) {
				t.Errorf("Close: %v", got)
			}
			w, err = f.options().OpenAppend(path)
			if err != nil {
				t.Fatal(err)
			}
			off, err := w.Append(line)
			if err != nil {
				t.Fatal(err)
			}
			w.Close()
			want := (room+1)/len(line) + 1 // a line is whole without its newline
			if got := scanAll(t, f.data); len(got.entries) != want || got.offsets[want-1] != off {
				t.Errorf("%d entries, the last at %v; want %d, at %d", len(got.entries), got.offsets, want, off)
			}
		})
	}
}

func TestAFailedSyncIsFinal(t *testing.T) {
	w, f := memWriter(t)
	f.syncErr = syscall.EIO
	w.Append([]byte("line\n"))
	if err := w.Sync(); !errors.Is(err, syscall.EIO) {
		t.Fatalf("got %v", err)
	}
	f.syncErr = nil
	if _, err := w.Append([]byte("line\n")); !errors.Is(err, syscall.EIO) {
		t.Errorf("Append after it: %v", err)
	}
	if err := w.Close(); !errors.Is(err, syscall.EIO) {
		t.Errorf("Close after it: %v", err)
	}
}

func TestOffsetsOfManyGoroutines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	w, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	const lanes, blocks = 4, 50
	offsets := make([]map[int64]uint64, lanes)
	var wg sync.WaitGroup
	for lane := range lanes {
		offsets[lane] = map[int64]uint64{}
		wg.Go(func() {
			for block := range blocks {
				e := sample(uint64(lane*blocks + block))
				line, _ := AppendLine(nil, &e)
				off, err := w.Append(line)
				if err != nil {
					t.Error(err)
				}
				offsets[lane][off] = e.Index
			}
		})
	}
	wg.Wait()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	n := 0
	damage, err := Read(path, func(off int64, e *Entry) error {
		n++
		if got, ok := offsets[e.Index/blocks][off]; !ok || got != e.Index {
			return fmt.Errorf("item %d stands at %d, where nobody put it", e.Index, off)
		}
		return nil
	})
	if err != nil || damage.Count > 0 || n != lanes*blocks {
		t.Fatalf("%d entries, %v, %v", n, damage, err)
	}
}

func TestCreateRefusesAFileThatIsThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(path); !errors.Is(err, os.ErrExist) {
		t.Errorf("got %v", err)
	}
	if _, err := OpenAppend(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// scanned is what a scan of a journal tells.
type scanned struct {
	entries []uint64
	offsets []int64
	damage  Damage
}

func scanAll(t interface {
	Helper()
	Fatal(...any)
}, data []byte) scanned {
	t.Helper()
	var got scanned
	var err error
	got.damage, err = Scan(bytes.NewReader(data), "journal.jsonl", func(off int64, e *Entry) error {
		got.entries = append(got.entries, e.Index)
		got.offsets = append(got.offsets, off)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestCutAnywhereThenAppend is C37 for the journal: whatever a crash leaves,
// all whole lines survive, and so does what is appended later.
func TestCutAnywhereThenAppend(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := &memFile{room: -1}
		w, err := f.options().Create("journal.jsonl")
		if err != nil {
			t.Fatal(err)
		}
		var want []uint64
		var ends []int
		next := uint64(0)
		more := func() {
			for range rapid.IntRange(0, 5).Draw(t, "lines") {
				e := genEntry(t)
				e.Index = next
				next++
				line, _ := AppendLine(nil, &e)
				if _, err := w.Append(line); err != nil {
					t.Fatal(err)
				}
				want, ends = append(want, e.Index), append(ends, len(f.data)-1)
			}
		}
		more()
		for range rapid.IntRange(0, 4).Draw(t, "crashes") {
			w.CloseUnsynced()
			f.data = f.data[:rapid.IntRange(0, len(f.data)).Draw(t, "cut")]
			for len(ends) > 0 && ends[len(ends)-1] > len(f.data) {
				want, ends = want[:len(want)-1], ends[:len(ends)-1]
			}
			if w, err = f.options().OpenAppend("journal.jsonl"); err != nil {
				t.Fatal(err)
			}
			more()
		}
		w.CloseUnsynced()
		if d := cmp.Diff(want, scanAll(t, f.data).entries, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("%s\n%s", d, f.data)
		}
	})
}

func BenchmarkWriter(b *testing.B) {
	w, err := Create(filepath.Join(b.TempDir(), "journal.jsonl"))
	if err != nil {
		b.Fatal(err)
	}
	defer w.CloseUnsynced()
	e := sample(0)
	buf := make([]byte, 0, 1<<18)
	b.ReportAllocs()
	for i := range b.N {
		e.Index = uint64(i)
		e.Hash = HashItem(0, []byte("123456"))
		if buf, _ = AppendLine(buf, &e); len(buf) > 1<<18-1024 || i == b.N-1 {
			if _, err := w.Append(buf); err != nil {
				b.Fatal(err)
			}
			buf = buf[:0]
		}
	}
}

var _ io.ReaderAt = (*Writer)(nil)
