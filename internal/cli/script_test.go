package cli_test

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/poolwise/poolwise/internal/cli"
	"github.com/poolwise/poolwise/internal/guardian"
)

func TestMain(m *testing.M) {
	guardian.MaybeRun()
	testscript.Main(m, map[string]func(){
		"poolwise": func() { os.Exit(cli.Main()) },
	})
}

// TestScripts runs the promises of the command line, one file a topic.
func TestScripts(t *testing.T) {
	python := interpreter(t)
	testscript.Run(t, testscript.Params{
		Dir:  "testdata/script",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
		Setup: func(env *testscript.Env) error {
			env.Setenv("POOLWISE_PYTHON", python)
			env.Setenv("XDG_CACHE_HOME", env.WorkDir+"/.cache")
			// They would hide what unbuffered output and compiled modules are for.
			env.Setenv("PYTHONUNBUFFERED", "")
			env.Setenv("PYTHONDONTWRITEBYTECODE", "")
			return nil
		},
	})
}

// exits is a command of scripts: "exits 3 poolwise run ..." is exec that wants
// an exit status.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS PROGRAM [ARG...]")
	}
	err := ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	got := 0
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit status %d, want %s", got, args[0])
	}
}

// interpreter returns the real python3, not a shim that chooses it.
func interpreter(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		t.Fatalf("the tests need python3 in PATH: %v", err)
	}
	return strings.TrimSpace(string(out))
}
