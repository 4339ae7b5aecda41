package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// WriterOptions are for tests and special places; the zero value is right
// everywhere else.
type WriterOptions struct {
	// Open opens a file for appending; create means that it may not be there
	// yet. nil: the operating system's files.
	Open func(path string, create bool) (File, error)
	// Written bytes are on the disk at the latest SyncDelay after they were
	// written (0: 200 ms), and sooner when there are SyncBytes of them (0: 4 MiB).
	SyncDelay time.Duration
	SyncBytes int64
}

const (
	// What a power loss may cost, as design and documentation promise. A
	// group of 4 MiB takes about 2 ms to sync, which is little beside the time
	// that filling it takes.
	defaultSyncDelay = 200 * time.Millisecond
	defaultSyncBytes = 4 << 20
)

// A WriteError reports that the journal cannot be written on. Results that
// were not appended are not recorded; what was appended stays readable.
type WriteError struct {
	Path string
	Op   string // "write", "sync" or "close"
	Err  error
}

func (e *WriteError) Error() string {
	return fmt.Sprintf("journal %s: %s: %v; free some space or repair the disk, then resume the run", e.Path, e.Op, e.Err)
}

// Unwrap returns the error of the system, such as syscall.ENOSPC.
func (e *WriteError) Unwrap() error { return e.Err }

// A Writer appends to a journal. Its methods may be called from any goroutine.
type Writer struct {
	path string
	file File
	opts WriterOptions

	mu       sync.Mutex
	size     int64
	unsynced int64
	err      error // the first failure; nothing is written after it

	syncMu sync.Mutex    // one sync at a time
	dirty  chan struct{} // there is something to sync, in due time
	full   chan struct{} // there is enough to sync at once
	quit   chan struct{}
	done   sync.WaitGroup
	once   sync.Once
}

// Create starts a journal where there is no file yet.
func Create(path string) (*Writer, error) { return WriterOptions{}.Create(path) }

// OpenAppend opens a journal to write on. What a crash left at its end stays as
// it is; the next line starts on a line of its own.
func OpenAppend(path string) (*Writer, error) { return WriterOptions{}.OpenAppend(path) }

// Create is the function Create with options.
func (o WriterOptions) Create(path string) (*Writer, error) {
	w, err := o.open(path, true)
	if err != nil {
		return nil, err
	}
	return w.begin(versionLine(Version))
}

// OpenAppend is the function OpenAppend with options.
func (o WriterOptions) OpenAppend(path string) (*Writer, error) {
	w, err := o.open(path, false)
	if err != nil {
		return nil, err
	}
	lead, err := w.lead()
	if err != nil {
		w.file.Close()
		return nil, err
	}
	return w.begin(lead)
}

func (o WriterOptions) open(path string, create bool) (*Writer, error) {
	if o.Open == nil {
		o.Open = openFile
	}
	if o.SyncDelay == 0 {
		o.SyncDelay = defaultSyncDelay
	}
	if o.SyncBytes == 0 {
		o.SyncBytes = defaultSyncBytes
	}
	file, err := o.Open(path, create)
	if err != nil {
		return nil, fmt.Errorf("the journal cannot be opened: %w", err)
	}
	w := &Writer{
		path: path, file: file, opts: o,
		dirty: make(chan struct{}, 1), full: make(chan struct{}, 1), quit: make(chan struct{}),
	}
	if w.size, err = file.Size(); err != nil {
		file.Close()
		return nil, fmt.Errorf("the journal cannot be opened: %w", err)
	}
	return w, nil
}

