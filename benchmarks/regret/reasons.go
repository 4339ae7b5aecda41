package main

import (
	"fmt"
	"math"
	"strings"
)

// poor is the regret from which a workload is explained.
const poor = 1.3

// explain says why poolwise took more time than the best plan: what it chose,
// and how much of the loss is the chosen plan's own.
func explain(s Score, r Regret, o Outcome) string {
	var b strings.Builder
	fmt.Fprintf(&b, "the best is %s with %.2f s; poolwise took %.2f s", s.Final.Best.Name, s.Best, r.Seconds)
	lost := r.Seconds - s.Best
	chosen, tried := outcome(s.Plans, r.Plan)
	switch {
	case r.Plan == "":
		b.WriteString(" and did not tell its plan")
	case r.Plan == s.Final.Best.Name:
		fmt.Fprintf(&b, " with the same plan: the %.2f s are what measuring and starting cost", lost)
	case !tried:
		fmt.Fprintf(&b, " with %s, which is not in the grid", r.Plan)
	case math.IsInf(chosen.Median(), 1):
		fmt.Fprintf(&b, " with %s, which by itself was given up after %.2f s", r.Plan, chosen.GivenUp)
	default:
		own := chosen.Median() - s.Best
		fmt.Fprintf(&b, " with %s, which by itself takes %.2f s: the choice costs %.2f s, measuring and starting %.2f s", r.Plan, chosen.Median(), own, lost-own)
	}
	if others := otherPlans(o.Choices, r.Plan); len(others) > 0 {
		b.WriteString("; in other runs " + strings.Join(others, ", "))
	}
	if at := latest(o.Choices); at > 0 {
		fmt.Fprintf(&b, "; it had chosen after %.2f s", at)
	}
	return b.String()
}

func outcome(all []Outcome, name string) (Outcome, bool) {
	for _, o := range all {
		if o.Name == name {
			return o, true
		}
	}
	return Outcome{}, false
}

// otherPlans returns the plans that were chosen beside the usual one.
func otherPlans(choices []Choice, usual string) (others []string) {
	seen := map[string]bool{usual: true, "": true}
	for _, c := range choices {
		if !seen[c.Plan] {
			seen[c.Plan] = true
			others = append(others, c.Plan)
		}
	}
	return others
}

// latest returns when the slowest run had its plan.
func latest(choices []Choice) (at float64) {
	for _, c := range choices {
		at = max(at, c.At)
	}
	return at
}
