package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/poolwise/poolwise/benchmarks/internal/stats"
)

// A Report is what one run of this program found.
type Report struct {
	Context [][2]string `json:"context"` // names and values
	Rows    []Measured  `json:"rows"`
}

// Measured is a row with its results.
type Measured struct {
	Number  int      `json:"row"`
	Title   string   `json:"title"`
	Results []Result `json:"results"`
	// Verdicts compare each of poolwise's results with the budget.
	Verdicts []string `json:"verdicts"`
	Met      bool     `json:"met"`

	text string
	kind BudgetKind
}

// judge compares poolwise's results with the fastest peer's.
func judge(row Row, results []Result) Measured {
	m := Measured{Number: row.Number, Title: row.Title, Results: results, Met: true, text: row.Text, kind: row.Budget.Kind}
	best := m.bestPeer()
	for _, r := range results {
		if !r.Ours {
			continue
		}
		if r.Error != "" || math.IsInf(best, 1) && row.Budget.Kind != Memory {
			m.Met = false
			m.Verdicts = append(m.Verdicts, r.Name+": nothing to compare")
			continue
		}
		text, met := row.Budget.Judge(m.value(r).Median, best)
		m.Met = m.Met && met
		m.Verdicts = append(m.Verdicts, r.Name+": "+text)
	}
	return m
}

// value is what the row is about.
func (m Measured) value(r Result) stats.Summary {
	if m.kind == Memory {
		return r.Peak
	}
	return r.Wall
}

// bestPeer returns the lowest median of the peers, +Inf where none has one.
func (m Measured) bestPeer() float64 {
	best := math.Inf(1)
	for _, r := range m.Results {
		if !r.Ours && r.Error == "" {
			best = min(best, m.value(r).Median)
		}
	}
	return best
}

// Markdown returns one row's table with its words.
func (m Measured) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %d. %s\n\n%s\n\n", m.Number, m.Title, m.text)
	if m.kind == Memory {
		b.WriteString("| | peak MB | lowest - highest | runs | wall s |\n|---|---:|---:|---:|---:|\n")
	} else {
		b.WriteString("| | median ms | min - max | runs | CPU ms | against the fastest peer |\n|---|---:|---:|---:|---:|---:|\n")
	}
	best := m.bestPeer()
	for _, r := range m.Results {
		v := m.value(r)
		name := r.Name
		if r.Ours {
			name = "**" + name + "**"
		}
		switch {
		case r.Error != "":
			fmt.Fprintf(&b, "| %s | - | %s |\n", name, strings.ReplaceAll(strings.ReplaceAll(r.Error, "\n", " "), "|", "/"))
		case m.kind == Memory:
			fmt.Fprintf(&b, "| %s | %.1f | %.1f - %.1f | %d | %.1f |\n", name, v.Median, v.Min, v.Max, v.N, r.Wall.Median/1000)
		default:
			fmt.Fprintf(&b, "| %s | %s | %s - %s | %d | %s | %.2f x |\n", name,
				ms(v.Median), ms(v.Min), ms(v.Max), v.N, ms(r.CPU.Median), v.Median/best)
		}
	}
	b.WriteByte('\n')
	for _, v := range m.Verdicts {
		fmt.Fprintf(&b, "- %s\n", v)
	}
	return b.String()
}

// ms shows milliseconds with the digits that mean something.
func ms(v float64) string {
	if v < 100 {
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// method is the head of the published page.
const method = `# Performance

What poolwise adds to the work itself, beside the tools that people use today. ` + "`make bench-dispatch`" + ` made this page; the rows, the peers'
scripts and the budgets are in [benchmarks/](../benchmarks/).

Every figure is of a whole process, from its start to its end, wall time. The contenders of a row take turns, in an order that rotates
from round to round, after one run of each that does not count; a figure is the median of the runs. Both sides run the same
task file on the same interpreter. poolwise reads its items from a file of JSON lines, writes every result to a file in input
order and keeps its journal on disk, with times of each item; the Python peers take their items from a ` + "`range`" + ` and collect the results in a list (but for one that says otherwise),
as they are commonly used. "CPU" is of the process and all of its children. Outputs are checked. Where the machine is shared with other work,
trust the ratios and not the times.

`

// Page returns the whole page.
func (r Report) Page() string {
	var b strings.Builder
	b.WriteString(method)
	b.WriteString("| | |\n|---|---|\n")
	for _, c := range r.Context {
		fmt.Fprintf(&b, "| %s | %s |\n", c[0], c[1])
	}
	for _, m := range r.Rows {
		b.WriteString("\n" + m.Markdown())
	}
	return b.String()
}
