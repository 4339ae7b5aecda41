//go:build linux

package command

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/poolwise/poolwise/internal/batch"
)

// bothSize is what the helper "both" writes to each stream, in bytes.
const bothSize = 20 << 20

// bothBlocks yields text in which every line differs, in blocks that are
// larger than a pipe and no multiple of it.
func bothBlocks() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var block []byte
		for line, left := 0, bothSize; left > 0; left -= len(block) {
			for block = block[:0]; len(block) < 100_000; line++ {
				block = fmt.Appendf(block, "line %d\n", line)
			}
			block = block[:min(len(block), left)]
			if !yield(block) {
				return
			}
		}
	}
}

// C17: a command that fills both pipes is never blocked by the one that is not
// read, nothing of either is lost, and memory stays flat.
func TestBothStreamsAtOnce(t *testing.T) {
	b := newBench(t, run{helper: "both"})
	passed := fnv.New64a()
	b.w.cfg.Output = func(out batch.Output) { passed.Write(out.Data) }
	before := allocated()
	e := b.one(batch.Item{Index: 3})
	if grown := allocated() - before; grown > 8<<20 {
		t.Errorf("it took %d bytes of memory", grown)
	}
	want := bytes.NewBuffer(make([]byte, 0, bothSize))
	for block := range bothBlocks() {
		want.Write(block)
	}
	sum := fnv.New64a()
	sum.Write(want.Bytes())
	if passed.Sum64() != sum.Sum64() {
		t.Error("what was passed on of standard error is not what was written")
	}
	got, err := os.ReadFile(filepath.Join(b.dir, "out", "3-1"))
	if err != nil || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("the file of standard output has %d bytes, written were %d (%v)", len(got), want.Len(), err)
	}
	if e.Status != batch.OK || e.Stdout.file != "out/3-1" || e.Stdout.bytes != bothSize || e.Cut+int64(len(e.Stderr.text)) != bothSize {
		t.Errorf("ended as %v, standard output at %+v, %d bytes of standard error cut", e.Status, e.Stdout, e.Cut)
	}
}

// A command that reads its input by little gets all of it.
func TestStdinReadSlowly(t *testing.T) {
	b := newBench(t, run{stdin: true, helper: "sip"})
	item := strings.Repeat("0123456789\n", 100_000)
	sum := fnv.New64a()
	sum.Write([]byte(item))
	if e := b.one(text(item)); e.Stdout.text != fmt.Sprint(len(item), sum.Sum64(), nil) {
		t.Errorf("got %q: %v", e.Stdout.text, e.Failure)
	}
}

// A relative path is one from the command's folder, not from poolwise's; what
// is found there also runs there.
func TestRelativeProgram(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "tools", "where")
	if err := os.Mkdir(filepath.Dir(script), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(script, []byte("#!/bin/sh\npwd -P\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	resolved, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, program, path string }{
		{"by path", "tools/where", "/bin"},
		{"by a relative folder of PATH", "where", "/bin:tools"},
		{"by an item", "{}", "/bin:tools"},
	} {
		t.Run(c.name, func(t *testing.T) {
			env := []string{"PATH=" + c.path}
			tmpl, err := Parse(Config{Args: []string{c.program}, Env: env, Dir: dir, Stdin: true})
			if err != nil {
				t.Fatal(err)
			}
			w, err := Start(WorkerConfig{Template: tmpl, Env: env, Dir: dir, RunDir: dir})
			if err != nil {
				t.Fatal(err)
			}
			b := &bench{t: t, w: w, dir: dir}
			t.Cleanup(b.close)
			if e := b.one(text("where")); e.Stdout.text != resolved+"\n" {
				t.Errorf("it ran in %q: %v", e.Stdout.text, e.Failure)
			}
		})
	}
}
