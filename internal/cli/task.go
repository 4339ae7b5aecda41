package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/poolwise/poolwise/internal/wire"
)

// taskSpec is what a command line asks to run: a Python function, or a command.
type taskSpec struct {
	Name    string       // as the user wrote it
	Python  wire.TaskRef // when Command is nil
	Command []string     // the arguments after --
}

func (t *taskSpec) isCommand() bool { return t.Command != nil }

// invocation is a command line cut into its parts.
type invocation struct {
	task   taskSpec
	inputs []string
	items  []string // after :::
	listed bool     // there was a :::
}

// cutItems splits arguments at the first ":::". What follows are items, also
// those that look like flags.
func cutItems(args []string) (before, items []string, listed bool) {
	if at := slices.Index(args, ":::"); at >= 0 {
		return args[:at], args[at+1:], true
	}
	return args, nil, false
}

// parseInvocation sorts the positional arguments. dash is how many stand before
// "--", or -1 without one.
func parseInvocation(dir string, args []string, dash int, items []string, listed bool) (*invocation, error) {
	inv := &invocation{items: items, listed: listed}
	if dash >= 0 {
		inv.inputs, inv.task.Command = args[:dash], args[dash:]
		if len(inv.task.Command) == 0 {
			return nil, usagef("there is no command after --")
		}
		inv.task.Name = strings.Join(inv.task.Command, " ")
	} else {
		if len(args) == 0 {
			return nil, usagef("there is nothing to run: name a task, such as file.py:func, or put a command after --")
		}
		ref, err := parseTask(dir, args[0])
		if err != nil {
			return nil, err
		}
		inv.task = taskSpec{Name: args[0], Python: ref}
		inv.inputs = args[1:]
	}
	if listed && len(inv.inputs) > 0 {
		return nil, usagef("%q and the items after ::: cannot be combined: give either inputs or items", inv.inputs[0])
	}
	return inv, nil
}

var (
	pythonFile = regexp.MustCompile(`^(.+\.py):([^:/]+)$`)
	nodeFile   = regexp.MustCompile(`^.+\.[mc]?js:[^:/]+$`)
	moduleTask = regexp.MustCompile(`^([\pL_][\pL\pN_.]*):([^:/]+)$`)
)

// parseTask reads file.py:func or pkg.mod:func.
func parseTask(dir, text string) (wire.TaskRef, error) {
	if m := pythonFile.FindStringSubmatch(text); m != nil {
		path := m[1]
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		if info, err := os.Stat(path); err != nil {
			return wire.TaskRef{}, usagef("the task %s: there is no file %s", text, path)
		} else if info.IsDir() {
			return wire.TaskRef{}, usagef("the task %s: %s is a directory", text, path)
		}
		return wire.TaskRef{File: path, Name: m[2]}, nil
	}
	if nodeFile.MatchString(text) {
		return wire.TaskRef{}, usagef("the task %s: Node functions cannot be run yet; Python functions and commands can", text)
	}
	if m := moduleTask.FindStringSubmatch(text); m != nil {
		return wire.TaskRef{Module: m[1], Name: m[2]}, nil
	}
	hint := ""
	if strings.HasSuffix(text, ".py") {
		hint = fmt.Sprintf("; which function of it? %s:func", text)
	}
	return wire.TaskRef{}, usagef("%q is not a task: write file.py:func or package.module:func, or put a command after --%s", text, hint)
}

// usagef makes an error that ends the program with the status of wrong usage.
func usagef(format string, args ...any) error {
	return &ExitError{Status: ExitUsage, Err: fmt.Errorf(format, args...)}
}
