//go:build linux || darwin

package workertest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/internal/engine"
	"github.com/poolwise/poolwise/internal/supervisor"
)

// patience is how long anything may take that should take no time. It bounds
// a test that hangs and is no measure of speed.
const patience = 20 * time.Second

// answer is a result that outlives the next Wait.
type answer struct {
	index   uint64
	attempt uint32
	text    string         // of an item that is OK
	failure *batch.Failure // of one that failed
}

// lane is one worker under test, and what it has told so far.
type lane struct {
	t       *testing.T
	kind    Kind
	w       engine.Worker
	output  []batch.Output
	answers []answer
}

// start starts a worker. Everything must be gone again when the test ends.
func start(t *testing.T, k Kind, task Task) *lane {
	t.Helper()
	NothingLeft(t)
	l := &lane{t: t, kind: k}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	w, err := k.Start(ctx, task, l.keep)
	if err != nil {
		t.Fatal(err)
	}
	l.w = w
	t.Cleanup(l.close)
	return l
}

func (l *lane) keep(out batch.Output) {
	out.Data = slices.Clone(out.Data)
	l.output = append(l.output, out)
}

// close ends a worker that a failed test has left.
func (l *lane) close() {
	l.w.Kill()
	for range 1000 {
		if _, err := l.w.Wait(); err != nil {
			return
		}
	}
	l.t.Error("Wait returns no error after Kill")
}

// items makes first attempts of these texts, numbered from first.
func items(first uint64, texts ...string) []batch.Item {
	chunk := make([]batch.Item, len(texts))
	for i, text := range texts {
		chunk[i] = batch.Item{Index: first + uint64(i), Attempt: 1, Data: []byte(text)}
	}
	return chunk
}

func (l *lane) submit(chunk []batch.Item) {
	l.t.Helper()
	if err := l.w.Submit(chunk); err != nil {
		l.t.Fatalf("Submit: %v", err)
	}
}

// wait calls Wait, and ends the test when it does not return in time.
func (l *lane) wait() ([]batch.Result, error) {
	watch := time.AfterFunc(patience, func() {
		l.t.Error("Wait hangs")
		l.w.Kill()
	})
	results, err := l.w.Wait()
	if !watch.Stop() {
		l.t.FailNow()
	}
	l.answers = append(l.answers, l.answersOf(results)...)
	return results, err
}

func (l *lane) answersOf(results []batch.Result) []answer {
	var answers []answer
	for _, r := range results {
		a := answer{index: r.Index, attempt: r.Attempt}
		if r.End < r.Start || r.Start <= 0 {
			l.t.Errorf("item %d ran from %d to %d", r.Index, r.Start, r.End)
		}
		switch r.Status {
		case batch.OK:
			text, err := l.kind.Text(r.Value)
			if err != nil {
				l.t.Errorf("value of item %d: %v", r.Index, err)
			}
			a.text = text
		case batch.Failed:
			a.failure = new(batch.Failure)
			if err := json.Unmarshal(r.Error, a.failure); err != nil {
				l.t.Errorf("error of item %d: %v: %q", r.Index, err, r.Error)
			}
		default:
			l.t.Errorf("item %d has status %v", r.Index, r.Status)
		}
		answers = append(answers, a)
	}
	return answers
}

// collect waits until n items in all have been answered.
func (l *lane) collect(n int) {
	l.t.Helper()
	for len(l.answers) < n {
		if _, err := l.wait(); err != nil {
			l.t.Fatalf("Wait after %d of %d answers: %v", len(l.answers), n, err)
		}
	}
	if len(l.answers) > n {
		l.t.Fatalf("%d answers to %d items", len(l.answers), n)
	}
}

// end waits for the worker's end and returns the error that tells of it.
func (l *lane) end() error {
	for {
		if _, err := l.wait(); err != nil {
			return err
		}
	}
}

// drained waits for the end after Drain.
func (l *lane) drained() {
	l.t.Helper()
	if err := l.end(); err != io.EOF {
		l.t.Fatalf("after Drain Wait returns %v, want io.EOF", err)
	}
	l.afterEnd()
}

// death waits for the worker's death.
func (l *lane) death() *supervisor.Death {
	l.t.Helper()
	err := l.end()
	var d *supervisor.Death
	if !errors.As(err, &d) {
		l.t.Fatalf("Wait returns %v, want a *supervisor.Death", err)
	}
	l.afterEnd()
	return d
}

// killed waits for the death by Kill, which must be quick.
func (l *lane) killed(since time.Time) *supervisor.Death {
	l.t.Helper()
	d := l.death()
	if took := time.Since(since); took > time.Second {
		l.t.Errorf("death came %v after Kill", took)
	}
	if !d.Killed {
		l.t.Errorf("the death does not say that it was asked for: %+v", d)
	}
	return d
}

// afterEnd calls all that may be called after the worker's end.
func (l *lane) afterEnd() {
	l.t.Helper()
	l.w.Wake()
	l.w.Kill()
	l.w.Drain()
	if got := l.w.Running(nil); len(got) != 0 {
		l.t.Errorf("after the end Running returns %v", got)
	}
	if l.w.Submit(items(0, "late")) == nil {
		l.t.Error("after the end Submit takes items")
	}
	if _, err := l.w.Wait(); err == nil {
		l.t.Error("after the end Wait returns no error")
	}
}

// indexes returns the answered items, sorted.
func (l *lane) indexes() []uint64 {
	got := make([]uint64, 0, len(l.answers))
	for _, a := range l.answers {
		got = append(got, a.index)
	}
	slices.Sort(got)
	return got
}

// inHand returns the indexes of what is running, sorted.
func inHand(running []batch.Running) []uint64 {
	got := make([]uint64, 0, len(running))
	for _, r := range running {
		got = append(got, r.Index)
	}
	slices.Sort(got)
	return got
}

// upTo returns 0 to n-1.
func upTo(n int) []uint64 {
	all := make([]uint64, n)
	for i := range all {
		all[i] = uint64(i)
	}
	return all
}
