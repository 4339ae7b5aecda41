package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/poolwise/poolwise/benchmarks/internal/stats"
)

// A Report is what one run of this program found.
type Report struct {
	Context  [][2]string `json:"context"` // names and values
	Reps     int         `json:"reps"`
	Measured []Measured  `json:"workloads"`
	Cut      []string    `json:"cut,omitempty"` // workloads that the budget left no time for
}

// head is how the page begins.
const head = `# Regret

How far the plan that poolwise chooses by itself is from the best plan that there is, found by trying them all. Made by
the program in [benchmarks/regret/](../benchmarks/regret/), never by hand.

Regret is the time of ` + "`poolwise run --plan auto`" + `, measuring and choosing included, over the time of the best plan when it is given by
` + "`--plan`" + `. Both are wall times of whole processes, from start to end, with the journal on disk. Each workload is run with every plan of a grid, in turns; a plan
at three times the best so far is given up, and one beyond %g times the best is not repeated. The best is chosen on these
runs and then timed anew, in turns with poolwise's own choice, so that no lucky run counts; it runs as two
contestants, whose difference is the noise. serial counts as the best within %.0f%% of it. Figures are medians of %d runs, fewer where time was
short. "Cold" knows nothing of earlier runs; "with profile" has run the workload once before. By hand is what people write: Pool.map,
ThreadPoolExecutor.map, asyncio with a semaphore of 100, xargs or a plain loop, whichever is the fastest; it reads the same items and
writes a line for each result, but keeps no record and no times. All results are compared.

The tasks count their work and do not time it, so that what runs beside others takes longer. A workload's name says what it is: work, number of
items and the mean time of one, how the times are spread, bytes sent with an item, and what importing the task computes.
With few CPUs all plans of computing work lie close together, which flatters a chooser: read this page with the machine in mind.

`

// Page returns the whole page.
func (r Report) Page() string {
	var b strings.Builder
	fmt.Fprintf(&b, head, contender, (draw-1)*100, r.Reps)
	b.WriteString("| | |\n|---|---|\n")
	for _, c := range r.Context {
		fmt.Fprintf(&b, "| %s | %s |\n", c[0], cell(c[1]))
	}
	all := scores(r.Measured)
	slices.SortStableFunc(all, func(a, b Score) int { return strings.Compare(a.Name, b.Name) })
	if len(all) > 0 {
		writeClasses(&b, all)
		writeNoise(&b, all)
		writeWorkloads(&b, all)
		writePoor(&b, all)
		writePlans(&b, all)
	}
	r.writeMissing(&b)
	return b.String()
}

// writeClasses sets each class beside its goals.
func writeClasses(b *strings.Builder, all []Score) {
	b.WriteString("\n## Result\n\n| the best plan takes | | workloads | geometric mean | median | p90 | worst | most beyond the best and a start | goals: limit, aim |\n" +
		"|---|---|---:|---:|---:|---:|---:|---:|---|\n")
	for _, mode := range []string{"cold", "with profile"} {
		var every []Regret
		of := map[Class][]Regret{}
		for _, s := range all {
			r := s.Warm
			if mode == "cold" {
				r = s.Cold
			}
			every = append(every, r)
			of[r.Class] = append(of[r.Class], r)
		}
		for _, class := range classes {
			if len(of[class]) > 0 {
				writeClass(b, class.String(), mode, of[class], goals[class])
			}
		}
		writeClass(b, "all", mode, every, nil)
	}
}

func writeClass(b *strings.Builder, name, mode string, rs []Regret, goals []Goal) {
	var verdicts []string
	for _, g := range goals {
		verdicts = append(verdicts, fmt.Sprintf("%s %g, %g: **%s**", g.Name, g.Must, g.Aim, g.verdict(g.Value(rs))))
	}
	fmt.Fprintf(b, "| %s | %s | %d | %.2f | %.2f | %.2f | %.2f | %.0f ms | %s |\n",
		name, mode, len(rs), geoMean(rs), median(rs), p90(rs), worst(rs), worstExtra(rs), strings.Join(verdicts, "; "))
}

