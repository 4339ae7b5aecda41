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
	// Capacity is the most slots that a later SlotsBody may ask for; at most
	// Slots means that there are never more.
	Capacity int `json:"capacity,omitempty"`
	// Init names a function of the task's module that is called once, before
	// the first item; empty for none.
	Init string `json:"init,omitempty"`
	// Measure, if it is not nil, turns measuring on before the first item.
	Measure *Measuring `json:"measure,omitempty"`
}

// Most is the largest number of slots that the worker may ever have.
func (l LoadBody) Most() int { return max(l.Slots, l.Capacity, 1) }

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
	if l.Capacity != 0 {
		out = append(out, `,"capacity":`...)
		out = strconv.AppendInt(out, int64(l.Capacity), 10)
	}
	if l.Init != "" {
		out = append(out, `,"init":`...)
		out = jsontext.AppendQuoted(out, []byte(l.Init))
	}
	if l.Measure != nil {
		out = append(out, `,"measure":{"knock_ns":`...)
		out = append(strconv.AppendInt(out, l.Measure.KnockNS, 10), '}')
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
	CPUNS    int64 `json:"cpu_ns"`    // CPU time of the process until then, ns
}

// Measuring says how a worker shall measure.
type Measuring struct {
	// KnockNS is the mean time between two looks at the GIL, in ns; 0 for none.
	KnockNS int64 `json:"knock_ns"`
}

// MeasureBody turns measuring on or off.
type MeasureBody struct {
	On bool `json:"on"`
	Measuring
}

// SlotsBody says how a worker shall run its items from now on.
type SlotsBody struct {
	Kind  string `json:"kind"` // as in LoadBody
	Slots int    `json:"slots"`
}

// MeasuredBody holds what a worker has counted since its start. Items,
// TaskCPUNS, DecodeNS, EncodeNS and the knocks are of the times when measuring
// was on.
type MeasuredBody struct {
	Items     int64 `json:"items"`       // items that have ended
	CPUNS     int64 `json:"cpu_ns"`      // CPU time of the whole process, ns
	TaskCPUNS int64 `json:"task_cpu_ns"` // its part during items that ran alone, ns
	DecodeNS  int64 `json:"decode_ns"`   // wall time of decoding chunks, ns
	EncodeNS  int64 `json:"encode_ns"`   // wall time of encoding values, ns
	// Knocks is how often the GIL was looked at while an item ran, and Held
	// how often another thread held it. Disturbed looks, during which the
	// system let the looking thread wait for a CPU, count in neither.
	Knocks    int64 `json:"knocks"`
	Held      int64 `json:"held"`
	Disturbed int64 `json:"disturbed"`
	SwitchNS  int64 `json:"switch_ns"` // after which a thread is asked to give the GIL away, ns
	// QueueNS is how long the main thread has waited for a CPU, at the moment
	// QueueAtNS, both ns; 0 unknown.
	QueueNS   int64 `json:"queue_ns"`
	QueueAtNS int64 `json:"queue_at_ns"`
	RSS       int64 `json:"rss"`      // resident memory, bytes; 0 unknown
	PeakRSS   int64 `json:"peak_rss"` // its largest so far, bytes; 0 unknown
	Threads   int   `json:"threads"`  // live threads of the task's own
	// Warnings name what makes a task unfit for threads: "chdir" if it has
	// changed the working directory, "signal" if it tried to set a handler.
	Warnings []string `json:"warnings"`
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
