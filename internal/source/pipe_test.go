//go:build unix

package source

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// TestSlowProducer is C36: each item arrives as soon as it is complete. The
// producer writes the next one only when the one before has been read.
func TestSlowProducer(t *testing.T) {
	for format, write := range map[Format]func(i int) string{
		Lines:     func(i int) string { return fmt.Sprintf("%d\n", i) },
		NUL:       func(i int) string { return fmt.Sprintf("%d\x00", i) },
		JSONLines: func(i int) string { return fmt.Sprintf("{\"i\":%d}\n", i) },
		JSON:      func(i int) string { return fmt.Sprintf(`{"i":%d}`, i) },
		CSV:       func(i int) string { return fmt.Sprintf("\"%d\n\"\n", i) },
	} {
		t.Run(format.String(), func(t *testing.T) {
			from, to, err := os.Pipe()
			must(t, err)
			defer from.Close()
			r, err := Open(Config{Inputs: []string{"-"}, Format: format, Stdin: from})
			must(t, err)
			defer r.Close()
			if format == CSV {
				io.WriteString(to, "k\n")
			}
			for i := range 20 {
				if _, err := io.WriteString(to, write(i)); err != nil {
					t.Fatal(err)
				}
				if items, err := r.Next(); err != nil || len(items) != 1 {
					t.Fatalf("%d items, %v", len(items), err)
				}
			}
			must(t, to.Close())
			if _, err := r.Next(); err != io.EOF {
				t.Errorf("at the end: %v", err)
			}
		})
	}
}

// TestPartOfALine reads what is complete while the next line is under way.
func TestPartOfALine(t *testing.T) {
	from, to := io.Pipe()
	r, err := Open(Config{Inputs: []string{"-"}, Stdin: from})
	must(t, err)
	defer r.Close()
	go func() {
		io.WriteString(to, "a\nb\nc")
		io.WriteString(to, "d\n")
		to.Close()
	}()
	for _, want := range []int{2, 1} {
		if items, err := r.Next(); err != nil || len(items) != want {
			t.Fatalf("%d items, %v, want %d", len(items), err, want)
		}
	}
	if _, err := r.Next(); err != io.EOF {
		t.Error(err)
	}
}

// TestEndlessPipe is C36: memory stays flat.
func TestEndlessPipe(t *testing.T) {
	r, err := Open(Config{Inputs: []string{"-"}, Stdin: endless{}})
	must(t, err)
	n := 0
	var before, after runtime.MemStats
	for n < 20_000_000/7 {
		items, err := r.Next()
		must(t, err)
		if n += len(items); before.Sys == 0 && n > 200_000 {
			runtime.ReadMemStats(&before)
		}
	}
	runtime.ReadMemStats(&after)
	if after.HeapInuse > before.HeapInuse+16<<20 {
		t.Errorf("heap from %d to %d bytes", before.HeapInuse, after.HeapInuse)
	}
	must(t, r.Close())
}

type endless struct{}

func (endless) Read(buf []byte) (int, error) {
	for i := range buf {
		buf[i] = "a line\n"[i%7]
	}
	return len(buf) / 7 * 7, nil
}

func fifo(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip("no FIFOs here:", err)
	}
	return path
}

// TestFIFO opens it only when its turn comes, so that no writer is lost.
func TestFIFO(t *testing.T) {
	path := fifo(t)
	r, err := Open(Config{Inputs: []string{path}})
	must(t, err)
	defer r.Close()
	wrote := make(chan error, 1)
	go func() { wrote <- os.WriteFile(path, []byte("a\nb"), 0) }()
	n := 0
	for err == nil {
		items, next := r.Next()
		n, err = n+len(items), next
	}
	must(t, <-wrote)
	if n != 2 || err != io.EOF {
		t.Errorf("%d items, %v", n, err)
	}
}

// closeWhileReading calls Next and Close together. Whichever comes first, Next
// has to end.
func closeWhileReading(t *testing.T, cfg Config) {
	t.Helper()
	r, err := Open(cfg)
	must(t, err)
	failed := make(chan error, 1)
	begun := make(chan struct{})
	go func() {
		close(begun)
		_, err := r.Next()
		failed <- err
	}()
	<-begun
	runtime.Gosched()
	must(t, r.Close())
	if err := <-failed; !errors.Is(err, os.ErrClosed) {
		t.Errorf("Next: %v", err)
	}
	must(t, r.Close())
}

func TestCloseEndsABlockedNext(t *testing.T) {
	for range 20 { // the order of the two is up to chance
		t.Run("FIFO without a writer", func(t *testing.T) {
			closeWhileReading(t, Config{Inputs: []string{fifo(t)}})
		})
		t.Run("FIFO with an idle writer", func(t *testing.T) {
			path := fifo(t)
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			must(t, err)
			defer f.Close()
			closeWhileReading(t, Config{Inputs: []string{path}})
		})
		t.Run("pipe", func(t *testing.T) {
			from, to, err := os.Pipe()
			must(t, err)
			defer from.Close()
			defer to.Close()
			closeWhileReading(t, Config{Inputs: []string{"-"}, Stdin: from})
		})
		t.Run("reader that cannot be interrupted", func(t *testing.T) {
			from, to := io.Pipe()
			closeWhileReading(t, Config{Inputs: []string{"-"}, Stdin: from})
			must(t, to.Close()) // lets the goroutine go
		})
	}
}

// TestCloseLeavesStdinUsable reads from it again after Close.
func TestCloseLeavesStdinUsable(t *testing.T) {
	from, to, err := os.Pipe()
	must(t, err)
	defer from.Close()
	closeWhileReading(t, Config{Inputs: []string{"-"}, Stdin: from})
	_, err = io.WriteString(to, "rest")
	must(t, err)
	must(t, to.Close())
	if rest, err := io.ReadAll(from); err != nil || string(rest) != "rest" {
		t.Errorf("%q, %v", rest, err)
	}
}

var errDisk = errors.New("input/output error")

type failing struct {
	data string
	err  error
}

func (r *failing) Read(buf []byte) (int, error) {
	n := copy(buf, r.data)
	r.data = r.data[n:]
	return n, r.err
}

func TestReadErrors(t *testing.T) {
	for name, want := range map[string]error{"with data": errDisk, "without progress": io.ErrNoProgress} {
		t.Run(name, func(t *testing.T) {
			in := &failing{data: "a\nb\nc", err: errDisk}
			if want != errDisk {
				in.err = nil
			}
			got := readAll(t, Config{Inputs: []string{"-"}, Stdin: in})
			var read *ReadError
			if !errors.As(got.err, &read) || !errors.Is(got.err, want) || read.Offset != 5 {
				t.Fatalf("error %#v", got.err)
			}
			if len(got.items) != 2 {
				t.Errorf("items %q: a line that may be cut is no item", got.texts())
			}
		})
	}
}

// TestVanishedFile is there for Open and gone when its turn comes.
func TestVanishedFile(t *testing.T) {
	dir := folder(t, map[string]string{"a": "1\n", "b": "2\n"})
	r, err := Open(Config{Dir: dir, Inputs: []string{"a", "b"}})
	must(t, err)
	defer r.Close()
	must(t, os.Remove(filepath.Join(dir, "b")))
	if items, err := r.Next(); err != nil || len(items) != 1 {
		t.Errorf("%v, %v", items, err)
	}
	_, err = r.Next()
	var read *ReadError
	if !errors.As(err, &read) || read.Path != "b" || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}
