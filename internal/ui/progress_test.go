package ui

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/poolwise/poolwise/internal/batch"
)

// stage is a run of 10 items a second, and what was shown of it.
type stage struct {
	t     *testing.T
	out   *os.File
	begin time.Time
	polls int
}

func newStage(t *testing.T) *stage {
	out, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close() })
	return &stage{t: t, out: out, begin: time.Now()}
}

func (s *stage) snapshot() Snapshot {
	s.polls++
	elapsed := time.Since(s.begin)
	return Snapshot{
		Done:  [batch.NumStatus]uint64{uint64(elapsed / (100 * time.Millisecond))},
		Total: 1000, TotalKnown: true, Elapsed: elapsed, Workers: 2, Plan: "processes:2",
	}
}

func (s *stage) start(mode Mode) *Progress {
	p := New(Options{Mode: mode, Out: s.out, Snapshot: s.snapshot})
	p.Start(s.t.Context())
	return p
}

func (s *stage) shown() string {
	data, err := os.ReadFile(s.out.Name())
	if err != nil {
		s.t.Fatal(err)
	}
	return string(data)
}

// In these tests the clock is synctest's: a sleep takes no time, and it ends
// when all the others have done what they had to.

func TestLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		p := s.start(Lines)
		time.Sleep(9 * time.Second)
		if got := s.shown(); got != "" {
			t.Errorf("after 9 s: %q", got)
		}
		p.Note("a note\nof two lines, with \x1b[2J\n")
		time.Sleep(16 * time.Second)
		p.Stop()
		p.Stop()
		p.Note("after the end")
		want := "a note\nof two lines, with \\x1b[2J\n" +
			"10 s  100/1,000  10%  10/s  ETA 1m 30s  CPU 0  0 B\n" +
			"20 s  200/1,000  20%  10/s  ETA 1m 20s  CPU 0  0 B\n" +
			"25 s  250/1,000  25%  10/s  ETA 1m 15s  CPU 0  0 B\n" +
			"after the end\n"
		if got := s.shown(); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}

func TestShortRunsShowNothing(t *testing.T) {
	for mode, length := range map[Mode]time.Duration{Lines: 9 * time.Second, Bar: 299 * time.Millisecond, None: time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			s := newStage(t)
			p := s.start(mode)
			time.Sleep(length)
			p.Stop()
			if got := s.shown(); got != "" {
				t.Errorf("%s, %v: %q", mode, length, got)
			}
		})
	}
}

func TestQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		p := New(Options{Mode: JSON, Out: s.out, Snapshot: s.snapshot, Quiet: true})
		p.Start(t.Context())
		time.Sleep(time.Minute)
		p.Note("seen all the same")
		p.Stop()
		if got := s.shown(); got != "seen all the same\n" || s.polls > 0 {
			t.Errorf("%q after %d polls", got, s.polls)
		}
	})
}

func TestObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		p := s.start(JSON)
		time.Sleep(2500 * time.Millisecond)
		p.Note("a \"note\"")
		p.Stop()
		p.Note("late")
		var kinds []string
		var last progressJSON
		dec := json.NewDecoder(strings.NewReader(s.shown()))
		for {
			var o progressJSON
			if err := dec.Decode(&o); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			kinds = append(kinds, o.Type)
			if o.Type == "progress" {
				last = o
			}
		}
		if got := strings.Join(kinds, " "); got != "progress progress note progress note" {
			t.Errorf("got %s", got)
		}
		if last.ElapsedSeconds != 2.5 || last.Done["ok"] != 25 || *last.Total != 1000 || *last.ETASeconds != 97.5 {
			t.Errorf("last object: %+v", last)
		}
	})
}

func TestBar(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		p := s.start(Bar)
		time.Sleep(time.Second)
		p.Note("a note")
		time.Sleep(time.Second)
		p.Stop()
		p.Note("after the end")
		got := s.shown()
		// Each drawing is taken back by the one after it, so the file, read as a
		// terminal would, holds the notes and the last line.
		const want = "a note\n20/1,000  [>                                ]  2%  10/s  ETA 1m 38s  CPU 0  0 B\nafter the end\n"
		if screen := play(got); screen != want {
			t.Errorf("on the screen\n%s\nwant\n%s", screen, want)
		}
		if n := strings.Count(got, "ETA"); n < 8 || n > 14 {
			t.Errorf("drawn %d times in 2 s", n)
		}
		for frame := range strings.SplitSeq(got, "\x1b[1A") {
			if frame != "" && !strings.HasSuffix(frame, "\n") {
				t.Errorf("a frame is cut: %q", frame)
			}
		}
	})
}

// play is a terminal that knows "one line up" and "clear to the end".
func play(text string) string {
	var lines []string
	for i, frame := range strings.Split(text, "\x1b[1A\x1b[J") {
		if i > 0 {
			lines = lines[:len(lines)-1]
		}
		for line := range strings.Lines(frame) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

func TestProgressEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		ctx, cancel := context.WithCancel(t.Context())
		p := New(Options{Mode: JSON, Out: s.out, Snapshot: s.snapshot})
		p.Start(ctx)
		cancel()
		synctest.Wait()
		time.Sleep(time.Minute)
		if s.polls != 0 {
			t.Errorf("polled %d times after the context's end", s.polls)
		}
		p.Stop()
		if s.polls != 1 {
			t.Errorf("the final state was read %d times", s.polls)
		}
	})
}

func TestBarOnATerminalThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		p := s.start(Bar)
		time.Sleep(time.Second)
		s.out.Close()
		time.Sleep(time.Second)
		p.Note("nobody reads this")
		p.Stop()
	})
}

func TestStopWithoutStart(t *testing.T) {
	s := newStage(t)
	p := New(Options{Mode: Lines, Out: s.out, Snapshot: s.snapshot})
	p.Note("before")
	p.Stop()
	if got := s.shown(); got != "before\n" {
		t.Errorf("got %q", got)
	}
}

func TestAutoWithoutATerminal(t *testing.T) {
	s := newStage(t)
	for _, mode := range []Mode{Auto, ""} {
		if got := resolve(Options{Mode: mode, Out: s.out, Term: "xterm"}); got != Lines {
			t.Errorf("%q: got %s", mode, got)
		}
	}
}

func TestParseMode(t *testing.T) {
	for _, name := range []string{"auto", "bar", "lines", "json", "none"} {
		if m, err := ParseMode(name); err != nil || string(m) != name {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
	for _, name := range []string{"", "Bar", "spinner"} {
		if _, err := ParseMode(name); err == nil {
			t.Errorf("%q is accepted", name)
		}
	}
}
