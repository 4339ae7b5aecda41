//go:build linux || darwin

package supervisor

import (
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/internal/wire"
)

// compact makes room: the results that were given out are no longer in use.
func (w *Worker) compact() {
	rest := len(w.in) - w.at
	switch {
	case rest == 0 && cap(w.in) > keepBuffer:
		w.in = nil
	case rest == 0:
		w.in = w.in[:0]
	case w.at > 0:
		copy(w.in, w.in[w.at:])
		w.in = w.in[:rest]
	}
	w.at = 0
}

// read reads once from the socket, without waiting. A frame larger than the
// buffer gets one of its own size, so that its bytes are never moved again.
func (w *Worker) read() (int, error) {
	need := readSize
	if pending := w.in[w.at:]; len(pending) >= wire.HeaderSize {
		_, size, err := wire.ParseHeader(pending, w.cfg.MaxFrame)
		if err != nil {
			return 0, err
		}
		need = max(wire.HeaderSize+size-len(pending), 1)
	}
	if free := cap(w.in) - len(w.in); free < min(need, readSize) || free < need {
		grown := make([]byte, len(w.in)-w.at, len(w.in)-w.at+max(need, readSize))
		copy(grown, w.in[w.at:])
		w.in, w.at = grown, 0
	}
	for {
		n, err := unix.Read(w.sock, w.in[len(w.in):cap(w.in)])
		if err == unix.EINTR {
			continue
		}
		if n > 0 {
			w.in = w.in[:len(w.in)+n]
			return n, nil
		}
		if err == nil {
			return 0, io.EOF
		}
		return 0, err
	}
}

// readRest reads what a process that has ended has left in the socket. It
// returns how much there was.
func (w *Worker) readRest() int {
	n, _ := w.read()
	return max(n, 0)
}

// write sends what waits, as far as the socket takes it. An error is kept: it
// means that the worker is going, and Wait will tell how.
func (w *Worker) write() {
	for len(w.out) > 0 {
		n, err := unix.Write(w.sock, w.out)
		if n > 0 {
			w.out = w.out[n:]
		}
		switch err {
		case nil, unix.EINTR:
		case unix.EAGAIN:
			return
		default:
			w.writeErr, w.out = err, nil
		}
	}
	if cap(w.out) > keepBuffer {
		w.out = nil
	}
	w.out = w.out[:0]
}

// Places of the descriptors among those polled.
const (
	onSocket = iota
	onWake
	onEnd
	onStdout
	onStderr
)

// poll waits until something happens. It moves what can be moved, and tells
// whether Wake was called and whether the process is over.
func (w *Worker) poll() (woken, over bool, err error) {
	events := int16(unix.POLLIN)
	if len(w.out) > 0 {
		events |= unix.POLLOUT
	}
	w.polled = append(w.polled[:0],
		unix.PollFd{Fd: int32(w.sock), Events: events},
		unix.PollFd{Fd: int32(w.wakeFD), Events: unix.POLLIN},
		unix.PollFd{Fd: int32(w.proc.endFD()), Events: unix.POLLIN},
		unix.PollFd{Fd: int32(w.pipes[0].fd), Events: unix.POLLIN},
		unix.PollFd{Fd: int32(w.pipes[1].fd), Events: unix.POLLIN})
	for {
		_, err := unix.Poll(w.polled, -1)
		if err == nil {
			break
		}
		if err != unix.EINTR {
			return false, false, os.NewSyscallError("poll", err)
		}
	}
	if w.polled[onSocket].Revents&unix.POLLOUT != 0 {
		w.write()
	}
	if w.polled[onWake].Revents != 0 {
		var buf [64]byte
		unix.Read(w.wakeFD, buf[:])
		woken = true
	}
	for i := range w.pipes {
		if w.polled[onStdout+i].Revents != 0 {
			w.drainPipe(&w.pipes[i])
		}
	}
	return woken, w.polled[onEnd].Revents != 0, nil
}

// stream is the read end of a pipe on the worker's descriptor 1 or 2; fd is
// -1, which poll ignores, once it is at its end.
type stream struct {
	fd   int
	name string
}

// drainPipe passes on what the pipe holds, at most one buffer of it: the
// socket must get its turn.
func (w *Worker) drainPipe(s *stream) {
	var buf [64 << 10]byte
	n, err := unix.Read(s.fd, buf[:])
	if n > 0 {
		running := w.page.running(nil)
		for i := range running {
			running[i].Attempt = 0 // the page does not say which
		}
		w.output(batch.Output{Stream: s.name, Items: running, Data: buf[:n]})
		return
	}
	if n == 0 || (err != unix.EAGAIN && err != unix.EINTR) {
		unix.Close(s.fd)
		s.fd = -1
	}
}

