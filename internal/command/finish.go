//go:build linux || darwin

package command

import (
	"encoding/json"
	"fmt"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/internal/guardian"
	"github.com/poolwise/poolwise/internal/proc"
	"github.com/poolwise/poolwise/internal/supervisor"
)

// finish collects the child, which is over, and makes its result, or the death
// of a worker that was killed.
func (w *Worker) finish() ([]batch.Result, error) {
	c := w.child
	w.child = nil
	held := !c.settled(0) || !c.settled(1)
	if killed := w.clearRunning(); killed {
		return nil, w.end(w.bury(c))
	}
	status, usage := c.proc.Reap()
	end := proc.Now()
	c.closePipes()
	if err := c.stdout.close(); err != nil {
		return nil, w.end(err)
	}
	if held || groupAlive(c.proc.PID) {
		w.tellLeftOver(c)
	}
	res := batch.Result{Index: c.item.Index, Attempt: c.item.Attempt, Start: c.start, End: end, CPU: -1, Process: -1}
	if usage != nil {
		// Of the command and of all that it has waited for.
		res.CPU = usage.Utime.Nano() + usage.Stime.Nano()
		res.Process, res.PeakRSS = res.CPU, proc.PeakRSS(usage)
	}
	w.value = c.appendValue(w.value[:0], status)
	res.Value = w.value
	if f := endFailure(status, c.stderr.lastLine()); f != nil {
		res.Status, res.Error = batch.Failed, failureJSON(f)
	}
	return w.result(res), nil
}

func (w *Worker) result(res batch.Result) []batch.Result {
	w.results[0] = res
	return w.results[:]
}

// bury ends all that a killed command has started, and tells of the death.
func (w *Worker) bury(c *child) error {
	if w.cfg.Guardian != nil {
		w.cfg.Guardian.KillItem(c.proc.PID, itemVariable(c.item.Index))
	}
	_, usage := c.proc.Reap()
	c.closePipes()
	_ = c.stdout.close() // there is no result that needs it
	return &supervisor.Death{
		Exit: -1, Signal: syscall.SIGKILL, Killed: true,
		Running: []batch.Running{c.running()}, LastWords: c.stderr.lastLine(), PeakRSS: proc.PeakRSS(usage),
	}
}

// abandon ends the running command because the worker cannot go on.
func (w *Worker) abandon() {
	c := w.child
	if c == nil {
		return
	}
	w.child = nil
	c.proc.KillGroup()
	w.clearRunning()
	_ = w.bury(c) // the error at hand tells more than the death
}

// groupAlive reports whether anything is left in the group of a command that
// was waited for: its number is not given to another as long as there is.
func groupAlive(pid int) bool { return unix.Kill(-pid, 0) != unix.ESRCH }

// maxNotes is for how many items a worker names what they left behind. Each
// costs a look through all processes, and nobody reads a thousand.
const maxNotes = 10

// tellLeftOver names the processes that a command left behind. They are left
// alone until the end of the run.
func (w *Worker) tellLeftOver(c *child) {
	if w.cfg.Note == nil || w.cfg.Guardian == nil || w.noted >= maxNotes {
		return
	}
	found := w.cfg.Guardian.FindItem(itemVariable(c.item.Index))
	if len(found) == 0 {
		return // it was just ending
	}
	w.noted++
	text := fmt.Sprintf("item %d left running when its command ended: %s; ended with the run", c.item.Index, names(found))
	if w.noted == maxNotes {
		text += fmt.Sprintf(" (worker %d names no more of these)", w.cfg.Number)
	}
	w.cfg.Note(text)
}

func names(found []guardian.Process) string {
	var b strings.Builder
	for i, p := range found {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s (process %d)", p.Name, p.PID)
	}
	return b.String()
}

func failureJSON(f *batch.Failure) []byte {
	text, err := json.Marshal(f)
	if err != nil { // texts always have a form
		return []byte(`{"type":"Error","message":""}`)
	}
	return text
}
