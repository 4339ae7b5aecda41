package main

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/poolwise/poolwise/benchmarks/internal/trial"
)

func sec(n int) time.Duration { return time.Duration(n) * time.Second }

func sh(name, script string) Contestant {
	return Contestant{Name: name, Trial: trial.Trial{Argv: []string{"sh", "-c", script, "sh", "{dir}"}}}
}

func TestPatience(t *testing.T) {
	for _, c := range []struct {
		name string
		best float64
		want time.Duration
	}{
		{"nothing is known", math.Inf(1), longestRun},
		{"three times the best", 2, sec(6)},
		{"short runs vary", 0.01, leastPatience},
		{"never longer than any run", 3600, longestRun},
	} {
		if got := patience(c.best); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestOut(t *testing.T) {
	for _, c := range []struct {
		name string
		o    Outcome
		want bool
	}{
		{"has not run yet", Outcome{}, false},
		{"is the best", took("x", 2), false},
		{"may be the best", took("x", 3), false},
		{"is too far from it", took("x", 3.1), true},
		{"was given up", Outcome{GivenUp: 6}, true},
		{"failed", Outcome{Error: "why"}, true},
	} {
		if got := c.o.out(2); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if took("x", 0.06).out(0.02) {
		t.Error("a run of 60 ms is out for 40 ms")
	}
}

func TestBest(t *testing.T) {
	for _, c := range []struct {
		name  string
		plans []Outcome
		want  int
	}{
		{"none", []Outcome{{Error: "x"}, {GivenUp: 3}}, -1},
		{"the lowest median", []Outcome{took("a", 1, 9, 9), took("b", 8, 8, 8)}, 1},
		{"not one that failed later", []Outcome{{Name: "a", Seconds: []float64{1}, Error: "x"}, took("b", 8)}, 1},
		{"serial, in a draw", []Outcome{took("a", 1), took("serial", 1.02)}, 1},
		{"not serial, beyond a draw", []Outcome{took("a", 1), took("serial", 1.03)}, 0},
	} {
		if got := best(c.plans); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// A plan without a chance is ended early and not run again; one that is slower
// but has none either is not repeated; each group has its own best.
func TestChooseGivesUp(t *testing.T) {
	c := contest{work: t.TempDir(), until: time.Now().Add(time.Hour)}
	plans := []Contestant{
		sh("quick", "sleep 0.2"), sh("hopeless", "sleep 60"), sh("slow", "sleep 0.5"), sh("broken", "echo why >&2; exit 1"), sh("close", "sleep 0.22"),
	}
	hands := []Contestant{sh("by hand", "true"), sh("by hand too", "sleep 0.1")}
	groups, err := c.choose(t.Context(), 3, plans, hands)
	if err != nil {
		t.Fatal(err)
	}
	got := groups[0]
	for i, want := range []int{3, 0, 1, 0, 3} {
		if len(got[i].Seconds) != want {
			t.Errorf("%s: %d runs, want %d: %+v", got[i].Name, len(got[i].Seconds), want, got[i])
		}
	}
	if got[1].GivenUp < 0.5 || got[1].GivenUp > 10 {
		t.Errorf("given up after %v s", got[1].GivenUp)
	}
	if !strings.Contains(got[3].Error, "why") {
		t.Errorf("the error is %q", got[3].Error)
	}
	if hand := groups[1]; len(hand[0].Seconds) != 3 || len(hand[1].Seconds) == 0 {
		t.Errorf("by hand: %+v", hand)
	}
}

// When the time is up there is one round to choose by and there are two to time.
func TestRoundsEnd(t *testing.T) {
	c := contest{work: t.TempDir(), until: time.Now()}
	groups, err := c.choose(t.Context(), 5, []Contestant{sh("a", "true")})
	if err != nil || len(groups[0][0].Seconds) != 1 {
		t.Errorf("chosen by %+v, %v", groups, err)
	}
	final, err := c.time(t.Context(), 5, []Contestant{sh("a", "true"), sh("b", "true")})
	if err != nil || len(final[0].Seconds) != 2 || len(final[1].Seconds) != 2 {
		t.Errorf("timed: %+v, %v", final, err)
	}
}

func TestGrid(t *testing.T) {
	for _, c := range []struct {
		name, kind string
		waits      bool
		cpus       int
		want       string
	}{
		{"computing", "def", false, 2, "processes:2 processes:4 threads:64 threads:16 threads:4 2x16:threads serial"},
		{"waiting: likely ones first", "def", true, 2, "threads:64 threads:16 threads:4 2x16:threads processes:2 processes:4 serial"},
		{"more CPUs", "def", false, 8, "processes:8 processes:2 processes:4 processes:16 threads:64 threads:16 threads:4 8x16:threads serial"},
		{"one CPU", "def", false, 1, "processes:1 processes:2 processes:4 threads:64 threads:16 threads:4 2x16:threads serial"},
		{"coroutines", "async def", true, 2, "async:256 async:64 async:16 async:4 2x64:async serial"},
		{"commands", "command", false, 2, "processes:2 processes:4 processes:8 processes:16 processes:1 serial"},
	} {
		if got := strings.Join(grid(c.kind, c.waits, c.cpus), " "); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

// Results count as the same in any order, and as others with one line changed,
// missing or doubled.
func TestAgreement(t *testing.T) {
	for _, c := range []struct {
		name, other string
		same        bool
	}{
		{"same", "1\n2\n3\n", true},
		{"another order", "3\n1\n2\n", true},
		{"another value", "1\n2\n4\n", false},
		{"one missing", "1\n2\n", false},
		{"one twice", "1\n2\n2\n", false},
		{"nothing", "", false},
	} {
		check := agreement()
		var err error
		for _, text := range []string{"1\n2\n3\n", c.other} {
			dir := t.TempDir()
			if writeErr := os.WriteFile(filepath.Join(dir, results), []byte(text), 0o644); writeErr != nil {
				t.Fatal(writeErr)
			}
			err = errors.Join(err, check(dir))
		}
		if (err == nil) != c.same {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestShare(t *testing.T) {
	long, short := &Workload{Serial: 9.5}, &Workload{Serial: 0.5}
	if got := share(sec(110), long, []*Workload{long, short}); got.Round(time.Second) != sec(200) {
		t.Errorf("of 110 s the long one has %v", got)
	}
	if got := share(sec(11), short, []*Workload{short}); got != sec(22) {
		t.Errorf("the last has %v", got)
	}
}

// The order is by chance, but always the same, and the short suite is a part.
func TestShuffled(t *testing.T) {
	suite := func(quick bool) (names []string) {
		var all []*Workload
		for i, name := range strings.Fields("a b c d e f g h") {
			all = append(all, &Workload{Name: name, Quick: i%2 == 0})
		}
		for _, w := range shuffled(all, quick) {
			names = append(names, w.Name)
		}
		return names
	}
	if one, two := suite(false), suite(false); !slices.Equal(one, two) || slices.IsSorted(one) || len(one) != 8 {
		t.Errorf("%v and %v", one, two)
	}
	if quick := suite(true); !slices.Equal(slices.Sorted(slices.Values(quick)), []string{"a", "c", "e", "g"}) {
		t.Errorf("the short suite is %v", quick)
	}
}
