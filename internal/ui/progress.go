// Package ui is what a person sees of a run: the progress while it goes on, and
// the summary at its end. It polls the state of the run a few times a second and
// is told of no single item, so that it costs the same for ten items a second
// and for a million.
package ui

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// Mode is a kind of display.
type Mode string

// The modes, as --progress names them.
const (
	Auto  Mode = "auto"  // Bar on a terminal that can draw one, else Lines
	Bar   Mode = "bar"   // one line that is drawn anew
	Lines Mode = "lines" // a line every ten seconds
	JSON  Mode = "json"  // an object a line every second; docs/json-output.md
	None  Mode = "none"  // nothing
)

// ParseMode reads the name of a mode.
func ParseMode(name string) (Mode, error) {
	switch m := Mode(name); m {
	case Auto, Bar, Lines, JSON, None:
		return m, nil
	}
	return "", fmt.Errorf("%q is no kind of progress; choose auto, bar, lines, json or none", name)
}

// How often the displays change, and when they first do.
const (
	// A person sees ten changes a second as movement; this is enough to follow
	// and leaves the CPU to the run.
	barInterval = 200 * time.Millisecond
	// A run that is over sooner shows no bar: it would only flash.
	barDelay      = 300 * time.Millisecond
	linesInterval = 10 * time.Second // a log of an hour stays readable
	jsonInterval  = time.Second
)

// Options say what is to be shown, and where.
type Options struct {
	Mode Mode     // "" is Auto
	Out  *os.File // usually standard error
	// Term is the value of the environment variable TERM.
	Term string
	// Interval is the time between two changes; 0 for the mode's own.
	Interval time.Duration
	// Snapshot returns the present state. It is called by one goroutine at a
	// time, and for the last time by Stop.
	Snapshot func() Snapshot
	// Quiet shows no progress, whatever the mode. Notes are shown all the same.
	Quiet bool
}

// Progress shows how a run goes on. Start it once, and Stop it before anything
// else is written where it draws; what is to be written meanwhile goes through
// Note.
type Progress struct {
	opts     Options
	mode     Mode
	interval time.Duration
	delay    time.Duration // until the first change

	mu      sync.Mutex // guards display and tracker
	display display
	tracker tracker

	cancel context.CancelFunc
	done   sync.WaitGroup
	stop   sync.Once
}

// A display draws views. Its methods are called by one goroutine at a time.
type display interface {
	show(v view)
	note(text string) // lines without control characters, no newline at the end
	close(v view)
}

// New returns a Progress that shows nothing until it is started.
func New(opts Options) *Progress {
	p := &Progress{opts: opts, mode: resolve(opts)}
	p.interval = linesInterval
	p.display = &lines{out: opts.Out}
	switch p.mode {
	case Bar:
		p.interval, p.delay = barInterval, barDelay
		p.display = newBar(opts.Out)
	case JSON:
		p.interval = jsonInterval
		p.display = &objects{out: opts.Out}
	case None:
		p.display = &silent{out: opts.Out}
	}
	if opts.Interval > 0 {
		p.interval = opts.Interval
	}
	if p.delay == 0 {
		p.delay = p.interval
	}
	return p
}

func resolve(opts Options) Mode {
	switch {
	case opts.Quiet:
		return None
	case opts.Mode != Auto && opts.Mode != "":
		return opts.Mode
	case opts.Term != "dumb" && term.IsTerminal(int(opts.Out.Fd())):
		return Bar
	}
	return Lines
}

// Start begins to show progress, until Stop is called or ctx ends.
func (p *Progress) Start(ctx context.Context) {
	ctx, p.cancel = context.WithCancel(ctx)
	if p.mode == None {
		return
	}
	p.done.Go(func() { p.run(ctx) })
}

func (p *Progress) run(ctx context.Context) {
	timer := time.NewTimer(p.delay)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			p.update(p.show)
			timer.Reset(p.interval)
		}
	}
}

func (p *Progress) show(v view) { p.display.show(v) }

func (p *Progress) update(draw func(view)) {
	s := p.opts.Snapshot()
	p.mu.Lock()
	defer p.mu.Unlock()
	draw(p.tracker.view(s))
}

// Stop draws the final state and returns when nothing will be drawn any more.
// Further calls do nothing.
func (p *Progress) Stop() {
	p.stop.Do(func() {
		if p.cancel != nil {
			p.cancel()
		}
		p.done.Wait()
		if p.mode == None || p.cancel == nil {
			return
		}
		p.update(func(v view) {
			p.display.close(v)
			if p.mode != JSON {
				p.display = &silent{out: p.opts.Out}
			}
		})
	})
}

// Note writes a text, of one line or several, without tearing the bar. It may
// be called at any time, by any goroutine.
func (p *Progress) Note(text string) {
	escaped := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := range escaped {
		escaped[i] = Escape(escaped[i])
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.display.note(strings.Join(escaped, "\n"))
}

// Object writes an object of another type between those of the mode JSON, as
// one line. It may be called at any time, by any goroutine.
func (p *Progress) Object(object any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	writeObject(p.opts.Out, object)
}

// silent shows notes only.
type silent struct{ out io.Writer }

func (d *silent) show(view)        {}
func (d *silent) close(view)       {}
func (d *silent) note(text string) { fmt.Fprintln(d.out, text) }

// lines writes a line from time to time.
type lines struct {
	out     io.Writer
	started bool
}

func (d *lines) show(v view) {
	d.started = true
	fmt.Fprintln(d.out, sentence(&v))
}

// close closes the series; a run that was too short for one has its summary.
func (d *lines) close(v view) {
	if d.started {
		d.show(v)
	}
}

func (d *lines) note(text string) { fmt.Fprintln(d.out, text) }
