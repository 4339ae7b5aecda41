package cli

import (
	"context"
	"errors"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/poolwise/poolwise/internal/engine"
	"github.com/poolwise/poolwise/plan"
)

const runExamples = `  # Lines and words of each file; one JSON value a line comes out.
  poolwise run examples/textstats.py:stats --from paths 'examples/*.py' -o stats.jsonl

  # A command for each item; its output, in input order.
  poolwise run -- echo {#} {} ::: a b c

  # Lines from a pipe, each on the command's standard input, four at a time.
  printf 'one\ntwo\n' | poolwise run --plan processes:4 --stdin -- wc -c`

func (a *App) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use: `run [flags] TASK [INPUT...]
  poolwise run [flags] [INPUT...] -- COMMAND [ARG...]
  poolwise run ... ::: ITEM...`,
		Short: "run a Python function or a command over many inputs",
		Long: `Run a task over all items of the inputs and write the results in input order.

TASK is file.py:func or package.module:func; a COMMAND stands after --, with the
placeholders {} {.} {/} {//} {/.} {#}. An INPUT is a file of items, or - for
standard input, which is read when nothing else is given. ITEMs stand after :::,
always last.

A flag that tunes a run can also be set by a variable: POOLWISE_PLAN for --plan.`,
		Example: runExamples,
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			inv, err := a.readArgs(cmd, &f, args)
			if err != nil {
				return err
			}
			return a.run(cmd.Context(), &f, inv)
		},
	}
	f.add(cmd.Flags())
	completeWords(cmd)
	return cmd
}

// readArgs reads what the command line and the environment say of a run.
func (a *App) readArgs(cmd *cobra.Command, f *runFlags, args []string) (*invocation, error) {
	if err := fromEnv(cmd.Flags(), a.Env); err != nil {
		return nil, err
	}
	inv, err := parseInvocation(a.Dir, args, cmd.ArgsLenAtDash(), a.items, a.listed)
	if err != nil {
		return nil, err
	}
	return inv, f.check(cmd.Flags(), &inv.task)
}

// run carries out one run and returns nil or an *ExitError.
func (a *App) run(ctx context.Context, f *runFlags, inv *invocation) error {
	s, err := a.prepare(ctx, f, inv)
	if err != nil {
		return err
	}
	if f.dryRun {
		return s.dryRun()
	}
	defer s.leaveSignals()
	if err := s.carryOut(); err != nil {
		return err
	}
	return s.finish()
}

// carryOut opens the run and carries it out, to its end or until it is stopped.
func (s *session) carryOut() error {
	if err := s.open(); err != nil {
		s.discard()
		return err
	}
	makeRoom(s.plan)
	// What is held is bounded and small, so collecting less often costs little
	// memory; it took a twentieth of the CPU time of a million short items.
	debug.SetGCPercent(gcPercent)
	s.takeSignals()
	stop := s.stopOnSignals()
	s.execute()
	stop()
	return nil
}

// gcPercent lets the heap grow to five times what is in use.
const gcPercent = 400

// givenPlan takes --plan and refuses what cannot be. Where the plan is to be
// chosen it is the one that a run begins with.
func givenPlan(f *runFlags, task *taskSpec) (plan.Plan, error) {
	if f.plan.plan == nil {
		return plan.Plan{Processes: 1, Slots: 1, Kind: plan.Serial}, nil
	}
	p := *f.plan.plan
	switch {
	case p.Kind == plan.Interpreters:
		return p, usagef("--plan %s: interpreters are not available yet; use processes:%d", p, p.Total())
	case task.isCommand() && p.Kind != plan.Serial && p.Kind != plan.Processes:
		return p, usagef("--plan %s: a command runs in a process of its own, so it has no %s; use processes:%d", p, p.Kind, p.Total())
	}
	return p, nil
}

// exitOf turns the end of the engine into an exit status.
func exitOf(err error) Exit {
	var sig *signalError
	var input *engine.InputError
	var output *engine.OutputError
	switch {
	case errors.As(err, &sig) && sig.signal == os.Interrupt:
		return ExitInterrupted
	case errors.As(err, &sig):
		return ExitTerminated
	case errors.As(err, &input), errors.As(err, &output):
		return ExitStopped
	}
	return ExitUsage
}
