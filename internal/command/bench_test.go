//go:build linux

package command

import (
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/poolwise/poolwise/internal/batch"
)

const (
	benchItems   = 2000
	benchWorkers = 2
)

// BenchmarkTrue and BenchmarkXargs do the same: 2,000 times true, two at a
// time. Run them in turns: go test -run '^$' -bench 'True|Xargs' -count 5.
func BenchmarkTrue(b *testing.B) {
	g := startGuardian(b)
	for b.Loop() {
		var all sync.WaitGroup
		for range benchWorkers {
			w := newBench(b, run{guardian: g}, "true").w
			all.Go(func() { runItems(b, w, benchItems/benchWorkers) })
		}
		all.Wait()
	}
}

func runItems(b *testing.B, w *Worker, n int) {
	chunk := make([]batch.Item, n)
	for i := range chunk {
		chunk[i] = batch.Item{Index: uint64(i), Attempt: 1, Data: []byte("x")}
	}
	if err := w.Submit(chunk); err != nil {
		b.Error(err)
	}
	for range n {
		if results, err := w.Wait(); err != nil || len(results) != 1 || results[0].Status != batch.OK {
			b.Errorf("%v, %v", results, err)
		}
	}
	w.Drain()
	w.Wait()
}

func BenchmarkXargs(b *testing.B) {
	input := strings.Repeat("x\n", benchItems)
	for b.Loop() {
		cmd := exec.Command("xargs", "-P2", "-n1", "true")
		cmd.Stdin = strings.NewReader(input)
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkExpand(b *testing.B) {
	tmpl, err := Parse(Config{Args: []string{"echo", "{}", "out/{/.}.png"}, Env: testEnv})
	if err != nil {
		b.Fatal(err)
	}
	it := text("in/file name.jpg")
	for b.Loop() {
		if _, _, _, err := tmpl.Expand(&it); err != nil {
			b.Fatal(err)
		}
	}
}
