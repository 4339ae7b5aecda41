package main

import (
	"math"
	"slices"

	"github.com/poolwise/poolwise/benchmarks/internal/stats"
)

// A Class is what a workload is judged by.
type Class int

// The classes; a workload is in the first that fits.
const (
	// SerialBest: no plan beats serial, which takes a second or more.
	SerialBest Class = iota
	// WaitingCold: the work waits, and how many to run at once is not known from
	// before.
	WaitingCold
	// Long: the best plan takes two seconds or more.
	Long
	// Medium: it takes half a second to two.
	Medium
	// Short: it takes less.
	Short
)

// classes are all, in the order of the page.
var classes = []Class{Long, Medium, Short, SerialBest, WaitingCold}

func (c Class) String() string {
	return [...]string{"serial is best, 1 s and more", "waiting, cold", "2 s and more", "0.5 to 2 s", "less than 0.5 s"}[c]
}

// classify returns the class of a workload whose best plan takes so many seconds.
func classify(plan string, seconds float64, waits, cold bool) Class {
	switch {
	case plan == "serial" && seconds >= 1:
		return SerialBest
	case waits && cold:
		return WaitingCold
	case seconds >= 2:
		return Long
	case seconds >= 0.5:
		return Medium
	}
	return Short
}

// A Regret is what poolwise's choosing costs on one workload.
type Regret struct {
	Class   Class
	Plan    string  // that was chosen, in most runs
	Seconds float64 // the median
	Ratio   float64 // to the best plan's time
	// Extra is how many seconds it takes beyond the best plan and one worker's start.
	Extra float64
}

// A Score is all that is derived from one workload's times.
type Score struct {
	Measured
	Best       float64 // seconds, of the best plan
	Noise      float64 // the ratio of that plan's two medians, 1 or more
	Cold, Warm Regret
	// Hand is poolwise's time, cold, over that of the best by hand; NaN if there is none.
	Hand float64
}

// score derives a score from times that are all there.
func score(m Measured) Score {
	one, two := m.Final.Best.Median(), m.Final.Again.Median()
	s := Score{
		Measured: m,
		Best:     stats.Median(slices.Concat(m.Final.Best.Seconds, m.Final.Again.Seconds)),
		Noise:    max(one, two) / min(one, two),
		Hand:     math.NaN(),
	}
	s.Cold, s.Warm = s.regret(m.Final.Cold, true), s.regret(m.Final.Warm, false)
	if len(m.Final.Hand.Seconds) > 0 {
		s.Hand = m.Final.Cold.Median() / m.Final.Hand.Median()
	}
	return s
}

func (s Score) regret(o Outcome, cold bool) Regret {
	return Regret{
		Class:   classify(s.Final.Best.Name, s.Best, s.Waits, cold),
		Plan:    usual(o.Choices),
		Seconds: o.Median(),
		Ratio:   o.Median() / s.Best,
		Extra:   o.Median() - s.Best - s.Start,
	}
}

// usual returns the plan that was chosen most often, the first of several.
func usual(choices []Choice) string {
	count, most := map[string]int{}, ""
	for _, c := range choices {
		count[c.Plan]++
	}
	for _, c := range choices {
		if count[c.Plan] > count[most] {
			most = c.Plan
		}
	}
	return most
}

// scores derives those of all workloads that have figures.
func scores(all []Measured) (found []Score) {
	for _, m := range all {
		if m.Missing == "" {
			found = append(found, score(m))
		}
	}
	return found
}

// A Goal is what the regrets of one class are held to.
type Goal struct {
	Name  string
	Value func([]Regret) float64
	Must  float64
	Aim   float64
}

// goals of each class.
var goals = map[Class][]Goal{
	Long:        {{"geometric mean", geoMean, 1.10, 1.05}, {"p90", p90, 1.25, 1.15}, {"worst", worst, 1.6, 1.3}},
	Medium:      {{"geometric mean", geoMean, 1.20, 1.12}, {"p90", p90, 1.5, 1.3}},
	Short:       {{"worst, in ms beyond a worker's start", worstExtra, 150, 75}},
	SerialBest:  {{"worst", worst, 1.10, 1.03}},
	WaitingCold: {{"p90", p90, 1.35, 1.15}},
}

