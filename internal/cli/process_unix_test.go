//go:build unix

package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is a poolwise that runs beside the test, at the head of a process
// group of its own.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout text
	stderr text
	ended  chan struct{} // closed when the process was waited for
}

// text collects what a process writes.
type text struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (x *text) Write(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.buf.Write(p)
}

func (x *text) String() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.buf.String()
}

// prepare makes a command line ready to be started in dir. A test may give it
// other streams before it calls start.
func prepare(t *testing.T, dir string, args ...string) *process {
	t.Helper()
	heedSignals(t)
	p := &process{t: t, cmd: exec.Command("poolwise", args...), ended: make(chan struct{})}
	p.cmd.Dir = dir
	p.cmd.Env = append(os.Environ(), "POOLWISE_PYTHON="+interpreter(t), "XDG_CACHE_HOME="+filepath.Join(dir, ".cache"))
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	return p
}

func (p *process) start() *process {
	p.t.Helper()
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // status tells
	}()
	p.t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
	})
	return p
}

// status waits for the end and returns the exit status, -1 after a signal.
func (p *process) status(limit time.Duration) int {
	p.t.Helper()
	select {
	case <-p.ended:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(limit):
		p.t.Fatalf("%v still runs after %v; it said\n%s", p.cmd.Args, limit, p.stderr.String())
	}
	return 0
}

// signal sends a signal to the process.
func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// signalGroup sends a signal to the whole process group, as a terminal does.
func (p *process) signalGroup(s syscall.Signal) {
	p.t.Helper()
	if err := syscall.Kill(-p.cmd.Process.Pid, s); err != nil {
		p.t.Fatal(err)
	}
}

// patience is how long a test waits for what must come. It is long, since a test
// should not fail on a machine that has other things to do.
const patience = 2 * time.Minute

// eventually waits until a condition holds, where the system tells no event.
func eventually(t *testing.T, limit time.Duration, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after %v: not %s", limit, what)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, os.ErrNotExist)
}

// lineCount is how many whole lines a file has, 0 when there is none.
func lineCount(path string) int {
	data, _ := os.ReadFile(path)
	return strings.Count(string(data), "\n")
}

// runInfo is what these tests read of run.json.
type runInfo struct {
	State  string
	Exit   *int
	Counts map[string]int
	Output struct{ Delivered bool }
}

// theRun reads the run.json of the one run that is recorded below dir.
func theRun(t *testing.T, dir string) runInfo {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, ".poolwise", "runs", "*", "run.json"))
	if err != nil || len(found) != 1 {
		t.Fatalf("there are the runs %q, %v", found, err)
	}
	var info runInfo
	if err := json.Unmarshal([]byte(read(t, found[0])), &info); err != nil {
		t.Fatal(err)
	}
	return info
}

// heedSignals undoes what nohup and jobs in the background do: signals that
// this process ignores would be ignored by those that it starts.
func heedSignals(t *testing.T) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT)
	t.Cleanup(func() { signal.Stop(c) })
}
