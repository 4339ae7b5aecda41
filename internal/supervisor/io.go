//go:build linux || darwin

package supervisor

import (
	"io"
	"time"

	"golang.org/x/sys/unix"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/internal/proc"
	"github.com/poolwise/poolwise/internal/wire"
)

const (
	// readSize is how much is read at a time: more than a socket holds.
	readSize = 256 << 10
	// pipeSize is how much a pipe holds, usually.
	pipeSize = 64 << 10
	// Buffers beyond this are given back once they are empty.
	keepBuffer = 4 << 20
)

// compact makes room: no result that was given out is in use any more.
func (w *Worker) compact() {
	rest := len(w.in) - w.at
	switch {
	case rest == 0 && cap(w.in) > keepBuffer:
		w.in = nil
	case w.at > 0:
		copy(w.in, w.in[w.at:])
		w.in = w.in[:rest]
	}
	w.at = 0
}

// makeRoom sees to it that something can be read. A frame larger than the
// buffer gets one of its own size, so that its bytes are never moved again.
func (w *Worker) makeRoom() error {
	w.compact()
	need := readSize
	if len(w.in) >= wire.HeaderSize {
		_, size, err := wire.ParseHeader(w.in, w.cfg.MaxFrame)
		if err != nil {
			return err
		}
		need = max(wire.HeaderSize+size-len(w.in), 1)
	}
	if cap(w.in)-len(w.in) < need {
		grown := make([]byte, len(w.in), len(w.in)+max(need, readSize))
		copy(grown, w.in)
		w.in = grown
	}
	return nil
}

// read reads once from the socket, without waiting. It may be called only
// while no results are given out.
func (w *Worker) read() (int, error) {
	if err := w.makeRoom(); err != nil {
		return 0, err
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
	for w.sent < len(w.out) {
		n, err := unix.Write(w.sock, w.out[w.sent:])
		w.sent += max(n, 0)
		switch err {
		case nil, unix.EINTR:
		case unix.EAGAIN:
			return
		default:
			w.writeErr, w.sent = err, len(w.out)
		}
	}
	w.out, w.sent = w.out[:0], 0
	if cap(w.out) > keepBuffer {
		w.out = nil
	}
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
	if w.sent < len(w.out) {
		events |= unix.POLLOUT
	}
	w.polled = append(w.polled[:0],
		unix.PollFd{Fd: int32(w.sock), Events: events},
		unix.PollFd{Fd: int32(w.waker.FD), Events: unix.POLLIN},
		unix.PollFd{Fd: int32(w.proc.EndFD), Events: unix.POLLIN},
		unix.PollFd{Fd: int32(w.pipes[0].fd), Events: unix.POLLIN},
		unix.PollFd{Fd: int32(w.pipes[1].fd), Events: unix.POLLIN})
	if _, err := proc.Poll(w.polled, w.patience()); err != nil {
		return false, false, err
	}
	if w.polled[onSocket].Revents&unix.POLLOUT != 0 {
		w.write()
	}
	if w.polled[onWake].Revents != 0 {
		w.waker.Clear()
		woken = true
	}
	for i := range w.pipes {
		if w.polled[onStdout+i].Revents != 0 {
			w.drainPipe(&w.pipes[i])
		}
	}
	return woken, w.polled[onEnd].Revents != 0, nil
}

// patience is how long to wait, in ms; -1 is for ever. A worker that has said
// goodbye and stays too long is killed.
func (w *Worker) patience() int {
	if w.leaveBy.IsZero() {
		return -1
	}
	left := time.Until(w.leaveBy)
	if left <= 0 {
		w.signalGroup()
		return -1 // its end is certain
	}
	return int(left/time.Millisecond) + 1
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
	if w.scratch == nil {
		w.scratch = make([]byte, pipeSize)
	}
	n, err := unix.Read(s.fd, w.scratch)
	if n > 0 {
		running := w.page.running(nil)
		for i := range running {
			running[i].Attempt = 0 // the page does not say which
		}
		w.output(batch.Output{Stream: s.name, Items: running, Data: w.scratch[:n]})
		return
	}
	if n == 0 || (err != unix.EAGAIN && err != unix.EINTR) {
		unix.Close(s.fd)
		s.fd = -1
	}
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
