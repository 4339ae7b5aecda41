//go:build linux

package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/internal/guardian"
	"github.com/poolwise/poolwise/internal/supervisor"
)

func startGuardian(t testing.TB) *guardian.Guardian {
	t.Helper()
	g, err := guardian.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// alive names what carries the guardian's cookie.
func alive(g *guardian.Guardian) string {
	var names []string
	for _, p := range g.Find() {
		names = append(names, fmt.Sprintf("%s (%d)", p.Name, p.PID))
	}
	return strings.Join(names, ", ")
}

// killable are C21 and C22: what a command may start and hide in.
var killable = []string{
	"sleep 20",
	"sleep 20; true",
	"sleep 20 & wait",
	"(sleep 20)",
	"sleep 20 | cat",
	"(sleep 20 &); echo hi; sleep 20",
	"setsid sleep 20 & wait",
	"setsid sh -c 'setsid sleep 20 & sleep 20' & wait",
	"trap '' TERM INT HUP; sleep 20; sleep 20",
	"set -m; sleep 20 & wait",
	"env -i sleep 20 & wait",
	"nohup sleep 20 >/dev/null 2>&1 & wait",
	"while :; do setsid sleep 20 & sleep 0.01; done",
}

func TestKillEndsEverything(t *testing.T) {
	g := startGuardian(t)
	for _, shell := range []string{"bash", "dash"} {
		for _, script := range killable {
			t.Run(shell+" "+script, func(t *testing.T) {
				b := newBench(t, run{guardian: g}, shell, "-c", "{}; echo never")
				if err := b.w.Submit([]batch.Item{{Index: 4, Attempt: 1, Data: []byte(script)}}); err != nil {
					t.Fatal(err)
				}
				awaitSleeper(t, b, g)
				began := time.Now()
				go b.w.Kill()
				b.dies(t, 4)
				if took := time.Since(began); took > time.Second {
					t.Errorf("death came %v after Kill", took)
				}
				if left := alive(g); left != "" {
					t.Errorf("still there: %s", left)
				}
			})
		}
	}
}

// awaitSleeper waits until the script has come to its sleep.
func awaitSleeper(t *testing.T, b *bench, g *guardian.Guardian) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !strings.Contains(alive(g), "sleep"); {
		if time.Now().After(deadline) {
			t.Fatalf("no sleep has started: %s", alive(g))
		}
	}
}

// dies waits for the death by Kill, with this item in hand.
func (b *bench) dies(t *testing.T, index uint64) {
	t.Helper()
	for {
		_, err := b.w.Wait()
		if err == nil {
			continue
		}
		var d *supervisor.Death
		if !errors.As(err, &d) || !d.Killed || len(d.Running) != 1 || d.Running[0].Index != index {
			t.Errorf("Wait returns %v: %+v", err, d)
		}
		break
	}
	if _, err := b.w.Wait(); err != io.EOF {
		t.Errorf("after the death Wait returns %v", err)
	}
}

// C23: what a command leaves does not hold its item, is named, and is ended
// with the run.
func TestLeftOvers(t *testing.T) {
	cases := []struct{ name, script string }{
		{"holds the output", "sleep 30 & echo done"},
		{"holds the output, in a session of its own", "setsid sleep 30 & echo done"},
		{"holds nothing", "sleep 30 >/dev/null 2>&1 & echo done"},
		{"writes on", "trap '' PIPE; while :; do echo x >&2; sleep 0.001; done & echo done"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			g := startGuardian(t)
			b := newBench(t, run{guardian: g}, "sh", "-c")
			began := time.Now()
			e := b.one(batch.Item{Index: 12, Data: []byte(c.script)})
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("the item took %v", took)
			}
			if e.Status != batch.OK || e.Stdout.text != "done\n" {
				t.Errorf("ended as %v with %q: %v", e.Status, e.Stdout.text, e.Failure)
			}
			if len(b.notes) != 1 || !strings.HasPrefix(b.notes[0], "item 12 left running") || !strings.Contains(b.notes[0], "(process ") {
				t.Errorf("notes: %q", b.notes)
			}
			if alive(g) == "" {
				t.Error("it was ended with its command")
			}
			b.drained()
			if left, err := g.Close(); len(left) == 0 || err != nil {
				t.Errorf("at its end the run has ended %v, %v", left, err)
			}
			if left := alive(g); left != "" {
				t.Errorf("still there: %s", left)
			}
		})
	}
}

// Many items that leave something are not many notes.
func TestLeftOversAreNamedToALimit(t *testing.T) {
	g := startGuardian(t)
	b := newBench(t, run{guardian: g}, "sh", "-c", "sleep 30 >/dev/null 2>&1 &", "sh")
	for i := range maxNotes + 3 {
		b.one(batch.Item{Index: uint64(i)})
	}
	if n := len(b.notes); n != maxNotes || !strings.Contains(b.notes[n-1], "names no more") {
		t.Errorf("%d notes, the last: %q", n, b.notes[n-1])
	}
}

// What the command itself wrote counts, however slowly it is read.
func TestNothingIsLostAfterTheEnd(t *testing.T) {
	b := newBench(t, run{}, "sh", "-c", `sleep 30 & head -c 60000 /dev/zero | tr '\0' e >&2; head -c 60000 /dev/zero | tr '\0' o`, "sh")
	passed, pid := 0, 0
	b.w.cfg.Output = func(out batch.Output) {
		passed += len(out.Data)
		pid = max(pid, b.w.PID())
		if passed >= 30000 {
			awaitEnd(t, pid) // this reader is slower than the command
		}
	}
	b.w.buf = b.w.buf[:1000]
	e := b.one(text("x"))
	if passed != 60000 || len(e.Stdout.text) != 60000 {
		t.Errorf("%d bytes of standard error and %d of standard output", passed, len(e.Stdout.text))
	}
	unix.Kill(-pid, unix.SIGKILL) // the sleeper
}

// awaitEnd waits until a child has ended, and leaves it to be collected.
func awaitEnd(t *testing.T, pid int) {
	t.Helper()
	if err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Error(err)
	}
}

// Commands have a session of their own, away from the terminal.
func TestOwnSession(t *testing.T) {
	b := newBench(t, run{}, "sh", "-c", `echo $$ $(ps -o sid=,pgid= -p $$)`, "sh")
	var pid, sid, group int
	e := b.one(text("x"))
	if _, err := fmt.Sscan(e.Stdout.text, &pid, &sid, &group); err != nil || sid != pid || group != pid {
		t.Errorf("process %d is in session %d and group %d (%v)", pid, sid, group, err)
	}
	if own := os.Getpid(); sid == own {
		t.Error("the session is that of the tests")
	}
}
