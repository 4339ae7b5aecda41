package engine

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/internal/proc"
	"github.com/poolwise/poolwise/internal/supervisor"
)

// deathsInARow is how often workers may fail in the same way, without getting
// anywhere, before the run gives up: respawning for ever helps nobody.
const deathsInARow = 3

// bury charges the items that a dead worker was running with the attempt. What
// it held besides is left to be handed out again. It returns how many it has
// charged.
func (l *lane) bury(d *supervisor.Death) int {
	charged := l.charged(d)
	now := proc.Now()
	for _, c := range charged {
		l.drop(c.Index)
		if err := l.recordEnd(c.item, batch.Killed, c.Since, now, deathFailure(d)); err != nil {
			return len(charged)
		}
	}
	switch {
	case len(charged) > 0:
		l.barren = 0
	case l.held > 0:
		l.barren++
	}
	l.run.note("worker %d %v; it is replaced%s", l.number, d, costs(charged))
	if d.ChannelLost && len(charged) == 0 {
		// One of those that it held has closed the socket: each runs alone now.
		l.alone = true
		return 0
	}
	l.alone = false
	if l.barren >= deathsInARow {
		l.run.abort(fmt.Errorf("worker %d died %d times in a row without running any item: %w%s", l.number, l.barren, d, lastWords(d)))
	}
	return len(charged)
}

// lastWords is what a dead worker wrote last, for a message.
func lastWords(d *supervisor.Death) string {
	if d.LastWords == "" {
		return ""
	}
	return "\nits last words:\n  " + strings.ReplaceAll(strings.TrimSpace(d.LastWords), "\n", "\n  ")
}

type chargedItem struct {
	batch.Running
	item batch.Item
}

// charged returns the items that the death is charged to: those that the page
// shows as running. When the worker left because its socket was closed, the
// page shows a later item than the one that did it, unless it held only one.
func (l *lane) charged(d *supervisor.Death) []chargedItem {
	if d.ChannelLost && l.held > 1 {
		return nil
	}
	running := d.Running
	if d.ChannelLost && len(running) == 0 {
		for _, it := range l.unfinished() {
			running = append(running, batch.Running{Index: it.Index, Since: proc.Now()})
		}
	}
	var charged []chargedItem
	for _, r := range running {
		for _, h := range l.hands {
			if at := h.find(r.Index); at >= 0 && h.items[at].Attempt != 0 {
				charged = append(charged, chargedItem{r, h.items[at]})
			}
		}
	}
	return charged
}

// drop takes an item out of what is held.
func (l *lane) drop(index uint64) {
	for _, h := range l.hands {
		if at := h.find(index); at >= 0 && h.items[at].Attempt != 0 {
			h.items[at].Attempt = 0
			l.held--
			return
		}
	}
}

func costs(charged []chargedItem) string {
	if len(charged) == 0 {
		return ", no item is lost"
	}
	names := make([]string, len(charged))
	for i, c := range charged {
		names[i] = fmt.Sprint(c.Index)
	}
	if len(names) == 1 {
		return ", running item " + names[0]
	}
	return ", running items " + strings.Join(names, ", ")
}

// deathFailure says how an item's worker died.
func deathFailure(d *supervisor.Death) batch.Failure {
	f := batch.Failure{Type: "WorkerDied", Message: d.Error(), Traceback: d.LastWords}
	if d.Exit < 0 && d.Signal == syscall.SIGKILL && !d.Ended {
		f.Message += fmt.Sprintf(" (out of memory? its largest memory was %d MiB)", d.PeakRSS>>20)
	}
	return f
}

// startFailures counts failed starts in a row.
type startFailures struct {
	sync.Mutex
	n int
}

// startFailed deals with a worker that did not start. It reports whether the
// run is over for it: at once when the task cannot be loaded, which another
// start would not change, and else after the third time.
func (r *Run) startFailed(err error) bool {
	if r.stopping.Load() || r.feed.over() {
		return true
	}
	r.starts.Lock()
	r.starts.n++
	n := r.starts.n
	r.starts.Unlock()
	var start *supervisor.StartError
	if errors.As(err, &start) && start.Cannot == nil && n < deathsInARow {
		return false
	}
	r.abort(err)
	return true
}

func (r *Run) startWorked() {
	r.starts.Lock()
	r.starts.n = 0
	r.starts.Unlock()
}

// abort ends the run because it cannot go on. Running items are not waited for.
func (r *Run) abort(err error) {
	r.mu.Lock()
	if r.err == nil {
		r.err = err
	}
	r.mu.Unlock()
	r.Kill()
}
