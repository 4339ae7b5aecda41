package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/internal/journal"
	"github.com/poolwise/poolwise/internal/ui"
)

// showFlags are the flags of show.
type showFlags struct {
	runDir   string
	json     bool
	log      bool
	failures bool
	item     int64
}

func (a *App) showCommand() *cobra.Command {
	var f showFlags
	cmd := &cobra.Command{
		Use:   "show RUN",
		Short: "show how a run went",
		Long: `Show how a run went, and the items that did not end ok.

RUN is an id, the beginning of one, the directory of a run, or last.`,
		Example: `  poolwise show last
  poolwise show last --failures
  poolwise show last --item 1`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("show needs one RUN: an id, the directory of a run, or last")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.show(args[0], &f) },
	}
	s := cmd.Flags()
	s.StringVar(&f.runDir, "run-dir", defaultRunDir, "where runs are recorded")
	s.BoolVar(&f.json, "json", false, "the record of the run as JSON")
	s.BoolVar(&f.log, "log", false, "what the tasks printed")
	s.BoolVar(&f.failures, "failures", false, "every item that did not end ok, with its traceback")
	s.Int64Var(&f.item, "item", noItem, "everything known about the item with this `INDEX`")
	return cmd
}

// noItem is the value of --item when it was not given.
const noItem = -1

// shownFailures is how many failures show lists unless asked for all.
const shownFailures = 10

func (a *App) show(ref string, f *showFlags) error {
	if f.item < noItem {
		return usagef("--item %d: indices begin with 0", f.item)
	}
	dir, err := journal.OpenDir(a.path(f.runDir), ref)
	if err != nil {
		return usagef("%w", err)
	}
	defer dir.Close()
	info, err := infoOf(dir)
	if err != nil {
		return usagef("%w", err)
	}
	err = a.print(func(w io.Writer) error {
		switch {
		case f.json:
			// A contract: docs/json-output.md, section "show".
			enc := json.NewEncoder(w)
			enc.SetIndent("", "  ")
			return enc.Encode(info)
		case f.item >= 0:
			return showItem(w, dir, uint64(f.item))
		case f.log:
			return a.showLog(w, dir)
		}
		return a.showRun(w, dir, info, f.failures)
	})
	var exit *ExitError
	if err != nil && !errors.As(err, &exit) {
		return &ExitError{Status: ExitFailed, Err: err}
	}
	return err
}

// infoOf reads what run.json says of a run, and tells a run whose poolwise was
// killed from one that is running.
func infoOf(dir *journal.Dir) (*journal.Info, error) {
	info, err := journal.ReadInfo(dir.Path("."))
	if err != nil || info.State != journal.Running {
		return info, err
	}
	base := filepath.Dir(filepath.Dir(dir.Path(".")))
	runs, _ := journal.List(base) // whatever else lies there
	for _, r := range runs {
		if r.ID == info.ID {
			return r, nil
		}
	}
	return info, nil
}

func (a *App) showLog(w io.Writer, dir *journal.Dir) error {
	err := writeLog(w, dir.Path("log/tasks.log"), nil, false)
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintln(a.Stderr, "the tasks of this run printed nothing, or it was not kept (--keep)")
		return nil
	}
	return err
}

func (a *App) showRun(w io.Writer, dir *journal.Dir, info *journal.Info, all bool) error {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-10s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("run", "%s, %s", info.ID, info.State)
	line("task", "%s", ui.Escape(info.Task.Name))
	if info.Task.Interpreter != "" {
		by := ui.Escape(info.Task.Interpreter)
		if info.Task.Runtime != "" {
			by += " (" + ui.Escape(info.Task.Runtime) + ")"
		}
		line("by", "%s", by)
	}
	line("command", "poolwise %s", ui.Escape(strings.Join(info.Command, " ")))
	line("in", "%s", ui.Escape(info.Dir))
	line("plan", "%s", info.Plan)
	showPrediction(line, info)
	line("started", "%s", info.Started.Local().Format(time.DateTime))
	if info.Exit != nil {
		line("exit", "%d", *info.Exit)
	}
	line("items", "%s", countsText(info.Counts))
	if s := info.Summary; s != nil {
		line("wall", "%s; an item %s median, %s p95, %s longest; speed-up %.2g", ui.Duration(time.Duration(s.Wall)),
			ui.Duration(time.Duration(s.ItemMedian)), ui.Duration(time.Duration(s.ItemP95)),
			ui.Duration(time.Duration(s.ItemMax)), s.Speedup)
	}
	if info.Output.Path != "" {
		line("output", "%s", ui.Escape(info.Output.Path))
	}
	return a.showFailures(w, dir, all)
}

