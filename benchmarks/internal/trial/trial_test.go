package trial

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func sh(script string) Trial { return Trial{Argv: []string{"sh", "-c", script, "sh", "{dir}"}} }

func TestRun(t *testing.T) {
	fine := sh(`echo x >"$1/out"`)
	fine.Check = func(dir string) error { _, err := os.Stat(filepath.Join(dir, "out")); return err }
	wrong := sh("true")
	wrong.Check = func(string) error { return errors.New("wrong results") }
	reads := sh(`test "$(cat)" = hello`)
	reads.Stdin = filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(reads.Stdin, []byte("hello\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	seen := sh("echo first >&2; echo last words >&2; exit 3")
	seen.Lines = true
	for _, c := range []struct {
		name  string
		trial Trial
		want  string // in the error; empty for none
	}{
		{"works", fine, ""},
		{"reads its standard input", reads, ""},
		{"leaves the wrong thing", wrong, "wrong results"},
		{"fails", sh("echo first >&2; echo last words >&2; exit 3"), "exit status 3: first; last words"},
		{"fails, its lines read", seen, "exit status 3: first; last words"},
		{"is not there", Trial{Argv: []string{"/nowhere/program"}}, "no such file"},
	} {
		work := t.TempDir()
		_, err := c.trial.Run(t.Context(), work)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if left, err := os.ReadDir(work); err != nil || len(left) != 0 {
			t.Errorf("%s: left behind: %v %v", c.name, left, err)
		}
	}
}

// A run that is given up ends at once, and its children with it.
func TestPatienceEndsTheWholeGroup(t *testing.T) {
	pid := filepath.Join(t.TempDir(), "pid")
	slow := sh("sleep 60 & echo $! >" + pid + "; wait")
	slow.Patience = 300 * time.Millisecond
	began := time.Now()
	if _, err := slow.Run(t.Context(), t.TempDir()); !errors.Is(err, ErrPatience) {
		t.Errorf("got %v, want %v", err, ErrPatience)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
	text, err := os.ReadFile(pid)
	if err != nil {
		t.Fatal(err)
	}
	status, err := os.ReadFile("/proc/" + strings.TrimSpace(string(text)) + "/status")
	if err == nil && !strings.Contains(string(status), "Z (zombie)") {
		t.Errorf("the child is alive:\n%s", status)
	}
}

func TestLinesHaveTimes(t *testing.T) {
	two := sh("printf 'one\\ntw' >&2; sleep 0.2; printf 'o\\nrest' >&2")
	two.Lines = true
	s, err := two.Run(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Lines) != 2 || s.Lines[0].Text != "one" || s.Lines[1].Text != "two" {
		t.Fatalf("got %v", s.Lines)
	}
	if apart := s.Lines[1].At - s.Lines[0].At; apart < 150*time.Millisecond || s.Lines[1].At > s.Wall {
		t.Errorf("the times are %v and %v of %v", s.Lines[0].At, s.Lines[1].At, s.Wall)
	}
}

func TestCleanEnv(t *testing.T) {
	got := cleanEnv([]string{"PATH=/bin", "PYTHONDONTWRITEBYTECODE=1", "POOLWISE_PLAN=serial", "OPENBLAS_CORETYPE=x", "HOME=/"})
	if want := []string{"PATH=/bin", "HOME=/"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The peak is of the process alone: what a child holds is not its own.
func TestPeakLeavesOutChildren(t *testing.T) {
	c := sh(`head -c 200000000 /dev/zero | tail -c 200000000 >/dev/null; true`)
	c.Peak = true
	s, err := c.Run(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/proc/self/status"); err == nil && (s.PeakMB <= 0 || s.PeakMB > 100) {
		t.Errorf("the peak is %.1f MB", s.PeakMB)
	}
}
