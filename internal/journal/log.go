package journal

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/internal/jsontext"
)

// LogName is the name of the log in the directory given to NewLog.
const LogName = "tasks.log"

// LogOptions are for NewLog.
type LogOptions struct {
	// Start is the start of the run, from which times are counted.
	Start time.Time
	// KeepBytes is how much is kept of what one item writes to one stream, in
	// bytes. 0: 1 MiB.
	KeepBytes int64
}

const (
	// keepBytes is far more than anybody reads of one item, and keeps a task
	// that prints in a loop from filling the disk.
	keepBytes = 1 << 20
	// maxItems is how many of the items that may have written something are
	// named: the ones that have run longest. Thousands of coroutines may be
	// under way, and naming them all for each line would tell nobody anything.
	maxItems = 64
)

// A Log keeps what tasks print, byte for byte. Its methods may be called from
// any goroutine. The file is made by the first write.
type Log struct {
	dir  string
	opts LogOptions

	mu      sync.Mutex
	file    *os.File
	size    int64
	buf     []byte
	streams map[streamKey]*streamLog
	closed  bool
}

type streamKey struct {
	worker int
	stream string
}

// streamLog counts what the items that a worker runs have written to a stream.
// An item that the worker no longer runs is forgotten, so there are never more
// than maxItems.
type streamLog struct {
	items map[uint64]*usage
	loose usage // what was written outside of any item
}

type usage struct {
	kept, cut int64
}

// NewLog returns the log in a directory, which is made if need be.
func NewLog(dir string, opts LogOptions) *Log {
	if opts.KeepBytes == 0 {
		opts.KeepBytes = keepBytes
	}
	return &Log{dir: dir, opts: opts, streams: map[streamKey]*streamLog{}}
}

// Write keeps an output, or as much of it as its items have left; how much was
// cut is noted when they are over.
func (l *Log) Write(o batch.Output) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return fmt.Errorf("%s: %w", l.path(), fs.ErrClosed)
	}
	items := o.Items
	if len(items) > maxItems {
		items = slices.Clone(items)
		slices.SortFunc(items, func(a, b batch.Running) int { return cmp.Compare(a.Since, b.Since) })
		items = items[:maxItems]
	}
	key := streamKey{o.Worker, o.Stream}
	s := l.streams[key]
	if s == nil {
		s = &streamLog{items: map[uint64]*usage{}}
		l.streams[key] = s
	}
	noted := l.forget(key, s, items)
	kept := o.Data[:s.charge(items, int64(len(o.Data)), l.opts.KeepBytes)]
	if len(kept) == 0 {
		return noted
	}
	return errors.Join(noted, l.append(&LogRecord{
		Worker: o.Worker, Stream: o.Stream, Items: indices(items), Attempt: attempt(items), Data: kept,
	}))
}

// charge counts n bytes for each item, since each may have written them, and
// returns how many of them to keep: what the one with most room has left.
func (s *streamLog) charge(items []batch.Running, n, limit int64) int64 {
	if len(items) == 0 {
		return s.loose.charge(n, min(n, limit-s.loose.kept))
	}
	keep := int64(0)
	for _, it := range items {
		u := s.items[it.Index]
		if u == nil {
			u = &usage{}
			s.items[it.Index] = u
		}
		keep = max(keep, min(n, limit-u.kept))
	}
	for _, it := range items {
		u := s.items[it.Index]
		u.charge(n, keep)
		u.kept = min(u.kept, limit)
	}
	return keep
}

func (u *usage) charge(n, keep int64) int64 {
	u.kept += keep
	u.cut += n - keep
	return keep
}

// forget drops the items that are not among those running now, and notes what
// was cut of them.
func (l *Log) forget(key streamKey, s *streamLog, running []batch.Running) error {
	var failed error
	for index, u := range s.items {
		if slices.ContainsFunc(running, func(r batch.Running) bool { return r.Index == index }) {
			continue
		}
		delete(s.items, index)
		failed = errors.Join(failed, l.noteCut(key, []uint64{index}, u.cut))
	}
	return failed
}

func (l *Log) noteCut(key streamKey, items []uint64, cut int64) error {
	if cut == 0 {
		return nil
	}
	return l.append(&LogRecord{Worker: key.worker, Stream: key.stream, Items: items, Cut: cut})
}

// Close notes what was cut and closes the file.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	var failed error
	for key, s := range l.streams {
		failed = errors.Join(failed, l.forget(key, s, nil), l.noteCut(key, nil, s.loose.cut))
	}
	if l.file != nil {
		failed = errors.Join(failed, l.file.Close())
	}
	return failed
}

func (l *Log) path() string { return filepath.Join(l.dir, LogName) }

// append writes one record with one system call.
func (l *Log) append(r *LogRecord) error {
	if l.file == nil {
		if err := l.open(); err != nil {
			return fmt.Errorf("the log of what tasks print cannot be opened: %w", err)
		}
	}
	r.Time = int64(time.Since(l.opts.Start))
	l.buf = appendRecord(l.buf[:0], r)
	if _, err := l.file.Write(l.buf); err != nil {
		// Half a record would swallow the ones after it.
		return errors.Join(fmt.Errorf("the log of what tasks print cannot be written: %w", err), l.file.Truncate(l.size))
	}
	l.size += int64(len(l.buf))
	if cap(l.buf) > keepBytes {
		l.buf = nil
	}
	return nil
}

// open opens the file, and cuts off the half of a record that a crash has left.
func (l *Log) open() error {
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return err
	}
	size, err := readLog(l.path(), func(LogRecord) error { return nil })
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrLogTorn) {
		return err
	}
	file, err := os.OpenFile(l.path(), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := file.Truncate(size); err != nil {
		file.Close()
		return err
	}
	l.file, l.size = file, size
	return nil
}

func indices(items []batch.Running) []uint64 {
	list := make([]uint64, len(items))
	for i := range items {
		list[i] = items[i].Index
	}
	return list
}

// attempt returns the attempt that all items are in, 0 when they differ.
func attempt(items []batch.Running) uint32 {
	if len(items) == 0 {
		return 0
	}
	for i := range items {
		if items[i].Attempt != items[0].Attempt {
			return 0
		}
	}
	return items[0].Attempt
}

// appendRecord appends a record as it stands in the file.
func appendRecord(b []byte, r *LogRecord) []byte {
	b = append(b, `{"worker":`...)
	b = appendInt(b, int64(r.Worker))
	b = append(b, `,"stream":`...)
	b = jsontext.AppendQuoted(b, []byte(r.Stream))
	b = append(b, `,"items":[`...)
	for i, index := range r.Items {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendUint(b, index)
	}
	b = append(b, ']')
	if r.Attempt > 0 {
		b = append(b, `,"attempt":`...)
		b = appendUint(b, uint64(r.Attempt))
	}
	b = append(b, `,"t":`...)
	b = appendInt(b, r.Time)
	if r.Cut > 0 {
		b = append(b, `,"cut":`...)
		b = appendInt(b, r.Cut)
	}
	b = append(b, `,"bytes":`...)
	b = appendInt(b, int64(len(r.Data)))
	b = append(b, "}\n"...)
	b = append(b, r.Data...)
	return append(b, '\n')
}
