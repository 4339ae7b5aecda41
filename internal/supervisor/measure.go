//go:build linux || darwin

package supervisor

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/poolwise/poolwise/internal/wire"
)

// knockEvery is how often, in the mean, a worker looks whether the GIL is held
// while it measures, unless its load frame says otherwise. A share is known to
// 0.05 after the 400 knocks of 0.4 s, and a task does not feel one in 1 ms.
const knockEvery = time.Millisecond

// Measure has the worker time the CPU of its items too, or not any more, and
// count what Measured tells. It acts on the chunks submitted after it.
func (w *Worker) Measure(on bool) {
	body := wire.MeasureBody{On: on}
	if on {
		body.Measuring = wire.Measuring{KnockNS: int64(knockEvery)}
		if m := w.cfg.Load.Measure; m != nil {
			body.Measuring = *m
		}
	}
	_ = w.tell(wire.Measure, body) // a worker that is going measures nothing
}

// Measured returns what the worker has last told of its counters; false while
// it has told nothing. Any goroutine may call it, also after the end.
func (w *Worker) Measured() (wire.MeasuredBody, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.measured == nil {
		return wire.MeasuredBody{}, false
	}
	return *w.measured, true
}

// keepMeasured takes the body of a measured frame.
func (w *Worker) keepMeasured(body []byte) error {
	m := new(wire.MeasuredBody)
	if err := json.Unmarshal(body, m); err != nil {
		return fmt.Errorf("measured frame: %w", err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.measured = m
	return nil
}

// Slots has the worker run n items at a time, as kind says: serial, processes,
// threads or async, the first two with one slot. Chunks that were submitted
// before may end first in the old way. The error says why the worker cannot; it
// goes on as it was.
func (w *Worker) Slots(kind string, n int) error {
	if err := w.canHave(kind, n); err != nil {
		return err
	}
	return w.tell(wire.Slots, wire.SlotsBody{Kind: kind, Slots: n})
}

func (w *Worker) canHave(kind string, n int) error {
	one := false
	switch kind {
	case "serial", "processes":
		one = true
	case "threads", "async":
	default:
		return fmt.Errorf("there are no slots of kind %q", kind)
	}
	switch most := w.cfg.Load.Most(); {
	case n < 1 || n > most:
		return fmt.Errorf("%d slots are not between 1 and the worker's capacity of %d", n, most)
	case one && n > 1:
		return fmt.Errorf("a worker of kind %s has one slot, not %d", kind, n)
	case w.ready.Async && kind == "threads":
		return errors.New("a coroutine function does not run in threads")
	case !w.ready.Async && kind == "async":
		return errors.New("async slots need a coroutine function")
	}
	return nil
}

// tell sends a frame of JSON to a worker that is serving.
func (w *Worker) tell(kind wire.Type, body any) error {
	if w.state != serving {
		return errGoing
	}
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	w.out = wire.AppendFrame(w.out, kind, text)
	w.write()
	return w.writeErr
}

// StartTimes says how long the parts of a start took; they follow one another,
// and together are the time from Start to ready.
type StartTimes struct {
	// Spawn is the making of the process and of what joins it to poolwise.
	Spawn time.Duration
	// Hello is the start of the runtime, until the task began to be loaded.
	Hello time.Duration
	// Import is the loading of the task, init function included, as the worker
	// has timed it.
	Import time.Duration
	// CPU is the CPU time that the process had taken when it was ready.
	CPU time.Duration
}

// Started returns how the worker's start went.
func (w *Worker) Started() StartTimes { return w.started }

// timeReady completes the times of the start.
func (w *Worker) timeReady() {
	s := &w.started
	since := time.Since(w.spawned)
	s.CPU = time.Duration(w.ready.CPUNS)
	s.Import = min(time.Duration(w.ready.ImportNS), since)
	s.Hello = since - s.Import
}
