// Package plan describes ways to run a batch: how many processes, how many
// slots in each, and what kind of slot. It is pure: no I/O and no clock.
package plan

import (
	"fmt"
	"strconv"
	"strings"
)

// Kind is what a slot of a worker is.
type Kind uint8

const (
	// Serial is one process with one slot: its main thread.
	Serial Kind = iota
	// Async slots are coroutines on one event loop per process.
	Async
	// Threads slots are threads of one process.
	Threads
	// Interpreters slots are subinterpreters of one process (CPython 3.14 on).
	Interpreters
	// Processes have one slot each: their main thread.
	Processes
)

var kindNames = []string{"serial", "async", "threads", "interpreters", "processes"}

// String returns the kind's name in plan notation.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "Kind(" + strconv.Itoa(int(k)) + ")"
}

// Limits of a plan. They guard against typing errors (threads:10000000), not
// against large machines.
const (
	MaxProcesses = 4096
	MaxSlots     = 1_000_000 // slots in one process
)

// A Plan is one way to run a batch: Processes x Slots : Kind.
type Plan struct {
	// Processes is the number of worker processes, at least 1.
	Processes int
	// Slots is the number of items that one process runs at a time, at least 1.
	Slots int
	Kind  Kind
}

// Total returns how many items may run at one time.
func (p Plan) Total() int { return p.Processes * p.Slots }

// String returns the plan in the notation that Parse reads: serial,
// threads:8, processes:4, async:500, 4x125:async.
func (p Plan) String() string {
	switch {
	case p.Kind == Serial:
		return "serial"
	case p.Kind == Processes && p.Slots == 1:
		return "processes:" + strconv.Itoa(p.Processes)
	case p.Processes == 1:
		return p.Kind.String() + ":" + strconv.Itoa(p.Slots)
	}
	return fmt.Sprintf("%dx%d:%s", p.Processes, p.Slots, p.Kind)
}

// A SyntaxError reports a text that is not plan notation.
type SyntaxError struct {
	Text   string // what was to be parsed
	Reason string // what is wrong with it
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%q is not a plan: %s; write serial, threads:8, processes:4, async:500 or 4x125:async", e.Text, e.Reason)
}

// Parse reads plan notation: "serial", "KIND:N" and "PxS:KIND". The error is a
// *SyntaxError.
func Parse(text string) (Plan, error) {
	bad := func(format string, args ...any) (Plan, error) {
		return Plan{}, &SyntaxError{Text: text, Reason: fmt.Sprintf(format, args...)}
	}
	if text == "serial" {
		return Plan{Processes: 1, Slots: 1, Kind: Serial}, nil
	}
	left, right, ok := strings.Cut(text, ":")
	if !ok {
		return bad("it names no kind and number")
	}
	if kind, ok := parseKind(left); ok {
		n, err := parseCount(right)
		if err != nil {
			return bad("%v", err)
		}
		if kind == Processes {
			return checked(text, Plan{Processes: n, Slots: 1, Kind: kind})
		}
		return checked(text, Plan{Processes: 1, Slots: n, Kind: kind})
	}
	procs, slots, ok := strings.Cut(left, "x")
	kind, known := parseKind(right)
	if !ok || !known {
		return bad("no kind is called %q", left)
	}
	p, err := parseCount(procs)
	if err != nil {
		return bad("%v", err)
	}
	s, err := parseCount(slots)
	if err != nil {
		return bad("%v", err)
	}
	if kind == Processes && s != 1 {
		return bad("a process has one slot; for several at once in each, use %dx%d:threads or %dx%d:async", p, s, p, s)
	}
	return checked(text, Plan{Processes: p, Slots: s, Kind: kind})
}

func checked(text string, p Plan) (Plan, error) {
	switch {
	case p.Processes > MaxProcesses:
		return Plan{}, &SyntaxError{text, fmt.Sprintf("more than %d processes", MaxProcesses)}
	case p.Slots > MaxSlots:
		return Plan{}, &SyntaxError{text, fmt.Sprintf("more than %d slots in a process", MaxSlots)}
	}
	return p, nil
}

// parseKind knows every kind that takes a number; serial takes none.
func parseKind(name string) (Kind, bool) {
	for i, n := range kindNames {
		if n == name && Kind(i) != Serial {
			return Kind(i), true
		}
	}
	return 0, false
}

func parseCount(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || text[0] == '+' {
		return 0, fmt.Errorf("%q is not a number of 1 or more", text)
	}
	return n, nil
}
