//go:build linux || darwin

package workertest

import (
	"slices"
	"syscall"
	"testing"

	"github.com/poolwise/poolwise/internal/supervisor"
)

// runDeaths tests workers that die of what their items do.
func runDeaths(t *testing.T, k Kind) {
	t.Run("death names the items in hand", func(t *testing.T) { deathRunning(t, k) })
	t.Run("death by a signal", func(t *testing.T) { deathBySignal(t, k) })
	t.Run("death while idle names none", func(t *testing.T) { deathIdle(t, k) })
	t.Run("death while draining", func(t *testing.T) { deathDraining(t, k) })
}

func deathRunning(t *testing.T, k Kind) {
	g := newGate(t)
	l := start(t, k, Dies)
	held := k.Slots - 1
	for i := range held {
		l.submit(items(uint64(i), g.dir))
		g.arrived()
	}
	last := uint64(held)
	l.submit(items(last, "exit"))
	d := l.death()
	if d.Exit != 3 || d.Signal != 0 || d.Killed || d.Ended || d.ChannelLost || d.Error() != "exited 3 without answering" {
		t.Errorf("died thus: %v: %+v", d, d)
	}
	if got := inHand(d.Running); !slices.Equal(got, upTo(held+1)) {
		t.Errorf("in hand were %v, want items 0 to %d", got, held)
	}
	if len(l.answers) > 0 {
		t.Errorf("answers: %v", l.answers)
	}
}

func deathBySignal(t *testing.T, k Kind) {
	l := start(t, k, Dies)
	l.submit(items(0, "a", "b"))
	l.collect(2)
	l.submit(items(7, "signal"))
	d := l.death()
	if d.Exit != -1 || d.Signal != syscall.SIGSEGV || d.Error() != "killed by signal 11 (SIGSEGV)" {
		t.Errorf("died thus: %v: %+v", d, d)
	}
	if got := inHand(d.Running); !slices.Equal(got, []uint64{7}) {
		t.Errorf("in hand were %v, want item 7", got)
	}
	if d.PeakRSS < 1<<20 {
		t.Errorf("its largest memory was %d", d.PeakRSS)
	}
}

// deathIdle kills the process from outside.
func deathIdle(t *testing.T, k Kind) {
	l := start(t, k, Dies)
	l.submit(items(0, "a"))
	l.collect(1)
	l.idle()
	l.strike()
	d := l.death()
	if d.Signal != syscall.SIGKILL || d.Killed || d.Ended || len(d.Running) > 0 {
		t.Errorf("died thus: %v: %+v", d, d)
	}
}

func deathDraining(t *testing.T, k Kind) {
	g := newGate(t)
	l := start(t, k, Dies)
	held := l.fill(g)
	l.w.Drain()
	l.strike()
	var d *supervisor.Death = l.death()
	if got := inHand(d.Running); !slices.Equal(got, upTo(held)) {
		t.Errorf("in hand were %v, want items 0 to %d", got, held-1)
	}
}

// strike kills the worker's process as a stranger would.
func (l *lane) strike() {
	l.t.Helper()
	process, ok := l.w.(interface{ PID() int })
	if !ok {
		l.t.Fatal("a worker that can die needs a method PID")
	}
	if err := syscall.Kill(process.PID(), syscall.SIGKILL); err != nil {
		l.t.Fatal(err)
	}
}
