// Package trial runs a whole process once, and says what it took.
package trial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// leftovers is how long a run that was ended is given for its children to go
// as well: some have to notice first. They would disturb the next run.
const leftovers = 200 * time.Millisecond

// A Trial is what to run.
type Trial struct {
	// Argv is run in a folder of its own; "{dir}" stands for its path.
	Argv  []string
	Env   []string               // beside that of this process, without what tunes a side
	Stdin string                 // a file; empty for /dev/null
	Check func(dir string) error // looks at what the run left; may be nil
	Peak  bool                   // whether to watch the peak of memory
	Lines bool                   // whether to return the lines of standard error
	// Patience is when the run is ended; 0 is never.
	Patience time.Duration
}

// A Sample is what one run of a whole process took.
type Sample struct {
	Wall time.Duration
	// CPU is that of the process and of all descendants that were waited for.
	CPU time.Duration
	// PeakMB is the largest resident memory of the process alone, without its
	// children, in MB of 10^6 bytes; 0 where it was not asked for.
	PeakMB float64
	Lines  []Line
}

// A Line is one that the process wrote to standard error, with the time since
// its start.
type Line struct {
	At   time.Duration
	Text string
}

// ErrPatience is that a run was ended because its patience was at its end.
var ErrPatience = errors.New("took too long")

// Run runs the trial in a fresh folder below work, checks what it left there, and
// removes it. The error is ErrPatience, that of a check, or says how the process
// ended and its last words.
func (t Trial) Run(ctx context.Context, work string) (s Sample, err error) {
	dir, err := os.MkdirTemp(work, "run-")
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	within := ctx
	if t.Patience > 0 {
		var cancel context.CancelFunc
		within, cancel = context.WithTimeout(ctx, t.Patience)
		defer cancel()
	}
	cmd, close, err := t.command(within, dir)
	if err != nil {
		return s, err
	}
	defer close()
	watch := &lines{}
	if t.Lines {
		cmd.Stderr = watch
	}

	began := time.Now()
	watch.began = began
	if err := cmd.Start(); err != nil {
		return s, err
	}
	stop := func() float64 { return 0 }
	if t.Peak {
		stop = watchPeak(cmd.Process.Pid)
	}
	err = cmd.Wait()
	s.Wall = time.Since(began)
	s.PeakMB = stop()
	s.CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	s.Lines = watch.found
	switch {
	case within.Err() != nil:
		time.Sleep(leftovers)
		if ctx.Err() == nil {
			return s, ErrPatience
		}
		return s, ctx.Err()
	case err != nil:
		return s, fmt.Errorf("%w: %s", err, lastWords(dir, watch))
	case t.Check != nil:
		err = t.Check(dir)
	}
	return s, err
}

// command prepares the process. It is the head of a group, so that its children
// go with it when it is ended.
func (t Trial) command(ctx context.Context, dir string) (cmd *exec.Cmd, close func(), err error) {
	argv := make([]string, len(t.Argv))
	for i, a := range t.Argv {
		argv[i] = strings.ReplaceAll(a, "{dir}", dir)
	}
	cmd = exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = append(cleanEnv(os.Environ()), t.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = leftovers // a child may hold standard error
	// Files and not pipes: nobody but the kernel works for the process meanwhile.
	stderr, err := os.Create(filepath.Join(dir, stderrName))
	if err != nil {
		return nil, nil, err
	}
	cmd.Stderr = stderr
	if t.Stdin == "" {
		return cmd, func() { stderr.Close() }, nil
	}
	in, err := os.Open(t.Stdin)
	if err != nil {
		return nil, nil, errors.Join(err, stderr.Close())
	}
	cmd.Stdin = in
	return cmd, func() { stderr.Close(); in.Close() }, nil
}

const stderrName = "stderr"

// lines is a standard error that keeps what is written to it, by line.
type lines struct {
	began time.Time
	found []Line
	part  string // without its end
}

func (l *lines) Write(text []byte) (int, error) {
	at := time.Since(l.began)
	whole := strings.Split(l.part+string(text), "\n")
	for _, line := range whole[:len(whole)-1] {
		l.found = append(l.found, Line{At: at, Text: line})
	}
	l.part = whole[len(whole)-1]
	return len(text), nil
}

// lastWords returns the last lines that a process wrote to standard error: some
// end with advice and say what is wrong before.
func lastWords(dir string, watch *lines) string {
	var said []string
	for _, line := range watch.found {
		said = append(said, line.Text)
	}
	if len(said) == 0 {
		text, _ := os.ReadFile(filepath.Join(dir, stderrName))
		said = strings.Split(strings.TrimSpace(string(text)), "\n")
	}
	return strings.Join(said[max(0, len(said)-3):], "; ")
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