// lead returns what must be written before the first new line: the end of a
// torn line, and a version line where the file has none.
func (w *Writer) lead() ([]byte, error) {
	if w.size == 0 {
		return versionLine(Version), nil
	}
	head := make([]byte, min(w.size, maxVersionLine))
	if _, err := w.file.ReadAt(head, 0); err != nil && err != io.EOF {
		return nil, fmt.Errorf("the journal cannot be read: %w", err)
	}
	first, _, _ := bytes.Cut(head, []byte("\n"))
	ok, err := checkVersion(w.path, first)
	if err != nil {
		return nil, err
	}
	var last [1]byte
	if _, err := w.file.ReadAt(last[:], w.size-1); err != nil && err != io.EOF {
		return nil, fmt.Errorf("the journal cannot be read: %w", err)
	}
	var lead []byte
	if last[0] != '\n' {
		lead = append(lead, '\n')
	}
	if !ok {
		lead = append(lead, versionLine(Version)...)
	}
	return lead, nil
}

// begin writes the first bytes and starts the syncing goroutine.
func (w *Writer) begin(lead []byte) (*Writer, error) {
	if len(lead) > 0 {
		if _, err := w.Append(lead); err != nil {
			w.file.Close()
			return nil, err
		}
	}
	w.done.Go(w.syncLoop)
	return w, nil
}

// Append writes whole lines with one system call and returns the offset at
// which they begin. The error is a *WriteError; from then on every call
// returns it, and a later OpenAppend puts the end of the file in order.
func (w *Writer) Append(lines []byte) (offset int64, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return 0, w.err
	}
	offset = w.size
	n, err := w.file.Write(lines)
	if err == nil && n < len(lines) {
		err = io.ErrShortWrite
	}
	first := w.unsynced == 0
	w.size += int64(n)
	w.unsynced += int64(n)
	switch {
	case w.unsynced >= w.opts.SyncBytes:
		signal(w.full)
	case first && n > 0:
		signal(w.dirty)
	}
	if err != nil {
		w.err = &WriteError{Path: w.path, Op: "write", Err: err}
		return 0, w.err
	}
	return offset, nil
}

// signal wakes the receiver, now or when it comes.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (w *Writer) syncLoop() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	timer.Stop()
	for {
		select {
		case <-w.quit:
			return
		case <-w.dirty:
			timer.Reset(w.opts.SyncDelay)
			continue
		case <-w.full:
			timer.Stop()
		case <-timer.C:
		}
		// The error is kept, and the next Append returns it.
		_ = w.Sync()
	}
}

// Sync returns when all that was appended before the call is on the disk, or
// with the *WriteError for which it never will be.
func (w *Writer) Sync() error {
	w.syncMu.Lock()
	defer w.syncMu.Unlock()
	w.mu.Lock()
	pending := w.unsynced
	w.unsynced = 0
	err := w.err
	w.mu.Unlock()
	if pending == 0 {
		return err
	}
	if syncErr := w.file.Datasync(); syncErr != nil {
		return w.fail("sync", syncErr)
	}
	return err
}

// fail records the first failure and returns it. A failed sync is final: what
// the system has dropped by then, a second sync would not bring back.
func (w *Writer) fail(op string, err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = &WriteError{Path: w.path, Op: op, Err: err}
	}
	return w.err
}

// Size returns the length of the journal in bytes.
func (w *Writer) Size() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.size
}

// ReadAt reads back what was appended.
func (w *Writer) ReadAt(p []byte, off int64) (int, error) { return w.file.ReadAt(p, off) }

// Err returns the failure for which nothing more is written, nil while all is
// well.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Close syncs what was appended and closes the file. It returns the first
// failure of all that the Writer had.
func (w *Writer) Close() error {
	w.stop()
	return errors.Join(w.Sync(), w.closeFile())
}

// CloseUnsynced closes the file without a last sync, which takes some
// milliseconds: for a journal that is about to be removed.
func (w *Writer) CloseUnsynced() error {
	w.stop()
	return errors.Join(w.Err(), w.closeFile())
}

func (w *Writer) stop() {
	w.once.Do(func() { close(w.quit) })
	w.done.Wait()
}

var errClosed = errors.New("it is closed")

func (w *Writer) closeFile() error {
	// Whoever appends later is told so, rather than that the file is.
	_ = w.fail("write", errClosed)
	if err := w.file.Close(); err != nil {
		return &WriteError{Path: w.path, Op: "close", Err: err}
	}
	return nil
}
