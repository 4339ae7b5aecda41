//go:build linux || darwin

package supervisor_test

import (
	"bytes"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/internal/supervisor"
	"github.com/poolwise/poolwise/internal/workertest"
)

// TestWaysToPrint: C14. Values stay intact, and the text is passed on with the
// one item that was running.
func TestWaysToPrint(t *testing.T) {
	frame := `C\x05\x00\x00\x00\x00\x00\x00\x00hello\n` // looks like a result
	for _, c := range []struct{ name, body, stdout, stderr string }{
		{"print", "print('hello')", "hello\n", ""},
		{"print without a newline", "print('hello', end='')", "hello", ""},
		{"write without a newline", "sys.stdout.write('hel'); sys.stdout.write('lo')", "hello", ""},
		{"print nothing", "print(end='')", "", ""},
		{"print to stderr", "print('hello', file=sys.stderr)", "", "hello\n"},
		{"both", "print('out'); sys.stderr.write('err')", "out\n", "err"},
		{"bytes", "sys.stdout.buffer.write(b'\\x97\\xff\\x00')", "\x97\xff\x00", ""},
		{"os.write", "os.write(1, b'hello'); os.write(2, b'there')", "hello", "there"},
		{"a child process", "subprocess.run(['echo', 'hi'])", "hi\n", ""},
		{"a child process of a shell", "os.system('echo hi; echo ho >&2')", "hi\n", "ho\n"},
		{"what looks like a frame", "os.write(1, b'" + frame + "'); print('" + frame + "')",
			strings.Repeat("C\x05\x00\x00\x00\x00\x00\x00\x00hello\n", 2) + "\n", ""},
		{"logging", "logging.warning('careful')", "", "WARNING:root:careful\n"},
		{"warnings", "import warnings; warnings.warn_explicit('careful', UserWarning, 'f.py', 1)", "",
			"f.py:1: UserWarning: careful\n"},
		{"random bytes, then a megabyte", "os.write(1, b'\\x97\\xfe'); sys.stdout.write('x' * (1 << 20))",
			"\x97\xfe" + strings.Repeat("x", 1<<20), ""},
	} {
		for _, kind := range mostKinds() {
			t.Run(c.name+"/"+kind.name, func(t *testing.T) {
				w := startTask(t, kind, "if x == 'print':\n  "+c.body+"\n  time.sleep(0.02)") // what tags pipes is the page
				w.run(batch.Item{Index: 41, Attempt: 3, Data: []byte("print")})
				w.drain()
				if got := w.told(41); got != `ok: "print"` {
					t.Errorf("the item is told as %s", got)
				}
				for stream, want := range map[string]string{"stdout": c.stdout, "stderr": c.stderr} {
					if got := w.printed(stream, 41); sortBytes(got) != sortBytes(want) {
						t.Errorf("%s: %.200q, want %.200q", stream, got, want)
					}
				}
			})
		}
	}
}

// sortBytes forgets the order: what goes to the descriptor and what goes
// through sys.stdout travel by different ways.
func sortBytes(s string) string {
	b := []byte(s)
	counts := [256]int{}
	for _, c := range b {
		counts[c]++
	}
	var sorted []byte
	for c, n := range counts {
		sorted = append(sorted, bytes.Repeat([]byte{byte(c)}, n)...)
	}
	return string(sorted)
}

// TestTags: what goes through sys.stdout names exactly its item and attempt,
// in whatever order items run.
func TestTags(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			body := "print('begin', x)\nsys.stdout.write('part ')\nsys.stderr.write('e' + x)\nprint('end')"
			if kind.name == "async" {
				body = strings.Replace(body, "\nprint('end')", "\nawait asyncio.sleep(0.001)\nprint('end')", 1)
			}
			w := startTask(t, kind, body)
			const n = 500
			var chunk []batch.Item
			for i := range n {
				chunk = append(chunk, batch.Item{Index: uint64(7 * i), Attempt: uint32(1 + i%3), Data: []byte(strconv.Itoa(i))})
			}
			w.run(chunk...)
			w.drain()
			for i := range n {
				name, index := strconv.Itoa(i), uint64(7*i)
				if got, want := w.printed("stdout", index), "begin "+name+"\npart end\n"; got != want {
					t.Fatalf("item %d printed %q, want %q", index, got, want)
				}
				if got, want := w.printed("stderr", index), "e"+name; got != want {
					t.Fatalf("item %d printed %q, want %q", index, got, want)
				}
			}
			for _, out := range w.output {
				r := out.Items[0]
				if out.Worker != 1 || r.Attempt != uint32(1+r.Index/7%3) {
					t.Fatalf("an odd tag: %+v", out)
				}
			}
		})
	}
}

