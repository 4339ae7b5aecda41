package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	// patience bounds one run of one contender; the slowest known takes a minute.
	patience = 15 * time.Minute
	// peakEvery is how often the peak is read. It is a high-water mark kept by
	// the kernel, so that only growth in a run's last moments can be missed.
	peakEvery = 5 * time.Millisecond
)

// A Sample is what one run of a whole process took.
type Sample struct {
	Wall time.Duration
	// CPU is that of the process and of all descendants that were waited for.
	CPU time.Duration
	// PeakMB is the largest resident memory of the process alone, without its
	// children, in MB of 10^6 bytes; 0 where it was not asked for.
	PeakMB float64
}

// A Result is all that was measured of one contender.
type Result struct {
	Name  string  `json:"name"`
	Ours  bool    `json:"ours"`
	Wall  Summary `json:"wall_ms"`
	CPU   Summary `json:"cpu_ms"`
	Peak  Summary `json:"peak_mb"`
	Error string  `json:"error,omitempty"` // why it has no figures
}

// measureRow runs the row's contenders reps times, interleaved, after one run
// of each that is not counted: it fills the caches of files on both sides.
func measureRow(ctx context.Context, row Row, reps int, work string, log func(string, ...any)) []Result {
	contenders := row.Contenders
	results := make([]Result, len(contenders))
	samples := make([][]Sample, len(contenders))
	for i, c := range contenders {
		results[i] = Result{Name: c.Name, Ours: c.Ours, Error: c.Missing}
	}
	for round := -1; round < reps*max(row.Factor, 1); round++ {
		for _, i := range rotated(len(contenders), round+1) {
			c := contenders[i]
			if results[i].Error != "" || c.Once && round != 0 {
				continue
			}
			s, err := runOnce(ctx, c, row.Budget.Kind == Memory, work)
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
		results[i].Wall, results[i].CPU, results[i].Peak = Summarise(wall), Summarise(cpu), Summarise(peak)
	}
	return results
}

// runOnce runs a contender in a fresh folder below work, checks what it left
// there, and removes it.
func runOnce(ctx context.Context, c Contender, peak bool, work string) (s Sample, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	dir, err := os.MkdirTemp(work, "run-")
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	argv := make([]string, len(c.Argv))
	for i, a := range c.Argv {
		argv[i] = strings.ReplaceAll(a, "{dir}", dir)
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = append(cleanEnv(os.Environ()), c.Env...)
	// Files and not pipes: nobody but the kernel works for the process meanwhile.
	stderr, err := os.Create(filepath.Join(dir, "stderr"))
	if err != nil {
		return s, err
	}
	defer stderr.Close()
	cmd.Stderr = stderr
	if c.Stdin != "" {
		in, err := os.Open(c.Stdin)
		if err != nil {
			return s, err
		}
		defer in.Close()
		cmd.Stdin = in
	}

	began := time.Now()
	if err := cmd.Start(); err != nil {
		return s, err
	}
	stop := func() float64 { return 0 }
	if peak {
		stop = watchPeak(cmd.Process.Pid)
	}
	err = cmd.Wait()
	s.Wall = time.Since(began)
	s.PeakMB = stop()
	s.CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if err != nil {
		said, _ := os.ReadFile(stderr.Name())
		return s, fmt.Errorf("%w: %s", err, lastLine(said))
	}
	if c.Check != nil {
		err = c.Check(dir)
	}
	return s, err
}

// watchPeak reads the peak memory of a process until the returned function is
// called, which returns it in MB.
func watchPeak(pid int) func() float64 {
	quit, peak := make(chan struct{}), make(chan float64)
	go func() {
		tick := time.NewTicker(peakEvery)
		defer tick.Stop()
		last := 0.0
		for {
			if now := peakMB(pid); now > last {
				last = now
			}
			select {
			case <-tick.C:
			case <-quit:
				peak <- last
				return
			}
		}
	}()
	return func() float64 { close(quit); return <-peak }
}

// peakMB returns VmHWM of one process, 0 if it is gone. rusage would not do:
// it covers children, and what the parent held before exec.
func peakMB(pid int) float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, found := bytes.Cut(status, []byte("VmHWM:"))
	fields := bytes.Fields(rest)
	if !found || len(fields) == 0 {
		return 0
	}
	kib, err := strconv.ParseFloat(string(fields[0]), 64)
	if err != nil {
		return 0
	}
	return kib * 1024 / 1e6
}

// cleanEnv leaves out the variables that would tune one side or the other.
func cleanEnv(env []string) []string {
	tuning := []string{"POOLWISE_", "PYTHON", "OPENBLAS_", "OMP_", "MKL_", "BLIS_", "VECLIB_", "NUMEXPR_", "JOBLIB_", "LOKY_", "PARALLEL", "VIRTUAL_ENV", "GOMAXPROCS", "GOGC", "GOMEMLIMIT"}
	var kept []string
next:
	for _, e := range env {
		for _, prefix := range tuning {
			if strings.HasPrefix(e, prefix) {
				continue next
			}
		}
		kept = append(kept, e)
	}
	return kept
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

func lastLine(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}
