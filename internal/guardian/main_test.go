//go:build linux

package guardian

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// victim is the variable that makes the test binary hold a guardian and start
// what the variable says, for a test to kill it.
const victim = "POOLWISE_TEST_VICTIM"

func TestMain(m *testing.M) {
	MaybeRun()
	if script := os.Getenv(victim); script != "" {
		os.Unsetenv(victim)
		beVictim(script)
	}
	goleak.VerifyTestMain(m)
}

// beVictim starts a script, in a session of its own, and waits to be killed.
func beVictim(script string) {
	g, err := Start()
	if err != nil {
		panic(err)
	}
	if err := g.Started(); err != nil {
		panic(err)
	}
	fmt.Println(g.cmd.Process.Pid)
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Env = append(os.Environ(), g.Cookie())
	cmd.Stdout = os.Stdout
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	place := g.Place()
	place.Note(cmd.Process.Pid)
	cmd.Wait()
	place.Note(0)
	time.Sleep(time.Hour) // until it is killed; select would be a deadlock
}

// victimProcess is a running victim and the processes that it has told of.
type victimProcess struct {
	cmd      *exec.Cmd
	guardian int
	pids     []int
}

// startVictim waits until the script has printed n process ids.
func startVictim(t *testing.T, script string, n int) *victimProcess {
	t.Helper()
	heedSignals(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), victim+"="+script)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	lines := bufio.NewReader(out)
	pids := make([]int, n+1)
	for i := range pids {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("the victim told of %d processes of %d: %v", i, n+1, err)
		}
		if pids[i], err = strconv.Atoi(strings.TrimSpace(line)); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { endAll(pids) })
	return &victimProcess{cmd: cmd, guardian: pids[0], pids: pids[1:]}
}

// endAll ends what a failed test has left.
func endAll(pids []int) {
	for _, pid := range pids {
		unix.Kill(pid, unix.SIGKILL)
	}
}

// gone waits for the end of processes, which need not be children.
func gone(t *testing.T, within time.Duration, pids ...int) {
	t.Helper()
	deadline := time.Now().Add(within)
	for _, pid := range pids {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue
		}
		left := max(time.Until(deadline), 0)
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(left/time.Millisecond))
		unix.Close(fd)
		if n == 0 {
			t.Errorf("process %d is still there %v later (%v)", pid, within, err)
		}
	}
}

func alive(pid int) bool { return !ended(pid) }

// start starts a shell that carries the guardian's cookie and prints n lines.
func start(t *testing.T, g *Guardian, script string, n int, env ...string) (*exec.Cmd, []int) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Env = append(append(os.Environ(), g.Cookie()), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pids := make([]int, n)
	for i := range pids {
		if _, err := fmt.Fscanln(out, &pids[i]); err != nil && err != io.EOF {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { endAll(pids); cmd.Process.Kill() })
	return cmd, pids
}

func ids(found []Process) []int {
	got := make([]int, len(found))
	for i, p := range found {
		got[i] = p.PID
	}
	slices.Sort(got)
	return got
}

// heedSignals undoes what nohup and jobs in the background do: signals that
// this process ignores would be ignored by those that it starts.
func heedSignals(t *testing.T) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT)
	t.Cleanup(func() { signal.Stop(c) })
}
