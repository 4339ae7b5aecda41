package main

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/poolwise/poolwise/benchmarks/internal/stats"
	"github.com/poolwise/poolwise/benchmarks/internal/trial"
)

const (
	// hopeless is how many times as long as the best a run may take before it is
	// given up.
	hopeless = 3
	// leastPatience keeps short runs from being given up for a disturbance.
	leastPatience = 500 * time.Millisecond
	// contender is within how much of the best a plan is run again: no noise that
	// leaves the figures any meaning makes up for more.
	contender = 1.5
	// slack is added to that, in seconds, again for short runs.
	slack = 0.05
)

// An Outcome is what was measured of one contestant.
type Outcome struct {
	Name    string    `json:"name"`
	Seconds []float64 `json:"seconds"`
	// GivenUp is after how many seconds a run of it was given up; 0 if none was.
	GivenUp float64  `json:"given_up_seconds,omitempty"`
	Error   string   `json:"error,omitempty"` // why it has no (more) figures
	Choices []Choice `json:"choices,omitempty"`
}

// Median returns the median of the runs' times in seconds, +Inf if there is none.
func (o Outcome) Median() float64 {
	if len(o.Seconds) == 0 {
		return math.Inf(1)
	}
	return stats.Median(o.Seconds)
}

// out says whether the contestant runs no more, with the best at so many seconds.
func (o Outcome) out(best float64) bool {
	return o.Error != "" || o.GivenUp > 0 || len(o.Seconds) > 0 && o.Median() > contender*best+slack
}

// patience returns how long a run is waited for, with the best at so many seconds.
func patience(best float64) time.Duration {
	if math.IsInf(best, 1) {
		return longestRun
	}
	return min(longestRun, max(leastPatience, time.Duration(hopeless*best*float64(time.Second))))
}

// fastest returns the index of the lowest median, -1 if nobody has one.
func fastest(outcomes []Outcome) int {
	best := -1
	for i, o := range outcomes {
		if len(o.Seconds) > 0 && o.Error == "" && (best < 0 || o.Median() < outcomes[best].Median()) {
			best = i
		}
	}
	return best
}

func bestSeconds(outcomes []Outcome) float64 {
	if i := fastest(outcomes); i >= 0 {
		return outcomes[i].Median()
	}
	return math.Inf(1)
}

// A contest measures contestants in turn.
type contest struct {
	work  string    // the folder of the runs
	until time.Time // when no further round begins
}

// choose runs groups of contestants to find the best of each. The groups take
// turns with each other; who is hopeless within its group is given up.
func (c contest) choose(ctx context.Context, rounds int, groups ...[]Contestant) ([][]Outcome, error) {
	all := make([][]Outcome, len(groups))
	for g, group := range groups {
		all[g] = named(group)
	}
	for round := range rounds {
		if round > 0 && time.Now().After(c.until) {
			break
		}
		for g, group := range groups {
			for _, i := range stats.Rotated(len(group), round) {
				best := bestSeconds(all[g])
				if all[g][i].out(best) {
					continue
				}
				if err := c.run(ctx, group[i], &all[g][i], patience(best)); err != nil {
					return nil, err
				}
			}
		}
	}
	return all, nil
}

// time runs all contestants, at least twice if rounds is 2 or more.
func (c contest) time(ctx context.Context, rounds int, contestants []Contestant) ([]Outcome, error) {
	outcomes := named(contestants)
	for round := range rounds {
		if round > 1 && time.Now().After(c.until) {
			break
		}
		for _, i := range stats.Rotated(len(contestants), round) {
			if outcomes[i].Error != "" {
				continue
			}
			if err := c.run(ctx, contestants[i], &outcomes[i], longestRun); err != nil {
				return nil, err
			}
		}
	}
	return outcomes, nil
}

func named(contestants []Contestant) []Outcome {
	outcomes := make([]Outcome, len(contestants))
	for i, c := range contestants {
		outcomes[i].Name = c.Name
	}
	return outcomes
}

// run runs a contestant once and adds what came of it. The error is that of ctx.
func (c contest) run(ctx context.Context, who Contestant, o *Outcome, patience time.Duration) error {
	who.Patience = patience
	s, err := who.Trial.Run(ctx, c.work)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, trial.ErrPatience):
		o.GivenUp = patience.Seconds()
	case err != nil:
		o.Error = err.Error()
	default:
		o.Seconds = append(o.Seconds, s.Wall.Seconds())
		if who.Lines {
			o.Choices = append(o.Choices, readChoice(s.Lines))
		}
	}
	return nil
}
