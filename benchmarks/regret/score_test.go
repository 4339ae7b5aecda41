package main

import (
	"math"
	"strings"
	"testing"

	"github.com/poolwise/poolwise/benchmarks/internal/trial"
)

func close(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

func took(name string, seconds ...float64) Outcome { return Outcome{Name: name, Seconds: seconds} }

// chose is a run of poolwise that took and predicted so much.
func chose(name, plan string, seconds, predicted float64) Outcome {
	o := took(name, seconds, seconds)
	c := Choice{Plan: plan, At: seconds / 10, Predicted: predicted, Low: predicted * 0.9, High: predicted * 1.1}
	o.Choices = []Choice{c, c}
	return o
}

// a workload with a best plan of so many seconds, on which poolwise takes cold
// and with a profile so many.
func workload(name, plan string, best, cold, warm float64) Measured {
	return Measured{
		Name: name, Kind: "def", Items: 10, Start: 0.05,
		Plans: []Outcome{took(plan, best), took("threads:4", 2*best), {Name: "threads:64", GivenUp: 3 * best}},
		Hands: []Outcome{took("loop", 2*best)},
		Final: Final{
			Best: took(plan, best, best), Again: took(plan, best, best),
			Cold: chose("auto", plan, cold, cold), Warm: chose("auto", plan, warm, 2*warm), Hand: took("loop", 2*best),
		},
	}
}

func TestClassify(t *testing.T) {
	for _, c := range []struct {
		name        string
		plan        string
		seconds     float64
		waits, cold bool
		want        Class
	}{
		{"long", "processes:2", 2, false, true, Long},
		{"medium", "processes:2", 1.99, false, true, Medium},
		{"medium, its lower end", "processes:2", 0.5, false, true, Medium},
		{"short", "processes:2", 0.49, false, true, Short},
		{"serial is best", "serial", 1, false, true, SerialBest},
		{"serial is best and short", "serial", 0.99, false, true, Medium},
		{"waiting, cold", "threads:64", 3, true, true, WaitingCold},
		{"waiting, cold and short", "threads:64", 0.1, true, true, WaitingCold},
		{"waiting with a profile", "threads:64", 3, true, false, Long},
		{"waiting, and serial is best", "serial", 3, true, true, SerialBest},
	} {
		if got := classify(c.plan, c.seconds, c.waits, c.cold); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestScore(t *testing.T) {
	m := workload("w", "processes:2", 2, 2.5, 2.2)
	m.Final.Again = took("processes:2", 2.2, 2.2)
	s := score(m)
	// The best is the median of both contestants that run its plan.
	if !close(s.Best, 2.1) || !close(s.Noise, 1.1) || !close(s.Hand, 2.5/4) {
		t.Errorf("best %v, noise %v, by hand %v", s.Best, s.Noise, s.Hand)
	}
	if r := s.Cold; r.Class != Long || r.Plan != "processes:2" || !close(r.Ratio, 2.5/2.1) || !close(r.Extra, 0.35) {
		t.Errorf("cold %+v", r)
	}
	if r := s.Warm; !close(r.Ratio, 2.2/2.1) {
		t.Errorf("with profile %+v", r)
	}
	m.Final.Hand = Outcome{}
	if s := score(m); !math.IsNaN(s.Hand) {
		t.Errorf("by hand %v, where nothing is", s.Hand)
	}
}

func TestGoals(t *testing.T) {
	regrets := func(ratios ...float64) (rs []Regret) {
		for _, r := range ratios {
			rs = append(rs, Regret{Ratio: r, Extra: (r - 1) / 10})
		}
		return rs
	}
	for _, c := range []struct {
		name  string
		class Class
		goal  int
		rs    []Regret
		value float64
		want  string
	}{
		{"geometric mean, not the mean", Long, 0, regrets(1, 1.21), 1.1, "within the limit"},
		{"p90", Long, 1, regrets(1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2), 2, "missed"},
		{"worst", Long, 2, regrets(1.2, 1.1), 1.2, "aim reached"},
		{"extra milliseconds", Short, 0, regrets(1.5, 2), 100, "within the limit"},
		{"serial", SerialBest, 0, regrets(1.02), 1.02, "aim reached"},
		{"waiting", WaitingCold, 0, regrets(1.4), 1.4, "missed"},
	} {
		g := goals[c.class][c.goal]
		if v := g.Value(c.rs); !close(v, c.value) || g.verdict(v) != c.want {
			t.Errorf("%s: %v %s, want %v %s", c.name, v, g.verdict(v), c.value, c.want)
		}
	}
	for _, class := range classes {
		if len(goals[class]) == 0 {
			t.Errorf("%v has no goals", class)
		}
	}
}

func TestPrediction(t *testing.T) {
	// Two runs that were foretold exactly, two that took half of it.
	p := prediction([]Score{score(workload("w", "serial", 2, 2.5, 2.2))})
	if p.N != 4 || !close(p.Error, math.Sqrt2) || !close(p.Bias, math.Sqrt2) || !close(p.P90, 2) || !close(p.Covered, 0.5) {
		t.Errorf("got %+v", p)
	}
	silent := workload("w", "serial", 2, 2.5, 2.2)
	silent.Final.Cold, silent.Final.Warm = took("auto", 1), took("auto", 1)
	if p := prediction([]Score{score(silent)}); p.N != 0 {
		t.Errorf("of nothing: %+v", p)
	}
}

func TestUntilChosen(t *testing.T) {
	all := []Score{score(workload("w", "serial", 2, 2.5, 2.2))}
	if share, n := untilChosen(all); !close(share, 0.1) || n != 2 {
		t.Errorf("got %v of %d", share, n)
	}
}

// The single best plan is the one with the least time over all workloads of the
// kind on which it runs everywhere.
func TestFixed(t *testing.T) {
	one, two := workload("one", "processes:2", 1, 1.2, 1), workload("two", "async:4", 3, 3.2, 3)
	one.Plans = []Outcome{took("processes:2", 1), took("threads:4", 2), {Name: "serial", GivenUp: 3}, {Name: "broken", Error: "x"}}
	two.Plans = []Outcome{took("processes:2", 9), took("threads:4", 3), took("serial", 4), took("broken", 1), took("async:4", 0.1)}
	other := workload("other", "async:4", 50, 50, 50)
	other.Kind = "async def"
	f, ok := fixed("def", []Score{score(one), score(two), score(other)})
	if !ok || f.Plan != "threads:4" || f.N != 2 || !close(f.Fixed, 5) || !close(f.Best, 4) || !close(f.Auto, 4.4) {
		t.Fatalf("got %+v, %v", f, ok)
	}
	if !close(f.Closed(), 0.6) {
		t.Errorf("closed %v, want 0.6", f.Closed())
	}
	if _, ok := fixed("command", []Score{score(one)}); ok {
		t.Error("a plan was found for a kind without workloads")
	}
	if c := (Fixed{Fixed: 4, Auto: 5, Best: 4}).Closed(); !math.IsNaN(c) {
		t.Errorf("closed %v of no gap", c)
	}
}

func TestUsual(t *testing.T) {
	for _, c := range []struct {
		plans, want string
	}{
		{"", ""}, {"a", "a"}, {"a b b", "b"}, {"b a a b", "b"},
	} {
		var choices []Choice
		for _, p := range strings.Fields(c.plans) {
			choices = append(choices, Choice{Plan: p})
		}
		if got := usual(choices); got != c.want {
			t.Errorf("%q: %q, want %q", c.plans, got, c.want)
		}
	}
}

func TestReadChoice(t *testing.T) {
	const (
		progress = `{"type":"progress","plan":"serial","elapsed_seconds":1}`
		first    = `{"type":"plan","plan":{"notation":"processes:2","processes":2},"predicted":{"seconds":6.1,"low":5.8,"high":6.9}}`
		second   = `{"type":"plan","plan":{"notation":"2x8:threads"},"predicted":{"seconds":3,"low":2,"high":4}}`
		summary  = `{"type":"summary","plan":"processes:4"}`
	)
	for _, c := range []struct {
		name  string
		lines []string
		want  Choice
	}{
		{"says nothing", nil, Choice{}},
		{"says it at the end only", []string{progress, summary}, Choice{Plan: "processes:4"}},
		{"foretells", []string{"words", progress, first, summary}, Choice{"processes:2", 3, 6.1, 5.8, 6.9}},
		{"changes its mind: the first prediction, the last plan", []string{first, second}, Choice{"2x8:threads", 1, 6.1, 5.8, 6.9}},
		{"of another form", []string{`{"type":"plan","plan":"serial"}`, `{"type":"plan"`, summary}, Choice{Plan: "processes:4"}},
	} {
		var lines []trial.Line
		for i, text := range c.lines {
			lines = append(lines, trial.Line{At: sec(i + 1), Text: text})
		}
		if got := readChoice(lines); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
