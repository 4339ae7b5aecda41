//go:build linux

package command

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/internal/proc"
)

func TestHostileItems(t *testing.T) {
	b := newBench(t, run{helper: "args"}, "{}", "--", "<{}>")
	for _, item := range hostile {
		e := b.one(text(item))
		want := fmt.Sprintf("%x\n%x\n%x\n", item, "--", "<"+item+">")
		if e.Status != batch.OK || e.Stdout.text != want {
			t.Errorf("%q arrived as %q (%v)", item, e.Stdout.text, e.Failure)
		}
	}
	notPwned(t, b.dir)
}

// A start that lacks descriptors is tried again until others have given some back.
func TestAShortageIsWaitedOut(t *testing.T) {
	b := newBench(t, run{}, "echo", "{}")
	first, err := unix.Dup(0)
	if err != nil {
		t.Fatal(err)
	}
	lowerFileLimit(t, first+64) // so that it does not take a million of them
	held := []int{first}
	for {
		fd, err := unix.Dup(0)
		if err != nil {
			break
		}
		held = append(held, fd)
	}
	time.AfterFunc(50*time.Millisecond, func() {
		for _, fd := range held {
			unix.Close(fd)
		}
	})
	if e := b.one(text("a")); e.Status != batch.OK || e.Stdout.text != "a\n" {
		t.Errorf("the item ended as %v: %v", e.Status, e.Failure)
	}
}

// lowerFileLimit lets this process have no descriptor from n on, for this test.
func lowerFileLimit(t *testing.T, n int) {
	t.Helper()
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	low := limit
	low.Cur = uint64(n)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
			t.Error(err)
		}
	})
}

func TestScarcity(t *testing.T) {
	for err, want := range map[error]bool{unix.EMFILE: true, unix.ENFILE: true, unix.EAGAIN: true, unix.ENOMEM: true, unix.ENOENT: false, nil: false} {
		if got := isScarce(err); got != want {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
	}
}

func TestStatuses(t *testing.T) {
	cases := []struct {
		name, script string
		status       batch.Status
		exit, signal int
		kind         string
		message      string
	}{
		{"ok", "true", batch.OK, 0, 0, "", ""},
		{"exit 3", "exit 3", batch.Failed, 3, 0, "ExitStatus", "exit status 3"},
		{"exit 256 is 0", "exit 256", batch.OK, 0, 0, "", ""},
		{"last words", "echo no >&2; echo 'bad thing' >&2; echo >&2; exit 1", batch.Failed, 1, 0, "ExitStatus", "exit status 1: bad thing"},
		{"killed", "kill -9 $$", batch.Failed, -1, 9, "Signal", "killed by signal 9 (SIGKILL)"},
		{"killed inside", "sh -c 'kill -9 $$' 2>/dev/null; exit $?", batch.Failed, 137, 0, "ExitStatus",
			"exit status 137 (a shell reports 128+9 when SIGKILL ended its command)"},
		{"137 by choice", "exit 137", batch.Failed, 137, 0, "ExitStatus",
			"exit status 137 (a shell reports 128+9 when SIGKILL ended its command)"},
		{"255", "exit 255", batch.Failed, 255, 0, "ExitStatus", "exit status 255"},
		{"terminated", "kill $$", batch.Failed, -1, 15, "Signal", "killed by signal 15 (SIGTERM)"},
		{"not found", "nosuchcommand 2>/dev/null", batch.Failed, 127, 0, "ExitStatus",
			"exit status 127 (a shell reports that when a command is not found)"},
		{"not executable", "/dev/null 2>/dev/null", batch.Failed, 126, 0, "ExitStatus",
			"exit status 126 (a shell reports that when a command cannot be executed)"},
	}
	b := newBench(t, run{}, "sh", "-c")
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			e := b.one(batch.Item{Index: uint64(i), Attempt: 2, Data: []byte(c.script)})
			if e.Index != uint64(i) || e.Attempt != 2 || e.Start <= 0 || e.End < e.Start {
				t.Errorf("result is of item %d, attempt %d, from %d to %d", e.Index, e.Attempt, e.Start, e.End)
			}
			if e.Status != c.status || e.Exit != c.exit || e.Signal != c.signal {
				t.Errorf("ended as %v, exit %d, signal %d, in %s", e.Status, e.Exit, e.Signal, e.Value)
			}
			if e.Failure.Type != c.kind || e.Failure.Message != c.message {
				t.Errorf("failure is %+v", e.Failure)
			}
		})
	}
}

