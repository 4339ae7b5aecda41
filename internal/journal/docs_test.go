package journal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// example returns the block of docs/journal.md that is marked with a word.
func example(t *testing.T, word string) string {
	t.Helper()
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "journal.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(doc), "```"+word+"\n")
	block, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatalf("docs/journal.md has no block marked %q", word)
	}
	return block
}

func TestTheDocumentedJournalIsOne(t *testing.T) {
	block := example(t, "journal")
	again := versionLine(Version)
	damage, err := Scan(strings.NewReader(block), "docs", func(_ int64, e *Entry) error {
		again, _ = AppendLine(again, e)
		return nil
	})
	if err != nil || damage.Count > 0 {
		t.Fatalf("%v, %v", damage, err)
	}
	if d := cmp.Diff(block, string(again)); d != "" {
		t.Error(d)
	}
}

func TestTheDocumentedLogIsOne(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, LogName)
	block := example(t, "log")
	if err := os.WriteFile(path, []byte(block), 0o600); err != nil {
		t.Fatal(err)
	}
	var again []byte
	if err := ReadLog(path, func(r LogRecord) error { again = appendRecord(again, &r); return nil }); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(block, string(again)); d != "" {
		t.Error(d)
	}
}