// writeNoise tells what the figures are worth, and what was foretold.
func writeNoise(b *strings.Builder, all []Score) {
	var noise, hand []float64
	for _, s := range all {
		noise = append(noise, s.Noise)
		if !math.IsNaN(s.Hand) {
			hand = append(hand, s.Hand)
		}
	}
	fmt.Fprintf(b, "\n- Noise: the same plan as two contestants differs by a factor of %.2f in the median, %.2f at p90, %.2f at most.\n",
		stats.Median(noise), stats.Quantile(noise, 0.9), stats.Quantile(noise, 1))
	if p := prediction(all); p.N > 0 {
		fmt.Fprintf(b, "- Prediction, over %d runs: off by a factor of %.2f in the geometric mean, %.2f at p90; predicted over measured is %.2f in the mean; "+
			"%.0f%% of the runs ended within the predicted interval.\n", p.N, p.Error, p.P90, p.Bias, 100*p.Covered)
	} else {
		b.WriteString("- Prediction: not available, this program tells none.\n")
	}
	if share, n := untilChosen(all); n > 0 {
		fmt.Fprintf(b, "- Until the plan was chosen, cold, %.1f%% of a run's time passed in the median; the results of that time are kept.\n", 100*share)
	} else {
		b.WriteString("- The share of a run until its plan was chosen: not available, this program does not tell when it chooses.\n")
	}
	if len(hand) > 0 {
		fmt.Fprintf(b, "- Against the best by hand, cold: %.2f times its time in the geometric mean, %.2f at p90, %.2f at worst.\n",
			stats.GeoMean(hand), stats.Quantile(hand, 0.9), stats.Quantile(hand, 1))
	}
	for _, kind := range []string{"def", "async def", "command"} {
		f, ok := fixed(kind, all)
		if !ok {
			continue
		}
		closed := "there is nothing to gain over it"
		if c := f.Closed(); !math.IsNaN(c) {
			closed = fmt.Sprintf("%.0f%% of the gap to the best is closed", 100*c)
		}
		fmt.Fprintf(b, "- One plan for all, %s: the best would be %s with %.1f s over %d workloads; poolwise takes %.1f s, the best plan of each %.1f s: %s.\n",
			kind, f.Plan, f.Fixed, f.N, f.Auto, f.Best, closed)
	}
}

func writeWorkloads(b *strings.Builder, all []Score) {
	b.WriteString("\n## Workloads\n\nTimes in seconds. A plan in brackets is the one that poolwise chose.\n\n" +
		"| workload | a start | best plan | cold | | with profile | | by hand | |\n|---|---:|---|---|---:|---|---:|---|---:|\n")
	for _, s := range all {
		hand, ratio := "-", "-"
		if !math.IsNaN(s.Hand) {
			hand, ratio = fmt.Sprintf("%s %.3f", s.Final.Hand.Name, s.Final.Hand.Median()), fmt.Sprintf("%.2f", s.Final.Hand.Median()/s.Best)
		}
		fmt.Fprintf(b, "| %s | %.3f | %s %.3f | %.3f (%s) | %.2f | %.3f (%s) | %.2f | %s | %s |\n", cell(s.Name), s.Start, s.Final.Best.Name, s.Best,
			s.Cold.Seconds, s.Cold.Plan, s.Cold.Ratio, s.Warm.Seconds, s.Warm.Plan, s.Warm.Ratio, hand, ratio)
	}
}

// writePoor explains what is worse than poor.
func writePoor(b *strings.Builder, all []Score) {
	fmt.Fprintf(b, "\n## Worse than %g\n\n", poor)
	none := true
	for _, s := range all {
		for _, side := range []struct {
			name string
			Regret
			Outcome
		}{{"cold", s.Cold, s.Final.Cold}, {"with profile", s.Warm, s.Final.Warm}} {
			if side.Ratio > poor {
				none = false
				fmt.Fprintf(b, "- %s, %s, %.2f: %s.\n", s.Name, side.name, side.Ratio, explain(s, side.Regret, side.Outcome))
			}
		}
	}
	if none {
		b.WriteString("None.\n")
	}
}

// writePlans shows what each plan took where the best was chosen.
func writePlans(b *strings.Builder, all []Score) {
	b.WriteString("\n## Every plan\n\nSeconds in the runs by which the best was chosen, fastest first; > is where a plan was given up.\n\n")
	for _, s := range all {
		fmt.Fprintf(b, "- %s: %s; by hand: %s.\n", s.Name, listed(s.Plans), listed(s.Hands))
	}
}

func listed(outcomes []Outcome) string {
	sorted := slices.Clone(outcomes)
	slices.SortStableFunc(sorted, func(a, b Outcome) int {
		switch at, bt := a.Median(), b.Median(); {
		case at < bt:
			return -1
		case at > bt:
			return 1
		}
		return 0
	})
	texts := make([]string, len(sorted))
	for i, o := range sorted {
		switch {
		case o.Error != "":
			texts[i] = o.Name + " failed (" + cell(o.Error) + ")"
		case len(o.Seconds) == 0:
			texts[i] = fmt.Sprintf("%s > %.3f", o.Name, o.GivenUp)
		default:
			texts[i] = fmt.Sprintf("%s %.3f", o.Name, o.Median())
		}
	}
	return strings.Join(texts, ", ")
}

// writeMissing says what is not on the page.
func (r Report) writeMissing(b *strings.Builder) {
	var lines []string
	for _, m := range r.Measured {
		if m.Missing != "" {
			lines = append(lines, fmt.Sprintf("- %s: %s", m.Name, cell(m.Missing)))
		}
	}
	for _, name := range r.Cut {
		lines = append(lines, fmt.Sprintf("- %s: the time was up", name))
	}
	if len(lines) > 0 {
		b.WriteString("\n## Not measured\n\n" + strings.Join(lines, "\n") + "\n")
	}
}

// cell makes a text fit into a table.
func cell(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "\n", " "), "|", "/")
}
