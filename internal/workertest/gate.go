//go:build linux || darwin

package workertest

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// gate is a folder at which items wait; see Task.
type gate struct {
	t                *testing.T
	dir              string
	started, release *os.File
	lines            *bufio.Reader
}

// newGate makes a gate. The test holds both ends of its FIFOs, so that no item
// waits to open one.
func newGate(t *testing.T) *gate {
	t.Helper()
	g := &gate{t: t, dir: t.TempDir()}
	g.started, g.release = fifo(t, g.dir, "started"), fifo(t, g.dir, "release")
	g.lines = bufio.NewReader(g.started)
	return g
}

func fifo(t *testing.T, dir, name string) *os.File {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// arrived returns the next line that an item wrote.
func (g *gate) arrived() string {
	g.t.Helper()
	g.started.SetReadDeadline(time.Now().Add(patience))
	line, err := g.lines.ReadString('\n')
	if err != nil {
		g.t.Fatalf("no item has started: %v", err)
	}
	return strings.TrimSpace(line)
}

// open lets n items pass.
func (g *gate) open(n int) {
	g.t.Helper()
	g.release.SetWriteDeadline(time.Now().Add(patience))
	if _, err := g.release.WriteString(strings.Repeat("\n", n)); err != nil {
		g.t.Fatal(err)
	}
}

// pass lets all items pass that arrive until stop is called, which must be
// after the worker's end. It returns how many there were.
func (g *gate) pass() (stop func() int) {
	const end = "end\n"
	counted := make(chan int)
	g.started.SetReadDeadline(time.Time{})
	go func() {
		n := 0
		for {
			if line, err := g.lines.ReadString('\n'); err != nil || line == end {
				counted <- n
				return
			}
			n++
			g.release.WriteString("\n")
		}
	}()
	return func() int {
		g.started.WriteString(end)
		return <-counted
	}
}
