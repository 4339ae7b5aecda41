//go:build linux || darwin

package command

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/poolwise/poolwise/internal/batch"
)

// endFailure says what was wrong with a command's end; nil when it was well.
func endFailure(status unix.WaitStatus, lastLine string) *batch.Failure {
	var f *batch.Failure
	switch {
	case status.Signaled():
		f = &batch.Failure{Type: "Signal", Message: fmt.Sprintf("killed by signal %d (%s)", int(status.Signal()), unix.SignalName(status.Signal()))}
	case status.ExitStatus() == 0:
		return nil
	default:
		f = &batch.Failure{Type: "ExitStatus", Message: exitText(status.ExitStatus())}
	}
	if lastLine != "" {
		f.Message += ": " + lastLine
	}
	return f
}

func exitText(status int) string {
	text := fmt.Sprintf("exit status %d", status)
	switch {
	case status == 126:
		text += " (a shell reports that when a command cannot be executed)"
	case status == 127:
		text += " (a shell reports that when a command is not found)"
	case status > 128 && status < 128+65 && unix.SignalName(syscall.Signal(status-128)) != "":
		text += fmt.Sprintf(" (a shell reports 128+%d when %s ended its command)", status-128, unix.SignalName(syscall.Signal(status-128)))
	}
	return text
}

// startFailure says why a command could not be started.
func startFailure(name string, err error) *batch.Failure {
	f := &batch.Failure{Type: "StartFailed", Message: fmt.Sprintf("%s cannot be started: %v", name, err)}
	switch {
	case errors.Is(err, unix.ENOEXEC):
		f.Message += " (a script needs a first line such as #!/bin/sh)"
	case errors.Is(err, unix.E2BIG):
		f.Message += " (its arguments and environment are too large; --stdin has no such limit)"
	case errors.Is(err, unix.ENOENT):
		f.Message += " (or the interpreter that its first line names, or the working directory)"
	}
	return f
}
