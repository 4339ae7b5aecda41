package cli

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/poolwise/poolwise/internal/engine"
)

// signalError is the cause of a stop by a signal.
type signalError struct{ signal os.Signal }

func (e *signalError) Error() string { return fmt.Sprintf("stopped by %v", e.signal) }

func (e *signalError) Unwrap() error { return engine.ErrInterrupted }

// takeSignals has the signals that end a run sent to s.signals, until
// leaveSignals: also while the output is delivered and the record written, which
// a signal must not cut short.
func (s *session) takeSignals() {
	s.signals = make(chan os.Signal, 4)
	// SIGPIPE is taken so that a closed output is an error of the write, and not
	// ignored, which commands would inherit.
	signal.Notify(s.signals, syscall.SIGPIPE)
	for _, sig := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		// What was ignored from the start stays so: nohup means it, and so does
		// a shell that starts a job in the background.
		if !signal.Ignored(sig) {
			signal.Notify(s.signals, sig)
		}
	}
}

func (s *session) leaveSignals() { signal.Stop(s.signals) }

// stopOnSignals stops the run at the first signal, and at once at the second.
// The function that it returns ends that.
func (s *session) stopOnSignals() (stop func()) {
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		stopping := false
		for {
			select {
			case got := <-s.signals:
				switch {
				case got == syscall.SIGPIPE:
				case stopping:
					s.engine.Kill()
				default:
					stopping = true
					s.note(fmt.Sprintf("%v: no more items are started; those that run may finish for %v. Once more ends them at once.", got, grace))
					s.engine.Stop(&signalError{got})
				}
			case <-done:
				return
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

// deliver waits until the output has taken all results. A signal ends that:
// whoever reads the output may never go on.
func (s *session) deliver() error {
	written := make(chan error, 1)
	go func() { written <- s.sink.Close() }()
	for {
		select {
		case err := <-written:
			if err != nil {
				return &engine.OutputError{Err: err}
			}
			return nil
		case got := <-s.signals:
			if got == syscall.SIGPIPE {
				continue
			}
			s.note(fmt.Sprintf("%v: the output did not take all results; they are in the run's journal", got))
			return &signalError{got}
		}
	}
}
