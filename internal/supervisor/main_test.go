//go:build linux || darwin

package supervisor_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/poolwise/poolwise/workers/python"
)

// badWorker is the variable that tells the test binary which bad worker to be.
const badWorker = "POOLWISE_TEST_BAD_WORKER"

// What the tests of the Python worker need.
var interpreter, shim string

func TestMain(m *testing.M) {
	if name := os.Getenv(badWorker); name != "" {
		beBad(name)
	}
	os.Unsetenv("PYTHONUNBUFFERED") // it would hide what is not flushed
	os.Exit(withPython(m))
}

func withPython(m *testing.M) int {
	dir, err := os.MkdirTemp("", "poolwise-supervisor-*")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	// What is on the path may be a script that looks for a Python first.
	resolved, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		panic(err)
	}
	interpreter = strings.TrimSpace(string(resolved))
	if shim, err = python.Install(dir); err != nil {
		panic(err)
	}
	return m.Run()
}
