//go:build linux || darwin

package supervisor_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/internal/supervisor"
	"github.com/poolwise/poolwise/internal/workertest"
)

// TestFailedImports: C07. The error says all that a user needs; FILE and PYTHON
// stand for the paths, a line of dots for lines that do not matter here.
func TestFailedImports(t *testing.T) {
	for _, c := range []struct{ name, source, want string }{
		{"raises", "raise ValueError('no luck')", `
importing FILE raised ValueError

  Traceback (most recent call last):
    File "FILE", line 1, in <module>
      raise ValueError('no luck')
  ValueError: no luck

interpreter  PYTHON
...`},
		{"exits", "import sys; sys.exit(2)", `
importing FILE called sys.exit(2)

  Traceback (most recent call last):
    File "FILE", line 1, in <module>
      import sys; sys.exit(2)
  SystemExit: the task called sys.exit(2)

interpreter  PYTHON
...`},
		{"crashes", "import ctypes; ctypes.string_at(0)", `
the worker was killed by signal 11 (SIGSEGV) before it was ready
interpreter  PYTHON`},
		{"exits at once, with a word", "import os; print('no licence'); os.write(2, b'licence server?\\n'); os._exit(7)", `
the worker exited 7 before it was ready

  licence server?

interpreter  PYTHON`},
		{"closes the socket", "import os; os.closerange(3, 4096)", `
the worker exited 87 before it was ready: its connection to poolwise was closed under it: the task closed descriptors that are not its own
interpreter  PYTHON`},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := writeFile(t, "tasks.py", c.source+"\n")
			got := startError(t, pythonConfig(file, "f", "serial", 1, nil)).Error()
			got = strings.NewReplacer(file, "FILE", interpreter, "PYTHON").Replace(got)
			if !matches(got, strings.TrimPrefix(c.want, "\n")) {
				t.Errorf("got:\n%s\nwant:\n%s", got, c.want)
			}
		})
	}
}

// matches compares texts up to a line of dots in want.
func matches(got, want string) bool {
	start, cut := strings.CutSuffix(want, "\n...")
	return got == want || cut && strings.HasPrefix(got, start)
}

// startError starts a worker that must not start.
func startError(t *testing.T, cfg supervisor.Config) *supervisor.StartError {
	t.Helper()
	workertest.NothingLeft(t)
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	_, err := supervisor.Start(ctx, cfg)
	var start *supervisor.StartError
	if !errors.As(err, &start) {
		t.Fatalf("Start returns %v, want a *StartError", err)
	}
	return start
}

func TestImportThatPrints(t *testing.T) {
	w := startSource(t, serial, "import sys\nfor i in range(1 << 14): print('x' * 63)\n"+
		"sys.stdout.write('tail')\ndef f(x): return x\n")
	w.run(item(0, "a"))
	w.drain()
	if got := w.printed("stdout"); len(got) != 1<<20+4 || !strings.HasSuffix(got, "x\ntail") {
		t.Errorf("%d bytes were passed on", len(got))
	}
}

func TestImportThatHangs(t *testing.T) {
	workertest.NothingLeft(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	why := errors.New("no longer wanted")
	var cancelled time.Time
	file := writeFile(t, "tasks.py", "import time\nprint('importing')\ntime.sleep(3600)\n")
	_, err := supervisor.Start(ctx, pythonConfig(file, "f", "serial", 1, func(batch.Output) {
		cancelled = time.Now()
		cancel(why)
	}))
	if took := time.Since(cancelled); err != why || took > time.Second {
		t.Errorf("%v after it was cancelled Start returns %v", took, err)
	}
}

func TestWrongInterpreters(t *testing.T) {
	plain := writeFile(t, "plain.txt", "no program\n")
	broken := writeFile(t, "broken", "\x00\x01\x02")
	if err := os.Chmod(broken, 0o700); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(t.TempDir(), "python9")
	for _, c := range []struct{ path, want string }{
		{missing, "the worker could not start: start PATH: no such file or directory\ninterpreter  PATH"},
		{plain, "the worker could not start: start PATH: permission denied\ninterpreter  PATH"},
		{broken, "the worker could not start: start PATH: exec format error\ninterpreter  PATH"},
		{"/", "the worker could not start: start PATH: permission denied\ninterpreter  PATH"},
		{"/bin/true", "the worker exited 0 before it was ready\ninterpreter  PATH; it has not spoken as a worker does: is it an interpreter that works?"},
		{"/bin/false", "the worker exited 1 before it was ready\ninterpreter  PATH; it has not spoken as a worker does: is it an interpreter that works?"},
	} {
		cfg := pythonConfig(plain, "f", "serial", 1, nil)
		cfg.Command[0] = c.path
		got := startError(t, cfg).Error()
		if want := strings.ReplaceAll(c.want, "PATH", c.path); got != want {
			t.Errorf("got:\n%s\nwant:\n%s", got, want)
		}
	}
	cfg := pythonConfig(plain, "f", "serial", 1, nil)
	cfg.Command[0] = "/bin/cat"
	if got := startError(t, cfg).Error(); !strings.HasPrefix(got, "the worker exited 1 before it was ready\n\n  /bin/cat: ") {
		t.Errorf("cat: %s", got)
	}
}

func TestMissingFolder(t *testing.T) {
	cfg := pythonConfig(writeFile(t, "tasks.py", ""), "f", "serial", 1, nil)
	cfg.Dir = filepath.Join(cfg.Dir, "gone")
	if err := startError(t, cfg); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// TestOutOfDescriptors lets ever more descriptors be free, until a start works.
// Each that fails before must leave nothing.
func TestOutOfDescriptors(t *testing.T) {
	file := writeFile(t, "tasks.py", "def f(x): return x\n")
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	low := unix.Rlimit{Cur: 200, Max: limit.Max}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	defer unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)
	for free := range 40 {
		if startedWith(t, free, pythonConfig(file, "f", "serial", 1, nil)) {
			if free < 8 {
				t.Errorf("with %d free descriptors it starts", free)
			}
			return
		}
	}
	t.Error("it does not start with 40 free descriptors")
}

// startedWith tries a start with so many free descriptors.
func startedWith(t *testing.T, free int, cfg supervisor.Config) (started bool) {
	t.Helper()
	var taken []int
	for {
		fd, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			break
		}
		taken = append(taken, fd)
	}
	for range free {
		unix.Close(taken[len(taken)-1])
		taken = taken[:len(taken)-1]
	}
	w, err := supervisor.Start(t.Context(), cfg)
	for _, fd := range taken {
		unix.Close(fd)
	}
	if err != nil {
		if !errors.Is(err, unix.EMFILE) {
			t.Errorf("with %d free descriptors: %v", free, err)
		}
		return false
	}
	w.Kill()
	for err == nil {
		_, err = w.Wait()
	}
	return true
}