func TestCannotStart(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	cases := []struct{ name, program, kind, message string }{
		{"not there", dir + "/none", "CommandNotFound", "is not there"},
		{"not executable", write("plain", "", 0o600), "CommandNotFound", "chmod +x"},
		{"no format", write("text", "hello\n", 0o700), "StartFailed", "#!/bin/sh"},
		{"no interpreter", write("orphan", "#!/no/such\n", 0o700), "StartFailed", "interpreter"},
	}
	b := newBench(t, run{}, "{}")
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			e := b.one(text(c.program))
			if e.Status != batch.Failed || e.Failure.Type != c.kind || !strings.Contains(e.Failure.Message, c.message) {
				t.Errorf("ended as %v with %+v", e.Status, e.Failure)
			}
		})
	}
	if e := b.one(text("/bin/true")); e.Status != batch.OK {
		t.Errorf("after these: %+v", e.Failure)
	}
}

func TestStdin(t *testing.T) {
	b := newBench(t, run{stdin: true}, "cat")
	large := strings.Repeat("0123456789\n", 400_000)
	for _, item := range append([]string{"no newline", "a\x00b", large}, hostile...) {
		e := b.one(text(item))
		got := e.Stdout.text
		if e.Stdout.file != "" {
			got = b.read(e.Stdout.file)
		}
		if e.Status != batch.OK || got != item {
			t.Errorf("%.50q of %d bytes came back as %d bytes (%v)", item, len(item), len(got), e.Failure)
		}
	}
}

// A command need not read what it is given, nor all of it.
func TestStdinUnread(t *testing.T) {
	for _, args := range [][]string{{"true"}, {"head", "-c", "1"}, {"sh", "-c", "exec <&-; echo x"}} {
		b := newBench(t, run{stdin: true}, args...)
		if e := b.one(text(strings.Repeat("x", 1<<20))); e.Status != batch.OK {
			t.Errorf("%v: %+v", args, e.Failure)
		}
	}
}

// C18: a command must not read what is poolwise's.
func TestStdinIsEmpty(t *testing.T) {
	b := newBench(t, run{}, "sh", "-c", "cat; tty; echo end")
	for range 3 {
		if e := b.one(text("x")); e.Stdout.text != "not a tty\nend\n" {
			t.Errorf("got %q", e.Stdout.text)
		}
	}
}

func (b *bench) read(name string) string {
	b.t.Helper()
	data, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(data)
}

func TestStdout(t *testing.T) {
	cases := []struct{ name, script, want string }{
		{"nothing", "true", `""`},
		{"text", "printf 'a\n\"é\"'", `"a\n\"é\""`},
		{"no text", `printf '\377\376'`, `{"$bytes":"//4="}`},
		{"a zero byte", `printf '\0'`, `"\u0000"`},
	}
	b := newBench(t, run{}, "sh", "-c")
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			want := `{"exit":0,"stdout":` + c.want + `,"stderr":""}`
			if e := b.one(text(c.script)); string(e.Value) != want {
				t.Errorf("got %s, want %s", e.Value, want)
			}
		})
	}
}

