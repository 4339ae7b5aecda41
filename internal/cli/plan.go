package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/poolwise/poolwise/internal/journal"
	"github.com/poolwise/poolwise/internal/ui"
)

func (a *App) planCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use: `plan [flags] TASK [INPUT...]
  poolwise plan [flags] [INPUT...] -- COMMAND [ARG...]
  poolwise plan ... ::: ITEM...`,
		Short: "run and measure the first items, and show how long each plan would take",
		Long: `Run a sample of the items, which is measured, and show what was found, the plan
that run would choose and why, and how long each plan would take for the rest.

The items of the sample are really run; their indices are named. Their results
are kept in the record of the run, and no output is written.`,
		Example: `  poolwise plan examples/textstats.py:stats --from paths 'examples/*.py'
  poolwise plan --json -- echo {} ::: a b c`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			inv, err := a.readArgs(cmd, &f, args)
			if err != nil {
				return err
			}
			if f.plan.plan != nil {
				return usagef("--plan %s: plan weighs all of them; give it to run", f.plan.plan)
			}
			return a.planOnly(cmd.Context(), &f, inv)
		},
	}
	f.add(cmd.Flags())
	completeWords(cmd)
	return cmd
}

// planOnly runs the sample of a run, tells the plan and returns nil or an
// *ExitError.
func (a *App) planOnly(ctx context.Context, f *runFlags, inv *invocation) error {
	s, err := a.prepare(ctx, f, inv)
	if err != nil {
		return err
	}
	if f.dryRun {
		return s.dryRun()
	}
	s.planOnly = true
	defer s.leaveSignals()
	if err := s.carryOut(); err != nil {
		return err
	}
	return s.finish()
}

// tellPlan writes what poolwise plan has found to standard output.
func (s *session) tellPlan() error {
	ran, err := indicesOf(s.dir.Path("journal.jsonl"))
	if err != nil {
		return &ExitError{ExitStopped, err}
	}
	if s.flags.json {
		return s.app.print(func(w io.Writer) error { return s.planObject(w, ran) })
	}
	return s.app.print(func(w io.Writer) error { return s.planTable(w, ran) })
}

func (s *session) planObject(w io.Writer, ran []uint64) error {
	o := &planJSON{Type: "plan"}
	d := s.lastDecision()
	if d == nil {
		// Nothing is left to plan: there are these fields alone.
		return json.NewEncoder(w).Encode(struct {
			Type string   `json:"type"`
			Run  string   `json:"run"`
			Ran  []uint64 `json:"ran"`
		}{"plan", s.dir.ID, ran})
	}
	o = planObject(d, s.planMachine())
	o.Run, o.Ran = s.dir.ID, ran
	return json.NewEncoder(w).Encode(o)
}

func (s *session) planTable(w io.Writer, ran []uint64) error {
	d := s.lastDecision()
	if d == nil {
		_, err := fmt.Fprintf(w, "all %d items were run for the sample; nothing is left to plan\nrecord  %s\n", len(ran), ui.Escape(s.dir.Path(".")))
		return err
	}
	fmt.Fprintln(w, planLines(d, s.planMachine()))
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "PLAN\tPREDICTED\t8 IN 10 BETWEEN\tMEMORY\tBOUND")
	for _, p := range d.Choice.All {
		fmt.Fprintf(t, "%s\t%s\t%s and %s\t%s\t%s\n", p.Plan, ui.Duration(p.Time), ui.Duration(p.Low), ui.Duration(p.High),
			ui.Bytes(p.Memory), p.Bound)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, e := range d.Choice.Excluded {
		fmt.Fprintf(w, "not weighed: %s: %s\n", e.Plan, e.Reason)
	}
	_, err := fmt.Fprintf(w, "\n%s %s really run: %s\nrecord  %s\n", ui.Count(uint64(len(ran))), wereItems(len(ran)), ranges(ran),
		ui.Escape(s.dir.Path(".")))
	return err
}

func wereItems(n int) string {
	if n == 1 {
		return "item was"
	}
	return "items were"
}

// indicesOf returns the items that a journal has a result of, sorted.
func indicesOf(path string) ([]uint64, error) {
	ran := []uint64{}
	_, err := journal.Read(path, func(_ int64, e *journal.Entry) error {
		ran = append(ran, e.Index)
		return nil
	})
	if err != nil {
		return nil, errors.Join(errors.New("the items that were run cannot be told"), err)
	}
	slices.Sort(ran)
	return slices.Compact(ran), nil
}

// ranges shows sorted numbers, those that follow one another as 3-7.
func ranges(n []uint64) string {
	var parts []string
	for i := 0; i < len(n); {
		j := i + 1
		for j < len(n) && n[j] == n[j-1]+1 {
			j++
		}
		part := strconv.FormatUint(n[i], 10)
		if j-i > 1 {
			part += "-" + strconv.FormatUint(n[j-1], 10)
		}
		parts = append(parts, part)
		i = j
	}
	return strings.Join(parts, " ")
}
