//go:build linux || darwin

package command

import (
	"errors"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/internal/proc"
)

// drain is how long a command's pipes may stay open after its end before the
// item is over all the same: what holds them is a process that it left behind.
// Long enough for one that is just ending, short enough not to be felt.
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
	drainUntil int64  // when the pipes have to be at their end, once it has exited
	owed       [2]int // bytes that were in them when it exited
}

func (c *child) running() batch.Running {
	return batch.Running{Index: c.item.Index, Attempt: c.item.Attempt, Since: c.start}
}

// over reports whether nothing more is to come. What the command itself wrote
// is read whatever the time.
func (c *child) over() bool {
	if !c.exited {
		return false
	}
	return c.settled(0) && c.settled(1) || c.settledFor(0) && c.settledFor(1) && proc.Now() >= c.drainUntil
}

func (c *child) settled(i int) bool    { return c.out[i] < 0 }
func (c *child) settledFor(i int) bool { return c.out[i] < 0 || c.owed[i] <= 0 }

// timeout is how long poll may wait, in milliseconds.
func (c *child) timeout() int {
	if !c.exited {
		return -1
	}
	return int(max(time.Duration(c.drainUntil-proc.Now())/time.Millisecond+1, 0))
}

// exit is called once, when the command has ended.
func (c *child) exit() {
	c.exited, c.drainUntil = true, proc.Now()+int64(drain)
	closeFD(&c.in)
	for i, fd := range c.out {
		if fd < 0 {
			continue
		}
		if n, err := unix.IoctlGetInt(fd, bytesWaiting); err == nil {
			c.owed[i] = n
		}
	}
}

// closePipes closes our ends.
func (c *child) closePipes() {
	closeFD(&c.in)
	closeFD(&c.out[0])
	closeFD(&c.out[1])
}

func closeFD(fd *int) {
	if *fd >= 0 {
		unix.Close(*fd)
		*fd = -1
	}
}

// begin starts the command of an item. When that is not possible it returns
// the item's result.
func (w *Worker) begin(it batch.Item) []batch.Result {
	c := &child{item: it, start: proc.Now(), in: -1, out: [2]int{-1, -1}}
	path, argv, stdin, err := w.cfg.Template.Expand(&it)
	if err == nil {
		c.input = stdin
		if err = w.spawnPatiently(c, path, argv); err == nil {
			w.child = c
			w.setRunning(c)
			return nil
		}
		err = startFailure(argv[0], err)
	}
	var f *batch.Failure
	if !errors.As(err, &f) {
		f = &batch.Failure{Type: "StartFailed", Message: err.Error()}
	}
	return w.result(batch.Result{
		Index: it.Index, Attempt: it.Attempt, Status: batch.Failed, CPU: -1, Process: -1,
		Start: c.start, End: proc.Now(), Error: failureJSON(f),
	})
}

// Waits between the tries of a start that lacks what others may give back soon:
// a process, a descriptor, memory. Together they take 1.3 s.
const firstWait, lastWait = 20 * time.Millisecond, 640 * time.Millisecond

// spawnPatiently is spawn that tries again where the system is short of
// something.
func (w *Worker) spawnPatiently(c *child, path string, argv []string) error {
	err := w.spawn(c, path, argv)
	for wait := firstWait; isScarce(err) && wait <= lastWait; wait *= 2 {
		if killed, _ := w.state(); killed {
			return err
		}
		time.Sleep(wait)
		c.start = proc.Now()
		err = w.spawn(c, path, argv)
	}
	return err
}

// isScarce reports whether a start has failed for want of something that
// others may give back.
func isScarce(err error) bool {
	for _, short := range []error{unix.EAGAIN, unix.EMFILE, unix.ENFILE, unix.ENOMEM} {
		if errors.Is(err, short) {
			return true
		}
	}
	return false
}

// spawn starts a command with pipes for its output.
func (w *Worker) spawn(c *child, path string, argv []string) (err error) {
	theirs := [3]int{-1, -1, -1}
	defer func() {
		for i := range theirs {
			closeFD(&theirs[i])
		}
		if err != nil {
			c.closePipes()
		}
	}()
	for i := range c.out {
		if c.out[i], theirs[1+i], err = proc.Pipe(); err != nil {
			return err
		}
	}
	stdin := w.null
	if len(c.input) > 0 {
		if theirs[0], c.in, err = stdinPipe(); err != nil {
			return err
		}
		stdin = theirs[0]
	}
	n := len(w.env)
	w.env[n-2] = itemVariable(c.item.Index)
	w.env[n-1] = attemptVariable + strconv.FormatUint(uint64(c.item.Attempt), 10)
	c.proc, err = start(path, argv, &syscall.ProcAttr{
		Dir: w.cfg.Dir, Env: w.env, Files: []uintptr{uintptr(stdin), uintptr(theirs[1]), uintptr(theirs[2])},
	})
	return err
}

// itemVariable tells a command which item it is run for, and the guardian
// whose child a process is.
func itemVariable(index uint64) string { return indexVariable + strconv.FormatUint(index, 10) }

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
		return -1, -1, err
	}
	return theirs, ours, nil
}
