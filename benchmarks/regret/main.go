// Command regret measures how far the plan that poolwise chooses is from the best
// plan found by trying them all, and writes docs/regret.md. It needs Linux.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/poolwise/poolwise/benchmarks/internal/host"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := measure(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "regret:", err)
		os.Exit(1)
	}
}

// options are what the command line says.
type options struct {
	only     *regexp.Regexp
	quick    bool
	reps     int
	budget   time.Duration
	poolwise string
	auto     string
	out      string // empty for standard output
	json     bool
	render   string
	command  string
}

// What the two suites take when nothing is said. The budgets are what is
// promised of them, less what building and preparing take.
const (
	fullReps, quickReps     = 5, 3
	fullBudget, quickBudget = 88 * time.Minute, 7*time.Minute + 30*time.Second
)

func parse(args []string) (*options, error) {
	o := &options{command: strings.Join(append([]string{"go run ./regret"}, args...), " ")}
	flags := flag.NewFlagSet("regret", flag.ContinueOnError)
	only := flags.String("only", "", "measure the workloads whose names match this regular expression, and print the page")
	flags.BoolVar(&o.quick, "quick", false, "the short suite; prints the page")
	flags.IntVar(&o.reps, "reps", 0, fmt.Sprintf("counted runs of each finalist (default %d, of the short suite %d)", fullReps, quickReps))
	flags.DurationVar(&o.budget, "budget", 0, fmt.Sprintf("the time that measuring may take (default %v, for the short suite %v)", fullBudget, quickBudget))
	flags.StringVar(&o.poolwise, "poolwise", "", "measure this program (default: build ../bin/poolwise)")
	flags.StringVar(&o.auto, "auto", "", "more flags for the runs whose plan poolwise chooses, such as --threads-ok")
	flags.StringVar(&o.out, "o", "", "write the page to this file (default: ../docs/regret.md, for the whole suite)")
	flags.BoolVar(&o.json, "json", false, "print the figures as JSON instead of the page")
	flags.StringVar(&o.render, "render", "", "measure nothing, and make the page of this file of figures")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 || o.reps < 0 || o.budget < 0 {
		return nil, errors.New("there are no arguments but flags, and -reps and -budget are above 0; see -h")
	}
	var err error
	if o.only, err = regexp.Compile(*only); err != nil {
		return nil, err
	}
	reps, budget := fullReps, fullBudget
	if o.quick {
		reps, budget = quickReps, quickBudget
	}
	if o.reps == 0 {
		o.reps = reps
	}
	if o.budget == 0 {
		o.budget = budget
	}
	if o.out == "" && !o.quick && *only == "" && !o.json && o.render == "" {
		o.out = filepath.Join("..", "docs", "regret.md")
	}
	return o, nil
}

func measure(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if o.render != "" {
		text, err := os.ReadFile(o.render)
		if err != nil {
			return err
		}
		var report Report
		if err := json.Unmarshal(text, &report); err != nil {
			return fmt.Errorf("%s: %w", o.render, err)
		}
		return o.publish(report)
	}
	report, figures, err := o.measure(ctx)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(report, "", " ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(figures, text, 0o644); err != nil {
		return err
	}
	logf("figures are in %s", figures)
	return o.publish(report)
}

// measure returns the report and the file for its figures.
func (o *options) measure(ctx context.Context) (report Report, figures string, err error) {
	began := time.Now()
	here, err := os.Getwd()
	if err != nil {
		return report, "", err
	}
	setup, err := prepare(ctx, here, logf)
	if err != nil {
		return report, "", err
	}
	setup.Auto = strings.Fields(o.auto)
	version := "the program given as -poolwise"
	if o.poolwise == "" {
		version = ""
		setup.Poolwise, err = host.Build(ctx, here)
	} else {
		setup.Poolwise, err = filepath.Abs(o.poolwise)
	}
	if err != nil {
		return report, "", err
	}
	if err := setup.probe(ctx); err != nil {
		return report, "", err
	}
	suite, err := setup.suite(ctx, o.quick)
	if err != nil {
		return report, "", err
	}
	suite = slices.DeleteFunc(suite, func(w *Workload) bool { return !o.only.MatchString(w.Name) })
	if len(suite) == 0 {
		return report, "", errors.New("no workload of the suite has such a name")
	}

	load := host.Load()
	within, cancel := context.WithDeadline(ctx, began.Add(o.budget))
	defer cancel()
	measured, cut, err := setup.measureAll(within, suite, o.reps, logf)
	if err != nil {
		return report, "", err
	}
	facts := host.Facts(ctx, host.Measurement{Command: o.command, Here: here, Python: setup.Python, Version: version, Load: load})
	facts = append(facts, setup.facts()...)
	facts = append(facts, [2]string{"measuring took", fmt.Sprintf("%.0f min", time.Since(began).Minutes())})
	figures = filepath.Join(setup.Cache, "figures-"+began.UTC().Format("20060102-150405")+".json")
	return Report{Context: facts, Reps: o.reps, Measured: measured, Cut: cut}, figures, nil
}

// facts are those that only this program knows.
func (s *Setup) facts() [][2]string {
	profile := "--no-profile"
	if !s.NoProfile {
		profile = "this program keeps no profiles: the same as with one"
	}
	auto := "--plan auto"
	if len(s.Auto) > 0 {
		auto += " " + strings.Join(s.Auto, " ")
	}
	return [][2]string{
		{"poolwise choosing", "`" + auto + "`; cold: " + profile},
		{"done in a second", s.Rates + " (turns of a loop, bytes of SHA-256, bytes of zlib, by one CPU)"},
	}
}

func (o *options) publish(report Report) error {
	if o.json {
		out := json.NewEncoder(os.Stdout)
		out.SetIndent("", " ")
		return out.Encode(report)
	}
	if o.out == "" {
		_, err := io.WriteString(os.Stdout, report.Page())
		return err
	}
	if err := os.WriteFile(o.out, []byte(report.Page()), 0o644); err != nil {
		return err
	}
	logf("wrote %s", o.out)
	return nil
}

func logf(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
