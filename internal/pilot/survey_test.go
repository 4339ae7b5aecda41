package pilot

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/poolwise/poolwise/internal/profile"
	"github.com/poolwise/poolwise/measure"
	"github.com/poolwise/poolwise/plan"
)

const ms = time.Millisecond

func item(wall, cpu time.Duration) measure.Item {
	return measure.Item{Wall: wall, CPU: cpu, Process: cpu, In: 10, Out: 10}
}

func TestThinKeepsTheFirstAndTheOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items := make([]measure.Item, rapid.IntRange(0, 500).Draw(t, "items"))
		for i := range items {
			items[i].In = i
		}
		n := rapid.IntRange(1, 200).Draw(t, "n")
		kept := thin(items, n)
		if want := min(len(items), n); len(kept) != want {
			t.Fatalf("%d of %d items are kept, want %d", len(kept), len(items), want)
		}
		if len(kept) > 0 && kept[0].In != 0 {
			t.Fatalf("the first that is kept is item %d", kept[0].In)
		}
		if !slices.IsSortedFunc(kept, func(a, b measure.Item) int { return a.In - b.In }) {
			t.Fatal("they are out of order")
		}
	})
}

func TestFirstExtra(t *testing.T) {
	first := func(wall time.Duration) measure.Item { return measure.Item{Wall: wall, First: true} }
	for name, c := range map[string]struct {
		items []measure.Item
		want  time.Duration
	}{
		"none":            {nil, 0},
		"alone":           {[]measure.Item{first(50 * ms)}, 0},
		"as the others":   {[]measure.Item{first(11 * ms), item(10*ms, 0), item(12*ms, 0)}, 0},
		"twice as long":   {[]measure.Item{first(20 * ms), item(10*ms, 0)}, 0},
		"one is enough":   {[]measure.Item{first(2000 * ms), item(ms, 0)}, 1999 * ms},
		"has loaded much": {[]measure.Item{first(300 * ms), item(10*ms, 0), item(12*ms, 0), item(11*ms, 0)}, 289 * ms},
	} {
		if got := firstExtra(c.items); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// A worker that reads three clocks for each item of a microsecond measures the
// clocks. What an item costs without them is what the planner gets.
func TestShortItemsAreCorrected(t *testing.T) {
	p := New(Config{})
	for range 64 {
		p.items = append(p.items, item(3*time.Microsecond, 3*time.Microsecond))
	}
	p.plain = plainTime{items: 1000, time: 1500 * time.Microsecond}
	task := p.task()
	wall, computing := nature(&task)
	if whole := wall + task.Codec; whole != 1500*time.Nanosecond {
		t.Errorf("an item takes %v and its transport %v; together they take 1.5us", wall, task.Codec)
	}
	if computing != 1 {
		t.Errorf("an item computes for %.2f of its time; it does all the time", computing)
	}
	p.plain.items = minPlain - 1
	if wall, _ := nature(ptr(p.task())); wall != 3*time.Microsecond {
		t.Errorf("too few whole chunks have changed the time of an item to %v", wall)
	}
}

func ptr[T any](v T) *T { return &v }

// An earlier run counts where the items are what they were, and only there.
func TestWhatAnEarlierRunHasLearnt(t *testing.T) {
	prior := &profile.Profile{Plan: "processes:8", Task: measure.Task{Held: measure.Share{Value: 0.9, N: 400}, TwoSlots: 1.1}}
	for range 8 {
		prior.Task.Items = append(prior.Task.Items, item(20*ms, 18*ms))
	}
	for name, c := range map[string]struct {
		now  measure.Item
		want bool
	}{
		"the same":         {item(21*ms, 20*ms), true},
		"slower":           {item(40*ms, 36*ms), false},
		"faster":           {item(10*ms, 9*ms), false},
		"waiting by now":   {item(20*ms, 1*ms), false},
		"a little quicker": {item(15*ms, 14*ms), true},
	} {
		p := New(Config{Prior: prior})
		p.items = []measure.Item{c.now, c.now}
		task := p.task()
		if task.Held.N == 400 != c.want {
			t.Errorf("%s: the prior counts: %v, want %v", name, !c.want, c.want)
		}
	}
}

func TestAStartThatAnEarlierRunHasFoundToPay(t *testing.T) {
	machine := plan.Machine{CPUs: 4, Memory: 1000}
	start := func(was string, memory int64) string {
		prior := &profile.Profile{Plan: was, Task: measure.Task{BaseMemory: memory}}
		return New(Config{Machine: machine, Prior: prior}).Start().String()
	}
	for _, c := range []struct {
		was    string
		memory int64
		want   string
	}{
		{"processes:4", 100, "processes:4"},
		{"processes:8", 100, "processes:4"}, // more are found by a climb
		{"processes:4", 350, "processes:2"},
		{"processes:4", 600, "serial"},
		{"threads:16", 100, "serial"},
		{"2x8:threads", 100, "processes:2"},
		{"from the future", 100, "serial"},
	} {
		if got := start(c.was, c.memory); got != c.want {
			t.Errorf("after %s with %d bytes a worker it starts with %s, want %s", c.was, c.memory, got, c.want)
		}
	}
	if got := New(Config{Machine: machine}).Start().String(); got != "serial" {
		t.Errorf("without an earlier run it starts with %s", got)
	}
}

func TestMeanOf(t *testing.T) {
	mean, se := meanOf([]float64{1, 2, 3})
	if mean != 2 || se < 0.577 || se > 0.578 {
		t.Errorf("mean %v, standard error %v", mean, se)
	}
}

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		like  string
		slots int
		want  string
	}{
		{"threads:8", 16, "threads:16"}, {"2x8:threads", 32, "2x16:threads"}, {"2x8:async", 33, "2x17:async"},
		{"serial", 4, "processes:4"}, {"processes:4", 1, "serial"}, {"processes:4", 8, "processes:8"},
	} {
		like, err := plan.Parse(c.like)
		if err != nil {
			t.Fatal(err)
		}
		if got := spread(like, c.slots).String(); got != c.want {
			t.Errorf("%d slots as %s are %s, want %s", c.slots, c.like, got, c.want)
		}
	}
}
