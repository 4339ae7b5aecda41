// Command benchmarks measures what poolwise adds to the work itself, beside the
// tools that people use today, and writes docs/performance.md. It needs Linux.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/poolwise/poolwise/benchmarks/internal/host"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := measure(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "benchmarks:", err)
		os.Exit(1)
	}
}

func measure(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("benchmarks", flag.ContinueOnError)
	only := flags.Int("row", 0, "measure this row only, and print it instead of writing the page")
	reps := flags.Int("reps", 5, "counted runs of each contender")
	asJSON := flags.Bool("json", false, "print the results as JSON instead of writing the page")
	program := flags.String("poolwise", "", "measure this program (default: build ../bin/poolwise)")
	straggle := flags.Int("straggle", 60, "seconds that the first item of row 6 takes")
	out := flags.String("o", filepath.Join("..", "docs", "performance.md"), "the page")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 || *reps < 1 {
		return errors.New("there are no arguments but flags, and -reps is 1 or more; see -h")
	}

	here, err := os.Getwd()
	if err != nil {
		return err
	}
	setup, err := prepare(ctx, here, logf)
	if err != nil {
		return err
	}
	setup.Straggle = *straggle
	if *program == "" {
		*program, err = host.Build(ctx, here)
	} else {
		*program, err = filepath.Abs(*program)
		setup.Version = "the program given as -poolwise"
	}
	if err != nil {
		return err
	}
	setup.Poolwise = *program

	before := host.Load()
	measured, err := measureRows(ctx, setup, *only, *reps)
	if err != nil {
		return err
	}
	report := Report{Context: setup.facts(ctx, strings.Join(append([]string{"go run ."}, args...), " "), before), Rows: measured}
	switch {
	case *asJSON:
		text, err := json.MarshalIndent(report, "", "  ")
		if err != nil {
			return err
		}
		fmt.Println(string(text))
	case *only != 0:
		fmt.Print(report.Page()[len(method):])
	default:
		if err := os.WriteFile(*out, []byte(report.Page()), 0o644); err != nil {
			return err
		}
		logf("wrote %s", *out)
	}
	return failures(measured)
}

// measureRows measures one row, or all if only is 0. The runs' folders are
// beside the checkout and not in /tmp, which may be memory: a journal on disk
// is part of what is measured.
func measureRows(ctx context.Context, setup *Setup, only, reps int) ([]Measured, error) {
	rows, err := setup.Rows()
	if err != nil {
		return nil, err
	}
	if only < 0 || only > len(rows) {
		return nil, fmt.Errorf("there is no row %d; rows are 1 to %d", only, len(rows))
	}
	work, err := os.MkdirTemp(filepath.Join(setup.Here, ".cache"), "work-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	// Programs that keep something for the next time do so here.
	if err := os.Setenv("XDG_CACHE_HOME", filepath.Join(setup.Here, ".cache", "xdg")); err != nil {
		return nil, err
	}

	var measured []Measured
	for _, row := range rows {
		if only != 0 && row.Number != only {
			continue
		}
		logf("row %d: %s", row.Number, row.Title)
		m := judge(row, measureRow(ctx, row, reps, work, logf))
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		for _, v := range m.Verdicts {
			logf("  %s", v)
		}
		measured = append(measured, m)
	}
	return measured, nil
}

// failures is an error if any contender gave no figures, other than one that
// is not installed. A missed budget is a finding and no error.
func failures(measured []Measured) error {
	var errs []error
	for _, m := range measured {
		for _, r := range m.Results {
			if r.Error != "" && !strings.HasPrefix(r.Error, notInstalled) {
				errs = append(errs, fmt.Errorf("row %d: %s: %s", m.Number, r.Name, r.Error))
			}
		}
	}
	return errors.Join(errs...)
}

func logf(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
