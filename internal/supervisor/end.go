//go:build linux || darwin

package supervisor

import (
	"errors"
	"io"
	"time"

	"golang.org/x/sys/unix"

	"github.com/poolwise/poolwise/internal/proc"
)

const (
	// goodbyeGrace is how long a worker may take to leave after its last word:
	// handlers of the user's run then, threads of theirs are waited for.
	goodbyeGrace = 5 * time.Second
	// closedGrace is how long a process may take to end after its socket was
	// closed. A process that ends closes it in its last moments.
	closedGrace = time.Second
)

// end collects a worker that has ended or closed its socket, and says how it
// came about: io.EOF for the end that was asked for, else a *Death.
func (w *Worker) end() error {
	d := &Death{}
	bye, grace := !w.leaveBy.IsZero(), closedGrace
	if bye {
		grace = time.Until(w.leaveBy)
	}
	if !w.exited(grace) {
		d.Ended = !bye
		if d.Ended {
			d.Cause = "it closed its connection to poolwise and went on"
		}
		w.signalGroup()
		w.exited(forEver)
	}
	d.Running = w.page.running(nil)
	w.signalGroup() // what it started and left behind, before its pipes are emptied
	for i := range w.pipes {
		w.drainAll(&w.pipes[i])
	}
	w.collect(d)
	if bye && !d.Killed {
		return io.EOF
	}
	return d
}

// collect reaps the process, says in d how it ended, and releases everything.
func (w *Worker) collect(d *Death) {
	w.mu.Lock()
	w.ended, d.Killed = true, w.killed
	w.mu.Unlock()
	status, usage := w.proc.Reap()
	d.Exit, d.PeakRSS, d.LastWords = status.ExitStatus(), proc.PeakRSS(usage), w.words.text()
	if status.Signaled() {
		d.Exit, d.Signal = -1, status.Signal()
	}
	d.ChannelLost = d.Exit > 0 && d.Exit == w.cfg.ChannelLost
	if w.cfg.Explain != nil && d.Exit >= 0 && d.Cause == "" {
		d.Cause = w.cfg.Explain(d.Exit)
	}
	w.release()
	w.state = gone
}

// violated ends a worker that broke the protocol, or said that it cannot load
// its task; the error says so.
func (w *Worker) violated(err error) error {
	var start *StartError
	if errors.As(err, &start) {
		w.leaveBy = time.Now().Add(goodbyeGrace)
		_ = w.end() // how it went is less than why
		return err
	}
	w.signalGroup()
	w.leaveBy = time.Time{}
	ended := w.end()
	var d *Death
	if errors.As(ended, &d) && !d.Killed {
		d.Ended, d.Cause = true, err.Error()
	}
	return ended
}

// signalGroup kills the process group. The process has not been reaped, so its
// number cannot belong to another.
func (w *Worker) signalGroup() { unix.Kill(-w.pid, unix.SIGKILL) }

const forEver = time.Duration(1<<63 - 1)

// exited waits for the process to end. It keeps the pipes flowing meanwhile: a
// process that cannot write cannot end.
func (w *Worker) exited(limit time.Duration) bool {
	start := time.Now()
	for {
		left := max(limit-time.Since(start), 0)
		timeout := -1
		if limit != forEver {
			timeout = int((left + time.Millisecond - 1) / time.Millisecond)
		}
		fds := []unix.PollFd{
			{Fd: int32(w.proc.EndFD), Events: unix.POLLIN},
			{Fd: int32(w.pipes[0].fd), Events: unix.POLLIN},
			{Fd: int32(w.pipes[1].fd), Events: unix.POLLIN},
		}
		_, _ = proc.Poll(fds, timeout) // a failed one tells nothing, and is tried again
		if fds[0].Revents != 0 {
			return true
		}
		if left == 0 {
			return false
		}
		for i := range w.pipes {
			if fds[1+i].Revents != 0 {
				w.drainPipe(&w.pipes[i])
			}
		}
	}
}

// lastReads bounds how often a pipe is read after the end. A process that left
// the group may hold it open, and write without end; what the worker itself
// wrote fits in.
const lastReads = 1 << 20 / pipeSize

// drainAll passes on what is left in a pipe, without waiting for more.
func (w *Worker) drainAll(s *stream) {
	for range lastReads {
		fds := []unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLIN}}
		n, err := proc.Poll(fds, 0)
		if s.fd < 0 || n == 0 || err != nil {
			return
		}
		w.drainPipe(s)
	}
}

// release gives back what the worker holds of the system.
func (w *Worker) release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	if w.waker != nil {
		w.waker.Close()
		w.waker = nil
	}
	for _, fd := range []*int{&w.sock, &w.pipes[0].fd, &w.pipes[1].fd} {
		if *fd >= 0 {
			unix.Close(*fd)
		}
		*fd = -1
	}
	if w.page != nil {
		unix.Munmap(w.page.bytes)
		w.page = nil
	}
	w.in, w.out, w.scratch = nil, nil, nil
}
