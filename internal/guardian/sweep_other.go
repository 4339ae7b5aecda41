//go:build !linux

package guardian

import (
	"os/exec"
	"os/signal"
)

// Other systems do not show the environment of a process to others: what
// poolwise starts is ended by its process group there, while poolwise lives,
// and Python workers end by themselves when it does not.

func detach(*exec.Cmd) {}

func ignoreSignals() { signal.Ignore() }

func sweep(string) []Process { return nil }

func find(...string) []Process { return nil }
