package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const sleepers = `import os, subprocess, sys, time

def sleeps(x):
    if x == "first":
        subprocess.Popen(["sleep", "300"])
        subprocess.Popen(["setsid", "sleep", "300"])
    with open("started." + x + ".new", "wb") as f:
        f.write(open("/proc/self/environ", "rb").read())
    os.rename("started." + x + ".new", "started." + x)
    time.sleep(300)
`

// C08: when poolwise is killed, all that it started is gone within 2 s: workers,
// their commands, and the children of these, whatever session they moved to.
func TestKilledPoolwiseLeavesNothing(t *testing.T) {
	const started = `cat /proc/self/environ > started.$1.new && mv started.$1.new started.$1; `
	tests := map[string]struct {
		args  []string
		alive int // at least so many processes carry the cookie while all runs
	}{
		"workers":  {[]string{"sleep.py:sleeps", ":::", "first", "second"}, 4},
		"shells":   {[]string{"--", "sh", "-c", started + "sleep 300 & sleep 300", "sh", ":::", "first", "second"}, 6},
		"sessions": {[]string{"--", "sh", "-c", started + "setsid sleep 300 & setsid -w sleep 300", "sh", ":::", "first", "second"}, 6},
		"direct":   {[]string{"--", "sh", "-c", started + "exec setsid -w sleep 300", "sh", ":::", "first", "second"}, 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "sleep.py"), sleepers)
			p := prepare(t, dir, append([]string{"run", "--plan", "processes:2"}, test.args...)...).start()
			files := []string{filepath.Join(dir, "started.first"), filepath.Join(dir, "started.second")}
			eventually(t, patience, "both items were started", func() bool { return exists(files[0]) && exists(files[1]) })
			cookie := cookieIn(t, read(t, files[0]))
			eventually(t, patience, "all of their processes are there", func() bool { return len(carriers(cookie)) >= test.alive })
			p.signal(syscall.SIGKILL)
			p.status(patience)
			eventually(t, 2*time.Second, "all are gone", func() bool { return len(carriers(cookie)) == 0 })
			show := prepare(t, dir, "show", "last").start()
			if status := show.status(patience); status != 0 || !strings.Contains(show.stdout.String(), ", died\n") {
				t.Errorf("show tells, with status %d:\n%s", status, show.stdout.String())
			}
		})
	}
}

// cookieIn returns the entry of an environment that marks what a run started.
func cookieIn(t *testing.T, environ string) string {
	t.Helper()
	for entry := range strings.SplitSeq(environ, "\x00") {
		if strings.HasPrefix(entry, "POOLWISE_CHILD_") {
			return entry
		}
	}
	t.Fatal("what a run starts carries no cookie")
	return ""
}

// carriers lists the living processes that have an entry in their environment.
func carriers(entry string) []string {
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	var found []string
	for _, name := range environs {
		data, err := os.ReadFile(name) // empty for a zombie
		if err == nil && bytes.Contains(append([]byte{0}, data...), []byte("\x00"+entry+"\x00")) {
			comm, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "comm"))
			found = append(found, fmt.Sprintf("%s %s", filepath.Base(filepath.Dir(name)), bytes.TrimSpace(comm)))
		}
	}
	return found
}
