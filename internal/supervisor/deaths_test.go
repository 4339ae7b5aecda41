//go:build linux || darwin

package supervisor_test

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/poolwise/poolwise/internal/workertest"
)

// lostChannel is the message of a worker whose task closed its socket.
const lostChannel = "exited 87 without answering: its connection to poolwise was closed under it:" +
	" the task closed descriptors that are not its own"

// TestWaysToDie gives a worker of each kind one item, index 5, of a task that
// does the worst. A worker that lives on must answer the next item, 6.
func TestWaysToDie(t *testing.T) {
	for _, c := range []struct {
		name string
		body string // of the task, for x == "die"
		want string // what came of item 5, and of the worker
	}{
		{"exits with a status", "os._exit(1)", "died: exited 1 without answering; in hand [5]"},
		{"exits with status 0", "os._exit(0)", "died: exited 0 without answering; in hand [5]"},
		{"kills itself", "os.kill(os.getpid(), 9)", "died: killed by signal 9 (SIGKILL); in hand [5]"},
		{"reads address 0", "ctypes.string_at(0)", "died: killed by signal 11 (SIGSEGV); in hand [5]"},
		{"aborts", "os.abort()", "died: killed by signal 6 (SIGABRT); in hand [5]"},
		{"exhausts memory", "return [0] * (1 << 60)", "failed: MemoryError; lives"},
		{"calls sys.exit", "sys.exit(0)", "failed: SystemExit: the task called sys.exit(0); lives"},
		{"recurses without end", "g = lambda: g()\n  return g()", "failed: RecursionError: maximum recursion depth exceeded; lives"},
		{"closes every descriptor", "os.closerange(3, 4096)", "died: " + lostChannel + "; in hand [5]"},
		{"closes the standard streams", "os.closerange(0, 3)", "ok: null; lives"},
		{"forks and both return", "return os.fork() and 1", "ok: 1; lives"},
		{"forks and the child raises", "if os.fork() == 0: raise ValueError(x)", "ok: null; lives"},
		{"forks and the child exits", "if os.fork() == 0: sys.exit(3)", "ok: null; lives"},
		{"leaves a process", "subprocess.Popen(['sleep', '3600'])", "ok: null; lives"},
		{"leaves a process that writes without end", "subprocess.Popen(['yes'])", "ok: null; lives"},
		{"leaves a thread", "threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()", "ok: null; lives"},
		{"sends itself SIGINT", "os.kill(os.getpid(), signal.SIGINT)", "ok: null; lives"},
		{"sends itself SIGTERM", "signal.raise_signal(signal.SIGTERM)", "died: killed by signal 15 (SIGTERM); in hand [5]"},
	} {
		for _, kind := range mostKinds() {
			t.Run(c.name+"/"+kind.name, func(t *testing.T) {
				w := startTask(t, kind, "if x == 'die':\n  "+c.body)
				w.run(item(5, "die"))
				got := w.told(5)
				if w.err == nil {
					w.run(item(6, "next"))
					got += "; lives"
					w.drain()
				} else {
					got = w.obituary(5)
				}
				if got != c.want {
					t.Errorf("got  %s\nwant %s", got, c.want)
				}
			})
		}
	}
}

// TestDeathAmidChunk: what ran before is answered or was not told of, and the
// item in hand is named. The engine hands the others out again.
func TestDeathAmidChunk(t *testing.T) {
	w := startTask(t, serial, "if x == 'die': os._exit(1)")
	w.run(item(0, "a"), item(1, "b"), item(2, "die"), item(3, "c"), item(4, "d"))
	if got, want := w.obituary(2), "died: exited 1 without answering; in hand [2]"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for index := range w.answers {
		if index > 1 {
			t.Errorf("item %d is answered", index)
		}
	}
}

// TestChannelLostAmidChunk: the worker notices too late to say which item it
// was, so it says that it does not know.
func TestChannelLostAmidChunk(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			w := startTask(t, kind, "if x == 'die': os.closerange(3, 4096)")
			w.run(item(0, "a"), item(1, "b"), item(2, "die"), item(3, "c"), item(4, "d"))
			if d := w.death(); !d.ChannelLost || d.Ended || d.Killed || d.Error() != lostChannel {
				t.Errorf("died thus: %v: %+v", d, d)
			}
		})
	}
}