// TestTextBeforeHang: C15. What an item has printed is there while it hangs.
func TestTextBeforeHang(t *testing.T) {
	for _, body := range []string{"print('progress')", "print('progress', end='')", "sys.stdout.write('progress')", "os.write(1, b'progress')"} {
		for _, kind := range mostKinds() {
			t.Run(body+"/"+kind.name, func(t *testing.T) {
				body := body
				if kind.name == "async" {
					body += "\nawait asyncio.sleep(3600)"
				}
				workertest.NothingLeft(t)
				var seen string
				var w *supervisor.Worker
				file := writeFile(t, "tasks.py", kind.task(body+"\ntime.sleep(3600)"))
				cfg := pythonConfig(file, "f", kind.name, kind.slots, func(out batch.Output) {
					if seen += string(out.Data); strings.HasPrefix(seen, "progress") {
						w.Kill() // else the test hangs
					}
				})
				var err error
				if w, err = supervisor.Start(t.Context(), cfg); err != nil {
					t.Fatal(err)
				}
				(&worker{Worker: w, t: t, answers: map[uint64]string{}}).run(item(0, "x"))
				if !strings.HasPrefix(seen, "progress") {
					t.Errorf("seen is %q", seen)
				}
			})
		}
	}
}

// TestFloodOfOutput: C17. 20 MB on standard error alone, by either way, and
// then on both streams, arrive whole, and memory stays flat.
func TestFloodOfOutput(t *testing.T) {
	for name, body := range map[string]string{
		"pipe":   "for i in range(320): os.write(2, b'x' * 65536)",
		"stream": "for i in range(320): sys.stderr.write('x' * 65535 + '\\n')",
		"both":   "for i in range(160): os.write(1, b'x' * 65536); print('x' * 65535, file=sys.stderr)",
	} {
		t.Run(name, func(t *testing.T) {
			workertest.NothingLeft(t)
			size := 0
			file := writeFile(t, "tasks.py", serial.task(body))
			w, err := supervisor.Start(t.Context(), pythonConfig(file, "f", "serial", 1, func(out batch.Output) { size += len(out.Data) }))
			if err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			told := &worker{Worker: w, t: t, answers: map[uint64]string{}}
			told.run(item(0, "x"))
			runtime.ReadMemStats(&after)
			told.drain()
			if size != 320<<16 {
				t.Errorf("%d bytes were passed on, want %d", size, 320<<16)
			}
			if grown := after.TotalAlloc - before.TotalAlloc; grown > 2<<20 {
				t.Errorf("%d bytes were allocated for it", grown)
			}
		})
	}
}

// TestStandardInput: C18. It is at its end at once.
func TestStandardInput(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{"return input()", "failed: EOFError: EOF when reading a line"},
		{"return len(os.read(0, 10))", "ok: 0"},
		{"return sys.stdin.read()", `ok: ""`},
		{"return subprocess.run(['cat']).returncode", "ok: 0"},
		{"return os.isatty(0) or os.isatty(1) or sys.stdout.isatty()", "ok: false"},
	} {
		for _, kind := range mostKinds() {
			t.Run(c.body+"/"+kind.name, func(t *testing.T) {
				w := startTask(t, kind, c.body)
				w.run(item(0, "a"), item(1, "b"), item(2, "c"))
				w.drain()
				for i := range uint64(3) {
					if got := w.told(i); got != c.want {
						t.Errorf("item %d: %s, want %s", i, got, c.want)
					}
				}
			})
		}
	}
}

// TestOneHandlerOfLogging: C20. Handlers do not pile up over items.
func TestOneHandlerOfLogging(t *testing.T) {
	w := startTask(t, serial, "logging.basicConfig(level='INFO')\nlogging.info(x)")
	for i := range uint64(100) {
		w.run(item(i, "n"+strconv.Itoa(int(i))))
	}
	w.drain()
	for i := range uint64(100) {
		if got, want := w.printed("stderr", i), "INFO:root:n"+strconv.Itoa(int(i))+"\n"; got != want {
			t.Errorf("item %d logged %q, want %q", i, got, want)
		}
	}
}
