//go:build !linux && !darwin

package supervisor

import (
	"context"
	"errors"
	"time"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/internal/wire"
)

var errUnsupported = errors.New("poolwise runs workers on Linux and macOS only")

// A Worker cannot be had on this system.
type Worker struct{}

// Start refuses: the error is a *StartError that says why.
func Start(_ context.Context, cfg Config) (*Worker, error) {
	return nil, &StartError{Interpreter: cfg.Command[0], Err: errUnsupported}
}

// StartTimes says how long the parts of a start took.
type StartTimes struct{ Spawn, Hello, Import, CPU time.Duration }

func (w *Worker) PID() int                                    { return 0 }
func (w *Worker) Ready() wire.ReadyBody                       { return wire.ReadyBody{} }
func (w *Worker) Hello() wire.HelloBody                       { return wire.HelloBody{} }
func (w *Worker) Started() StartTimes                         { return StartTimes{} }
func (w *Worker) Submit([]batch.Item) error                   { return errUnsupported }
func (w *Worker) Wait() ([]batch.Result, error)               { return nil, errUnsupported }
func (w *Worker) Measure(bool)                                {}
func (w *Worker) Measured() (wire.MeasuredBody, bool)         { return wire.MeasuredBody{}, false }
func (w *Worker) Slots(string, int) error                     { return errUnsupported }
func (w *Worker) Drain()                                      {}
func (w *Worker) Wake()                                       {}
func (w *Worker) Kill()                                       {}
func (w *Worker) Running(buf []batch.Running) []batch.Running { return buf }
