//go:build linux || darwin

package supervisor

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/internal/proc"
	"github.com/poolwise/poolwise/internal/wire"
)

// nobody is the number of a process that cannot exist.
const nobody = 1 << 30

// connected returns a serving worker without a process, and its socket's other
// end.
func connected(t interface{ Fatal(...any) }, output func(batch.Output)) (w *Worker, peer int, done func()) {
	w = &Worker{cfg: Config{MaxFrame: 8 << 20, Output: output}, sock: -1, state: serving}
	w.cfg.Load.Slots = 1
	w.pipes = [2]stream{{fd: -1}, {fd: -1}}
	w.pid, w.proc = nobody, &proc.Process{PID: nobody, EndFD: -1}
	theirs, err := w.connect()
	if err != nil {
		t.Fatal(err)
	}
	return w, int(theirs[3]), func() {
		closeAll(theirs)
		w.release()
	}
}

// TestFramesInPieces sends frames cut at any points; each piece is read before
// the next is sent. What is told must not depend on the cuts.
func TestFramesInPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var printed []byte
		w, peer, done := connected(t, func(out batch.Output) { printed = append(printed, out.Data...) })
		defer done()
		sent := drawFrames(t)
		var got []string
		for rest := sent.bytes; len(rest) > 0; {
			n := min(drawPiece(t), len(rest))
			if _, err := unix.Write(peer, rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
			got = append(got, told(t, w)...)
			if limit := sent.largest + 2*readSize; cap(w.in) > limit {
				t.Fatalf("the buffer has %d bytes, more than %d", cap(w.in), limit)
			}
		}
		if !slices.Equal(got, sent.results) {
			t.Fatalf("told were %.300q, sent %.300q", got, sent.results)
		}
		if !bytes.Equal(printed, sent.printed) {
			t.Fatalf("%d bytes were printed, %d sent", len(printed), len(sent.printed))
		}
		if len(w.in) != w.at {
			t.Fatalf("%d bytes are left", len(w.in)-w.at)
		}
	})
}

// drawPiece draws a size; mostly around the sizes where something happens. It
// is no more than a socket takes at once.
func drawPiece(t *rapid.T) int {
	return rapid.OneOf(rapid.IntRange(1, 20), rapid.IntRange(1, 100<<10), rapid.Just(100<<10)).Draw(t, "piece")
}

type frames struct {
	bytes   []byte
	results []string
	printed []byte
	largest int
}

func drawFrames(t *rapid.T) *frames {
	f := &frames{}
	for range rapid.IntRange(1, 12).Draw(t, "frames") {
		before := len(f.bytes)
		switch rapid.SampledFrom([]string{"results", "results", "results", "output", "unknown"}).Draw(t, "type") {
		case "results":
			f.addResults(t)
		case "output":
			text := bytes.Repeat([]byte("o"), drawSize(t))
			f.bytes = wire.AppendFrame(f.bytes, wire.Output, append([]byte{1, 15: 0}, text...))
			f.printed = append(f.printed, text...)
		case "unknown":
			f.bytes = wire.AppendFrame(f.bytes, 200, make([]byte, drawSize(t)))
		}
		f.largest = max(f.largest, len(f.bytes)-before)
	}
	return f
}

func drawSize(t *rapid.T) int {
	return rapid.OneOf(rapid.IntRange(0, 30), rapid.IntRange(0, 300<<10), rapid.Just(readSize-wire.HeaderSize)).Draw(t, "size")
}

func (f *frames) addResults(t *rapid.T) {
	var results []batch.Result
	for range rapid.IntRange(1, 3).Draw(t, "results") {
		value := `"` + string(bytes.Repeat([]byte("v"), drawSize(t))) + `"`
		r := batch.Result{Index: uint64(len(f.results)), Attempt: 1, Start: 1, End: 2, Value: []byte(value)}
		results = append(results, r)
		f.results = append(f.results, key(r))
	}
	f.bytes = wire.AppendResults(f.bytes, results)
}

// key is enough to tell a result from others.
func key(r batch.Result) string {
	return fmt.Sprint(r.Index, " ", len(r.Value), " ", string(r.Value[:2]))
}

// told takes all that a worker can tell without more being sent. Wait may heed
// Wake before it has read everything.
func told(t *rapid.T, w *Worker) (all []string) {
	for readable := true; readable; {
		w.Wake()
		results, err := w.Wait()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			all = append(all, key(r))
		}
		polled := []unix.PollFd{{Fd: int32(w.sock), Events: unix.POLLIN}}
		n, _ := unix.Poll(polled, 0)
		readable = n > 0 || len(results) > 0
	}
	return all
}

// TestSubmittedInPieces lets the other end read at any pace: chunks arrive
// whole and in order, and what was sent does not stay in memory.
func TestSubmittedInPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, peer, done := connected(t, nil)
		defer done()
		unix.SetNonblock(peer, true)
		var want, got []byte
		buf := make([]byte, 1<<20)
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			chunk := []batch.Item{{Attempt: 1, Data: bytes.Repeat([]byte("i"), drawSize(t))}}
			want = wire.AppendChunk(want, chunk)
			if err := w.Submit(chunk); err != nil {
				t.Fatal(err)
			}
			n, _ := unix.Read(peer, buf[:rapid.IntRange(1, len(buf)).Draw(t, "read")])
			got = append(got, buf[:max(n, 0)]...)
			if waits := len(w.out) - w.sent; w.sent > len(w.out)/2+waits+1<<20 {
				t.Fatalf("%d bytes that were sent are kept before %d that wait", w.sent, waits)
			}
		}
		for len(got) < len(want) {
			told(t, w) // it writes what the socket takes
			n, err := unix.Read(peer, buf)
			if n <= 0 {
				t.Fatal(err)
			}
			got = append(got, buf[:n]...)
		}
		if !bytes.Equal(got, want) {
			t.Fatal("what arrived is not what was sent")
		}
	})
}
