package engine

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/internal/journal"
	"github.com/poolwise/poolwise/internal/sink"
	"github.com/poolwise/poolwise/internal/wire"
)

const (
	// keepScratch is the size above which a lane's buffers are given back.
	keepScratch = 4 << 20
	// previewBytes is how much of an item is kept to show which one it was.
	previewBytes = 200
	// keepFailures is how many failures the summary can show; all of them are
	// in the journal.
	keepFailures = 20
)

// A FailedItem is one that did not end ok, for the summary.
type FailedItem struct {
	Index   uint64
	Status  batch.Status
	Preview string // the beginning of the item
	Failure batch.Failure
}

// answerError reports an answer that belongs to nothing the worker was given.
type answerError struct {
	index   uint64
	attempt uint32
}

func (e *answerError) Error() string {
	return fmt.Sprintf("it answered for item %d, attempt %d, which it did not hold", e.index, e.attempt)
}

// line appends the journal line of a result, and where it will stand.
func (l *lane) line(it *batch.Item, res *batch.Result) {
	e := journal.Entry{
		Index: res.Index, Hash: journal.HashItem(it.Form, it.Data), Attempt: res.Attempt,
		Worker: l.number, Start: res.Start - l.run.cfg.Origin, Wall: res.End - res.Start,
		Status: res.Status, Value: res.Value, Error: res.Error,
	}
	if l.run.cfg.KeepInput {
		l.scrap = wire.AppendValue(l.scrap[:0], it)
		e.Input = l.scrap
	} else if res.Status != batch.OK {
		l.scrap = appendPreview(l.scrap[:0], it)
		e.Input = l.scrap
	}
	if res.Status != batch.OK {
		l.run.keepFailure(it, res)
	}
	at := len(l.lines)
	var value int
	l.lines, value = journal.AppendLine(l.lines, &e)
	l.places = append(l.places, sink.Place{
		Index: res.Index, Status: res.Status,
		Line: int64(at), LineLen: int64(len(l.lines) - at),
		Value: int64(value), ValueLen: int64(len(res.Value)),
	})
}

// record writes the lines, and only then counts their items as done.
func (l *lane) record(results []batch.Result) error {
	off, err := l.run.cfg.Journal.Append(l.lines)
	if err != nil {
		err = &OutputError{Err: err}
		l.run.abort(err)
		return err
	}
	for i := range l.places {
		l.places[i].Line += off
		l.places[i].Value += off
	}
	l.run.cfg.Sink.Add(l.places)
	l.count(results)
	if cap(l.lines) > keepScratch {
		l.lines = nil
	}
	if cap(l.scrap) > keepScratch {
		l.scrap = nil
	}
	if l.run.feed.settle(len(results)) {
		l.run.wakeAll()
	}
	return nil
}

// recordEnd records an outcome that the engine decides: the worker cannot
// tell it any more.
func (l *lane) recordEnd(it batch.Item, status batch.Status, since, now int64, why batch.Failure) error {
	text, err := json.Marshal(why)
	if err != nil {
		return err
	}
	res := batch.Result{Index: it.Index, Attempt: it.Attempt, Status: status, Start: since, End: now, Error: text}
	l.lines, l.places = l.lines[:0], l.places[:0]
	l.line(&it, &res)
	return l.record([]batch.Result{res})
}

// setAside records the records that could not be read as failed, and returns
// the others.
func (r *Run) setAside(items []batch.Item) []batch.Item {
	var bad []batch.Item
	for i := range items {
		if items[i].Form == batch.Invalid {
			bad = append(bad, items[i])
		}
	}
	if bad == nil {
		return items
	}
	good := make([]batch.Item, 0, len(items)-len(bad))
	for _, it := range items {
		if it.Form != batch.Invalid {
			good = append(good, it)
		}
	}
	r.recordInvalid(bad)
	return good
}

func (r *Run) recordInvalid(bad []batch.Item) {
	l := newLane(r, -1) // a lane without a worker: only to write lines
	for i := range bad {
		text, err := json.Marshal(bad[i].Problem)
		if err != nil {
			r.abort(err)
			return
		}
		// The bytes of an invalid record may be anything: they are shown as text.
		shown := batch.Item{Index: bad[i].Index, Data: bad[i].Data, Form: batch.Text}
		now := r.cfg.Origin
		l.line(&shown, &batch.Result{Index: shown.Index, Status: batch.Failed, Start: now, End: now, Error: text})
	}
	off, err := r.cfg.Journal.Append(l.lines)
	if err != nil {
		r.abort(&OutputError{Err: err})
		return
	}
	for i := range l.places {
		l.places[i].Line += off
		l.places[i].Value += off
	}
	r.cfg.Sink.Add(l.places)
	r.mu.Lock()
	r.invalid[batch.Failed] += uint64(len(bad))
	r.mu.Unlock()
	r.feed.counted(len(bad))
}

func (r *Run) keepFailure(it *batch.Item, res *batch.Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.failures) >= keepFailures {
		return
	}
	f := FailedItem{Index: it.Index, Status: res.Status, Preview: string(preview(it.Data))}
	if json.Unmarshal(res.Error, &f.Failure) != nil {
		f.Failure = batch.Failure{Type: "unreadable error"}
	}
	r.failures = append(r.failures, f)
}

// preview returns the beginning of an item, cut between characters.
func preview(data []byte) []byte {
	if len(data) <= previewBytes {
		return data
	}
	end := previewBytes
	for end > previewBytes-utf8.UTFMax && !utf8.RuneStart(data[end]) {
		end--
	}
	return data[:end]
}

// appendPreview appends the beginning of an item as JSON: the item itself when
// it is short, else a string.
func appendPreview(dst []byte, it *batch.Item) []byte {
	if len(it.Data) <= previewBytes {
		return wire.AppendValue(dst, it)
	}
	return wire.AppendValue(dst, &batch.Item{Data: preview(it.Data), Form: batch.Text})
}
