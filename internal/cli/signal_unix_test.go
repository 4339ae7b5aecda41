//go:build unix

package cli_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const waits = `import os, time

# waits says that an item runs, and ends it when the file "go" is there.
def waits(x):
    with open("running", "a") as f:
        f.write(x + "\n")
    while not os.path.exists("go"):
        time.sleep(0.01)
    return x
`

// waiting starts a run of ten items, two at a time, that end when the file go
// is there, and returns when two of them run.
func waiting(t *testing.T, dir string, command bool) *process {
	t.Helper()
	write(t, filepath.Join(dir, "task.py"), waits)
	write(t, filepath.Join(dir, "out.txt"), "as it was\n")
	args := []string{"run", "--plan", "processes:2", "--chunk", "1", "-o", "out.txt"}
	if command {
		args = append(args, "--", "sh", "-c", `echo $1 >> running; while ! [ -e go ]; do sleep 0.01; done; echo $1`, "sh")
	} else {
		args = append(args, "task.py:waits")
	}
	p := prepare(t, dir, append(args, strings.Fields("::: a b c d e f g h i j")...)...).start()
	eventually(t, patience, "two items run", func() bool { return lineCount(filepath.Join(dir, "running")) >= 2 })
	return p
}

// C25, C26: after one signal no new item begins, those that run finish, the
// output stays as it was, and the counts add up with those that were not run.
func TestOneSignalDrains(t *testing.T) {
	for name, test := range map[string]struct {
		signal  syscall.Signal
		command bool
		status  int
	}{
		"SIGINT":          {syscall.SIGINT, false, 130},
		"SIGTERM":         {syscall.SIGTERM, false, 143},
		"SIGHUP":          {syscall.SIGHUP, false, 143},
		"SIGINT command":  {syscall.SIGINT, true, 130},
		"SIGTERM command": {syscall.SIGTERM, true, 143},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			p := waiting(t, dir, test.command)
			p.signalGroup(test.signal) // workers must not hear it
			eventually(t, patience, "it says that it stops", func() bool { return strings.Contains(p.stderr.String(), "no more items") })
			write(t, filepath.Join(dir, "go"), "")
			if status := p.status(patience); status != test.status {
				t.Errorf("status %d, want %d", status, test.status)
			}
			if n := lineCount(filepath.Join(dir, "running")); n != 2 {
				t.Errorf("%d items were started, want 2", n)
			}
			wantInterrupted(t, dir, p, map[string]int{"ok": 2, "not_run": 8, "failed": 0, "killed": 0, "timeout": 0})
		})
	}
}

// A run under nohup goes on when the terminal closes.
func TestAnIgnoredHangupStaysIgnored(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "task.py"), waits)
	p := prepare(t, dir)
	p.cmd.Path = "/bin/sh"
	p.cmd.Args = []string{"sh", "-c", `trap "" HUP; exec poolwise run --plan serial task.py:waits ::: a b`}
	p.start()
	eventually(t, patience, "an item runs", func() bool { return lineCount(filepath.Join(dir, "running")) == 1 })
	p.signal(syscall.SIGHUP)
	write(t, filepath.Join(dir, "go"), "")
	if status := p.status(patience); status != 0 || !strings.Contains(p.stderr.String(), "2 ok") {
		t.Errorf("status %d: %s", status, p.stderr.String())
	}
}

// C25: the second signal ends all within a second; what ran is not run, and
// not failed.
func TestTwoSignalsEndAtOnce(t *testing.T) {
	for name, command := range map[string]bool{"workers": false, "command": true} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			p := waiting(t, dir, command)
			p.signalGroup(syscall.SIGINT)
			eventually(t, patience, "it says that it stops", func() bool { return strings.Contains(p.stderr.String(), "no more items") })
			p.signalGroup(syscall.SIGINT)
			begun := time.Now()
			if status := p.status(patience); status != 130 {
				t.Errorf("status %d, want 130", status)
			}
			if took := time.Since(begun); took > time.Second {
				t.Errorf("the end took %v", took)
			}
			wantInterrupted(t, dir, p, map[string]int{"ok": 0, "not_run": 10, "failed": 0, "killed": 0, "timeout": 0})
		})
	}
}

func wantInterrupted(t *testing.T, dir string, p *process, counts map[string]int) {
	t.Helper()
	info := theRun(t, dir)
	if info.State != "interrupted" || info.Output.Delivered || info.Exit == nil || *info.Exit != p.cmd.ProcessState.ExitCode() {
		t.Errorf("run.json says %+v", info)
	}
	for status, n := range counts {
		if info.Counts[status] != n {
			t.Errorf("counts are %v, want %v", info.Counts, counts)
			break
		}
	}
	if got := read(t, filepath.Join(dir, "out.txt")); got != "as it was\n" {
		t.Errorf("the output was touched: %q", got)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".out.txt*")); len(left) > 0 {
		t.Errorf("beside the output lies %q", left)
	}
	said := p.stderr.String()
	for _, bad := range []string{"KeyboardInterrupt", "Traceback", "goroutine"} {
		if strings.Contains(said, bad) {
			t.Errorf("%s in\n%s", bad, said)
		}
	}
	if !strings.Contains(said, "not run") {
		t.Errorf("nothing is said of items that were not run:\n%s", said)
	}
}

// C25: a reader of the output that stands still does not keep poolwise from
// being interrupted, and how the run ended is recorded.
func TestSignalWhileTheOutputIsStuck(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "task.py"), "def long(x):\n    return 'x' * 1_000_000\n")
	p := prepare(t, dir, "run", "--progress", "json", "task.py:long", ":::", "a")
	startPiped(t, p) // nobody reads
	eventually(t, patience, "the item is done", func() bool { return strings.Contains(p.stderr.String(), `"ok":1`) })
	for ended := false; !ended; {
		p.signal(syscall.SIGINT)
		select {
		case <-p.ended:
			ended = true
		case <-time.After(5 * time.Second): // it was the end of the work that it found
		}
	}
	info := theRun(t, dir)
	if status := p.status(patience); status != 130 || info.State != "interrupted" || info.Output.Delivered {
		t.Errorf("status %d; run.json says %+v; it said\n%s", status, info, p.stderr.String())
	}
}
