package source

import (
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

// A pump reads from what may keep its reader waiting - a pipe, a terminal, a
// FIFO that nobody has opened for writing - in a goroutine of its own, so that
// a Read under way can be given up. It reads only when asked to.
type pump struct {
	open    func() (io.Reader, error) // may block
	release func()                    // makes a blocked open return; may be nil
	wants   chan []byte
	gives   chan pumped
	stopped chan struct{} // closed by interrupt
	done    chan struct{} // closed when the goroutine ends
	once    sync.Once

	mu  sync.Mutex
	src io.Reader // nil until open has returned
}

type pumped struct {
	n   int
	err error
}

// readDeadliner is what a source can do whose blocked Read can be ended.
type readDeadliner interface{ SetReadDeadline(time.Time) error }

func newPump(open func() (io.Reader, error), release func()) *pump {
	p := &pump{
		open: open, release: release,
		wants:   make(chan []byte),
		gives:   make(chan pumped, 1),
		stopped: make(chan struct{}),
		done:    make(chan struct{}),
	}
	go p.run()
	return p
}

func (p *pump) run() {
	defer close(p.done)
	src, err := p.open()
	if err == nil {
		p.mu.Lock()
		p.src = src
		p.mu.Unlock()
		defer closeOwn(src)
	}
	for {
		select {
		case <-p.stopped:
			return
		case buf := <-p.wants:
			n := 0
			if err == nil {
				n, err = src.Read(buf)
			}
			p.gives <- pumped{n, err}
		}
	}
}

// Read passes on what one Read of the source gives, or returns os.ErrClosed
// once the pump has been interrupted.
func (p *pump) Read(buf []byte) (int, error) {
	select {
	case p.wants <- buf:
	case <-p.stopped:
		return 0, os.ErrClosed
	}
	select {
	case got := <-p.gives:
		return got.n, got.err
	case <-p.stopped:
		return 0, os.ErrClosed
	}
}

const (
	// releaseTries and releasePause bound the wait for a blocked open to be
	// released: it fails only in the moment before the open has blocked.
	releaseTries = 200
	releasePause = time.Millisecond
)

// Close makes a Read under way return os.ErrClosed and waits for the goroutine
// where its source can be interrupted. A source that cannot, such as a
// terminal, keeps the goroutine until its Read returns.
func (p *pump) Close() error {
	p.once.Do(func() { close(p.stopped) })
	for range releaseTries {
		src := p.source()
		if src != nil {
			p.interrupt(src)
			return nil
		}
		if p.release != nil {
			p.release()
		}
		select {
		case <-p.done:
			return nil
		case <-time.After(releasePause):
		}
	}
	return nil
}

func (p *pump) source() io.Reader {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.src
}

// interrupt ends a blocked Read of src by a deadline in the past, which leaves
// standard input usable for whoever comes after.
func (p *pump) interrupt(src io.Reader) {
	d, ok := src.(readDeadliner)
	if !ok || d.SetReadDeadline(time.Unix(1, 0)) != nil {
		return
	}
	<-p.done
	_ = d.SetReadDeadline(time.Time{}) // fails on a file of our own, closed by now
}

// ownFile is a file that the pump opened and so has to close.
type ownFile struct{ *os.File }

func closeOwn(src io.Reader) {
	if f, ok := src.(ownFile); ok {
		_ = f.Close() // only read from: nothing can be lost
	}
}

// pumpFile reads a file that is not a regular one.
func pumpFile(path string) *pump {
	open := func() (io.Reader, error) {
		f, err := os.Open(path)
		return ownFile{f}, err
	}
	return newPump(open, func() { releaseFIFO(path) })
}

// pumpReader reads standard input, which belongs to somebody else.
func pumpReader(src io.Reader) *pump {
	return newPump(func() (io.Reader, error) { return src, nil }, nil)
}

// releaseFIFO makes an open of a FIFO for reading return, by opening its other
// end for a moment. Nothing happens when nobody is waiting.
func releaseFIFO(path string) {
	info, err := os.Stat(path)
	if err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		return
	}
	if f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
		_ = f.Close()
	}
}
