package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/poolwise/poolwise/benchmarks/internal/host"
	"github.com/poolwise/poolwise/benchmarks/internal/stats"
	"github.com/poolwise/poolwise/benchmarks/internal/trial"
)

// A Setup is what the suite needs to know of this machine.
type Setup struct {
	Here     string // the folder of this program
	Cache    string // what is made once
	Poolwise string // the program
	Python   string // the interpreter of both sides
	CPUs     int
	Rates    string // what tasks/synthetic.py counts in a second here
	NoPillow string // why Pillow is missing, if it is
	// NoProfile says whether the program knows --no-profile.
	NoProfile bool
	// Auto are more flags for the runs whose plan poolwise chooses.
	Auto []string
}

// prepare makes the virtual environment and measures the rates. here is the
// folder of the benchmarks' module.
func prepare(ctx context.Context, here string, log func(string, ...any)) (*Setup, error) {
	s := &Setup{Here: filepath.Join(here, "regret"), Cache: filepath.Join(here, ".cache", "regret"), CPUs: runtime.NumCPU()}
	if err := os.MkdirAll(s.Cache, 0o755); err != nil {
		return nil, err
	}
	var err error
	s.Python, err = host.Venv(ctx, filepath.Join(s.Cache, "venv"), filepath.Join(s.Here, "requirements.txt"), log)
	if err != nil {
		if s.Python == "" {
			return nil, fmt.Errorf("the virtual environment: %w", err)
		}
		s.NoPillow = "Pillow was not installed: " + strings.ReplaceAll(err.Error(), "\n", " ")
		log("%s", s.NoPillow)
	}
	return s, s.calibrate(ctx)
}

// probe sees which flags the program has: it may be another build.
func (s *Setup) probe(ctx context.Context) error {
	help, err := exec.CommandContext(ctx, s.Poolwise, "run", "--help").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s run --help: %w", s.Poolwise, err)
	}
	s.NoProfile = strings.Contains(string(help), "--no-profile")
	return nil
}

// calibrate sets Rates.
func (s *Setup) calibrate(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, s.Python, s.task("synthetic.py")).Output()
	if err != nil {
		return fmt.Errorf("measuring this machine: %w", err)
	}
	var rates []float64
	if err := json.Unmarshal(out, &rates); err != nil {
		return fmt.Errorf("measuring this machine: %w", err)
	}
	texts := make([]string, len(rates))
	for i, r := range rates {
		texts[i] = fmt.Sprintf("%.0f", r)
	}
	s.Rates = strings.Join(texts, ",")
	return nil
}

// suite returns all workloads, or those of the short suite: first those that are
// drawn by lot to come first, so that what a budget cuts is a sample too.
func (s *Setup) suite(ctx context.Context, quick bool) ([]*Workload, error) {
	all, err := s.real(ctx)
	if err != nil {
		return nil, err
	}
	for _, spec := range specs() {
		all = append(all, spec.workload(s.Rates))
	}
	return shuffled(all, quick), nil
}

func (s *Setup) task(file string) string { return filepath.Join(s.Here, "tasks", file) }

// start returns how long one worker's start takes, in seconds: a new interpreter
// that imports the task. Commands need none.
func (s *Setup) start(ctx context.Context, w *Workload, env []string, work string) (float64, error) {
	if w.Task == "" {
		return 0, nil
	}
	file, _, _ := strings.Cut(w.Task, ":")
	load := trial.Trial{
		Argv:     []string{s.Python, "-c", "import sys; sys.path.insert(0, sys.argv[1]); __import__(sys.argv[2])", s.task(""), strings.TrimSuffix(file, ".py")},
		Env:      env,
		Patience: longestRun,
	}
	const times = 3
	var took []float64
	for range times {
		sample, err := load.Run(ctx, work)
		if err != nil {
			return 0, err
		}
		took = append(took, sample.Wall.Seconds())
	}
	return stats.Median(took), nil
}

// longestRun bounds one run, where nothing is known of how long it may take: by
// far more than the longest workload.
const longestRun = 2 * time.Minute
