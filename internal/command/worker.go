//go:build linux || darwin

package command

import (
	"encoding/json"
	"io"
	"os"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/internal/guardian"
	"github.com/poolwise/poolwise/internal/proc"
	"github.com/poolwise/poolwise/internal/supervisor"
)

// WorkerConfig is all that a worker needs.
type WorkerConfig struct {
	Number   int
	Template *Template
	Env      []string
	Dir      string
	// RunDir is where standard output that is too large for memory is kept.
	RunDir string
	// Output receives what commands write to standard error.
	Output func(batch.Output)
	// Note is told of processes that a command left behind; it may be nil.
	Note func(text string)
	// Guardian finds them; it may be nil.
	Guardian *guardian.Guardian
}

// A Worker runs commands, one at a time. It implements engine.Worker: Wait
// runs the next of the submitted items.
type Worker struct {
	cfg   WorkerConfig
	null  int
	waker *proc.Waker
	queue []batch.Item
	child *child
	buf   []byte
	gone  bool

	results [1]batch.Result
	value   []byte

	mu       sync.Mutex // guards what follows
	ended    bool
	killed   bool
	draining bool
	running  *batch.Running
	pid      int // of the running command's process group; 0 for none
}

// readSize is how much is read from a pipe at once: what a pipe holds.
const readSize = 64 << 10

// Start makes a worker. Nothing is started before there is an item.
func Start(cfg WorkerConfig) (*Worker, error) {
	null, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: os.DevNull, Err: err}
	}
	waker, err := proc.NewWaker()
	if err != nil {
		unix.Close(null)
		return nil, err
	}
	return &Worker{cfg: cfg, null: null, waker: waker, buf: make([]byte, readSize)}, nil
}

// Submit queues a chunk.
func (w *Worker) Submit(chunk []batch.Item) error {
	w.queue = append(w.queue, chunk...)
	return nil
}

// Wake makes Wait return.
func (w *Worker) Wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ended {
		w.waker.Wake()
	}
}

// Drain starts no further item.
func (w *Worker) Drain() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.draining = true
}

// Kill ends the running command, with its process group, and the worker.
func (w *Worker) Kill() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	w.killed = true
	if w.pid != 0 {
		unix.Kill(-w.pid, unix.SIGKILL)
	}
	w.waker.Wake()
}

// Running appends the item in hand.
func (w *Worker) Running(buf []batch.Running) []batch.Running {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running != nil {
		buf = append(buf, *w.running)
	}
	return buf
}

// PID returns the process id of the running command, 0 when there is none.
func (w *Worker) PID() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pid
}

// state returns what other goroutines have asked for.
func (w *Worker) state() (killed, draining bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.killed, w.draining
}

// Wait is described at engine.Worker.
func (w *Worker) Wait() ([]batch.Result, error) {
	if w.gone {
		return nil, io.EOF
	}
	for {
		killed, draining := w.state()
		switch {
		case w.child == nil && killed:
			return nil, w.end(&supervisor.Death{Exit: -1, Signal: syscall.SIGKILL, Killed: true})
		case w.child == nil && draining:
			return nil, w.end(io.EOF)
		case w.child == nil && len(w.queue) > 0:
			if res := w.begin(); res != nil {
				return res, nil
			}
		}
		woken, err := w.poll()
		if err != nil {
			return nil, w.end(err)
		}
		if c := w.child; c != nil && c.over() {
			res, err := w.finish()
			if killed, _ := w.state(); killed {
				d := &supervisor.Death{Exit: -1, Signal: syscall.SIGKILL, Killed: true}
				d.Running = []batch.Running{{Index: c.item.Index, Attempt: c.item.Attempt, Since: c.start}}
				return nil, w.end(d)
			}
			return res, err
		}
		if woken {
			if killed, _ := w.state(); !killed {
				return nil, nil
			}
		}
	}
}

// begin starts the command of the next item. When that is not possible it
// returns the item's result.
func (w *Worker) begin() []batch.Result {
	it := w.queue[0]
	w.queue = w.queue[1:]
	start := proc.Now()
	path, argv, stdin, err := w.cfg.Template.Expand(&it)
	if err == nil {
		w.child, err = w.spawn(it, path, argv, stdin)
	}
	if err != nil {
		f, ok := err.(*batch.Failure)
		if !ok {
			f = startFailure(argv[0], err)
		}
		return w.result(batch.Result{
			Index: it.Index, Attempt: it.Attempt, Status: batch.Failed, Start: start, End: proc.Now(), Error: failureJSON(f),
		})
	}
	w.child.start = start
	w.mu.Lock()
	w.running = &batch.Running{Index: it.Index, Attempt: it.Attempt, Since: start}
	w.pid = w.child.proc.PID
	if w.killed {
		unix.Kill(-w.pid, unix.SIGKILL)
	}
	w.mu.Unlock()
	return nil
}

func (w *Worker) result(res batch.Result) []batch.Result {
	w.results[0] = res
	return w.results[:]
}

// spawn starts a command with pipes for its output.
func (w *Worker) spawn(it batch.Item, path string, argv []string, stdin []byte) (*child, error) {
	c := &child{item: it, input: stdin, in: -1, drainUntil: -1}
	theirs := []int{w.null, -1, -1}
	var err error
	defer func() {
		for _, fd := range theirs[1:] {
			closeFD(&fd)
		}
		if theirs[0] != w.null {
			unix.Close(theirs[0])
		}
		if err != nil {
			c.closeAll()
		}
	}()
	for i := range c.out {
		c.out[i] = -1
	}
	for i := range c.out {
		if c.out[i], theirs[1+i], err = proc.Pipe(); err != nil {
			return nil, err
		}
	}
	if len(stdin) > 0 {
		// The child reads the end that blocks, and this side writes without.
		if theirs[0], c.in, err = stdinPipe(); err != nil {
			theirs[0] = w.null
			return nil, err
		}
	}
	files := []uintptr{uintptr(theirs[0]), uintptr(theirs[1]), uintptr(theirs[2])}
	env := append(w.cfg.Env[:len(w.cfg.Env):len(w.cfg.Env)], itemVariable(it.Index),
		"POOLWISE_ATTEMPT="+strconv.FormatUint(uint64(it.Attempt), 10))
	c.proc, err = proc.Start(path, argv, &syscall.ProcAttr{Dir: w.cfg.Dir, Env: env, Files: files})
	return c, err
}

// itemVariable tells a command which item it is run for, and the guardian
// whose child a process is.
func itemVariable(index uint64) string { return "POOLWISE_ITEM_INDEX=" + strconv.FormatUint(index, 10) }

// end releases the worker and returns the reason for which it ended.
func (w *Worker) end(reason error) error {
	w.gone = true
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended, w.running, w.pid = true, nil, 0
	w.waker.Close()
	unix.Close(w.null)
	return reason
}

func failureJSON(f *batch.Failure) []byte {
	text, err := json.Marshal(f)
	if err != nil { // texts always have a form
		return []byte(`{"type":"Error","message":""}`)
	}
	return text
}