// Large outputs go to a file whole; memory stays flat.
func TestSpill(t *testing.T) {
	b := newBench(t, run{}, "sh", "-c", `head -c "$1" /dev/zero | tr '\0' x`, "sh")
	for i, size := range []int{holdStdout, holdStdout + 1, 100 << 20} {
		before := allocated()
		e := b.one(batch.Item{Index: uint64(i), Attempt: 3, Data: []byte(strconv.Itoa(size))})
		if grown := allocated() - before; grown > 16<<20 {
			t.Errorf("%d bytes of output took %d bytes of memory", size, grown)
		}
		if i == 0 {
			if len(e.Stdout.text) != size {
				t.Errorf("%d bytes came back as %d", size, len(e.Stdout.text))
			}
			continue
		}
		if e.Stdout.file != fmt.Sprintf("out/%d-3", i) || e.Stdout.bytes != int64(size) {
			t.Fatalf("output is at %+v", e.Stdout)
		}
		info, err := os.Stat(filepath.Join(b.dir, e.Stdout.file))
		if err != nil || info.Size() != int64(size) {
			t.Errorf("the file: %v, %v", info, err)
		}
	}
}

// allocated is all memory that was ever asked for.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// What cannot be kept must not be lost silently: the run has to stop.
func TestSpillFails(t *testing.T) {
	g := startGuardian(t)
	b := newBench(t, run{guardian: g}, "sh", "-c", `head -c 2000000 /dev/zero; sleep 300`, "sh")
	if err := os.WriteFile(filepath.Join(b.dir, "out"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := b.w.Submit([]batch.Item{text("x")}); err != nil {
		t.Fatal(err)
	}
	_, err := b.w.Wait()
	if err == nil || err == io.EOF || !strings.Contains(err.Error(), filepath.Join(b.dir, "out")) {
		t.Errorf("Wait returns %v", err)
	}
	if left := alive(g); left != "" {
		t.Errorf("still there: %s", left)
	}
}

// C17: 20 MiB to standard error, and something to standard output.
func TestStderrFlood(t *testing.T) {
	b := newBench(t, run{helper: "flood"})
	passed := 0
	b.w.cfg.Output = func(out batch.Output) { passed += len(out.Data) }
	before := allocated()
	e := b.one(text("x"))
	if grown := allocated() - before; grown > 4<<20 {
		t.Errorf("it took %d bytes of memory", grown)
	}
	if e.Status != batch.OK || e.Stdout.text != "out" || passed != 20<<20 {
		t.Errorf("ended as %v, wrote %q, %d bytes were passed on", e.Status, e.Stdout.text, passed)
	}
	if len(e.Stderr.text) != 64<<10 || e.Cut != 20<<20-64<<10 {
		t.Errorf("kept are %d bytes, cut %d", len(e.Stderr.text), e.Cut)
	}
}

// C16: bytes that are no text are passed on as they are.
func TestStderrBytes(t *testing.T) {
	b := newBench(t, run{}, "sh", "-c", `printf '\227\0x' >&2; exit 1`, "sh")
	e := b.one(batch.Item{Index: 5, Attempt: 2, Data: []byte("x")})
	if e.Stderr.text != "\x97\x00x" || !strings.Contains(string(e.Value), `"stderr":{"$bytes":`) {
		t.Errorf("kept is %s", e.Value)
	}
	if !strings.Contains(e.Failure.Message, "\uFFFD") {
		t.Errorf("the message is %q", e.Failure.Message)
	}
	var got []byte
	for _, out := range b.stderr {
		got = append(got, out.Data...)
		if len(out.Items) != 1 || out.Items[0].Index != 5 || out.Items[0].Attempt != 2 || out.Stream != "stderr" || out.Worker != 1 {
			t.Errorf("passed on as %+v", out)
		}
	}
	if string(got) != "\x97\x00x" {
		t.Errorf("passed on was %q", got)
	}
}

func TestExcerptKeepsCharactersWhole(t *testing.T) {
	for shift := range 4 {
		var e excerpt
		whole := strings.Repeat("x", shift) + strings.Repeat("😀", 60<<10)
		for part := range slices.Chunk([]byte(whole), 1000) {
			e.write(part)
		}
		kept, cut := e.text()
		if strings.ContainsRune(string(kept), '\uFFFD') || int(cut)+len(kept) != len(whole) || len(kept) < 64<<10-8 {
			t.Errorf("shifted by %d: %d bytes kept, %d cut of %d", shift, len(kept), cut, len(whole))
		}
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("POOLWISE_ITEM_INDEX", "99") // of a poolwise around this one
	b := newBench(t, run{}, "sh", "-c", `echo $POOLWISE_ITEM_INDEX $POOLWISE_ATTEMPT $(env | grep -c ^POOLWISE_ITEM_INDEX); pwd -P`, "sh")
	e := b.one(batch.Item{Index: 7, Attempt: 2})
	dir, err := filepath.EvalSymlinks(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	if want := "7 2 1\n" + dir + "\n"; e.Stdout.text != want {
		t.Errorf("got %q, want %q", e.Stdout.text, want)
	}
}

// A result does not wait for the items after it.
func TestResultsLeaveEarly(t *testing.T) {
	b := newBench(t, run{}, "sh", "-c")
	err := b.w.Submit([]batch.Item{{Index: 0, Attempt: 1}, {Index: 1, Attempt: 1, Data: []byte("exec sleep 300")}})
	if err != nil {
		t.Fatal(err)
	}
	if e := b.wait(); e.Index != 0 {
		t.Errorf("got item %d", e.Index)
	}
}

// After a failure nothing more is started before the result was taken.
func TestNothingRunsAhead(t *testing.T) {
	b := newBench(t, run{}, "sh", "-c")
	err := b.w.Submit([]batch.Item{
		{Index: 0, Attempt: 1, Data: []byte("exit 1")}, {Index: 1, Attempt: 1, Data: []byte("touch ran")},
	})
	if err != nil {
		t.Fatal(err)
	}
	b.wait()
	b.drained()
	if _, err := os.Stat(filepath.Join(b.dir, "ran")); err == nil {
		t.Error("the second item has run")
	}
}

func TestNoDescriptorAndNoZombieIsLeft(t *testing.T) {
	b := newBench(t, run{stdin: true}, "sh", "-c", "cat >/dev/null; exit 1")
	b.one(text("x"))
	before := descriptors(t)
	for range 200 {
		b.one(text("x"))
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
	var status unix.WaitStatus
	if pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil); err != unix.ECHILD {
		t.Errorf("there is a child: %d, %v", pid, err)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

// What a command gets of descriptors is its standard streams.
func TestNothingIsInherited(t *testing.T) {
	inherited := newBench(t, run{}, "true")
	b := newBench(t, run{}, "sh", "-c", "ls -l /proc/self/fd | grep -c -e eventfd -e pidfd -e memfd -e epoll; true", "sh")
	inherited.one(text("x"))
	if e := b.one(text("x")); e.Stdout.text != "0\n" {
		t.Errorf("%s of poolwise's descriptors are in a command", e.Stdout.text)
	}
}

// Two workers at a time, each on its own thread: nothing is mixed up.
func TestWorkersSideBySide(t *testing.T) {
	var all sync.WaitGroup
	for n := range 4 {
		b := newBench(t, run{}, "echo", strconv.Itoa(n))
		all.Go(func() {
			for i := range 50 {
				want := fmt.Sprintf("%d %d\n", n, i)
				if e := b.one(text(strconv.Itoa(i))); e.Stdout.text != want {
					t.Errorf("got %q, want %q", e.Stdout.text, want)
				}
			}
			b.close()
		})
	}
	all.Wait()
}

// The wall time of an item is its own.
func TestTimes(t *testing.T) {
	b := newBench(t, run{}, "sleep")
	before := proc.Now()
	e := b.one(text("0.05"))
	if e.Start < before || e.End > proc.Now() || time.Duration(e.End-e.Start) < 50*time.Millisecond {
		t.Errorf("ran from %d to %d, asked for at %d", e.Start, e.End, before)
	}
}
