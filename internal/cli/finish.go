package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/internal/engine"
	"github.com/poolwise/poolwise/internal/pilot"
	"github.com/poolwise/poolwise/internal/supervisor"
	"github.com/poolwise/poolwise/internal/ui"
)

// finish delivers the output, tells how it went, and clears up. It returns nil
// or the *ExitError of the run.
func (s *session) finish() error {
	ended := s.ended
	if s.planOnly && errors.Is(ended, pilot.ErrPlanned) {
		ended = nil
	}
	if err := s.deliver(); err != nil && ended == nil {
		ended = err
	}
	delivered := false
	if ended == nil {
		if err := s.target.Commit(); err != nil {
			ended = &engine.OutputError{Err: err}
		} else {
			delivered = !s.planOnly
		}
	} else {
		s.target.Abort()
	}
	outcome := s.engine.Outcome()
	exit := ExitOK
	switch {
	case ended != nil:
		if exit = exitOf(ended); exit == ExitUsage && tried(outcome) > 0 {
			exit = ExitStopped // items were run: it was no error of the start
		}
	case tried(outcome) != outcome.Counts[batch.OK], !s.planOnly && outcome.Counts[batch.OK] != outcome.Read:
		exit = ExitFailed
	}
	clean := exit == ExitOK && delivered && !s.planOnly
	if clean && !s.flags.keep {
		_ = s.journal.CloseUnsynced() // it is removed in a moment
	} else if err := s.journal.Close(); err != nil && ended == nil {
		ended, exit = &engine.OutputError{Err: err}, ExitStopped
	}
	if err := s.log.Close(); err != nil {
		s.logBroke(err)
	}
	s.guardian.Release()
	if failedStart(ended) && tried(outcome) == 0 {
		_ = s.dir.Remove() // an empty record is no more than untidy
		return &ExitError{Status: ExitUsage, Err: explainEnd(ended, s)}
	}
	s.remember(outcome)
	s.record(outcome, exit, delivered)
	if err := s.dir.Finish(!clean || s.flags.keep); err != nil {
		printError(s.app.Stderr, err)
	}
	s.dir.Close()
	s.leaveSignals() // all is recorded; who waits for standard error may go now
	if s.planOnly && ended == nil {
		if err := s.tellPlan(); err != nil {
			return err
		}
	}
	if !s.planOnly || exit != ExitOK {
		s.tell(outcome, exit, delivered)
	}
	if exit == ExitOK {
		return nil
	}
	return &ExitError{Status: exit, Err: explainEnd(ended, s)}
}

// tried is how many items have an outcome.
func tried(s engine.Snapshot) uint64 { return s.Read - s.Counts[batch.NotRun] }

// explainEnd says why a run ended early; nil when it did not.
func explainEnd(ended error, s *session) error {
	var start *supervisor.StartError
	var output *engine.OutputError
	switch {
	case ended == nil:
		return nil
	case errors.As(ended, &start):
		return fmt.Errorf("the task %s cannot be run: %w", s.inv.task.Name, ended)
	case errors.As(ended, &output) && isGone(ended):
		return fmt.Errorf("stopped: the reader of the output has gone")
	case errors.Is(ended, engine.ErrInterrupted):
		return nil // it has been said
	}
	return fmt.Errorf("stopped: %w", ended)
}

// tell writes the summary.
func (s *session) tell(o engine.Snapshot, exit Exit, delivered bool) {
	sum := ui.Summary{
		Counts: o.Counts, Plan: s.planText(), Wall: time.Since(s.begun),
		Median: o.Median, P95: o.P95, Max: o.Max, ItemSum: o.Sum,
		Notes: s.source.Notes(), Quiet: s.flags.quiet && exit == ExitOK,
	}
	if exit != ExitOK || s.flags.keep {
		sum.RunID, sum.RunDir = s.dir.ID, s.dir.Path(".")
	}
	switch {
	case s.flags.output != "" && delivered:
		sum.Output = s.flags.output
	case s.flags.output != "":
		sum.Notes = append(sum.Notes, fmt.Sprintf("%s was not written; the results so far are in the run's journal", s.flags.output))
	}
	failed := slices.Clone(s.engine.Failures())
	slices.SortFunc(failed, func(a, b engine.FailedItem) int { return cmp.Compare(a.Index, b.Index) })
	for _, f := range failed {
		sum.Failures = append(sum.Failures, ui.FailureLine{
			Index: f.Index, Item: f.Preview, Status: f.Status, LastLine: lastLine(&f.Failure),
		})
	}
	bad := tried(o) - o.Counts[batch.OK]
	sum.MoreFailures = bad - uint64(len(failed))
	if s.mode == ui.JSON {
		sum.Plan = s.currentPlan().String()
		if !sum.Quiet || !sum.AllOK() {
			_, _ = s.app.Stderr.Write(ui.JSONSummary(sum)) // there is nobody left to tell
		}
		return
	}
	ui.WriteSummary(s.app.Stderr, sum)
}

// lastLine is what a traceback would end with.
func lastLine(f *batch.Failure) string {
	line, _, _ := strings.Cut(f.Error(), "\n")
	return line
}

// planText is the plan as the summary shows it.
func (s *session) planText() string {
	if d := s.lastDecision(); s.auto() && d == nil {
		return s.currentPlan().String() + " (over before there was anything to choose)"
	}
	return s.currentPlan().String()
}

// snapshot is the state of the run as the progress shows it.
func (s *session) snapshot() ui.Snapshot {
	o := s.engine.Snapshot()
	total, known := s.source.Total()
	if o.ReadAll {
		total, known = o.Read, true
	}
	read, size := s.source.Bytes()
	cpu, rss := s.meter.Read(time.Now(), o.Workers)
	return ui.Snapshot{
		Done: o.Counts, Read: o.Read, Total: total, TotalKnown: known, BytesRead: read, BytesTotal: size,
		Running: o.Running, Oldest: o.OldestAge, OldestIndex: o.Oldest, Typical: o.P95,
		CPU: cpu, RSS: rss, Workers: len(o.Workers), Plan: s.currentPlan().String(), Elapsed: time.Since(s.begun),
	}
}

// isTerminal reports whether a file is one.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && info.Mode()&os.ModeDevice != 0 && f.Name() != os.DevNull
}

// dryRun shows what would be run.
func (s *session) dryRun() error {
	defer s.source.Close()
	if err := s.task.dryRun(s.app.Stdout, s.source); err != nil {
		return &ExitError{Status: ExitStopped, Err: err}
	}
	return nil
}
