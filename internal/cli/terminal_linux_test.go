package cli_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal is a pseudo-terminal, and what was written to it.
type terminal struct {
	keyboard *os.File // also the screen
	tty      *os.File
	text     text
	closed   chan struct{}
}

func openTerminal(t *testing.T) *terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal("no pseudo-terminals here: ", err)
	}
	t.Cleanup(func() { master.Close() })
	fd := int(master.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 100})
	}
	if err != nil {
		t.Fatal("no pseudo-terminals here: ", err)
	}
	tty, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal("no pseudo-terminals here: ", err)
	}
	term := &terminal{keyboard: master, tty: tty, closed: make(chan struct{})}
	t.Cleanup(func() { tty.Close() })
	go func() {
		defer close(term.closed)
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf) // fails when all have closed the tty
			_, _ = term.text.Write(buf[:n])
			if err != nil {
				return
			}
		}
	}()
	return term
}

// raw is all that was written, once nobody writes any more.
func (x *terminal) raw() string {
	x.tty.Close()
	<-x.closed
	return strings.ReplaceAll(x.text.String(), "\r\n", "\n")
}

// screen is what stands on a terminal that knows "one line up" and "clear to
// the end".
func screen(raw string) string {
	var lines []string
	for i, frame := range strings.Split(raw, "\x1b[1A\x1b[J") {
		if i > 0 && len(lines) > 0 {
			lines = lines[:len(lines)-1]
		}
		for line := range strings.Lines(frame) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// The bar shows how many of how many are done, draws over itself, and leaves
// its last state and the summary.
func TestBarOfARun(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "task.py"), waits)
	term := openTerminal(t)
	p := prepare(t, dir, "run", "--plan", "processes:2", "--chunk", "1", "-o", "out", "task.py:waits", ":::", "a", "b", "c")
	p.cmd.Env = append(p.cmd.Env, "TERM=xterm")
	p.cmd.Stderr = term.tty
	p.start()
	eventually(t, patience, "the bar shows what runs", func() bool {
		shown := term.text.String()
		return strings.Contains(shown, "0/3") && strings.Contains(shown, "2 running")
	})
	write(t, filepath.Join(dir, "go"), "")
	if status := p.status(patience); status != 0 {
		t.Errorf("status %d, %v", status, p.cmd.ProcessState)
	}
	raw := term.raw()
	lines := strings.Split(strings.TrimSuffix(screen(raw), "\n"), "\n")
	if len(lines) < 3 || !strings.HasPrefix(lines[0], "3/3 ") || lines[1] != "3 items: 3 ok" {
		t.Errorf("on the screen stands\n%s\nof\n%q", strings.Join(lines, "\n"), raw)
	}
}

// Nothing but notes is drawn with -q.
func TestQuietOnATerminal(t *testing.T) {
	for name, stopped := range map[string]bool{"well": false, "stopped": true} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "task.py"), waits)
			term := openTerminal(t)
			p := prepare(t, dir, "run", "-q", "--plan", "serial", "--chunk", "1", "-o", "out", "task.py:waits", ":::", "a", "b")
			p.cmd.Env = append(p.cmd.Env, "TERM=xterm")
			p.cmd.Stderr = term.tty
			p.start()
			eventually(t, patience, "an item runs", func() bool { return lineCount(filepath.Join(dir, "running")) > 0 })
			if stopped {
				p.signal(syscall.SIGINT)
				eventually(t, patience, "a note is shown", func() bool { return strings.Contains(term.text.String(), "no more items") })
			}
			write(t, filepath.Join(dir, "go"), "")
			status, raw := p.status(patience), term.raw()
			switch {
			case !stopped && (status != 0 || raw != ""):
				t.Errorf("status %d, on the screen %q", status, raw)
			case stopped && (status != 130 || strings.Contains(raw, "\x1b") || !strings.Contains(raw, "1 ok, 1 not run")):
				t.Errorf("status %d, on the screen %q", status, raw)
			}
		})
	}
}

// A terminal is no input unless it is asked for.
func TestInputFromATerminal(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "task.py"), identity)
	term := openTerminal(t)
	p := prepare(t, dir, "run", "task.py:same")
	p.cmd.Stdin = term.tty
	p.start()
	if status, said := p.status(patience), p.stderr.String(); status != 2 || !strings.Contains(said, "no input: name files") {
		t.Errorf("without input: status %d, %s", status, said)
	}
	p = prepare(t, dir, "run", "-q", "--plan", "serial", "task.py:same", "-")
	p.cmd.Stdin = term.tty
	p.start()
	for _, typed := range []string{"one", "two"} {
		if _, err := term.keyboard.WriteString(typed + "\n"); err != nil {
			t.Fatal(err)
		}
		eventually(t, patience, "the result of "+typed, func() bool { return strings.HasSuffix(p.stdout.String(), strconv.Quote(typed)+"\n") })
	}
	if _, err := term.keyboard.WriteString("\x04"); err != nil { // Ctrl-D
		t.Fatal(err)
	}
	if status := p.status(patience); status != 0 {
		t.Errorf("status %d: %s", status, p.stderr.String())
	}
}

// C26: when the terminal is closed, poolwise records how the run ended, whether
// the signal finds items running or the results being delivered.
func TestTerminalIsClosed(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "task.py"), waits)
	term := openTerminal(t)
	p := prepare(t, dir, "run", "--plan", "serial", "--chunk", "1", "-o", "out", "task.py:waits", ":::", "a", "b")
	p.cmd.Env = append(p.cmd.Env, "TERM=xterm")
	p.cmd.Stdin, p.cmd.Stderr = term.tty, term.tty
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	p.start()
	term.tty.Close()
	eventually(t, patience, "the bar is there", func() bool { return strings.Contains(term.text.String(), "0/2") })
	term.keyboard.Close()
	write(t, filepath.Join(dir, "go"), "")
	status := p.status(patience)
	info := theRun(t, dir)
	if status != 143 && status != 0 || info.Exit == nil || *info.Exit != status || info.Counts["ok"]+info.Counts["not_run"] != 2 {
		t.Errorf("status %d, %v; run.json says %+v", status, p.cmd.ProcessState, info)
	}
}
