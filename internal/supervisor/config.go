// Package supervisor starts one worker process and keeps it: handshake,
// frames, what it prints, its end and how it came about.
package supervisor

import (
	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/internal/wire"
)

// Config says what to start.
type Config struct {
	// Number tells workers of a run apart, in logs and messages.
	Number int
	// Command is the argument vector; its first element is a path.
	Command []string
	Env     []string
	Dir     string
	Load    wire.LoadBody
	// MaxFrame is the largest body of a frame that is accepted, in bytes.
	MaxFrame int64
	// Output receives what the worker's process writes; see batch.Output. It
	// is called from the worker's goroutine.
	Output func(batch.Output)
	// Explain turns an exit status that the worker's language has given a
	// meaning into words; "" for any other. It may be nil.
	Explain func(exit int) string
	// ChannelLost is the exit status by which the worker says that its socket
	// was closed under it.
	ChannelLost int
}
