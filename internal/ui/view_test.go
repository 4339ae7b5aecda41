package ui

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/poolwise/poolwise/internal/batch"
)

func TestTotal(t *testing.T) {
	for _, test := range []struct {
		name      string
		s         Snapshot
		total     uint64
		estimated bool
		ok        bool
	}{
		{"known", Snapshot{Total: 7, TotalKnown: true, BytesTotal: 10, BytesRead: 1, Read: 100}, 7, false, true},
		{"a pipe", Snapshot{Read: 100, BytesRead: 1000}, 0, true, false},
		{"a file", Snapshot{Read: 100, BytesRead: 1000, BytesTotal: 5500}, 550, true, true},
		{"too early to tell", Snapshot{Read: 5, BytesRead: 50, BytesTotal: 5500}, 0, true, false},
		{"a file that grew", Snapshot{Read: 100, BytesRead: 6000, BytesTotal: 5500}, 100, true, true},
	} {
		total, estimated, ok := test.s.total()
		if total != test.total || estimated != test.estimated || ok != test.ok {
			t.Errorf("%s: got %d, %v, %v", test.name, total, estimated, ok)
		}
	}
}

// at makes a snapshot of a run of 10,000 items.
func at(elapsed time.Duration, ok uint64) Snapshot {
	return Snapshot{Done: [batch.NumStatus]uint64{ok}, Total: 10_000, TotalKnown: true, Elapsed: elapsed}
}

func TestRateLooksBackHalfAMinute(t *testing.T) {
	var tr tracker
	for s := range 100 { // 100 a second
		tr.view(at(time.Duration(s)*time.Second, uint64(100*s)))
	}
	for s := range 31 { // then 10 a second
		tr.view(at(time.Duration(100+s)*time.Second, uint64(9900+s)))
	}
	v := tr.view(at(131*time.Second, 9931))
	if math.Abs(v.Rate-1) > 0.01 || v.ETA.Round(time.Second) != 69*time.Second {
		t.Errorf("rate %v, ETA %v; want 1 a second, 69 s", v.Rate, v.ETA)
	}
	if len(tr.marks) > 35 {
		t.Errorf("%d marks are kept", len(tr.marks))
	}
}

func TestRateOfAResumedRun(t *testing.T) {
	var tr tracker
	s := at(2*time.Second, 5010)
	s.Resumed = 5000
	if v := tr.view(s); v.Rate != 5 {
		t.Errorf("rate %v, want 5", v.Rate)
	}
}

func TestETAOfAnything(t *testing.T) {
	var tr tracker
	if v := tr.view(Snapshot{}); v.HasETA || v.Rate != 0 {
		t.Errorf("before the start: %+v", v)
	}
	s := at(time.Hour, 1)
	s.Total = math.MaxUint64
	if v := tr.view(s); v.ETA <= 0 {
		t.Errorf("a very long run: ETA %v", v.ETA)
	}
}

func TestUnusual(t *testing.T) {
	for _, test := range []struct {
		running         int
		oldest, typical time.Duration
		want            bool
	}{
		{1, 9 * time.Second, time.Millisecond, false},
		{1, 11 * time.Second, time.Millisecond, true},
		{1, 42 * time.Second, 10 * time.Second, false},
		{1, 51 * time.Second, 10 * time.Second, true},
		{0, 51 * time.Second, 10 * time.Second, false},
	} {
		s := Snapshot{Running: test.running, Oldest: test.oldest, Typical: test.typical}
		if s.unusual() != test.want {
			t.Errorf("%+v: got %v", test, !test.want)
		}
	}
}

func busy() *view {
	return &view{
		Snapshot: Snapshot{
			Done: [batch.NumStatus]uint64{1200, 30, 3, 1, 0}, Read: 1300, Total: 10_000, TotalKnown: true,
			Running: 4, Oldest: 42 * time.Second, OldestIndex: 1017, Typical: time.Second,
			CPU: 1.93, RSS: 312 << 20, Workers: 2, Plan: "processes:2", Elapsed: 4 * time.Second,
		},
		Rate: 308.5, ETA: 80 * time.Second, HasETA: true,
	}
}

func TestLayout(t *testing.T) {
	for _, test := range []struct {
		width int
		want  string
	}{
		{150, "1,234/10,000  [====>                                 ]  12%  309/s  ETA 1m 20s  34 failed  4 running  CPU 1.9  312 MiB  item 1017 running 42 s"},
		{110, "1,234/10,000  12%  309/s  ETA 1m 20s  34 failed  4 running  CPU 1.9  312 MiB  item 1017 running 42 s"},
		{80, "1,234/10,000  12%  309/s  ETA 1m 20s  34 failed  CPU 1.9  item 1017 running 42 s"},
		{40, "1,234/10,000  12%  ETA 1m 20s  34 failed"},
		{24, "1,234/10,000  34 failed"},
		{12, "1,234/10,000"},
		{6, "1,2..."},
		{0, ""},
	} {
		if got := layout(busy(), test.width); got != test.want {
			t.Errorf("%d columns:\n got %q\nwant %q", test.width, got, test.want)
		}
	}
}

func TestLayoutOfOtherStates(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*view)
		want   string
	}{
		{"unknown total", func(v *view) { v.TotalKnown, v.HasETA = false, false }, "1,234 done  309/s  34 failed"},
		{"estimated", func(v *view) { v.TotalKnown, v.BytesRead, v.BytesTotal = false, 100, 1000 }, "1,234/~13,000  [>         ]  9%"},
		{"a phase", func(v *view) { v.Phase = "measuring" }, "measuring  1,234/10,000"},
		{"nearly there", func(v *view) { v.ETA = 300 * time.Millisecond }, "ETA < 1 s"},
		{"all done", func(v *view) { v.Done[batch.OK], v.HasETA = 9966, false }, "10,000/10,000  [====================]  100%"},
		{"one short", func(v *view) { v.Done[batch.OK] = 9965 }, "99%"},
		{"nothing to do", func(v *view) { *v = view{Snapshot: Snapshot{TotalKnown: true}} }, "0/0  [======================================]  100%"},
	} {
		v := busy()
		v.Running = 0
		test.change(v)
		if got := layout(v, 79); !strings.Contains(got, test.want) {
			t.Errorf("%s: got %q, want %q in it", test.name, got, test.want)
		}
	}
}

func TestLayoutFitsAnyTerminal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := busy()
		v.TotalKnown = rapid.Bool().Draw(t, "known")
		v.Total = rapid.Uint64().Draw(t, "total")
		v.Done[batch.Failed] = rapid.Uint64Range(0, 1<<40).Draw(t, "failed")
		v.OldestIndex = rapid.Uint64().Draw(t, "oldest")
		v.HasETA = rapid.Bool().Draw(t, "has ETA")
		width := rapid.IntRange(0, 300).Draw(t, "width")
		if got := layout(v, width); len(got) > width {
			t.Fatalf("%d columns in %d: %q", len(got), width, got)
		}
	})
}
