//go:build linux || darwin

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
	"time"

	"golang.org/x/sys/unix"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/internal/proc"
	"github.com/poolwise/poolwise/internal/wire"
)

// A Worker is one process that runs chunks. It implements engine.Worker.
type Worker struct {
	cfg   Config
	pid   int
	proc  *proc.Process
	page  *page
	hello wire.HelloBody
	ready wire.ReadyBody

	spawned time.Time // when the process had been made
	started StartTimes

	sock  int
	waker *proc.Waker
	pipes [2]stream // stdout, stderr

	in       []byte // what was read; in[at:] is not yet cut into frames
	at       int
	out      []byte // what is to be written; out[sent:] waits for it
	sent     int
	scratch  []byte // for what the pipes hold
	results  wire.Results
	polled   []unix.PollFd
	state    state
	leaveBy  time.Time // set once the worker has said that nothing follows
	words    tail      // the end of standard error
	writeErr error

	mu       sync.Mutex // guards what other goroutines may use
	ended    bool
	killed   bool
	measured *wire.MeasuredBody // never changed, only replaced
}

// errGoing is the answer to who hands something to a worker that is not serving.
var errGoing = errors.New("the worker takes no more items")

type state uint8

const (
	starting state = iota
	serving
	draining
	gone
)

// Start starts a worker and returns when it is ready to take chunks. The error
// is a *StartError when the worker could not load its task or died, or that of
// the context, when it ended first; nothing is left running then.
func Start(ctx context.Context, cfg Config) (*Worker, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	w, err := spawn(cfg)
	if err != nil {
		return nil, &StartError{Interpreter: cfg.Command[0], Err: err}
	}
	stop := context.AfterFunc(ctx, w.Kill)
	for w.state == starting && err == nil {
		_, err = w.Wait()
	}
	if !stop() { // it is being killed, if it has not ended by itself
		for err == nil {
			_, err = w.Wait()
		}
		return nil, context.Cause(ctx)
	}
	var start *StartError
	switch {
	case err == nil:
		return w, nil
	case errors.As(err, &start):
		return nil, err
	}
	d, died := err.(*Death)
	return nil, &StartError{Interpreter: cfg.Command[0], Err: err, Mute: died && w.hello.Protocol == 0 && d.Cause == ""}
}

// spawn starts the process and leaves the load frame to be written. When it
// fails it has given back all that it took.
func spawn(cfg Config) (*Worker, error) {
	began := time.Now()
	load, err := json.Marshal(cfg.Load)
	if err != nil {
		return nil, err
	}
	w := &Worker{cfg: cfg, sock: -1}
	w.pipes = [2]stream{{fd: -1, name: "stdout"}, {fd: -1, name: "stderr"}}
	w.out = wire.AppendFrame(w.out, wire.Load, load)
	theirs, err := w.connect()
	if err == nil {
		err = w.exec(theirs)
	}
	closeAll(theirs)
	if err != nil {
		w.release()
		return nil, err
	}
	w.spawned = time.Now()
	w.started.Spawn = w.spawned.Sub(began)
	return w, nil
}

// connect makes what joins the worker's process to this one. It returns what
// the child gets, in the order of its descriptors, also with an error.
func (w *Worker) connect() (theirs []uintptr, err error) {
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: os.DevNull, Err: err}
	}
	theirs = append(theirs, uintptr(null))
	for i := range w.pipes {
		read, write, err := proc.Pipe()
		if err != nil {
			return theirs, err
		}
		theirs = append(theirs, uintptr(write))
		w.pipes[i].fd = read
	}
	ours, sock, err := proc.SocketPair()
	if err != nil {
		return theirs, err
	}
	w.sock, theirs = ours, append(theirs, uintptr(sock))
	page, err := w.mapPage()
	if err != nil {
		return theirs, err
	}
	theirs = append(theirs, uintptr(page))
	w.waker, err = proc.NewWaker()
	return theirs, err
}

func (w *Worker) exec(files []uintptr) error {
	p, err := proc.Start(w.cfg.Command[0], w.cfg.Command, &syscall.ProcAttr{Dir: w.cfg.Dir, Env: w.cfg.Env, Files: files})
	if err != nil {
		return &os.PathError{Op: "start", Path: w.cfg.Command[0], Err: err}
	}
	w.proc, w.pid = p, p.PID
	return nil
}