// verdict says how a value stands to a goal.
func (g Goal) verdict(v float64) string {
	switch {
	case v <= g.Aim:
		return "aim reached"
	case v <= g.Must:
		return "within the limit"
	}
	return "missed"
}

func ratios(rs []Regret) []float64 {
	values := make([]float64, len(rs))
	for i, r := range rs {
		values[i] = r.Ratio
	}
	return values
}

func geoMean(rs []Regret) float64 { return stats.GeoMean(ratios(rs)) }
func median(rs []Regret) float64  { return stats.Median(ratios(rs)) }
func p90(rs []Regret) float64     { return stats.Quantile(ratios(rs), 0.9) }
func worst(rs []Regret) float64   { return stats.Quantile(ratios(rs), 1) }

func worstExtra(rs []Regret) float64 {
	extra := math.Inf(-1)
	for _, r := range rs {
		extra = max(extra, r.Extra*1000)
	}
	return extra
}

// A Prediction is how well poolwise foretold the times of its runs.
type Prediction struct {
	N int // runs that foretold anything
	// Error is the geometric mean of the larger over the smaller of predicted and
	// measured, P90 its 90th percentile; 1 is none.
	Error, P90 float64
	// Bias is the geometric mean of predicted over measured.
	Bias float64
	// Covered is the share of runs whose time was within the interval.
	Covered float64
}

// prediction compares what was foretold with what came, over all runs.
func prediction(all []Score) (p Prediction) {
	var errs, ratios []float64
	covered := 0
	for _, s := range all {
		for _, o := range []Outcome{s.Final.Cold, s.Final.Warm} {
			for i, c := range o.Choices {
				if c.Predicted <= 0 {
					continue
				}
				took := o.Seconds[i]
				ratios = append(ratios, c.Predicted/took)
				errs = append(errs, max(c.Predicted/took, took/c.Predicted))
				if c.Low <= took && took <= c.High {
					covered++
				}
			}
		}
	}
	return Prediction{
		N: len(errs), Error: stats.GeoMean(errs), P90: stats.Quantile(errs, 0.9), Bias: stats.GeoMean(ratios),
		Covered: float64(covered) / float64(len(errs)),
	}
}

// untilChosen returns the median share of a run's time that passed before the
// plan was told, over all runs that told it, and how many did; of cold runs.
func untilChosen(all []Score) (share float64, n int) {
	var shares []float64
	for _, s := range all {
		for i, c := range s.Final.Cold.Choices {
			if c.At > 0 {
				shares = append(shares, c.At/s.Final.Cold.Seconds[i])
			}
		}
	}
	return stats.Median(shares), len(shares)
}

// A Fixed is the plan that would be best if one had to do for all workloads of a
// kind: what a rule of thumb could reach at most.
type Fixed struct {
	Kind string
	Plan string
	N    int // workloads
	// Seconds over all of them: of this plan, of poolwise choosing cold, and of the
	// best plan of each.
	Fixed, Auto, Best float64
}

// Closed is the share of what a perfect choice gains over the fixed plan that
// poolwise gains: 1 is all, below 0 is less than the fixed plan. NaN where there
// is nothing to gain.
func (f Fixed) Closed() float64 {
	if f.Fixed <= f.Best {
		return math.NaN()
	}
	return (f.Fixed - f.Auto) / (f.Fixed - f.Best)
}

// fixed returns the single best plan of a kind. A plan that was given up counts
// with the time at which it was, so that the gain is rather too small; one that
// failed on a workload is none.
func fixed(kind string, all []Score) (f Fixed, ok bool) {
	sums, ran := map[string]float64{}, map[string]int{}
	var names []string
	f.Kind = kind
	for _, s := range all {
		if s.Kind != kind {
			continue
		}
		f.N++
		f.Auto += s.Cold.Seconds
		f.Best += s.Best
		for _, o := range s.Plans {
			took := o.Median()
			if math.IsInf(took, 1) {
				took = o.GivenUp
			}
			if o.Error != "" || took == 0 {
				continue
			}
			if ran[o.Name] == 0 {
				names = append(names, o.Name)
			}
			sums[o.Name] += took
			ran[o.Name]++
		}
	}
	for _, name := range names {
		if ran[name] == f.N && (!ok || sums[name] < f.Fixed) {
			f.Plan, f.Fixed, ok = name, sums[name], true
		}
	}
	return f, ok
}
