//go:build unix

package cli_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const identity = `def same(x):
    return x

async def asame(x):
    return x
`

// C36: a producer that waits for each result before it writes the next item
// gets it, whatever the plan and the size of chunks.
func TestEachResultLeavesBeforeTheNextItem(t *testing.T) {
	for name, args := range map[string][]string{
		"serial":    {"--plan", "serial", "task.py:same", "-"},
		"processes": {"--plan", "processes:2", "--chunk", "100", "--window", "4", "task.py:same", "-"},
		"threads":   {"--plan", "threads:4", "task.py:same", "-"},
		"async":     {"--plan", "async:100", "task.py:asame", "-"},
		"records":   {"--plan", "processes:2", "--format", "records", "task.py:same", "-"},
		"unordered": {"--plan", "processes:2", "--unordered", "task.py:same", "-"},
		"command":   {"--plan", "processes:2", "-", "--", "echo"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "task.py"), identity)
			p := prepare(t, dir, append([]string{"run", "-q"}, args...)...)
			items, output := startPiped(t, p)
			results := bufio.NewReader(output)
			for i := range 30 {
				fmt.Fprintf(items, "item %d\n", i)
				line, err := results.ReadString('\n')
				if err != nil || !strings.Contains(line, fmt.Sprintf("item %d", i)) {
					t.Fatalf("after item %d: %q, %v; %s", i, line, err, p.stderr.String())
				}
			}
			items.Close()
			if status := p.status(patience); status != 0 {
				t.Errorf("status %d: %s", status, p.stderr.String())
			}
		})
	}
}

// startPiped starts a process with pipes for input and output, the latter with
// a limit to how long a read may take.
func startPiped(t *testing.T, p *process) (items, output *os.File) {
	t.Helper()
	theirInput, items, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	output, theirOutput, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := output.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { items.Close(); output.Close() })
	p.cmd.Stdin, p.cmd.Stdout = theirInput, theirOutput
	p.start()
	theirInput.Close()
	theirOutput.Close()
	return items, output
}

// C36: where nobody takes the results, reading stops; memory and disk stay
// bounded however long the input is.
func TestSlowConsumerBoundsReading(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "task.py"), identity)
	p := prepare(t, dir, "run", "--plan", "processes:2", "--progress", "json", "task.py:same", "-")
	items, output := startPiped(t, p)
	results := bufio.NewReader(output)
	const item = "abcdefgh\n"
	written, wrote := 0, make(chan struct{})
	go func() { // an endless input
		defer close(wrote)
		text := strings.Repeat(item, 1000)
		for {
			n, err := io.WriteString(items, text)
			if written += n; err != nil {
				return
			}
		}
	}()
	first, err := results.ReadString('\n')
	if first != `"abcdefgh"`+"\n" {
		t.Fatalf("the first result is %q, %v", first, err)
	}
	still := func() bool { // the count stood still from one second to the next
		counts := readCounts(p.stderr.String())
		n := len(counts)
		return n >= 3 && counts[n-1] > 0 && counts[n-1] == counts[n-2] && counts[n-2] == counts[n-3]
	}
	eventually(t, patience, "reading stops", still)
	counts := readCounts(p.stderr.String())
	if got := counts[len(counts)-1]; got > 1_000_000 {
		t.Errorf("%d items were read, and one result was taken", got)
	}
	items.Close()
	<-wrote
	rest, err := io.ReadAll(results)
	if got, want := 1+strings.Count(string(rest), "\n"), (written+len(item)-1)/len(item); got != want || err != nil {
		t.Errorf("%d results of %d items, %v", got, want, err)
	}
	if status := p.status(patience); status != 0 {
		t.Errorf("status %d", status)
	}
}

// readCounts returns how many items had been read, as the progress told.
func readCounts(stderr string) []int {
	var counts []int
	for line := range strings.Lines(stderr) {
		var o struct {
			Type string
			Read int
		}
		if json.Unmarshal([]byte(line), &o) == nil && o.Type == "progress" {
			counts = append(counts, o.Read)
		}
	}
	return counts
}

// C36: when the reader of the output goes, so does poolwise: by itself, with
// status 3, one message, and nothing left running.
func TestReaderOfTheOutputLeaves(t *testing.T) {
	for name, args := range map[string][]string{
		"task":    {"--plan", "processes:2", "task.py:same", "-"},
		"command": {"--plan", "processes:2", "-", "--", "echo"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "task.py"), identity)
			p := prepare(t, dir, append([]string{"run"}, args...)...)
			items, output := startPiped(t, p)
			results := bufio.NewReader(output)
			go func() { // ends when nobody reads
				for {
					if _, err := io.WriteString(items, "y\n"); err != nil {
						return
					}
				}
			}()
			for range 5 {
				if _, err := results.ReadString('\n'); err != nil {
					t.Fatal(err)
				}
			}
			output.Close()
			if status := p.status(patience); status != 3 {
				t.Errorf("status %d, want 3", status)
			}
			if said := p.stderr.String(); strings.Count(said, "the reader of the output has gone") != 1 {
				t.Errorf("it said\n%s", said)
			}
		})
	}
}
