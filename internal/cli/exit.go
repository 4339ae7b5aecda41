package cli

import (
	"fmt"
	"strings"
)

// Exit is an exit status of poolwise. The list below is the only place where
// they are written; --help and docs/exit-codes.md are held against it by a test.
type Exit int

// The statuses; exits says what each means.
const (
	ExitOK          Exit = 0
	ExitFailed      Exit = 1
	ExitUsage       Exit = 2
	ExitStopped     Exit = 3
	ExitInterrupted Exit = 130
	ExitTerminated  Exit = 143
)

var exits = []struct {
	Status  Exit
	Meaning string
}{
	{ExitOK, "all items ended ok"},
	{ExitFailed, "the run is complete, and some items failed"},
	{ExitUsage, "usage or start-up error; no item was run"},
	{ExitStopped, "stopped early: disk full, an input that cannot be read to its end, a reader of the output that has gone, or workers that cannot be had"},
	{ExitInterrupted, "interrupted (SIGINT)"},
	{ExitTerminated, "terminated (SIGTERM, SIGHUP)"},
}

// exitHelp is the list of exit statuses as --help shows it.
func exitHelp() string {
	var b strings.Builder
	b.WriteString("Exit status:\n")
	for _, e := range exits {
		fmt.Fprintf(&b, "  %3d  %s\n", int(e.Status), e.Meaning)
	}
	return strings.TrimRight(b.String(), "\n")
}

// ExitError ends a command with a status. Err is what the user is told; nil
// when everything has been said already.
type ExitError struct {
	Status Exit
	Err    error
}

func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit status %d", int(e.Status))
	}
	return e.Err.Error()
}

// Unwrap returns what the user is told.
func (e *ExitError) Unwrap() error { return e.Err }
