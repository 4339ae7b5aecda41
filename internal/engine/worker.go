package engine

import (
	"github.com/poolwise/poolwise/internal/batch"
)

// A Worker is a place that takes chunks of items and returns results: today a
// process of this machine, later perhaps a machine. The engine knows no more
// of it than this.
//
// One goroutine, the worker's own, calls Submit, Wait and Drain. Wake, Kill and
// Running may be called from any goroutine, also after the worker's end.
type Worker interface {
	// Submit hands over a chunk and returns without waiting for any of it to
	// run; it never blocks on a worker that does not read. The worker reads
	// the items, and keeps them until their results were returned by Wait. An
	// error means that the worker is no longer able to take anything; Wait
	// then tells why.
	Submit(chunk []batch.Item) error
	// Wait returns as soon as there is something to tell: results, as they
	// complete, in any order; nothing, after Wake; or an error. The results
	// and their bytes are valid until the next call of Wait.
	//
	// The error is io.EOF after Drain, when all that was running has been
	// told of and the worker has gone; submitted items without a result were
	// then never started. It is a *supervisor.Death when the worker died.
	// After an error the worker is gone and its resources are released.
	Wait() ([]batch.Result, error)
	// Wake makes Wait return: the call under way, or else the next one.
	Wake()
	// Drain tells the worker to start no further item, to finish those it is
	// running and to go. Wait ends with io.EOF then.
	Drain()
	// Kill ends the worker, and all that it started, at once. Wait returns a
	// *supervisor.Death then.
	Kill()
	// Running appends to buf what the worker has in hand at this moment.
	Running(buf []batch.Running) []batch.Running
}
