//go:build linux || darwin

package command

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/internal/proc"
)

// drain is how long a command's pipes may stay open after its end before the
// item is over all the same: what holds them is a process that it left behind.
const drain = 50 * time.Millisecond

// child is one running command.
type child struct {
	item  batch.Item
	proc  *proc.Process
	start int64

	input  []byte // what is still to be written to its standard input
	in     int    // our end of that pipe, -1 when there is none
	out    [2]int // our ends of standard output and error, -1 at their end
	stdout capture
	stderr excerpt

	exited     bool
	drainUntil int64 // when the pipes have to be at their end; -1 while it runs
}

// over reports whether nothing more is to come.
func (c *child) over() bool {
	if !c.exited {
		return false
	}
	return c.out[0] < 0 && c.out[1] < 0 || proc.Now() >= c.drainUntil
}

// timeout is how long poll may wait, in milliseconds.
func (c *child) timeout() int {
	if !c.exited {
		return -1
	}
	return int(max(time.Duration(c.drainUntil-proc.Now())/time.Millisecond+1, 0))
}

func (c *child) closeAll() {
	closeFD(&c.in)
	closeFD(&c.out[0])
	closeFD(&c.out[1])
	c.stdout.close()
}

func closeFD(fd *int) {
	if *fd >= 0 {
		unix.Close(*fd)
		*fd = -1
	}
}

// stdinPipe returns the end for the child, which blocks, and ours, which does
// not.
func stdinPipe() (theirs, ours int, err error) {
	theirs, ours, err = proc.Pipe()
	if err != nil {
		return -1, -1, err
	}
	if err = errors.Join(unix.SetNonblock(theirs, false), unix.SetNonblock(ours, true)); err != nil {
		unix.Close(theirs)
		unix.Close(ours)
	}
	return theirs, ours, err
}

// poll waits for the child, or for Wake when there is none, and moves what can
// be moved.
func (w *Worker) poll() (woken bool, err error) {
	fds := [5]unix.PollFd{{Fd: int32(w.waker.FD), Events: unix.POLLIN}}
	n, timeout := 1, -1
	if c := w.child; c != nil {
		end := -1
		if !c.exited {
			end = c.proc.EndFD
		}
		fds[1] = unix.PollFd{Fd: int32(end), Events: unix.POLLIN}
		fds[2] = unix.PollFd{Fd: int32(c.out[0]), Events: unix.POLLIN}
		fds[3] = unix.PollFd{Fd: int32(c.out[1]), Events: unix.POLLIN}
		fds[4] = unix.PollFd{Fd: int32(c.in), Events: unix.POLLOUT}
		n, timeout = len(fds), c.timeout()
	}
	if _, err := proc.Poll(fds[:n], timeout); err != nil {
		return false, err
	}
	if fds[0].Revents != 0 {
		w.waker.Clear()
		woken = true
	}
	if c := w.child; c != nil {
		if fds[4].Revents != 0 {
			c.feed()
		}
		for i := range c.out {
			if fds[2+i].Revents != 0 {
				if err := w.read(c, i); err != nil {
					return woken, err
				}
			}
		}
		if fds[1].Revents != 0 && !c.exited {
			c.exited, c.drainUntil = true, proc.Now()+int64(drain)
			closeFD(&c.in)
		}
	}
	return woken, nil
}

// feed writes to the command's standard input. A command that does not read is
// not at fault.
func (c *child) feed() {
	n, err := unix.Write(c.in, c.input)
	if n > 0 {
		c.input = c.input[n:]
	}
	if len(c.input) == 0 || (err != nil && err != unix.EAGAIN && err != unix.EINTR) {
		closeFD(&c.in)
	}
}

// read takes what one of the pipes holds.
func (w *Worker) read(c *child, i int) error {
	n, err := unix.Read(c.out[i], w.buf)
	switch {
	case n > 0 && i == 0:
		return c.stdout.write(w.buf[:n], func() (*os.File, string, error) { return w.spillFile(c) })
	case n > 0:
		c.stderr.write(w.buf[:n])
		if w.cfg.Output != nil {
			w.cfg.Output(batch.Output{
				Worker: w.cfg.Number, Stream: "stderr", Data: w.buf[:n],
				Items: []batch.Running{{Index: c.item.Index, Attempt: c.item.Attempt, Since: c.start}},
			})
		}
	case err == unix.EAGAIN || err == unix.EINTR:
	default:
		closeFD(&c.out[i])
	}
	return nil
}

// finish collects the child and makes its result.
func (w *Worker) finish() ([]batch.Result, error) {
	c := w.child
	w.child = nil
	if c.out[0] >= 0 || c.out[1] >= 0 {
		w.tellLeftOver(c)
	}
	w.mu.Lock()
	w.running, w.pid = nil, 0
	w.mu.Unlock()
	status, _ := c.proc.Reap()
	end := proc.Now()
	c.closeAll()
	res := batch.Result{Index: c.item.Index, Attempt: c.item.Attempt, Start: c.start, End: end}
	w.value = c.appendValue(w.value[:0], status)
	res.Value = w.value
	if f := endFailure(status, c.stderr.lastLine()); f != nil {
		res.Status, res.Error = batch.Failed, failureJSON(f)
	}
	return w.result(res), nil
}

// tellLeftOver names the processes that hold a command's output open after its
// end. They are left alone until the end of the run.
func (w *Worker) tellLeftOver(c *child) {
	if w.cfg.Note == nil || w.cfg.Guardian == nil {
		return
	}
	var names []string
	for _, p := range w.cfg.Guardian.FindItem(itemVariable(c.item.Index)) {
		if p.PID != c.proc.PID {
			names = append(names, fmt.Sprintf("%d (%s)", p.PID, p.Name))
		}
	}
	if names != nil {
		w.cfg.Note(fmt.Sprintf("item %d left a process behind that holds its output open: %s; it is ended with the run",
			c.item.Index, strings.Join(names, ", ")))
	}
}

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
		f.Message += " (or the interpreter that its first line names)"
	}
	return f
}
