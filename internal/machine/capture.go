package machine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// capture runs a program and returns what it printed. The error holds what it
// wrote to its standard error.
func capture(ctx context.Context, limit time.Duration, opts PythonOptions, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var out, complaints bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env, cmd.Dir = opts.Env, opts.Dir
	cmd.Stdout, cmd.Stderr = &out, &complaints
	// A script's own children may hold the pipes after it was killed.
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if err == nil || errors.Is(err, exec.ErrWaitDelay) {
		return out.String(), nil
	}
	if ctx.Err() == context.DeadlineExceeded {
		return "", fmt.Errorf("it gave no answer within %v: %w", limit, ctx.Err())
	}
	if said := strings.TrimSpace(complaints.String()); said != "" {
		return "", fmt.Errorf("%w: %s", err, said)
	}
	return "", err
}
