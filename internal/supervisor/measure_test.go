//go:build linux || darwin

package supervisor_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/internal/supervisor"
	"github.com/poolwise/poolwise/internal/workertest"
)

// startTunable starts a worker that may get eight slots.
func startTunable(t *testing.T, source string) *worker {
	t.Helper()
	workertest.NothingLeft(t)
	w := &worker{t: t, answers: map[uint64]string{}}
	cfg := pythonConfig(writeFile(t, "tasks.py", source), "f", "serial", 1, w.keep)
	cfg.Load.Capacity = 8
	var err error
	if w.Worker, err = supervisor.Start(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.Kill()
		w.finish()
	})
	return w
}

const meet = `import threading, time
together, most = set(), 0
def f(x):
    global most
    together.add(x)
    most = max(most, len(together))
    time.sleep(0.02)
    together.discard(x)
    return [most, threading.current_thread() is threading.main_thread()]
`

// The slots of a worker change both ways, and no item is run twice or lost.
func TestSlotsChange(t *testing.T) {
	w := startTunable(t, meet)
	next := uint64(0)
	for _, c := range []struct {
		kind  string
		slots int
		want  string // of the last item
	}{
		{"threads", 3, "[3,false]"}, {"threads", 8, "[8,false]"}, {"processes", 1, "[8,true]"}, {"threads", 2, "[8,false]"}, {"serial", 1, "[8,true]"},
	} {
		if err := w.Slots(c.kind, c.slots); err != nil {
			t.Fatal(err)
		}
		var chunk []batch.Item
		for range 3 * c.slots {
			chunk = append(chunk, item(next, fmt.Sprint(next)))
			next++
		}
		w.run(chunk...)
		if got := w.told(next - 1); got != "ok: "+c.want {
			t.Errorf("%s:%d: the last item says %s, want %s", c.kind, c.slots, got, c.want)
		}
	}
	w.drain()
}

// What cannot be is refused with the reason, and the worker goes on as it was.
func TestSlotsThatCannotBe(t *testing.T) {
	w := startTunable(t, meet)
	for _, c := range []struct {
		kind  string
		slots int
		want  string
	}{
		{"threads", 9, "capacity of 8"}, {"threads", 0, "not between 1 and"}, {"processes", 2, "has one slot"},
		{"async", 2, "coroutine function"}, {"interpreters", 2, "no slots of kind"},
	} {
		if err := w.Slots(c.kind, c.slots); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s:%d: %v, want an error that says %q", c.kind, c.slots, err, c.want)
		}
	}
	w.run(item(0, "a"))
	if got := w.told(0); got != "ok: [1,true]" {
		t.Errorf("afterwards an item says %s", got)
	}
	w.drain()
	if err := w.Slots("threads", 2); err == nil {
		t.Error("a worker that has gone takes slots")
	}
}

// A worker that measures tells the CPU time of each item, and what it has counted.
func TestMeasured(t *testing.T) {
	w := startTunable(t, `import time
def f(x):
    until = time.thread_time() + 0.02
    while time.thread_time() < until:
        pass
`)
	if _, told := w.Measured(); told {
		t.Error("it has told of counters before it measured")
	}
	w.run(item(0, "a"))
	w.Measure(true)
	if err := w.Submit(items("b", "c", "d")); err != nil {
		t.Fatal(err)
	}
	for n := 0; n < 3; {
		results, err := w.Wait()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			n++
			if wall := r.End - r.Start; r.CPU < int64(19*time.Millisecond) || r.Process < r.CPU*9/10 || r.CPU > wall*11/10 {
				t.Errorf("item %d took %d ns, %d of CPU, and its process %d", r.Index, wall, r.CPU, r.Process)
			}
		}
	}
	w.drain() // the counters come after the results
	m, told := w.Measured()
	if !told || m.Items != 3 || m.TaskCPUNS < int64(57*time.Millisecond) || m.CPUNS < m.TaskCPUNS || len(m.Warnings) > 0 {
		t.Errorf("it tells %+v, %v", m, told)
	}
	if m.Knocks > 0 && m.Held == 0 {
		t.Errorf("a loop has held the GIL at none of %d knocks", m.Knocks)
	}
	if s := w.Started(); s.Spawn <= 0 || s.Hello <= 0 || s.Import <= 0 || s.CPU <= 0 {
		t.Errorf("its start took %+v", s)
	}
}