func closeAll(fds []uintptr) {
	for _, fd := range fds {
		unix.Close(int(fd))
	}
}

// mapPage makes the page and returns its descriptor for the child.
func (w *Worker) mapPage() (int, error) {
	capacity := w.cfg.Load.Most()
	size := pageSize(capacity)
	fd, err := makePage(size)
	if err != nil {
		return -1, err
	}
	mapping, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		unix.Close(fd)
		return -1, os.NewSyscallError("mmap", err)
	}
	w.page = newPage(mapping, capacity)
	return fd, nil
}

// PID returns the process id, also after the end.
func (w *Worker) PID() int { return w.pid }

// Hello returns what the worker said of its runtime.
func (w *Worker) Hello() wire.HelloBody { return w.hello }

// Ready returns what the worker said of its start.
func (w *Worker) Ready() wire.ReadyBody { return w.ready }

// Submit queues a chunk and sends as much as the worker takes at once.
func (w *Worker) Submit(chunk []batch.Item) error {
	if w.state != serving {
		return errGoing
	}
	if w.sent > len(w.out)/2 { // else what waits would be moved too often
		w.out = w.out[:copy(w.out, w.out[w.sent:])]
		w.sent = 0
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
		w.waker.Wake()
	}
}

// Kill ends the process and its group.
func (w *Worker) Kill() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ended {
		w.killed = true
		w.signalGroup()
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
	w.results.Reset()
	for {
		if results, told, err := w.take(); told {
			return results, err
		}
		n, err := w.read()
		switch {
		case n > 0:
			if results, told, err := w.take(); told {
				return results, err
			}
		case err != unix.EAGAIN:
			return nil, w.end()
		}
		// Also after a read that told nothing: a worker that prints without
		// end must not keep what else there is to do from being done.
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

// take handles what was read; told says whether Wait has something to return.
// Results that came before a frame that is wrong are told of first; the next
// call meets that frame again.
func (w *Worker) take() (results []batch.Result, told bool, err error) {
	before := w.state
	err = w.cut()
	if results = w.results.All(); len(results) > 0 {
		return results, true, nil
	}
	if err != nil {
		return nil, true, w.violated(err)
	}
	return nil, w.state != before, nil // it is ready
}

// cut takes all whole frames out of what was read.
func (w *Worker) cut() error {
	for {
		kind, body, rest, ok, err := wire.Cut(w.in[w.at:], w.cfg.MaxFrame)
		if err != nil || !ok {
			return err
		}
		if err := w.frame(kind, body); err != nil {
			return err
		}
		w.at = len(w.in) - len(rest)
	}
}

// frame handles one frame; frames of a type that is not known are skipped.
func (w *Worker) frame(kind wire.Type, body []byte) error {
	if !w.expects(kind) {
		return fmt.Errorf("the worker sent a frame of type %d out of turn", kind)
	}
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
		return w.greeted(body)
	case wire.Ready:
		if err := json.Unmarshal(body, &w.ready); err != nil {
			return fmt.Errorf("ready frame: %w", err)
		}
		w.state = serving
		w.timeReady()
	case wire.Cannot:
		cannot := new(wire.CannotBody)
		if err := json.Unmarshal(body, cannot); err != nil {
			return fmt.Errorf("cannot frame: %w", err)
		}
		return &StartError{Cannot: cannot, Interpreter: w.cfg.Command[0]}
	case wire.Measured:
		return w.keepMeasured(body)
	case wire.Bye:
		w.leaveBy = time.Now().Add(goodbyeGrace)
	}
	return nil
}

// expects tells whether a frame makes sense in this state.
func (w *Worker) expects(kind wire.Type) bool {
	greeted := w.hello.Protocol != 0
	switch kind {
	case wire.Result, wire.Measured:
		return w.state != starting
	case wire.Hello:
		return w.state == starting && !greeted
	case wire.Ready, wire.Cannot:
		return w.state == starting && greeted
	case wire.Bye:
		return w.state == draining
	}
	return true
}

func (w *Worker) greeted(body []byte) error {
	if err := json.Unmarshal(body, &w.hello); err != nil {
		return fmt.Errorf("hello frame: %w", err)
	}
	if w.hello.Protocol != wire.Protocol {
		return fmt.Errorf("the worker speaks version %d of the protocol, poolwise %d", w.hello.Protocol, wire.Protocol)
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
