//go:build !linux && !darwin

package supervisor

import (
	"context"
	"errors"

	"github.com/poolwise/poolwise/internal/batch"
)

var errUnsupported = errors.New("poolwise runs workers on Linux and macOS only")

// A Worker cannot be had on this system.
type Worker struct{}

// Start refuses: the error is a *StartError that says why.
func Start(_ context.Context, cfg Config) (*Worker, error) {
	return nil, &StartError{Interpreter: cfg.Command[0], Err: errUnsupported}
}

func (w *Worker) PID() int                                    { return 0 }
func (w *Worker) Submit([]batch.Item) error                   { return errUnsupported }
func (w *Worker) Wait() ([]batch.Result, error)               { return nil, errUnsupported }
func (w *Worker) Drain()                                      {}
func (w *Worker) Wake()                                       {}
func (w *Worker) Kill()                                       {}
func (w *Worker) Running(buf []batch.Running) []batch.Running { return buf }
