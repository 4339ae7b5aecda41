package python

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// interpreters are those to test with: of $POOLWISE_TEST_PYTHONS, separated by
// colons, or else the first python3 on the path.
func interpreters(t *testing.T) []string {
	t.Helper()
	if list := os.Getenv("POOLWISE_TEST_PYTHONS"); list != "" {
		return filepath.SplitList(list)
	}
	// What is on the path may be a script that looks for a Python first.
	out, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		t.Fatalf("there is no python3 to test with: %v", err)
	}
	return []string{strings.TrimSpace(string(out))}
}

// environment leaves out what would hide that text was not sent on, and has
// compiled files put elsewhere than beside the sources.
func environment(t *testing.T) []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "PYTHONUNBUFFERED=") || strings.HasPrefix(v, "PYTHONDONTWRITEBYTECODE=")
	})
	return append(env, "PYTHONPYCACHEPREFIX="+t.TempDir())
}

func TestWorker(t *testing.T) {
	for _, python := range interpreters(t) {
		t.Run(python, func(t *testing.T) {
			cmd := exec.Command(python, "-m", "unittest", "discover", "-s", "tests", "-t", ".")
			cmd.Env = environment(t)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			t.Logf("%s", lastLines(out, 3))
		})
	}
}

func lastLines(text []byte, n int) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(len(lines)-n, 0):], "\n")
}

func TestEmbeddedIsWhatIsOnDisk(t *testing.T) {
	onDisk := map[string]string{}
	err := filepath.WalkDir("poolwise_worker", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if d != nil && d.Name() == "__pycache__" {
				return fs.SkipDir
			}
			return err
		}
		data, err := os.ReadFile(path)
		onDisk[filepath.ToSlash(path)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(onDisk, installed(t, t.TempDir())); diff != "" {
		t.Errorf("what is installed (-on disk +installed):\n%s", diff)
	}
	if _, ok := onDisk["poolwise_worker/__init__.py"]; !ok {
		t.Error("the package has no __init__.py")
	}
}

// installed returns the names and texts of what Install writes.
func installed(t *testing.T, cache string) map[string]string {
	t.Helper()
	dir, err := Install(cache)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	err = fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, path))
		out[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestInstallRepairs(t *testing.T) {
	cache := t.TempDir()
	whole := installed(t, cache)
	dir, _ := Install(cache)
	path := filepath.Join(dir, "poolwise_worker", "main.py")
	for name, damage := range map[string]func() error{
		"cut":      func() error { return os.Truncate(path, 10) },
		"replaced": func() error { return os.WriteFile(path, []byte("import evil\n"), 0o600) },
		"removed":  func() error { return os.Remove(path) },
		"no folder": func() error {
			return os.RemoveAll(filepath.Dir(path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := damage(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(whole, installed(t, cache)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestInstallLeavesWhatIsWhole(t *testing.T) {
	cache := t.TempDir()
	dir, err := Install(cache)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "poolwise_worker", "main.py")
	before, _ := os.Stat(path)
	again, err := Install(cache)
	after, _ := os.Stat(path)
	if err != nil || again != dir || !os.SameFile(before, after) {
		t.Errorf("installed again in %s (%v), the file is the same: %v", again, err, os.SameFile(before, after))
	}
}

func TestInstallTogether(t *testing.T) {
	cache := t.TempDir()
	var all sync.WaitGroup
	errs := make([]error, 16)
	for i := range errs {
		all.Go(func() { _, errs[i] = Install(cache) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(installed(t, t.TempDir()), installed(t, cache)); diff != "" {
		t.Errorf("(-alone +together):\n%s", diff)
	}
}

// The cache lies below a file: no user may make a folder there, not even root.
func TestInstallNamesWhatItCannotWrite(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "file", "cache")
	if err := os.WriteFile(filepath.Dir(cache), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Install(cache)
	var path *fs.PathError
	if !errors.As(err, &path) || !strings.Contains(err.Error(), "the Python worker cannot be laid out") {
		t.Errorf("error %v", err)
	}
}

func TestInstallOnReadOnlyFolder(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere; the test above holds for it")
	}
	cache := t.TempDir()
	if err := os.Chmod(cache, 0o500); err != nil {
		t.Fatal(err)
	}
	if _, err := Install(cache); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("error %v", err)
	}
}

func TestTooOldIsNamed(t *testing.T) {
	script := strings.Replace(bootstrap, "(3, 8)", "(99, 0)", 1)
	for _, python := range interpreters(t) {
		out, err := exec.Command(python, "-c", script, t.TempDir()).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != TooOld || !strings.Contains(string(out), "needs Python 3.8 or later; "+python) {
			t.Errorf("%v: %s", err, out)
		}
	}
	if Explain(TooOld) == "" || Explain(ChannelLost) == "" || Explain(1) != "" {
		t.Error("exit statuses are not explained")
	}
}
