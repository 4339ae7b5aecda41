//go:build linux

package guardian

import (
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// limit is how soon after poolwise everything must be gone.
const limit = 2 * time.Second

// patience is how long anything else may take; a program built with the race
// detector sleeps a second when it exits.
const patience = 10 * time.Second

// reveal makes a process print its id and become a sleeper.
const reveal = `sh -c 'echo $$; exec sleep 300'`

func TestKilledWithoutWarning(t *testing.T) {
	cases := []struct {
		name, script string
		n            int
	}{
		{"child", "exec " + reveal, 1},
		{"background and its own session", reveal + " & setsid " + reveal + " & wait", 2},
		{"command has ended", reveal + " & setsid " + reveal + " & exit 0", 2},
		{"daemon", "setsid sh -c '" + strings.ReplaceAll(reveal, "'", `'\''`) + " &' & wait", 1},
		{"empty environment, same session", "env -i " + reveal + " & wait", 1},
		{"empty environment from the start", "exec env -i sh -c '(echo $$; sleep 300) & sh -c \"echo \\$\\$; exec sleep 300\"'", 2},
		{"ignores signals", `trap "" HUP INT TERM; ` + reveal + " & wait", 1},
		{"forks while it is hunted", "echo $$; while :; do setsid sleep 300 & done", 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			v := startVictim(t, c.script, c.n)
			for _, pid := range v.pids {
				if !alive(pid) {
					t.Fatalf("process %d has ended before the test", pid)
				}
			}
			began := time.Now()
			v.cmd.Process.Kill()
			gone(t, limit, v.pids...)
			t.Logf("gone after %v", time.Since(began))
			gone(t, patience, v.guardian)
		})
	}
}

func TestEverySignalOfPoolwise(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGSEGV, syscall.SIGABRT} {
		t.Run(sig.String(), func(t *testing.T) {
			v := startVictim(t, "exec setsid "+reveal, 1)
			v.cmd.Process.Signal(sig)
			gone(t, limit, v.pids...)
			gone(t, patience, v.guardian)
		})
	}
}

// The guardian must outlast what is sent to everything around it.
func TestIgnoresSignals(t *testing.T) {
	v := startVictim(t, "exec "+reveal, 1)
	ready(t, v.guardian)
	for sig := syscall.Signal(1); sig < 32; sig++ {
		switch sig {
		case syscall.SIGKILL, syscall.SIGSTOP: // nothing helps against these
		case syscall.SIGSTKFLT: // nobody sends it, and Go gives no way to ignore it
		default:
			unix.Kill(v.guardian, sig)
		}
	}
	v.cmd.Process.Kill()
	gone(t, limit, v.pids...)
	gone(t, patience, v.guardian)
}

// ready waits until a guardian ignores signals: it needs a moment to be up.
func ready(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		status, err := os.ReadFile(procFile(pid, "status"))
		if err != nil {
			t.Fatal(err)
		}
		_, mask, _ := strings.Cut(string(status), "SigIgn:\t")
		if mask, _, _ = strings.Cut(mask, "\n"); strings.HasPrefix(mask, "ffff") { // up to the last
			return
		}
	}
	t.Fatal("the guardian does not ignore signals")
}

func TestCloseEndsWhatIsLeft(t *testing.T) {
	g := startGuardian(t)
	cmd, pids := start(t, g, reveal+" & setsid "+reveal+" & exit 0", 2)
	cmd.Wait()
	left, err := g.Close()
	if err != nil {
		t.Error(err)
	}
	gone(t, limit, pids...)
	slices.Sort(pids)
	if got := ids(left); !slices.Equal(got, pids) {
		t.Errorf("Close tells of %v, left were %v", left, pids)
	}
	if again, err := g.Close(); again != nil || err != nil {
		t.Errorf("the second Close returns %v, %v", again, err)
	}
}

func TestCloseWithoutAnything(t *testing.T) {
	g := startGuardian(t)
	if err := g.Started(); err != nil {
		t.Fatal(err)
	}
	pid := g.cmd.Process.Pid
	if left, err := g.Close(); len(left) > 0 || err != nil {
		t.Errorf("Close returns %v, %v", left, err)
	}
	if alive(pid) {
		t.Error("the guardian is still there")
	}
}

func TestRelease(t *testing.T) {
	g := startGuardian(t)
	cmd, pids := start(t, g, "setsid "+reveal+" & exit 0", 1)
	cmd.Wait()
	g.Release()
	gone(t, limit, pids...)
	g.cmd.Wait()
}