// showPrediction sets what was predicted against what came.
func showPrediction(line func(name, format string, args ...any), info *journal.Info) {
	if info.Why != "" {
		line("because", "%s", ui.Escape(info.Why))
	}
	p := info.Prediction
	if p == nil {
		return
	}
	line("predicted", "%s (%s to %s) for %s items by %s, %s into the run; %s one after another", ui.Duration(time.Duration(p.Time)),
		ui.Duration(time.Duration(p.Low)), ui.Duration(time.Duration(p.High)), ui.Count(uint64(p.Items)), p.Plan,
		ui.Duration(time.Duration(p.After)), ui.Duration(time.Duration(p.Serial)))
	if s := info.Summary; s != nil && info.State == journal.Done && p.Time > 0 {
		took := time.Duration(max(0, s.Wall-p.After))
		line("took", "%s, %.2f times what was predicted", ui.Duration(took), float64(took)/float64(p.Time))
	}
}

// showFailures lists what the journal, if it is still there, tells of items
// that did not end ok.
func (a *App) showFailures(w io.Writer, dir *journal.Dir, all bool) error {
	n := 0
	damage, err := journal.Read(dir.Path("journal.jsonl"), func(_ int64, e *journal.Entry) error {
		if e.Status == batch.OK {
			return nil
		}
		if n++; all || n <= shownFailures {
			showFailure(w, e, all)
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if n > shownFailures && !all {
		fmt.Fprintf(w, "\nand %d more; --failures shows all\n", n-shownFailures)
	}
	if text := damage.String(); text != "" {
		fmt.Fprintf(a.Stderr, "poolwise: %s\n", text)
	}
	return err
}

func showFailure(w io.Writer, e *journal.Entry, whole bool) {
	var f batch.Failure
	if json.Unmarshal(e.Error, &f) != nil {
		f.Type = "an error that cannot be read"
	}
	fmt.Fprintf(w, "\nitem %d  %s  %s\n", e.Index, e.Status, ui.Escape(string(e.Input)))
	if !whole {
		fmt.Fprintf(w, "  %s\n", ui.Escape(lastLine(&f)))
		return
	}
	showChain(w, &f)
}

// showChain writes a failure and its causes, the first cause first.
func showChain(w io.Writer, f *batch.Failure) {
	if f.Cause != nil {
		showChain(w, f.Cause)
		fmt.Fprint(w, "\n  which led to\n\n")
	}
	text := f.Traceback
	if text == "" {
		text = f.Error()
	} else if !strings.Contains(text, f.Type) {
		text = f.Error() + "\n" + text
	}
	for _, line := range strings.Split(text, "\n") {
		fmt.Fprintf(w, "  %s\n", ui.Escape(line))
	}
}

// showItem tells all that is known about one item.
func showItem(w io.Writer, dir *journal.Dir, index uint64) error {
	found := false
	_, err := journal.Read(dir.Path("journal.jsonl"), func(_ int64, e *journal.Entry) error {
		if e.Index != index {
			return nil
		}
		found = true
		fmt.Fprintf(w, "item %d  %s  attempt %d  worker %d  %s\n", index, e.Status, e.Attempt, e.Worker,
			ui.Duration(time.Duration(e.Wall)))
		if len(e.Input) > 0 {
			fmt.Fprintf(w, "input  %s\n", e.Input)
		}
		if len(e.Value) > 0 {
			fmt.Fprintf(w, "value  %s\n", e.Value)
		}
		if len(e.Error) > 0 {
			showFailure(w, e, true)
		}
		return nil
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the run %s ended well and kept no journal; run it with --keep to look at items", dir.ID)
	case err != nil:
		return err
	case !found:
		return fmt.Errorf("the journal of the run %s has no item %d", dir.ID, index)
	}
	if err := writeLog(w, dir.Path("log/tasks.log"), &index, false); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
