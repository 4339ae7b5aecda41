//go:build linux || darwin

package command

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/internal/proc"
)

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
	if w.child == nil {
		return woken, nil
	}
	return woken, w.move(w.child, &fds)
}

// move does what poll has found can be done.
func (w *Worker) move(c *child, fds *[5]unix.PollFd) error {
	if fds[4].Revents != 0 {
		c.feed()
	}
	for i := range c.out {
		if fds[2+i].Revents == 0 {
			continue
		}
		if err := w.read(c, i); err != nil {
			return err
		}
	}
	if fds[1].Revents != 0 {
		c.exit()
	}
	return nil
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
	case n > 0:
		c.owed[i] -= n
		return w.keep(c, i, w.buf[:n])
	case err == unix.EAGAIN || err == unix.EINTR:
	default: // its end, and no error is to be expected of a pipe
		closeFD(&c.out[i])
	}
	return nil
}

// keep stores what a command wrote to standard output or, 1, to standard
// error, and passes the latter on.
func (w *Worker) keep(c *child, i int, data []byte) error {
	if i == 0 {
		return c.stdout.write(data, func() (*os.File, string, error) { return w.spillFile(c) })
	}
	c.stderr.write(data)
	if w.cfg.Output != nil {
		w.cfg.Output(batch.Output{
			Worker: w.cfg.Number, Stream: "stderr", Data: data, Items: []batch.Running{c.running()},
		})
	}
	return nil
}
