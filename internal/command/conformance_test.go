//go:build linux

package command

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/internal/engine"
	"github.com/poolwise/poolwise/internal/workertest"
)

var _ engine.Worker = (*Worker)(nil)

// meet is what a task does with a folder; see workertest.Task. Both ends of
// the second FIFO are held, so that opening it does not wait.
const meet = `meet() { echo "$2" >"$1/started"; head -c 1 <>"$1/release" >/dev/null; }; `

// tasks are those of the suite, as scripts of a shell whose $1 is the item.
var tasks = map[workertest.Task]string{
	workertest.Echo:   `printf %s "$1"`,
	workertest.Fails:  `case $1 in fail*) printf '%s\n' "$1" >&2; exit 1;; esac; printf %s "$1"`,
	workertest.Prints: `printf %s "$1" >&2; printf %s "$1"`,
	workertest.Waits:  meet + `case $1 in /*) meet "$1" "";; esac; printf %s "$1"`,
	workertest.Makes:  `head -c "$1" /dev/zero | tr '\0' x`,
	workertest.Leaves: meet + `sleep 3600 & meet "$1" $!`,
}

// The suite runs in a process of its own, but for one check. That check hands
// over four items and expects the fourth to start although Wait was not called:
// a command worker starts nothing more before the result at hand was taken, so
// that a run which stops at the first failure runs no further command. What
// the check is about, TestResultsLeaveEarly tests.
const (
	suiteVariable = "POOLWISE_TEST_SUITE"
	notOfCommands = "TestConformance/results_leave_while_a_slow_item_follows"
)

func TestConformance(t *testing.T) {
	if os.Getenv(suiteVariable) != "" {
		conform(t)
		return
	}
	suite := exec.Command(os.Args[0], "-test.run=^TestConformance$", "-test.skip="+notOfCommands, "-test.v")
	suite.Env = append(os.Environ(), suiteVariable+"=1")
	if out, err := suite.CombinedOutput(); err != nil || bytes.Count(out, []byte("--- PASS: TestConformance/")) < 20 {
		t.Errorf("%v\n%s", err, out)
	}
}

func conform(t *testing.T) {
	dir := t.TempDir()
	workertest.Run(t, workertest.Kind{
		Slots: 1, Largest: 100 << 10, Lasting: true,
		Text: func(value []byte) (string, error) {
			var e ended
			err := json.Unmarshal(value, &e)
			if e.Stdout.file != "" && err == nil {
				var text []byte
				text, err = os.ReadFile(dir + "/" + e.Stdout.file)
				e.Stdout.text = string(text)
			}
			return e.Stdout.text, err
		},
		Start: func(ctx context.Context, task workertest.Task, output func(batch.Output)) (engine.Worker, error) {
			if err := context.Cause(ctx); err != nil {
				return nil, err
			}
			tmpl, err := Parse(Config{Args: []string{"sh", "-c", tasks[task], "sh", "{}"}, Env: os.Environ()})
			if err != nil {
				return nil, err
			}
			return Start(WorkerConfig{Template: tmpl, Env: os.Environ(), RunDir: dir, Output: output})
		},
	})
}
