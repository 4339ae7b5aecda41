package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"time"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/internal/engine"
	"github.com/poolwise/poolwise/internal/journal"
)

// describe is what run.json says of a run that begins.
func (s *session) describe() *journal.Info {
	info := &journal.Info{
		ID: s.dir.ID, Command: s.app.Args, Dir: s.app.Dir, Inputs: s.inv.inputs, From: s.format.String(),
		Plan: s.plan.String(), Started: s.begun, State: journal.Running,
		Output: journal.Output{Format: s.flags.format.value, OnError: s.flags.onError.value, Unordered: s.flags.unordered},
	}
	info.Task.Name = s.inv.task.Name
	if s.flags.output != "" {
		info.Output.Path = s.app.path(s.flags.output)
	}
	s.task.describe(info)
	// The machine is described by what costs next to nothing to find out.
	if brief, err := json.Marshal(s.system.Brief(s.flags.cpus)); err == nil {
		info.Machine = brief
	}
	return info
}

// record writes how the run ended into run.json.
func (s *session) record(o engine.Snapshot, exit Exit, delivered bool) {
	info := s.info
	wall := time.Since(s.begun)
	info.Ended, info.Output.Delivered = s.begun.Add(wall), delivered
	status := int(exit)
	info.Exit = &status
	switch {
	case s.planOnly && exit == ExitOK && o.Counts[batch.NotRun] > 0:
		info.State = journal.Planned
	case exit == ExitOK, exit == ExitFailed:
		info.State = journal.Done
	case exit == ExitInterrupted, exit == ExitTerminated:
		info.State = journal.Interrupted
	default:
		info.State = journal.Stopped
	}
	info.Counts = map[string]uint64{}
	for i, n := range o.Counts {
		info.Counts[batch.Status(i).String()] = n
	}
	info.Summary = &journal.Summary{
		Wall: int64(wall), ItemMedian: int64(o.Median), ItemP95: int64(o.P95), ItemMax: int64(o.Max),
		Speedup: float64(o.Sum) / float64(wall),
	}
	if err := s.dir.WriteInfo(info); err != nil {
		printError(s.app.Stderr, err)
	}
}

// fileDigest is the SHA-256 of a file in hexadecimal, "" when there is none.
func fileDigest(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
