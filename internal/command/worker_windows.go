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

// Start refuses: commands are not supported on Windows yet.
func Start(WorkerConfig) (*Worker, error) {
	return nil, errors.New("commands cannot be run on Windows yet")
}
