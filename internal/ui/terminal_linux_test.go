package ui

import (
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

// terminal opens a pseudo-terminal.
func terminal(t *testing.T, columns uint16) (screen, tty *os.File) {
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo-terminals here: ", err)
	}
	t.Cleanup(func() { screen.Close() })
	fd := int(screen.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns})
	}
	if err != nil {
		t.Skip("no pseudo-terminals here: ", err)
	}
	tty, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo-terminals here: ", err)
	}
	t.Cleanup(func() { tty.Close() })
	return screen, tty
}

func TestBarOnATerminal(t *testing.T) {
	const columns = 40
	screen, tty := terminal(t, columns)
	for term, want := range map[string]Mode{"xterm": Bar, "dumb": Lines, "": Bar} {
		if got := resolve(Options{Out: tty, Term: term}); got != want {
			t.Errorf("TERM=%q: %s, want %s", term, got, want)
		}
	}
	if got, want := barOn(t, screen, tty), "10/1,000  1%  10/s  ETA 1m 39s  CPU 0\n"; got != want {
		t.Errorf("on the screen %q, want %q", got, want)
	}
}

// Serial lines and some containers do not know how wide they are.
func TestBarOnATerminalOfUnknownWidth(t *testing.T) {
	wide, wideTTY := terminal(t, usualWidth)
	unknown, unknownTTY := terminal(t, 0)
	if got, want := barOn(t, unknown, unknownTTY), barOn(t, wide, wideTTY); got != want {
		t.Errorf("on the screen %q, want %q", got, want)
	}
}

// barOn returns what a second of progress leaves on a terminal, which is closed.
func barOn(t *testing.T, screen, tty *os.File) string {
	shown := make(chan string)
	go func() {
		data, _ := io.ReadAll(screen) // until the other side is closed
		shown <- string(data)
	}()
	synctest.Test(t, func(t *testing.T) {
		s := &stage{t: t, out: tty, begin: time.Now()}
		p := s.start(Auto)
		time.Sleep(time.Second)
		p.Stop()
	})
	tty.Close()
	return play(strings.ReplaceAll(<-shown, "\r\n", "\n"))
}
