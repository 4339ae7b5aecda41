//go:build linux || darwin

// Package supervisor starts one worker process and keeps it: handshake,
// frames, what it prints, its end and how it came about.
package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/internal/wire"
)

// Config says what to start.
type Config struct {
	// Number tells workers of a run apart, in logs and messages.
	Number int
	// Command is the argument vector; its first element is a path.
	Command []string
	Env     []string
	Dir     string
	Load    wire.LoadBody
	// MaxFrame is the largest body of a frame that is accepted, in bytes.
	MaxFrame int64
	// Output receives what the worker's process writes; see batch.Output. It
	// is called from the worker's goroutine.
	Output func(batch.Output)
	// Explain turns an exit status that the worker's language has given a
	// meaning into words; "" for any other. It may be nil.
	Explain func(exit int) string
	// ChannelLost is the exit status by which the worker says that its socket
	// was closed under it.
	ChannelLost int
}

// A Worker is one process that runs chunks. It implements engine.Worker.
type Worker struct {
	cfg   Config
	proc  *process
	page  *page
	hello wire.HelloBody
	ready wire.ReadyBody

	sock             int
	wakeFD, wakeSend int
	pipes            [2]stream // stdout, stderr

	in       []byte // what was read; in[at:] is not yet cut into frames
	at       int
	out      []byte // what waits to be written
	results  wire.Results
	polled   []unix.PollFd
	state    state
	sayBye   bool // the worker has said that nothing follows
	words    tail // the end of standard error
	writeErr error

	mu     sync.Mutex // guards what other goroutines may use after the end
	ended  bool
	killed bool
}

type state uint8

const (
	starting state = iota
	serving
	draining
	gone
)

const (
	readSize = 256 << 10
	// Buffers beyond this are given back once they are empty.
	keepBuffer = 4 << 20
)

// Start starts a worker and returns when it is ready to take chunks. The error
// is a *StartError when the worker could not load its task or died, or that of
// the context, when it ended first; nothing is left running then.
func Start(ctx context.Context, cfg Config) (*Worker, error) {
	w, err := spawn(cfg)
	if err != nil {
		return nil, &StartError{Interpreter: cfg.Command[0], Err: err}
	}
	stop := context.AfterFunc(ctx, w.Kill)
	defer stop()
	for w.state == starting {
		if _, err = w.Wait(); err != nil {
			break
		}
	}
	var start *StartError
	switch {
	case err == nil:
		return w, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.As(err, &start):
		return nil, err
	}
	return nil, &StartError{Interpreter: cfg.Command[0], Err: err}
}

func spawn(cfg Config) (_ *Worker, err error) {
	w := &Worker{cfg: cfg, sock: -1, wakeFD: -1, wakeSend: -1}
	var theirs []int // what the child gets, closed here afterwards
	defer func() {
		for _, fd := range theirs {
			unix.Close(fd)
		}
		if err != nil {
			w.release()
		}
	}()
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: os.DevNull, Err: err}
	}
	theirs = append(theirs, null)
	for i := range w.pipes {
		read, write, err := pipe()
		if err != nil {
			return nil, err
		}
		theirs = append(theirs, write)
		w.pipes[i] = stream{fd: read, name: [...]string{"stdout", "stderr"}[i]}
	}
	ours, sock, err := socketPair()
	if err != nil {
		return nil, err
	}
	w.sock, theirs = ours, append(theirs, sock)
	pageFD, err := w.mapPage()
	if err != nil {
		return nil, err
	}
	theirs = append(theirs, pageFD)
	if w.wakeFD, w.wakeSend, err = makeWaker(); err != nil {
		return nil, err
	}
	files := make([]uintptr, len(theirs))
	for i, fd := range theirs {
		files[i] = uintptr(fd)
	}
	w.proc, err = startProcess(cfg.Command, &syscall.ProcAttr{Dir: cfg.Dir, Env: cfg.Env, Files: files})
	if err != nil {
		w.proc = nil
		return nil, &os.PathError{Op: "start", Path: cfg.Command[0], Err: err}
	}
	body, err := json.Marshal(cfg.Load)
	if err != nil {
		return nil, err
	}
	w.out = wire.AppendFrame(w.out, wire.Load, body)
	return w, nil
}

