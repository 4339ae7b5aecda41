package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// The limits of what is drawn and of what may be picked by hand.
const (
	longestSerial = 10.0 // seconds
	fewestItems   = 10
	mostItems     = 20_000
	// leastWait is the shortest wait in seconds: timers of a usual kernel are late
	// by 0.05 ms, which is not to matter.
	leastWait = 0.001
	// mostPayload bounds the bytes of all items of a workload: it shall not become
	// a test of the disk.
	mostPayload = 32 << 20
	// seed makes the suite the same on every machine and each time.
	seed = 20
	// drawn is how many workloads are drawn, beside those picked.
	drawn = 26
)

// A Spec describes a synthetic workload.
type Spec struct {
	Work    string  // as tasks/synthetic.py names it
	Async   bool    // as a coroutine
	Item    float64 // seconds that one takes in the mean
	Items   int
	Spread  string  // how the items' times are distributed, see times
	Payload int     // bytes sent with each item
	Echo    bool    // the payload is sent back
	Import  float64 // seconds that importing the task's module computes
	Quick   bool
}

var (
	works   = []string{"loop", "sha256", "deflate", "wait", "loop+wait", "loop+sha256", "async wait", "async loop+wait"}
	spreads = []string{"constant", "lognormal", "pareto", "bimodal", "fast then slow"}
	imports = []float64{0, 0, 0.1, 0.3, 1}
)

// picked are the corners that chance would miss, and workloads known for being
// hard to plan.
var picked = []Spec{
	{Work: "loop", Item: 10e-6, Items: 20_000, Spread: "constant", Payload: 100, Quick: true},
	{Work: "loop", Item: 10e-6, Items: 20_000, Spread: "constant", Payload: 100, Import: 1},
	{Work: "loop", Item: 1, Items: 10, Spread: "constant", Payload: 100},
	{Work: "loop", Item: 0.001, Items: 10_000, Spread: "constant", Payload: 100},
	{Work: "loop", Item: 0.0005, Items: 20_000, Spread: "lognormal", Payload: 1000},
	{Work: "loop", Item: 0.1, Items: 48, Spread: "pareto", Payload: 100, Quick: true},
	{Work: "loop", Item: 0.004, Items: 2000, Spread: "bimodal", Payload: 100},
	{Work: "loop", Item: 0.005, Items: 1000, Spread: "fast then slow", Payload: 100},
	{Work: "loop", Item: 0.02, Items: 20, Spread: "constant", Payload: 100, Import: 1, Quick: true},
	{Work: "loop", Item: 0.02, Items: 10, Spread: "constant", Payload: 100, Quick: true},
	{Work: "loop", Item: 0.0001, Items: 20_000, Spread: "constant", Payload: 1000, Quick: true},
	{Work: "loop", Item: 0.01, Items: 32, Spread: "constant", Payload: 1_000_000, Echo: true},
	{Work: "sha256", Item: 0.05, Items: 160, Spread: "lognormal", Payload: 100},
	{Work: "sha256", Item: 0.01, Items: 200, Spread: "constant", Payload: 100, Quick: true},
	{Work: "sha256", Item: 0.002, Items: 320, Spread: "constant", Payload: 100_000, Echo: true},
	{Work: "deflate", Item: 0.02, Items: 250, Spread: "lognormal", Payload: 10_000},
	{Work: "loop+sha256", Item: 0.02, Items: 150, Spread: "constant", Payload: 100, Quick: true},
	{Work: "loop+wait", Item: 0.02, Items: 400, Spread: "constant", Payload: 100},
	{Work: "loop+wait", Item: 0.1, Items: 40, Spread: "lognormal", Payload: 100, Quick: true},
	{Work: "wait", Item: 0.05, Items: 200, Spread: "constant", Payload: 100, Quick: true},
	{Work: "wait", Item: 1, Items: 10, Spread: "constant", Payload: 100},
	{Work: "wait", Item: 0.005, Items: 2000, Spread: "lognormal", Payload: 1000},
	{Work: "wait", Async: true, Item: 0.05, Items: 200, Spread: "constant", Payload: 100, Quick: true},
	{Work: "wait", Async: true, Item: 0.002, Items: 5000, Spread: "lognormal", Payload: 1000},
	{Work: "loop+wait", Async: true, Item: 0.01, Items: 400, Spread: "constant", Payload: 100, Quick: true},
}