// TestSocketClosedDuringLongItem: the item that closes the socket and goes on
// is the one in hand when poolwise ends the worker. In the other kinds a thread
// or the loop has the socket in use, which keeps it open till the item's end.
func TestSocketClosedDuringLongItem(t *testing.T) {
	w := startTask(t, serial, "if x == 'die':\n  os.closerange(3, 4096)\n  time.sleep(3600)")
	w.run(item(0, "a")) // nothing else is to be sent meanwhile
	w.run(item(1, "die"))
	d := w.death()
	if want := "ended by poolwise: it closed its connection to poolwise and went on"; !d.Ended || d.Error() != want {
		t.Errorf("died thus: %v: %+v", d, d)
	}
	if got := indexesOf(d.Running); !slices.Equal(got, []uint64{1}) {
		t.Errorf("in hand %v, want [1]", got)
	}
}

// TestDeathWhileIdle: a thread that an item has left ends the process later.
func TestDeathWhileIdle(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			fifo := filepath.Join(t.TempDir(), "fifo")
			if err := unix.Mkfifo(fifo, 0o600); err != nil {
				t.Fatal(err)
			}
			w := startTask(t, kind, "threading.Thread(target=lambda: (open(x).read(), os._exit(4)), daemon=True).start()")
			w.run(item(0, fifo))
			w.idle()
			fd, err := unix.Open(fifo, unix.O_WRONLY, 0) // waits for the thread
			if err != nil {
				t.Fatal(err)
			}
			unix.Close(fd)
			w.finish()
			if got, want := w.obituary(0), "died: exited 4 without answering; in hand []"; got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

// TestLastWords: a death carries the end of standard error.
func TestLastWords(t *testing.T) {
	w := startTask(t, serial, "if x == 'die':\n  os.write(2, b'y' * 5000 + b'out of luck\\n')\n  os._exit(1)")
	w.run(item(0, "die"))
	if d := w.death(); !strings.HasSuffix(d.LastWords, "yyout of luck\n") || len(d.LastWords) != 2<<10 {
		t.Errorf("last words are %d bytes: %q", len(d.LastWords), d.LastWords)
	}
}

// TestGroupIsEnded: what an item has left in the worker's group goes with it.
func TestGroupIsEnded(t *testing.T) {
	for _, drained := range []bool{true, false} {
		w := startTask(t, serial, "return subprocess.Popen(['sleep', '3600']).pid")
		w.run(item(0, ""))
		pid := w.pid(0)
		if drained {
			w.drain()
		} else {
			w.Kill()
			w.finish()
		}
		workertest.Gone(t, pid)
	}
}

// pid reads an answer that is a process id.
func (w *worker) pid(index uint64) int {
	w.t.Helper()
	pid, err := strconv.Atoi(strings.TrimPrefix(w.answers[index], "ok: "))
	if err != nil {
		w.t.Fatal(err)
	}
	return pid
}

// TestRunawayHoldsNothingUp: C22. A process that has left the group, and holds
// or floods the pipes, is not the supervisor's to end; it must not wait for it.
func TestRunawayHoldsNothingUp(t *testing.T) {
	for _, command := range []string{"'sleep', '3600'", "'yes'"} {
		for _, end := range []string{"drain", "kill", "exit"} {
			t.Run(command+"/"+end, func(t *testing.T) {
				body := "if x == 'die': os._exit(1)\nreturn subprocess.Popen([" + command + "], start_new_session=True).pid"
				w := startTask(t, serial, body)
				w.run(item(0, ""))
				defer unix.Kill(w.pid(0), unix.SIGKILL)
				began := time.Now()
				switch end {
				case "drain":
					w.drain()
				case "kill":
					w.Kill()
					w.death()
				case "exit":
					w.run(item(1, "die"))
				}
				if took := time.Since(began); took > 2*time.Second {
					t.Errorf("the end took %v", took)
				}
			})
		}
	}
}

// TestGoodbye: handlers of the task run at the end, what they print is kept,
// and a thread that does not end is waited for a few seconds only.
func TestGoodbye(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			w := startTask(t, kind, "import atexit\natexit.register(print, 'farewell')")
			w.run(item(0, ""))
			w.drain()
			if got := w.printed("stdout"); got != "farewell\n" {
				t.Errorf("printed: %q", got)
			}
		})
	}
	t.Run("thread without end", func(t *testing.T) {
		if testing.Short() {
			t.Skip("takes 5 s")
		}
		w := startTask(t, serial, "threading.Thread(target=time.sleep, args=(3600,)).start()")
		w.run(item(0, ""))
		w.Drain()
		w.finish()
		if got := w.told(0); got != `ok: ""` || w.err.Error() != "EOF" {
			t.Errorf("told %q, ended with %v", got, w.err)
		}
	})
}
