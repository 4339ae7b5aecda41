package ui

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// bar is one line at the foot of the terminal. mpb moves the cursor, knows the
// width and writes notes above; what stands in the line is layout's.
type bar struct {
	out       *os.File
	container *mpb.Progress
	line      *mpb.Bar
	refresh   chan any // asks for the line to be drawn
	ended     chan any // closed when mpb draws no more, as when the terminal is gone

	mu   sync.Mutex // guards view, which mpb's goroutine reads
	view view
}

// usualWidth is that of a terminal that does not know its own.
const usualWidth = 80

func newBar(out *os.File) *bar {
	return &bar{out: out, refresh: make(chan any), ended: make(chan any)}
}

func (b *bar) start() {
	b.container = mpb.New(
		mpb.WithOutput(b.out),
		mpb.ForceTTY(), // who asks for a bar gets one
		mpb.WithManualRefresh(b.refresh),
		mpb.WithShutdownNotifier(b.ended),
	)
	b.line, _ = b.container.Add(0, mpb.BarFillerFunc(b.fill), mpb.BarFillerTrim())
}

func (b *bar) fill(w io.Writer, stat decor.Statistics) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	width := stat.AvailableWidth
	if width <= 0 {
		width = usualWidth
	}
	// Some terminals move to the next line when the last column is filled.
	_, err := io.WriteString(w, layout(&b.view, width-1))
	return err
}

func (b *bar) show(v view) {
	if b.container == nil {
		b.start()
	}
	b.set(v)
	b.draw()
}

func (b *bar) set(v view) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.view = v
}

func (b *bar) draw() {
	select {
	case b.refresh <- time.Now():
	case <-b.ended:
	}
}

func (b *bar) note(text string) {
	if b.container != nil {
		if _, err := fmt.Fprintln(b.container, text); err == nil {
			b.draw()
			return
		}
	}
	fmt.Fprintln(b.out, text)
}

// close leaves the last state on the terminal. A run that was too short to be
// drawn leaves nothing.
func (b *bar) close(v view) {
	if b.container == nil {
		return
	}
	b.set(v)
	b.line.Abort(false)
	b.container.Wait()
}
