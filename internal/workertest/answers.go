//go:build linux || darwin

package workertest

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func answersOnce(t *testing.T, k Kind) {
	l := start(t, k, Echo)
	attempts := map[uint64]uint32{}
	for chunk := range 12 { // all of them before the first Wait
		sent := items(uint64(100*chunk), strings.Split(strings.Repeat("x ", chunk)+"x", " ")...)
		for i := range sent {
			sent[i].Index *= 2 // not one after another
			sent[i].Attempt = uint32(1 + (chunk+i)%3)
			attempts[sent[i].Index] = sent[i].Attempt
		}
		l.submit(sent)
	}
	l.collect(len(attempts))
	got := map[uint64]uint32{}
	for _, a := range l.answers {
		got[a.index] = a.attempt
	}
	if diff := cmp.Diff(attempts, got); diff != "" {
		t.Errorf("attempts answered (-sent +answered):\n%s", diff)
	}
	l.w.Drain()
	l.drained()
}

func values(t *testing.T, k Kind) {
	l := start(t, k, Echo)
	texts := []string{
		"", " ", "a", "null", "NaN", "1e3", `{"a":1}`, `"quoted"`, `back\slash`, "it's", "$(exit 1)", "{}",
		"two\nlines\n", "\r\n", "\t", "\u00e9\u4e16\u754c", "\U0001F600", "e\u0301", "\u2028\u2029", "\ufeff", "\u007f\u0080",
		"<script>&amp;", "\u202eright to left", strings.Repeat("long ", 1000),
	}
	l.submit(items(0, texts...))
	l.collect(len(texts))
	for _, a := range l.answers {
		if a.text != texts[a.index] {
			t.Errorf("item %d: %q came back as %q (%v)", a.index, texts[a.index], a.text, a.failure)
		}
	}
}

func largeValues(t *testing.T, k Kind) {
	l := start(t, k, Makes)
	sizes := []int{1 << 20, 0, 20 << 20, 1, 65535, 65536, 65537}
	for i, size := range sizes {
		l.submit(items(uint64(i), strconv.Itoa(size)))
	}
	l.collect(len(sizes))
	for _, a := range l.answers {
		if a.text != strings.Repeat("x", sizes[a.index]) {
			t.Errorf("%d letters came back as %d bytes (%v)", sizes[a.index], len(a.text), a.failure)
		}
	}
}

func validUntilWait(t *testing.T, k Kind) {
	l := start(t, k, Echo)
	word := strings.Repeat("word", 300)
	for done, sent := 0, 0; done < 200; {
		for ; sent < 200 && sent < done+50; sent++ {
			l.submit(items(uint64(sent), word+strconv.Itoa(sent)))
		}
		results, err := l.wait()
		if err != nil {
			t.Fatal(err)
		}
		now := l.answers[len(l.answers)-len(results):]
		l.w.Running(nil)
		l.w.Wake()
		if later := l.answersOf(results); !slices.Equal(now, later) {
			t.Fatalf("results changed: %v, then %v", now, later)
		}
		done += len(results)
	}
}

func failures(t *testing.T, k Kind) {
	l := start(t, k, Fails)
	l.submit(items(0, "a", "fail one", "b"))
	l.submit(items(3, "fail two"))
	l.collect(4)
	l.submit(items(4, "c"))
	l.collect(5)
	for _, a := range l.answers {
		if fails := a.index == 1 || a.index == 3; fails != (a.failure != nil) {
			t.Errorf("item %d: failure is %v", a.index, a.failure)
		}
		if a.failure != nil && (a.failure.Type == "" || a.failure.Error() == a.failure.Type) {
			t.Errorf("item %d: the failure says too little: %+v", a.index, a.failure)
		}
	}
}

func prints(t *testing.T, k Kind) {
	l := start(t, k, Prints)
	l.submit(items(0, "one\n", "two\n", "three\n"))
	l.collect(3)
	l.w.Drain()
	l.drained()
	for i, want := range []string{"one\n", "two\n", "three\n"} {
		if got := l.printed(uint64(i), "stderr"); got != want {
			t.Errorf("item %d printed %q, passed on was %q", i, want, got)
		}
	}
}

// printed returns what one item alone has printed.
func (l *lane) printed(index uint64, stream string) string {
	var text []byte
	for _, out := range l.output {
		if out.Stream == stream && len(out.Items) == 1 && out.Items[0].Index == index {
			text = append(text, out.Data...)
		}
	}
	return string(text)
}

// submitNeverBlocks hands 64 MiB to a worker whose slots all wait.
func submitNeverBlocks(t *testing.T, k Kind) {
	g := newGate(t)
	l := start(t, k, Waits)
	held := l.fill(g)
	size := min(1<<20, k.Largest)
	text := strings.Repeat("y", size)
	n := (64 << 20) / size
	const perChunk = 4
	for i := 0; i < n; i += perChunk {
		l.submit(items(uint64(held+i), slices.Repeat([]string{text}, perChunk)...))
	}
	if got := inHand(l.w.Running(nil)); !slices.Equal(got, upTo(held)) {
		t.Errorf("in hand are %v, want %d items", got, held)
	}
	l.w.Kill()
	l.death()
}

// fill gives each slot an item that waits at the gate, and says how many those
// are.
func (l *lane) fill(g *gate) int {
	l.t.Helper()
	n := l.kind.Slots
	for i := range n {
		l.submit(items(uint64(i), g.dir))
	}
	for range n {
		g.arrived()
	}
	return n
}

func leavesEarly(t *testing.T, k Kind) {
	g := newGate(t)
	l := start(t, k, Waits)
	l.submit(items(0, "a", "b", "c", g.dir, "d"))
	g.arrived()
	for !slices.Equal(l.quick(), []uint64{0, 1, 2}) {
		if _, err := l.wait(); err != nil { // hangs if they are held back
			t.Fatal(err)
		}
	}
	g.open(1)
	l.collect(5)
}

// quick returns which of the first three items have been answered.
func (l *lane) quick() []uint64 {
	return slices.DeleteFunc(l.indexes(), func(i uint64) bool { return i > 2 })
}
