package supervisor

import (
	"fmt"
	"strings"
	"syscall"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/internal/wire"
)

// A Death reports a worker that ended without having been asked to.
type Death struct {
	// Exit is the exit status, or -1 when Signal ended the process.
	Exit   int
	Signal syscall.Signal
	// Cause says more where it is known: the task closed the worker's socket,
	// the worker broke the protocol.
	Cause string
	// Running are the items that were in hand at the moment of death.
	Running []batch.Running
	// LastWords is the end of what the worker wrote to standard error.
	LastWords string
	// PeakRSS is the largest resident memory of the process, in bytes.
	PeakRSS int64
	// Killed says that poolwise itself ended it, by Kill.
	Killed bool
	// Ended says that poolwise itself ended it, because of Cause.
	Ended bool
	// ChannelLost says that the worker left because its socket was gone: an
	// item that had finished, though not yet been reported, may have done it.
	ChannelLost bool
}

func (d *Death) Error() string {
	how := d.how()
	if d.Exit >= 0 && !d.Ended {
		how += " without answering"
	}
	return how + d.why()
}

func (d *Death) how() string {
	switch {
	case d.Ended:
		return "ended by poolwise"
	case d.Exit < 0:
		return fmt.Sprintf("killed by signal %d (%s)", int(d.Signal), signalName(d.Signal))
	}
	return fmt.Sprintf("exited %d", d.Exit)
}

func (d *Death) why() string {
	if d.Cause == "" {
		return ""
	}
	return ": " + d.Cause
}

func signalName(s syscall.Signal) string {
	names := map[syscall.Signal]string{
		syscall.SIGKILL: "SIGKILL", syscall.SIGSEGV: "SIGSEGV", syscall.SIGABRT: "SIGABRT",
		syscall.SIGTERM: "SIGTERM", syscall.SIGINT: "SIGINT", syscall.SIGBUS: "SIGBUS",
		syscall.SIGFPE: "SIGFPE", syscall.SIGILL: "SIGILL", syscall.SIGPIPE: "SIGPIPE", syscall.SIGHUP: "SIGHUP",
	}
	if name, ok := names[s]; ok {
		return name
	}
	return s.String()
}

// A StartError reports a worker that never became ready.
type StartError struct {
	// Cannot is what the worker said; nil when it died or could not be started.
	Cannot *wire.CannotBody
	// Interpreter is the program that was started.
	Interpreter string
	// Mute says that it never spoke as a worker.
	Mute bool
	// Err is what happened otherwise: a *Death, or an error of the system.
	Err error
}

func (e *StartError) Error() string {
	if e.Cannot == nil {
		return e.startFailed()
	}
	var b strings.Builder
	b.WriteString(e.Cannot.Reason)
	if f := e.Cannot.Failure; f != nil {
		if f.Traceback != "" {
			b.WriteString("\n\n" + indent(f.Traceback) + "\n")
		} else {
			b.WriteString(": " + f.Error())
		}
	}
	fmt.Fprintf(&b, "\ninterpreter  %s (%s)", e.Cannot.Interpreter, e.Cannot.Version)
	if e.Cannot.Code == "not-found" || e.Cannot.Code == "import" {
		b.WriteString("\nsearched     " + searched(e.Cannot.Path))
	}
	return b.String()
}

func (e *StartError) startFailed() string {
	msg := fmt.Sprintf("the worker could not start: %v", e.Err)
	if d, ok := e.Err.(*Death); ok {
		was := ""
		if d.Ended || d.Exit < 0 {
			was = "was "
		}
		msg = fmt.Sprintf("the worker %s%s before it was ready%s", was, d.how(), d.why())
		if d.LastWords != "" {
			msg += "\n\n" + indent(d.LastWords) + "\n"
		}
	}
	msg += "\ninterpreter  " + e.Interpreter
	if e.Mute {
		msg += "; it has not spoken as a worker does: is it an interpreter that works?"
	}
	return msg
}

// Unwrap returns what happened.
func (e *StartError) Unwrap() error { return e.Err }

// searched shows the search path as a person would write it.
func searched(path []string) string {
	shown := make([]string, 0, len(path))
	for _, p := range path {
		if p == "" {
			p = "(the current directory)"
		}
		shown = append(shown, p)
	}
	return strings.Join(shown, "\n             ")
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ")
}
