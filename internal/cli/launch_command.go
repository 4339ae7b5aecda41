package cli

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/poolwise/poolwise/internal/command"
	"github.com/poolwise/poolwise/internal/engine"
	"github.com/poolwise/poolwise/internal/journal"
	"github.com/poolwise/poolwise/plan"
)

// commandTask runs a command.
type commandTask struct {
	s        *session
	template *command.Template
}

func (s *session) commandLauncher() (*commandTask, error) {
	tmpl, err := command.Parse(command.Config{
		Args: s.inv.task.Command, Shell: s.flags.shell, Stdin: s.flags.stdin, Env: s.app.Env, Dir: s.app.Dir,
	})
	if err != nil {
		return nil, err
	}
	return &commandTask{s: s, template: tmpl}, nil
}

func (t *commandTask) start(_ context.Context, n int, p plan.Plan) (engine.Worker, error) {
	s := t.s
	w, err := command.Start(command.WorkerConfig{
		Number: n, Template: t.template, Env: s.childEnv(p), Dir: s.app.Dir, RunDir: s.dir.Path("."),
		Output: s.logOutput, Note: s.note, Guardian: s.guardian,
	})
	if err != nil {
		return nil, err
	}
	return s.guarded(w)
}

func (t *commandTask) describe(info *journal.Info) { info.Task.Kind = "command" }

// dryRun shows the commands that would be run, each quoted for a shell.
func (t *commandTask) dryRun(w io.Writer, src engine.Source) error {
	for {
		items, err := src.Next()
		for i := range items {
			line, bad := t.template.Line(&items[i])
			if bad != nil {
				line = "# item " + strconv.FormatUint(items[i].Index, 10) + ": " + bad.Error()
			}
			if _, err := fmt.Fprintln(w, line); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