// goodbyeGrace is how long a worker may take to leave after its last word:
// handlers of the user's run then, threads of theirs are waited for.
const goodbyeGrace = 5 * time.Second

// end collects a worker that has ended or closed its socket, and says how it
// came about: io.EOF for the end that was asked for, else a *Death.
func (w *Worker) end() error {
	d := &Death{}
	if !w.exited(goodbyeGrace) {
		if !w.sayBye {
			d.Cause = "it closed its socket and went on; poolwise ended it"
		}
		w.signalGroup()
	}
	w.exited(-1)
	d.Running = w.page.running(nil)
	for i := range w.pipes {
		w.drainAll(&w.pipes[i])
	}
	w.signalGroup() // what it started and left behind
	w.mu.Lock()
	w.ended, d.Killed = true, w.killed
	w.mu.Unlock()
	status, usage := w.proc.reap()
	w.proc = nil
	d.Exit, d.PeakRSS, d.LastWords = status.ExitStatus(), peakRSS(usage), w.words.text()
	if status.Signaled() {
		d.Exit, d.Signal = -1, status.Signal()
	}
	w.release()
	w.state = gone
	if w.sayBye && !d.Killed {
		return io.EOF
	}
	w.explain(d)
	return d
}

func (w *Worker) explain(d *Death) {
	if d.Exit >= 0 && d.Exit == w.cfg.ChannelLost {
		d.ChannelLost = true
	}
	if w.cfg.Explain != nil && d.Exit >= 0 && d.Cause == "" {
		d.Cause = w.cfg.Explain(d.Exit)
	}
}

// violated ends a worker that broke the protocol, or said that it cannot load
// its task; the error says so.
func (w *Worker) violated(err error) error {
	var start *StartError
	if errors.As(err, &start) {
		w.sayBye = true
		w.end()
		return err
	}
	w.signalGroup()
	w.sayBye = false
	ended := w.end()
	var d *Death
	if errors.As(ended, &d) {
		d.Cause = err.Error()
	}
	return ended
}

// signalGroup kills the process group. The process has not been reaped, so its
// number cannot belong to another.
func (w *Worker) signalGroup() { unix.Kill(-w.proc.pid, unix.SIGKILL) }

// exited waits for the process to end, for ever if the limit is below 0. It
// keeps the pipes flowing meanwhile: a process that cannot write cannot end.
func (w *Worker) exited(limit time.Duration) bool {
	deadline := time.Now().Add(limit)
	for {
		timeout := -1
		if limit >= 0 {
			timeout = int(max(time.Until(deadline).Milliseconds(), 0))
		}
		fds := []unix.PollFd{
			{Fd: int32(w.proc.endFD()), Events: unix.POLLIN},
			{Fd: int32(w.pipes[0].fd), Events: unix.POLLIN},
			{Fd: int32(w.pipes[1].fd), Events: unix.POLLIN},
		}
		n, err := unix.Poll(fds, timeout)
		if err == unix.EINTR {
			continue
		}
		if fds[0].Revents != 0 {
			return true
		}
		if n == 0 || err != nil {
			return false
		}
		for i := range w.pipes {
			if fds[1+i].Revents != 0 {
				w.drainPipe(&w.pipes[i])
			}
		}
	}
}

// drainAll passes on what is left in a pipe, without waiting for more: others
// may hold it open.
func (w *Worker) drainAll(s *stream) {
	for s.fd >= 0 {
		fds := []unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, 0)
		if n == 0 || (err != nil && err != unix.EINTR) {
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
	for _, fd := range []int{w.sock, w.wakeFD, w.pipes[0].fd, w.pipes[1].fd} {
		if fd > 0 {
			unix.Close(fd)
		}
	}
	if w.wakeSend > 0 && w.wakeSend != w.wakeFD {
		unix.Close(w.wakeSend)
	}
	w.sock, w.wakeFD, w.wakeSend, w.pipes[0].fd, w.pipes[1].fd = -1, -1, -1, -1, -1
	if w.page != nil {
		unix.Munmap(w.page.bytes)
		w.page = nil
	}
	w.in, w.out = nil, nil
}

// tail keeps the end of what was written.
type tail struct{ data []byte }

// lastWords is how much of standard error is kept for a message, in bytes.
const lastWords = 2 << 10

func (t *tail) add(data []byte) {
	if len(data) > lastWords {
		data = data[len(data)-lastWords:]
	}
	t.data = append(t.data, data...)
	if over := len(t.data) - lastWords; over > 0 {
		t.data = append(t.data[:0], t.data[over:]...)
	}
}

func (t *tail) text() string { return string(t.data) }
