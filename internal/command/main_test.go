//go:build linux

package command

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/internal/guardian"
)

// helper is the variable that makes the test binary a command of the tests.
const helper = "POOLWISE_TEST_HELPER"

func TestMain(m *testing.M) {
	guardian.MaybeRun()
	if name := os.Getenv(helper); name != "" {
		beHelper(name)
	}
	goleak.VerifyTestMain(m)
}

// beHelper is one of the commands that shells have not.
func beHelper(name string) {
	switch name {
	case "args": // its arguments, in hexadecimal, one a line
		for _, arg := range os.Args[1:] {
			fmt.Printf("%x\n", arg)
		}
	case "flood": // 20 MiB to standard error, 3 bytes to standard output
		block := []byte(strings.Repeat("e", 1<<20-1) + "\n")
		for range 20 {
			os.Stderr.Write(block)
		}
		fmt.Print("out")
	case "both": // the same to both streams, in turns that a pipe cannot hold
		for block := range bothBlocks() {
			os.Stdout.Write(block)
			os.Stderr.Write(block)
		}
	case "sip": // standard input by little, and a fingerprint of it at its end
		sum, sip := fnv.New64a(), make([]byte, 100)
		n, err := io.CopyBuffer(struct{ io.Writer }{sum}, struct{ io.Reader }{os.Stdin}, sip)
		fmt.Print(n, sum.Sum64(), err)
	}
	os.Exit(0)
}

// bench is one worker under test.
type bench struct {
	t      testing.TB
	w      *Worker
	dir    string // its working and run directory
	stderr []batch.Output
	notes  []string
}

// run is what a test says of a worker beside the command.
type run struct {
	shell, stdin bool
	helper       string // the test binary is the command, in this role
	guardian     *guardian.Guardian
}

// newBench makes a worker for a command.
func newBench(t testing.TB, r run, args ...string) *bench {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir()}
	env := slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, helper) })
	if r.helper != "" {
		env = append(env, helper+"="+r.helper)
		args = append([]string{os.Args[0]}, args...)
	}
	if r.guardian != nil {
		env = append(env, r.guardian.Cookie())
	}
	tmpl, err := Parse(Config{Args: args, Shell: r.shell, Stdin: r.stdin, Env: env, Dir: b.dir})
	if err != nil {
		t.Fatal(err)
	}
	b.w, err = Start(WorkerConfig{
		Number: 1, Template: tmpl, Env: env, Dir: b.dir, RunDir: b.dir, Guardian: r.guardian,
		Output: func(out batch.Output) {
			out.Data = slices.Clone(out.Data)
			b.stderr = append(b.stderr, out)
		},
		Note: func(text string) { b.notes = append(b.notes, text) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.close)
	return b
}

// close ends the worker, which may have ended.
func (b *bench) close() {
	b.w.Kill()
	for {
		if _, err := b.w.Wait(); err != nil {
			return
		}
	}
}

// ended is a result that outlives the next Wait.
type ended struct {
	batch.Result
	Failure batch.Failure
	Exit    int    `json:"exit"`
	Signal  int    `json:"signal"`
	Stdout  output `json:"stdout"`
	Stderr  output `json:"stderr"`
	Cut     int64  `json:"stderr_cut"`
}

// output is what a command wrote, in any of its forms.
type output struct {
	text, file string
	bytes      int64
}

// UnmarshalJSON reads a string, {"$bytes"} or {"$file","bytes"}.
func (o *output) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		return json.Unmarshal(data, &o.text)
	}
	var v struct {
		Base64 string `json:"$bytes"`
		File   string `json:"$file"`
		Bytes  int64  `json:"bytes"`
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	text, err := base64.StdEncoding.DecodeString(v.Base64)
	o.text, o.file, o.bytes = string(text), v.File, v.Bytes
	return err
}

// one runs one item.
func (b *bench) one(it batch.Item) ended {
	b.t.Helper()
	if it.Attempt == 0 {
		it.Attempt = 1
	}
	if err := b.w.Submit([]batch.Item{it}); err != nil {
		b.t.Fatal(err)
	}
	return b.wait()
}

// wait returns the next result.
func (b *bench) wait() ended {
	b.t.Helper()
	for {
		results, err := b.w.Wait()
		if err != nil {
			b.t.Fatalf("Wait: %v", err)
		}
		if len(results) == 1 {
			return b.decode(results[0])
		}
	}
}

func (b *bench) decode(res batch.Result) ended {
	b.t.Helper()
	e := ended{Exit: -1, Result: res}
	if res.Value != nil {
		if err := json.Unmarshal(res.Value, &e); err != nil {
			b.t.Fatalf("value %q: %v", res.Value, err)
		}
	}
	if res.Error != nil {
		if err := json.Unmarshal(res.Error, &e.Failure); err != nil {
			b.t.Fatalf("error %q: %v", res.Error, err)
		}
	}
	if (res.Status == batch.OK) != (res.Error == nil) {
		b.t.Errorf("item %d has status %v and error %q", res.Index, res.Status, res.Error)
	}
	return e
}

// drained waits for the worker's end.
func (b *bench) drained() {
	b.t.Helper()
	b.w.Drain()
	if _, err := b.w.Wait(); err != io.EOF {
		b.t.Fatalf("after Drain Wait returns %v", err)
	}
}

func text(data string) batch.Item { return batch.Item{Data: []byte(data)} }

// hostile are items that meet a shell's, a template's or an encoder's trap.
var hostile = []string{
	"it's", "a b", "$(touch pwned)", "`touch pwned`", "-rf", "{}", "{.}{#}", "{input}", "*", "two\nlines", "tail\n",
	"\xff\xfe", "\xed\xa0\x80", "", `"`, `\`, `\'; touch pwned; '`, "';touch pwned;'", ";touch pwned", "a[$(touch pwned)]",
	"!!", "~", "$HOME", "#x", "a=b", "\t", "\r\n", "é世😀", "&&touch pwned", "|touch pwned", ">pwned", "\x01\x7f", "%s%n",
	"'", "''", `'"'"'`, "$'x'", "\u2028",
}

// notPwned fails when an item was run as a command.
func notPwned(t *testing.T, dir string) {
	t.Helper()
	if isPwned(dir) {
		t.Error("an item was run as a command: there is a file called pwned")
	}
}

func isPwned(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "pwned"))
	return err == nil
}
