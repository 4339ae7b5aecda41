package command

import (
	"errors"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/internal/guardian"
)

// WorkerConfig is all that a worker needs.
type WorkerConfig struct {
	Number   int
	Template *Template
	Env      []string
	Dir      string
	RunDir   string
	Output   func(batch.Output)
	Note     func(text string)
	Guardian *guardian.Guardian
}

// A Worker runs commands.
type Worker struct{}

var errWindows = errors.New("commands cannot be run on Windows yet")

// Start refuses: commands are not supported on Windows yet.
func Start(WorkerConfig) (*Worker, error) {
	return nil, errWindows
}

// Submit refuses.
func (w *Worker) Submit([]batch.Item) error { return errWindows }

// Wait refuses.
func (w *Worker) Wait() ([]batch.Result, error) { return nil, errWindows }

// Wake does nothing.
func (w *Worker) Wake() {}

// Drain does nothing.
func (w *Worker) Drain() {}

// Kill does nothing.
func (w *Worker) Kill() {}

// Running appends nothing.
func (w *Worker) Running(buf []batch.Running) []batch.Running { return buf }
