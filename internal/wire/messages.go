package wire

import (
	"strconv"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/internal/jsontext"
)

// The bodies of the frames that are JSON objects. A reader skips fields that it
// does not know.

// LoadBody tells a worker what it shall run.
type LoadBody struct {
	Task TaskRef `json:"task"`
	// Kind is the plan's kind: serial, processes, threads, async.
	Kind string `json:"kind"`
	// Slots is how many items the worker runs at a time.
	Slots int `json:"slots"`
	// Init names a function of the task's module that is called once, before
	// the first item; empty for none.
	Init string `json:"init,omitempty"`
}

// MarshalJSON writes names byte for byte: a path need not be UTF-8, and
// encoding/json would replace what is not.
func (l LoadBody) MarshalJSON() ([]byte, error) {
	out := []byte(`{"task":{`)
	for _, f := range []struct{ name, value string }{{"file", l.Task.File}, {"module", l.Task.Module}} {
		if f.value != "" {
			out = append(out, `"`+f.name+`":`...)
			out = append(jsontext.AppendQuoted(out, []byte(f.value)), ',')
		}
	}
	out = append(out, `"name":`...)
	out = jsontext.AppendQuoted(out, []byte(l.Task.Name))
	out = append(out, `},"kind":`...)
	out = jsontext.AppendQuoted(out, []byte(l.Kind))
	out = append(out, `,"slots":`...)
	out = strconv.AppendInt(out, int64(l.Slots), 10)
	if l.Init != "" {
		out = append(out, `,"init":`...)
		out = jsontext.AppendQuoted(out, []byte(l.Init))
	}
	return append(out, '}'), nil
}

// TaskRef names a function: in a file, or in a module that can be imported.
type TaskRef struct {
	File   string `json:"file,omitempty"` // an absolute path
	Module string `json:"module,omitempty"`
	Name   string `json:"name"` // may be dotted
}

// HelloBody is the first thing that a worker says.
type HelloBody struct {
	Protocol   int    `json:"protocol"`
	Runtime    string `json:"runtime"` // cpython, pypy
	Version    string `json:"version"`
	Executable string `json:"executable"`
	GIL        bool   `json:"gil"`
	PID        int    `json:"pid"`
}

// ReadyBody says that the task is loaded.
type ReadyBody struct {
	Async    bool  `json:"async"`     // it is a coroutine function
	StartNS  int64 `json:"start_ns"`  // from the worker's first step to the load, ns
	ImportNS int64 `json:"import_ns"` // importing the task, ns
	RSS      int64 `json:"rss"`       // resident memory afterwards, bytes; 0 unknown
}

// CannotBody says why the task cannot be run.
type CannotBody struct {
	// Code is one of not-found, no-function, import, not-callable, not-async, is-async,
	// generator, misfit, version.
	Code        string         `json:"code"`
	Reason      string         `json:"reason"`
	Interpreter string         `json:"interpreter"`
	Version     string         `json:"version"`
	Path        []string       `json:"path"` // where modules were looked for
	Failure     *batch.Failure `json:"failure"`
}
