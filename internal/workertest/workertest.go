//go:build linux || darwin

// Package workertest holds the tests that any kind of worker must pass: the
// contract of engine.Worker, point by point.
package workertest

import (
	"context"
	"testing"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/internal/engine"
)

// A Task says what the worker under test does with its items, which are all of
// Form Text. Where an item is told to be a folder, that is one with two FIFOs:
// the task writes a line to "started", then reads one byte from "release".
type Task string

const (
	// Echo returns the item.
	Echo Task = "echo"
	// Fails fails if the item begins with "fail", with a message that holds
	// the item, and else returns it.
	Fails Task = "fails"
	// Prints writes the item to standard error, and returns it.
	Prints Task = "prints"
	// Waits uses the item as a folder if it begins with a slash: it writes an
	// empty line and reads. Then it returns the item.
	Waits Task = "waits"
	// Makes returns as many letters x as the item, a number, says.
	Makes Task = "makes"
	// Leaves starts a process of an hour that stays in the worker's group,
	// then uses the item as a folder; the line is the process id.
	Leaves Task = "leaves"
	// Dies ends the worker: with status 3 if the item is "exit", by SIGSEGV if
	// it is "signal". It treats other items as Waits does.
	Dies Task = "dies"
)

// A Kind is one kind of worker, for the suite to test.
type Kind struct {
	// Slots is how many items a worker of this kind runs at a time; a handful.
	Slots int
	// Start starts a worker that runs the task. It must honour ctx until the
	// worker is ready. output may be called from the worker's goroutine only.
	Start func(ctx context.Context, task Task, output func(batch.Output)) (engine.Worker, error)
	// Text returns what the task returned, from the value of a result.
	Text func(value []byte) (string, error)
	// Largest is the size of the largest item that the kind takes, in bytes.
	Largest int
	// Lasting says that a worker outlives what its items do to it: there is no
	// way to write Dies. Commands are of this kind.
	Lasting bool
}

// Run tests a kind. Its workers are the only children of the process and use
// the only descriptors that come and go: nothing else may run beside it.
func Run(t *testing.T, k Kind) {
	for _, c := range []struct {
		name  string
		check func(*testing.T, Kind)
	}{
		{"each item is answered once", answersOnce},
		{"values arrive byte for byte", values},
		{"large values", largeValues},
		{"results stay valid until the next Wait", validUntilWait},
		{"a failure carries its error and the worker lives on", failures},
		{"text is passed on", prints},
		{"Submit does not wait for the worker", submitNeverBlocks},
		{"results leave while a slow item follows", leavesEarly},
		{"Wake before Wait", wakeBefore},
		{"Wake during Wait, from many", wakeDuring},
		{"Wake with results", wakeWithResults},
		{"Running tells what is in hand", running},
		{"Drain while idle", drainIdle},
		{"Drain before anything ran", drainAtOnce},
		{"Drain lets the running finish and starts no more", drainRunning},
		{"Kill while idle", killIdle},
		{"Kill while running", killRunning},
		{"Kill after Drain", killDraining},
		{"Kill from many, with Wake and Running", killFromMany},
		{"Kill ends what was started", killTree},
		{"Start under a cancelled context", startCancelled},
		{"Start cancelled on the way", startCancelledMidway},
	} {
		t.Run(c.name, func(t *testing.T) { c.check(t, k) })
	}
	if !k.Lasting {
		runDeaths(t, k)
	}
}