// specs returns the synthetic suite: what is picked, and a Latin hypercube of the
// rest, in which each value of each property occurs about equally often.
func specs() []Spec {
	random := rand.New(rand.NewPCG(seed, 0))
	strata := func() []int { return random.Perm(drawn) }
	// within gives a place in the stratum between lo and hi, evenly in the logarithm.
	within := func(stratum int, lo, hi float64) float64 {
		return lo * math.Pow(hi/lo, (float64(stratum)+random.Float64())/drawn)
	}
	item, serial, payload := strata(), strata(), strata()
	work, spread, load, echo := strata(), strata(), strata(), strata()
	all := slices.Clone(picked)
	for i := range drawn {
		s := Spec{
			Item:   rounded(within(item[i], 10e-6, 1)),
			Spread: spreads[spread[i]*len(spreads)/drawn],
			Import: imports[load[i]*len(imports)/drawn],
			Echo:   echo[i] < drawn/3,
		}
		name, async := strings.CutPrefix(works[work[i]*len(works)/drawn], "async ")
		s.Work, s.Async = name, async
		if s.waits() {
			s.Item = max(s.Item, leastWait)
		}
		total := within(serial[i], 0.5, longestSerial)
		s.Items = min(max(int(total/s.Item), fewestItems), mostItems, int(longestSerial/s.Item))
		s.Payload = min(int(rounded(within(payload[i], 100, 1e6))), mostPayload/s.Items)
		all = append(all, s)
	}
	return all
}

// rounded keeps two digits.
func rounded(v float64) float64 {
	short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', 1, 64), 64)
	if err != nil {
		panic(err) // what FormatFloat writes, ParseFloat reads
	}
	return short
}

func (s Spec) waits() bool { return strings.HasSuffix(s.Work, "wait") }

// String names the workload by all that it is.
func (s Spec) String() string {
	work := s.Work
	if s.Async {
		work = "async " + work
	}
	name := fmt.Sprintf("%s, %d x %s %s, %s", work, s.Items, seconds(s.Item), s.Spread, size(s.Payload))
	if s.Echo {
		name += " both ways"
	}
	if s.Import > 0 {
		name += ", import " + seconds(s.Import)
	}
	return name
}

// workload returns what the spec describes; rates are those that
// tasks/synthetic.py prints.
func (s Spec) workload(rates string) *Workload {
	w := &Workload{
		Name: s.String(), Task: "synthetic.py:item", Async: s.Async, Waits: s.waits(),
		Items: s.Items, Serial: s.Item*float64(s.Items) + s.Import, Quick: s.Quick,
		Env: []string{
			"SYNTHETIC_RATES=" + rates, "SYNTHETIC_KIND=" + s.Work,
			fmt.Sprintf("SYNTHETIC_IMPORT=%g", s.Import),
		},
		Write: s.write,
	}
	if s.Async {
		w.Task = "synthetic.py:item_async"
	}
	if s.Echo {
		w.Env = append(w.Env, "SYNTHETIC_ECHO=1")
	}
	return w
}

// write writes the items as JSON lines.
func (s Spec) write(out io.Writer) error {
	type item struct {
		I   int     `json:"i"`
		S   float64 `json:"s"`
		Pad string  `json:"pad"`
	}
	pad := string(bytes.Repeat([]byte("0123456789abcdef"), s.Payload/16+1)[:s.Payload])
	lines := json.NewEncoder(out)
	for i, t := range s.times() {
		if err := lines.Encode(item{i, t, pad}); err != nil {
			return err
		}
	}
	return nil
}

// times returns how long each item takes, in seconds; they add up to exactly what
// the spec says.
func (s Spec) times() []float64 {
	random := rand.New(rand.NewPCG(seed, 1))
	draw := map[string]func(i int) float64{
		"constant":  func(int) float64 { return 1 },
		"lognormal": func(int) float64 { return math.Exp(random.NormFloat64()) }, // sigma 1
		// Pareto with exponent 1.5: the variance is infinite; one item may be half
		// of a small batch.
		"pareto": func(int) float64 { return math.Pow(1-random.Float64(), -1/1.5) },
		// One item in a hundred takes a hundred times as long, and one does at least.
		"bimodal": func(i int) float64 {
			if i%100 == min(37, s.Items/2) {
				return 100
			}
			return 1
		},
		// The first half is no guide to the second.
		"fast then slow": func(i int) float64 {
			if i < s.Items/2 {
				return 1
			}
			return 19
		},
	}[s.Spread]
	times, sum := make([]float64, s.Items), 0.0
	for i := range times {
		times[i] = draw(i)
		sum += times[i]
	}
	for i := range times {
		times[i] *= s.Item * float64(s.Items) / sum
	}
	return times
}

// seconds shows a time in seconds with two digits and its usual unit.
func seconds(s float64) string {
	switch {
	case s >= 1:
		return short(s) + " s"
	case s >= 0.001:
		return short(s*1e3) + " ms"
	}
	return short(s*1e6) + " us"
}

// size shows bytes likewise.
func size(bytes int) string {
	b := float64(bytes)
	switch {
	case b >= 1e6:
		return short(b/1e6) + " MB"
	case b >= 1e3:
		return short(b/1e3) + " kB"
	}
	return short(b) + " B"
}

func short(v float64) string { return strconv.FormatFloat(rounded(v), 'f', -1, 64) }
