//go:build linux || darwin

package supervisor_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/internal/supervisor"
	"github.com/poolwise/poolwise/internal/workertest"
)

// kind is a kind of Python worker; def begins a function of it.
type kind struct {
	name, def string
	slots     int
}

// task returns a module whose f has this body, and else returns its item.
func (k kind) task(body string) string {
	const imports = "import asyncio, ctypes, logging, os, signal, subprocess, sys, threading, time\n"
	body = strings.ReplaceAll(body, "\n", "\n  ")
	return imports + k.def + "\n  " + body + "\n  return x if x != 'die' else None\n"
}

var (
	serial  = kind{"serial", "def f(x):", 1}
	threads = kind{"threads", "def f(x):", 2}
	async   = kind{"async", "async def f(x):", 2}
	kinds   = []kind{serial, threads, async}
)

// mostKinds is for long tables; a short run tries them on one kind.
func mostKinds() []kind {
	if testing.Short() {
		return kinds[:1]
	}
	return kinds
}

// worker is a Python worker under test, and what it has told.
type worker struct {
	*supervisor.Worker
	t       *testing.T
	answers map[uint64]string
	output  []batch.Output
	err     error // by which it ended
}

// startTask starts a worker whose task has this body.
func startTask(t *testing.T, k kind, body string) *worker {
	t.Helper()
	return startSource(t, k, k.task(body))
}

// startSource starts a worker that runs f of this module.
func startSource(t *testing.T, k kind, source string) *worker {
	t.Helper()
	workertest.NothingLeft(t)
	w := &worker{t: t, answers: map[uint64]string{}}
	cfg := pythonConfig(writeFile(t, "tasks.py", source), "f", k.name, k.slots, w.keep)
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

func (w *worker) keep(out batch.Output) {
	out.Data = slices.Clone(out.Data)
	w.output = append(w.output, out)
}

func item(index uint64, text string) batch.Item {
	return batch.Item{Index: index, Attempt: 1, Data: []byte(text)}
}

// run submits a chunk and waits until all of it is answered, or the end.
func (w *worker) run(chunk ...batch.Item) {
	want := len(w.answers) + len(chunk)
	if err := w.Submit(chunk); err != nil {
		w.t.Fatal(err)
	}
	for w.err == nil && len(w.answers) < want {
		w.wait()
	}
}

// hang bounds a Wait that should have returned long ago.
const hang = 20 * time.Second

func (w *worker) wait() {
	w.t.Helper()
	watch := time.AfterFunc(hang, func() {
		w.t.Error("Wait hangs")
		w.Kill()
	})
	results, err := w.Wait()
	watch.Stop()
	w.err = err
	for _, r := range results {
		if _, twice := w.answers[r.Index]; twice {
			w.t.Errorf("item %d is answered twice", r.Index)
		}
		w.answers[r.Index] = describe(w.t, r)
	}
}

// finish waits for the end.
func (w *worker) finish() {
	for w.err == nil {
		w.wait()
	}
}

func (w *worker) drain() {
	w.t.Helper()
	began := time.Now()
	w.Drain()
	w.finish()
	if w.err != io.EOF {
		w.t.Errorf("drained, the worker ends with %v", w.err)
	}
	if took := time.Since(began); took > 4*time.Second {
		w.t.Errorf("to drain took %v", took)
	}
}

func describe(t *testing.T, r batch.Result) string {
	if r.Status == batch.OK {
		return "ok: " + string(r.Value)
	}
	f := failureOf(t, r.Error)
	return r.Status.String() + ": " + f.Error()
}

func (w *worker) told(index uint64) string { return w.answers[index] }

// obituary says how the worker died, when only this item was to be run.
func (w *worker) obituary(only uint64) string {
	w.t.Helper()
	var d *supervisor.Death
	if !errors.As(w.err, &d) {
		return fmt.Sprintf("ended: %v", w.err)
	}
	if d.Killed || d.Ended || d.ChannelLost != (d.Exit == 87) || (d.Exit < 0) != (d.Signal > 0) {
		w.t.Errorf("an odd death: %+v", d)
	}
	hand := indexesOf(d.Running)
	if d.ChannelLost && len(hand) == 0 {
		hand = []uint64{only} // it may have noticed after the item
	}
	return fmt.Sprintf("died: %v; in hand %v", d, hand)
}

func indexesOf(running []batch.Running) []uint64 {
	var all []uint64
	for _, r := range running {
		all = append(all, r.Index)
	}
	slices.Sort(all)
	return all
}

// idle waits until no item is in hand.
func (w *worker) idle() {
	w.t.Helper()
	for deadline := time.Now().Add(hang); len(w.Running(nil)) > 0; {
		if time.Now().After(deadline) {
			w.t.Fatalf("in hand are %v", w.Running(nil))
		}
		time.Sleep(time.Millisecond) // a page has no event
	}
}

// death waits for the death.
func (w *worker) death() *supervisor.Death {
	w.t.Helper()
	w.finish()
	var d *supervisor.Death
	if !errors.As(w.err, &d) {
		w.t.Fatalf("the worker ends with %v, want a death", w.err)
	}
	return d
}

// printed returns what these items, and no others, are said to have printed.
func (w *worker) printed(stream string, by ...uint64) string {
	var text []byte
	for _, out := range w.output {
		if out.Stream == stream && slices.Equal(indexesOf(out.Items), by) {
			text = append(text, out.Data...)
		}
	}
	return string(text)
}

// items makes first attempts of these texts, numbered from 0.
func items(texts ...string) []batch.Item {
	var chunk []batch.Item
	for i, text := range texts {
		chunk = append(chunk, item(uint64(i), text))
	}
	return chunk
}