// mapPage makes the page and returns its descriptor for the child.
func (w *Worker) mapPage() (int, error) {
	size := pageSize(w.cfg.Load.Slots)
	fd, err := makePage(size)
	if err != nil {
		return -1, err
	}
	mapping, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		unix.Close(fd)
		return -1, os.NewSyscallError("mmap", err)
	}
	w.page = newPage(mapping, w.cfg.Load.Slots)
	return fd, nil
}

// PID returns the process id.
func (w *Worker) PID() int { return w.proc.pid }

// Hello returns what the worker said of its runtime.
func (w *Worker) Hello() wire.HelloBody { return w.hello }

// Ready returns what the worker said of its start.
func (w *Worker) Ready() wire.ReadyBody { return w.ready }

// Submit queues a chunk and sends as much as the worker takes at once.
func (w *Worker) Submit(chunk []batch.Item) error {
	if w.state != serving {
		return errors.New("the worker takes no more items")
	}
	w.out = wire.AppendChunk(w.out, chunk)
	w.write()
	return w.writeErr
}

// Drain asks the worker to finish what it runs, and to go.
func (w *Worker) Drain() {
	if w.state != serving {
		return
	}
	w.state = draining
	w.page.stop()
	w.out = wire.AppendHeader(w.out, wire.Drain, 0)
	w.write()
}

// Wake makes Wait return.
func (w *Worker) Wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ended {
		one := [8]byte{1}
		unix.Write(w.wakeSend, one[:]) // full means that it is awake already
	}
}

// Kill ends the process and its group.
func (w *Worker) Kill() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ended {
		w.killed = true
		unix.Kill(-w.proc.pid, unix.SIGKILL)
	}
}

// Running appends what the worker's slots have in hand.
func (w *Worker) Running(buf []batch.Running) []batch.Running {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return buf
	}
	return w.page.running(buf)
}

// Wait is described at engine.Worker.
func (w *Worker) Wait() ([]batch.Result, error) {
	if w.state == gone {
		return nil, io.EOF
	}
	w.compact()
	w.results.Reset()
	for {
		before := w.state
		if err := w.cut(); err != nil {
			return nil, w.violated(err)
		}
		if got := w.results.All(); len(got) > 0 {
			return got, nil
		}
		if w.state != before {
			return nil, nil // ready
		}
		n, err := w.read()
		if n > 0 {
			continue
		}
		if !errors.Is(err, unix.EAGAIN) && err != nil {
			return nil, w.end()
		}
		woken, over, err := w.poll()
		if err != nil {
			return nil, w.violated(err)
		}
		if over && w.readRest() == 0 {
			return nil, w.end()
		}
		if woken {
			return nil, nil
		}
	}
}

// cut takes all whole frames out of what was read.
func (w *Worker) cut() error {
	for {
		kind, body, rest, ok, err := wire.Cut(w.in[w.at:], w.cfg.MaxFrame)
		if err != nil {
			return err
		}
		if !ok {
			return nil
		}
		w.at = len(w.in) - len(rest)
		if err := w.frame(kind, body); err != nil {
			return err
		}
	}
}

// frame handles one frame; frames of a type that is not known are skipped.
func (w *Worker) frame(kind wire.Type, body []byte) error {
	switch kind {
	case wire.Result:
		return w.results.Parse(body)
	case wire.Output:
		out, err := wire.ParseOutput(body)
		if err == nil {
			w.output(out)
		}
		return err
	case wire.Hello:
		if err := json.Unmarshal(body, &w.hello); err != nil {
			return fmt.Errorf("hello frame: %w", err)
		}
		if w.hello.Protocol != wire.Protocol {
			return fmt.Errorf("the worker speaks version %d of the protocol, poolwise %d", w.hello.Protocol, wire.Protocol)
		}
	case wire.Ready:
		if err := json.Unmarshal(body, &w.ready); err != nil {
			return fmt.Errorf("ready frame: %w", err)
		}
		w.state = serving
	case wire.Cannot:
		cannot := new(wire.CannotBody)
		if err := json.Unmarshal(body, cannot); err != nil {
			return fmt.Errorf("cannot frame: %w", err)
		}
		return &StartError{Cannot: cannot, Interpreter: w.cfg.Command[0]}
	case wire.Bye:
		w.sayBye = true
	}
	return nil
}

func (w *Worker) output(out batch.Output) {
	out.Worker = w.cfg.Number
	if out.Stream == "stderr" {
		w.words.add(out.Data)
	}
	if w.cfg.Output != nil && len(out.Data) > 0 {
		w.cfg.Output(out)
	}
}
