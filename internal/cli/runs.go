package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/internal/journal"
	"github.com/poolwise/poolwise/internal/ui"
)

func (a *App) runsCommand() *cobra.Command {
	var runDir string
	var asJSON bool
	var limit int
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "list what ran",
		Long:  "List the runs recorded below the run directory, newest first.",
		Example: `  poolwise runs
  poolwise runs --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.runs(runDir, limit, asJSON)
		},
	}
	cmd.PersistentFlags().StringVar(&runDir, "run-dir", defaultRunDir, "where runs are recorded")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	cmd.Flags().IntVarP(&limit, "limit", "n", 0, "show only the newest `N` (default: all)")
	cmd.AddCommand(a.pruneCommand(&runDir))
	return cmd
}

func (a *App) runs(runDir string, limit int, asJSON bool) error {
	runs, errs := journal.List(a.path(runDir))
	if limit > 0 && len(runs) > limit {
		runs = runs[:limit]
	}
	if len(runs) == 0 && !asJSON {
		fmt.Fprintf(a.Stderr, "no runs are recorded in %s\n", runDir)
	} else if err := a.print(func(w io.Writer) error {
		if asJSON {
			return runsJSON(w, runs)
		}
		return runsTable(w, runs)
	}); err != nil {
		return err
	}
	for _, err := range errs {
		printError(a.Stderr, err)
	}
	if len(errs) > 0 {
		return &ExitError{Status: ExitFailed}
	}
	return nil
}

// runsJSON is a contract: docs/json-output.md, section "runs".
func runsJSON(out io.Writer, runs []*journal.Info) error {
	enc := json.NewEncoder(out)
	for _, r := range runs {
		if err := enc.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

func runsTable(out io.Writer, runs []*journal.Info) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "RUN\tSTARTED\tSTATE\tITEMS\tWALL\tTASK")
	for _, r := range runs {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", r.ID, r.Started.Local().Format("2006-01-02 15:04"), r.State,
			countsText(r.Counts), wallText(r), ui.Escape(r.Task.Name))
	}
	return w.Flush()
}

// countsText shows outcomes: 3 ok, 1 failed.
func countsText(counts map[string]uint64) string {
	var parts []string
	for i := range batch.NumStatus {
		name := batch.Status(i).String()
		if n := counts[name]; n > 0 {
			parts = append(parts, ui.Count(n)+" "+strings.ReplaceAll(name, "_", " "))
		}
	}
	if parts == nil {
		return "-"
	}
	return strings.Join(parts, ", ")
}

func wallText(r *journal.Info) string {
	if r.Summary == nil {
		return "-"
	}
	return ui.Duration(time.Duration(r.Summary.Wall))
}

func (a *App) pruneCommand(runDir *string) *cobra.Command {
	var opts journal.PruneOptions
	var dryRun bool
	var older age
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "remove records of runs",
		Long: `Remove the records of runs that leave nothing to do: every item ended ok and the
output was delivered. A run that is going on is never removed.`,
		Example: `  poolwise runs prune
  poolwise runs prune --older-than 30d --dry-run`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			opts.OlderThan = time.Duration(older)
			if opts.All {
				opts.Failed = true
			}
			return a.prune(a.path(*runDir), opts, dryRun)
		},
	}
	cmd.Flags().BoolVar(&opts.Failed, "failed", false, "remove those with failed items, stopped or interrupted ones too")
	cmd.Flags().BoolVar(&opts.All, "all", false, "remove all, also those whose record cannot be read")
	cmd.Flags().Var(&older, "older-than", "leave younger ones alone, such as 12h or 30d")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "tell what would be removed, and remove nothing")
	return cmd
}

func (a *App) prune(base string, opts journal.PruneOptions, dryRun bool) error {
	gone, err := journal.Prune(base, opts, dryRun)
	var bytes int64
	lost := a.print(func(w io.Writer) error {
		for _, p := range gone {
			fmt.Fprintf(w, "%s  %s  %s\n", p.ID, p.State, ui.Bytes(p.Bytes))
			bytes += p.Bytes
		}
		return nil
	})
	verb := "removed"
	if dryRun {
		verb = "would be removed"
	}
	fmt.Fprintf(a.Stderr, "%d runs %s, %s\n", len(gone), verb, ui.Bytes(bytes))
	if err != nil {
		return &ExitError{Status: ExitFailed, Err: err}
	}
	return lost
}

// age is a flag for a length of time that knows days.
type age time.Duration

// Set reads 90m, 12h or 30d.
func (d *age) Set(text string) error {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseFloat(days, 64); err == nil && n >= 0 && n < 1e5 {
			*d = age(n * 24 * float64(time.Hour))
			return nil
		}
	}
	got, err := time.ParseDuration(text)
	if err != nil || got < 0 {
		return fmt.Errorf("%q is not a length of time; write 90m, 12h or 30d", text)
	}
	*d = age(got)
	return nil
}

// String shows the length of time.
func (d *age) String() string {
	if *d == 0 {
		return ""
	}
	return time.Duration(*d).String()
}

// Type is what --help shows.
func (d *age) Type() string { return "AGE" }

// writeLog shows what tasks printed, each part headed by where it came from.
func writeLog(w io.Writer, path string, item *uint64, raw bool) error {
	return journal.ReadLog(path, func(r journal.LogRecord) error {
		if item != nil && !contains(r.Items, *item) {
			return nil
		}
		return writeLogRecord(w, r, raw)
	})
}

func writeLogRecord(w io.Writer, r journal.LogRecord, raw bool) error {
	if !raw {
		fmt.Fprintf(w, "--- %s\n", logHead(r))
	}
	if r.Cut > 0 {
		fmt.Fprintf(w, "[%s more were not kept]\n", ui.Bytes(r.Cut))
		return nil
	}
	if _, err := w.Write(r.Data); err != nil {
		return err
	}
	if !raw && len(r.Data) > 0 && r.Data[len(r.Data)-1] != '\n' {
		fmt.Fprintln(w)
	}
	return nil
}

func logHead(r journal.LogRecord) string {
	whose := "outside of any item"
	switch len(r.Items) {
	case 0:
	case 1:
		whose = fmt.Sprintf("item %d", r.Items[0])
	default:
		whose = fmt.Sprintf("one of the items %v", r.Items)
	}
	if r.Attempt > 1 {
		whose += fmt.Sprintf(", attempt %d", r.Attempt)
	}
	return fmt.Sprintf("%s, %s, worker %d", whose, r.Stream, r.Worker)
}

func contains(items []uint64, want uint64) bool {
	for _, i := range items {
		if i == want {
			return true
		}
	}
	return false
}
