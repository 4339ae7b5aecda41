package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Measured is what was found of one workload. Times are in seconds.
type Measured struct {
	Name  string `json:"name"`
	Kind  string `json:"kind"` // of the task: def, async def or command
	Waits bool   `json:"waits"`
	Items int    `json:"items"`
	// Start is one worker's start.
	Start float64 `json:"start_seconds"`
	// Plans and Hands are the runs by which the best of each was chosen.
	Plans []Outcome `json:"plans"`
	Hands []Outcome `json:"by_hand"`
	Final Final     `json:"final"`
	// Missing says why there are no figures, if there are none.
	Missing string `json:"missing,omitempty"`
}

// A Final is what was timed anew once the best was chosen: the best plan twice, as
// two contestants; poolwise choosing, without a profile and with one; and what is
// best by hand, which has no runs where nothing worked.
type Final struct {
	Best  Outcome `json:"best"`
	Again Outcome `json:"again"`
	Cold  Outcome `json:"cold"`
	Warm  Outcome `json:"with_profile"`
	Hand  Outcome `json:"by_hand"`
}

// draw is within how much of the best serial counts as the best: it needs nothing.
const draw = 1.02

// best returns the index of the best plan, -1 if none has figures.
func best(plans []Outcome) int {
	i := fastest(plans)
	for j, o := range plans {
		if o.Name == "serial" && i >= 0 && o.Median() <= draw*plans[i].Median() {
			return j
		}
	}
	return i
}

// shuffled returns the workloads of a suite in an order that chance has made, the
// same each time: what a budget cuts is then no certain sort.
func shuffled(all []*Workload, quick bool) (suite []*Workload) {
	random := rand.New(rand.NewPCG(seed, 2))
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, w := range all {
		if w.Quick || !quick {
			suite = append(suite, w)
		}
	}
	return suite
}

// measureAll measures workloads until the deadline of ctx, and returns those that
// it did not come to. The error is that of an interruption.
func (s *Setup) measureAll(ctx context.Context, suite []*Workload, reps int, log func(string, ...any)) (all []Measured, cut []string, err error) {
	deadline, bounded := ctx.Deadline()
	for i, w := range suite {
		until := time.Now().Add(longestShare)
		if bounded {
			until = time.Now().Add(share(time.Until(deadline), w, suite[i:]))
		}
		began := time.Now()
		m, err := s.measure(ctx, w, reps, until)
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			for _, w := range suite[i:] {
				cut = append(cut, w.Name)
			}
			return all, cut, nil
		case errors.Is(err, context.Canceled):
			return nil, nil, err
		case err != nil:
			m.Missing = err.Error()
		}
		all = append(all, m)
		log("%d of %d, %.0f s: %s: %s", i+1, len(suite), time.Since(began).Seconds(), w.Name, brief(m))
	}
	return all, nil, nil
}

// longestShare is a share of no budget.
const longestShare = 24 * time.Hour

// share returns how much of the time left is for the first of the workloads
// left: twice what its length says, since most need less than their share.
func share(left time.Duration, w *Workload, rest []*Workload) time.Duration {
	sum := 0.0
	for _, r := range rest {
		sum += r.effort()
	}
	return time.Duration(2 * float64(left) * w.effort() / sum)
}

// effort is how much time the runs of a workload take, as against others: each
// starts processes, whatever the work, and waiting is done by many at once.
func (w *Workload) effort() float64 {
	const least = 0.5 // seconds
	if w.Waits {
		return least + w.Serial/4
	}
	return least + w.Serial
}

// measure measures one workload. Further rounds end at the time until.
func (s *Setup) measure(ctx context.Context, w *Workload, reps int, until time.Time) (m Measured, err error) {
	m = Measured{Name: w.Name, Kind: w.kind(), Waits: w.Waits, Items: w.Items, Missing: w.Missing}
	if m.Missing != "" {
		return m, nil
	}
	// Beside the checkout and not in /tmp, which may be memory: a journal on disk
	// is part of what is measured.
	work, err := os.MkdirTemp(s.Cache, "work-")
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	f := &field{setup: s, w: w, env: w.Env, check: agreement()}
	if f.input, err = w.input(work); err != nil {
		return m, err
	}
	if w.Start != nil {
		env, stop, startErr := w.Start(ctx)
		if startErr != nil {
			return m, fmt.Errorf("what the task needs: %w", startErr)
		}
		defer func() { err = errors.Join(err, stop()) }()
		f.env = slices.Concat(w.Env, env)
	}
	if m.Start, err = s.start(ctx, w, f.env, work); err != nil {
		return m, fmt.Errorf("the task does not load: %w", err)
	}
	return m, m.contest(ctx, contest{work: work, until: until}, f, reps)
}

// contest chooses the best ones and times them beside poolwise's choice.
func (m *Measured) contest(ctx context.Context, c contest, f *field, reps int) error {
	plans, hands := f.plans(), f.hands()
	// The first run fills the caches of files for all.
	var warmUp Outcome
	if err := c.run(ctx, plans[0], &warmUp, longestRun); err != nil {
		return err
	}
	groups, err := c.choose(ctx, (reps+1)/2, plans, hands)
	if err != nil {
		return err
	}
	m.Plans, m.Hands = groups[0], groups[1]
	plan, hand := best(m.Plans), fastest(m.Hands)
	if plan < 0 {
		return fmt.Errorf("no plan has figures: %s", m.Plans[0].Error)
	}
	profile := filepath.Join(c.work, "profile")
	cold, warm := f.auto("auto", f.setup.cache(), false), f.auto("auto with profile", profile, true)
	var learning Outcome
	if err := c.run(ctx, warm, &learning, longestRun); err != nil {
		return err
	}
	finalists := []Contestant{plans[plan], plans[plan], cold, warm}
	if hand >= 0 {
		finalists = append(finalists, hands[hand])
	}
	final, err := c.time(ctx, reps, finalists)
	if err != nil {
		return err
	}
	m.Final = Final{Best: final[0], Again: final[1], Cold: final[2], Warm: final[3]}
	if hand >= 0 {
		m.Final.Hand = final[4]
	}
	for _, o := range final[:4] {
		switch {
		case o.Error != "":
			return fmt.Errorf("%s: %s", o.Name, o.Error)
		case o.GivenUp > 0:
			return fmt.Errorf("%s: it took more than %.0f s", o.Name, o.GivenUp)
		}
	}
	return nil
}

// brief tells one workload's outcome in a line of the log.
func brief(m Measured) string {
	if m.Missing != "" {
		return m.Missing
	}
	s := score(m)
	return fmt.Sprintf("%s %.2f s, auto %.2f (%s), with profile %.2f", m.Final.Best.Name, s.Best, s.Cold.Ratio, s.Cold.Plan, s.Warm.Ratio)
}