func TestFindItem(t *testing.T) {
	g := startGuardian(t)
	defer g.Close()
	first, one := start(t, g, "setsid "+reveal+" & exit 0", 1, "POOLWISE_ITEM_INDEX=1")
	second, two := start(t, g, reveal+" & exit 0", 1, "POOLWISE_ITEM_INDEX=11")
	first.Wait()
	second.Wait()
	found := g.FindItem("POOLWISE_ITEM_INDEX=1")
	if !slices.Equal(ids(found), one) || found[0].Name != "sleep" {
		t.Errorf("of item 1 found %v, want sleep as %v", found, one)
	}
	if got := len(g.Find()); got != 2 {
		t.Errorf("found %d processes, want 2", got)
	}
	g.KillItem(second.Process.Pid, "POOLWISE_ITEM_INDEX=11")
	gone(t, limit, two...)
	if !alive(one[0]) {
		t.Error("another item's process is gone")
	}
}

// Those of another run, or of none, must be left alone.
func TestStrangersStay(t *testing.T) {
	g, other := startGuardian(t), startGuardian(t)
	defer other.Close()
	cmd, pids := start(t, other, "setsid "+reveal+" & exit 0", 1)
	cmd.Wait()
	plain := exec.Command("sleep", "300") // in this process's own session
	if err := plain.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { plain.Process.Kill(); plain.Wait() }()
	inSession := exec.Command("sleep", "300")
	inSession.Env = append(os.Environ(), g.Cookie())
	if err := inSession.Start(); err != nil {
		t.Fatal(err)
	}
	if left, _ := g.Close(); !slices.Equal(ids(left), []int{inSession.Process.Pid}) {
		t.Errorf("Close has ended %v, want process %d alone", left, inSession.Process.Pid)
	}
	inSession.Wait()
	if !alive(pids[0]) || !alive(plain.Process.Pid) {
		t.Error("a stranger is gone")
	}
}

// A child must not hold the pipe whose end tells the guardian of ours.
func TestChildrenHoldNothing(t *testing.T) {
	held := func() string {
		out, err := exec.Command("ls", "/proc/self/fd").Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	before := held()
	g := startGuardian(t)
	defer g.Close()
	if after := held(); after != before {
		t.Errorf("a child has the descriptors %q, without a guardian %q", after, before)
	}
}

// The guardian holds nothing of whoever started poolwise, such as a lock.
func TestGuardianHoldsNothing(t *testing.T) {
	v := startVictim(t, "exec "+reveal, 1)
	for deadline := time.Now().Add(patience); ; {
		fds, err := os.ReadDir(procFile(v.guardian, "fd"))
		if err != nil {
			t.Fatal(err)
		}
		inherited := 0
		for _, fd := range fds {
			info, _ := os.ReadFile(procFile(v.guardian, "fdinfo/"+fd.Name()))
			_, flags, _ := strings.Cut(string(info), "flags:\t")
			flags, _, _ = strings.Cut(flags, "\n")
			if bits, err := strconv.ParseInt(flags, 8, 64); err == nil && bits&unix.O_CLOEXEC == 0 {
				inherited++
			}
		}
		if inherited == 3 { // its standard streams
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the guardian holds %d descriptors that it was given, want 3", inherited)
		}
	}
}

func TestDescriptors(t *testing.T) {
	count := func() int {
		names, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	startGuardian(t).Close() // what the runtime opens once
	before := count()
	for range 5 {
		startGuardian(t).Close()
	}
	if after := count(); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func TestPlaces(t *testing.T) {
	g := startGuardian(t)
	defer g.Close()
	a, b := g.Place(), g.Place()
	a.Note(7)
	b.Note(8)
	if got := g.table.pids(); !slices.Equal(got, []int{7, 8}) {
		t.Errorf("noted are %v", got)
	}
	a.Release()
	if c := g.Place(); c.at != a.at {
		t.Errorf("place %d was given back and is not used again", a.at)
	}
	b.Release()
	for range tableSize - 1 {
		g.Place()
	}
	last := g.Place()
	last.Note(9)
	last.Release()
	if last != nil || len(g.table.pids()) > 0 {
		t.Error("there is a place beyond the last")
	}
}

func startGuardian(t testing.TB) *Guardian {
	t.Helper()
	g, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		g := startGuardian(b)
		b.StopTimer()
		g.Close()
		b.ReportMetric(float64(g.cmd.ProcessState.UserTime()+g.cmd.ProcessState.SystemTime())/1e6, "cpu-ms")
		b.StartTimer()
	}
}

func BenchmarkClose(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		g := startGuardian(b)
		b.StartTimer()
		g.Close()
	}
}

func BenchmarkFind(b *testing.B) {
	g := startGuardian(b)
	defer g.Close()
	for b.Loop() {
		g.Find()
	}
}
