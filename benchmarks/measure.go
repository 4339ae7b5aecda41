package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/poolwise/poolwise/benchmarks/internal/stats"
	"github.com/poolwise/poolwise/benchmarks/internal/trial"
)

// patience bounds one run of one contender; the slowest known takes a minute.
const patience = 15 * time.Minute

// A Result is all that was measured of one contender.
type Result struct {
	Name  string        `json:"name"`
	Ours  bool          `json:"ours"`
	Wall  stats.Summary `json:"wall_ms"`
	CPU   stats.Summary `json:"cpu_ms"`
	Peak  stats.Summary `json:"peak_mb"`
	Error string        `json:"error,omitempty"` // why it has no figures
}

// measureRow runs the row's contenders reps times, interleaved, after one run
// of each that is not counted: it fills the caches of files on both sides.
func measureRow(ctx context.Context, row Row, reps int, work string, log func(string, ...any)) []Result {
	contenders := row.Contenders
	results := make([]Result, len(contenders))
	samples := make([][]trial.Sample, len(contenders))
	for i, c := range contenders {
		results[i] = Result{Name: c.Name, Ours: c.Ours, Error: c.Missing}
	}
	for round := -1; round < reps*max(row.Factor, 1); round++ {
		for _, i := range stats.Rotated(len(contenders), round+1) {
			c := contenders[i]
			if results[i].Error != "" || c.Once && round != 0 {
				continue
			}
			s, err := c.trial(row.Budget.Kind == Memory).Run(ctx, work)
			switch {
			case err != nil:
				results[i].Error = err.Error()
				log("row %d: %s: %v", row.Number, c.Name, err)
			case round >= 0:
				samples[i] = append(samples[i], s)
			}
		}
	}
	for i := range results {
		var wall, cpu, peak []float64
		for _, s := range samples[i] {
			wall = append(wall, float64(s.Wall)/1e6)
			cpu = append(cpu, float64(s.CPU)/1e6)
			peak = append(peak, s.PeakMB)
		}
		results[i].Wall, results[i].CPU, results[i].Peak = stats.Summarise(wall), stats.Summarise(cpu), stats.Summarise(peak)
	}
	return results
}

// trial returns one run of a contender.
func (c Contender) trial(peak bool) trial.Trial {
	return trial.Trial{Argv: c.Argv, Env: c.Env, Stdin: c.Stdin, Check: c.Check, Peak: peak, Patience: patience}
}

// integers returns a check that a file of the run's folder holds 0 to n-1, a
// line each, in order.
func integers(name string, n int) func(dir string) error {
	return func(dir string) error {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		var want []byte
		i := 0
		for ; lines.Scan(); i++ {
			if want = strconv.AppendInt(want[:0], int64(i), 10); !bytes.Equal(want, lines.Bytes()) {
				return fmt.Errorf("wrong results: line %d is %.40q", i+1, lines.Text())
			}
		}
		if err := lines.Err(); err != nil {
			return err
		}
		if i != n {
			return fmt.Errorf("wrong results: %d of %d", i, n)
		}
		return nil
	}
}
