package wire

import "github.com/poolwise/poolwise/internal/batch"

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
	// generator, version.
	Code        string         `json:"code"`
	Reason      string         `json:"reason"`
	Interpreter string         `json:"interpreter"`
	Version     string         `json:"version"`
	Path        []string       `json:"path"` // where modules were looked for
	Failure     *batch.Failure `json:"failure"`
}
