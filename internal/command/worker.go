//go:build linux || darwin

package command

import (
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
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
	// Env is the environment of the commands. For each item there are
	// POOLWISE_ITEM_INDEX and POOLWISE_ATTEMPT besides.
	Env []string
	// Dir is the working directory of the commands.
	Dir string
	// RunDir is where standard output that is too large for memory is kept.
	RunDir string
	// Output receives what commands write to standard error; it may be nil.
	Output func(batch.Output)
	// Note is told of processes that a command left behind; it may be nil.
	Note func(text string)
	// Guardian finds them; it may be nil. Its cookie must be in Env.
	Guardian *guardian.Guardian
}

// A Worker runs commands, one at a time. It implements engine.Worker: Submit
// starts an item if none is running, and Wait sees it to its end.
//
// What a command leaves running when it ends is left alone until the run ends:
// ending it at once would end servers that one item starts for the next. It is
// named in a note, and ended by Guardian.Close.
type Worker struct {
	cfg    WorkerConfig
	env    []string // of the commands; the last two are set for each item
	null   int
	waker  *proc.Waker
	place  *guardian.Place
	queue  []batch.Item
	child  *child
	buf    []byte
	locked bool // to the thread that starts the commands
	gone   bool
	noted  int // items that left something behind

	results [1]batch.Result
	value   []byte
	failed  []batch.Result // of an item that could not be started, until Wait

	mu       sync.Mutex // guards what follows
	ended    bool
	killed   bool
	draining bool
	running  batch.Running
	pid      int // of the running command, the leader of its group; 0 for none
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
	w := &Worker{cfg: cfg, env: itemEnv(cfg.Env), null: null, waker: waker, buf: make([]byte, readSize)}
	if cfg.Guardian != nil {
		w.place = cfg.Guardian.Place()
	}
	return w, nil
}

const (
	indexVariable   = "POOLWISE_ITEM_INDEX="
	attemptVariable = "POOLWISE_ATTEMPT="
)

// itemEnv makes room for the two variables of an item. Those of a poolwise
// around this one go: of two, most programs see the first.
func itemEnv(env []string) []string {
	own := make([]string, 0, len(env)+2)
	for _, entry := range env {
		if !strings.HasPrefix(entry, indexVariable) && !strings.HasPrefix(entry, attemptVariable) {
			own = append(own, entry)
		}
	}
	return append(own, indexVariable, attemptVariable)
}

// What Submit returns when there is nobody to run the items.
var (
	errEnded   = errors.New("the worker has ended")
	errLeaving = errors.New("the worker starts nothing more")
)

// Submit queues a chunk, and starts its first item if none is running.
func (w *Worker) Submit(chunk []batch.Item) error {
	if w.gone {
		return errEnded
	}
	if _, draining := w.state(); draining {
		return errLeaving
	}
	w.queue = append(w.queue, chunk...)
	if w.child == nil && w.failed == nil {
		w.failed = w.next()
	}
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

// Kill ends the running command with its process group, and the worker. What
// has left the group is ended by Wait, before it tells of the death.
func (w *Worker) Kill() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	w.killed = true
	w.killGroup()
	w.waker.Wake()
}

// killGroup ends the running command; the caller holds the lock. The number is
// not another's: it is forgotten before the command is waited for.
func (w *Worker) killGroup() {
	if w.pid != 0 {
		unix.Kill(-w.pid, unix.SIGKILL)
	}
}

// Running appends the item in hand.
func (w *Worker) Running(buf []batch.Running) []batch.Running {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pid != 0 {
		buf = append(buf, w.running)
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
		if res, err := w.advance(); res != nil || err != nil {
			return res, err
		}
		woken, err := w.poll()
		if err != nil {
			w.abandon()
			return nil, w.end(err)
		}
		if w.child != nil && w.child.over() {
			return w.finish()
		}
		if killed, _ := w.state(); woken && !killed {
			return nil, nil
		}
	}
}

// advance does what there is to do before waiting for something. It returns
// the result of an item that could not be started, or the worker's end.
func (w *Worker) advance() ([]batch.Result, error) {
	if res := w.failed; res != nil {
		w.failed = nil
		return res, nil
	}
	if w.child != nil {
		return nil, nil
	}
	switch killed, draining := w.state(); {
	case killed:
		return nil, w.end(&supervisor.Death{Exit: -1, Signal: syscall.SIGKILL, Killed: true})
	case draining:
		return nil, w.end(io.EOF)
	}
	return w.next(), nil
}

// next starts the next item, if there is one. It returns the item's result
// when it could not be started.
func (w *Worker) next() []batch.Result {
	if len(w.queue) == 0 {
		return nil
	}
	if !w.locked {
		// The system ends a command with the thread that started it.
		runtime.LockOSThread()
		w.locked = true
	}
	it := w.queue[0]
	w.queue[0] = batch.Item{} // its bytes are not needed for longer than it runs
	w.queue = w.queue[1:]
	return w.begin(it)
}

// setRunning tells other goroutines of the command that has started.
func (w *Worker) setRunning(c *child) {
	w.place.Note(c.proc.PID)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running, w.pid = c.running(), c.proc.PID
	if w.killed {
		w.killGroup()
	}
}

// clearRunning forgets the command, which is to be waited for. It reports
// whether it was killed.
func (w *Worker) clearRunning() bool {
	w.place.Note(0)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pid = 0
	return w.killed
}

// end releases the worker and returns the reason for which it ended.
func (w *Worker) end(reason error) error {
	w.gone, w.queue = true, nil
	w.place.Release()
	if w.locked {
		runtime.UnlockOSThread()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	w.waker.Close()
	unix.Close(w.null)
	return reason
}
