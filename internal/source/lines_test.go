package source

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func keepEmpty(c *Config) { c.KeepEmpty = true }
func limit(n int64) func(*Config) {
	return func(c *Config) { c.MaxItem = n }
}
func carriage(m CRMode) func(*Config) {
	return func(c *Config) { c.CR = m }
}

func TestLines(t *testing.T) {
	const tooLong = "! data.txt:2: larger than 4 bytes, the limit for one item; raise it with --max-item"
	runCases(t, "data.txt", []readCase{
		{name: "C30 empty file"},
		{name: "C30 only a newline", text: "\n"},
		{name: "C30 only a newline, kept", text: "\n", want: []string{""}, set: keepEmpty},
		{name: "C30 last line without newline", text: "a\nb", want: []string{"a", "b"}},
		{name: "empty lines skipped", text: "\na\n\n\nb\n", want: []string{"a", "b"}},
		{name: "empty lines kept", text: "\na\n\nb\n", want: []string{"", "a", "", "b"}, set: keepEmpty},
		{name: "C32 byte order mark", text: "\xef\xbb\xbfa\nb\n", want: []string{"a", "b"}, note: "data.txt: starts with a byte order mark"},
		{name: "C32 only a byte order mark", text: "\xef\xbb\xbf", note: "byte order mark"},
		{name: "C32 part of a byte order mark", text: "\xef\xbb", want: []string{"\xef\xbb"}},
		{name: "C32 byte order mark further on stays", text: "a\n\xef\xbb\xbfb\n", want: []string{"a", "\xef\xbb\xbfb"}},
		{name: "C32 all lines end in CR LF", text: "a\r\nb\r\n\r\n", want: []string{"a", "b"}, note: "end in CR LF"},
		{name: "C32 only one CR is taken", text: "a\r\r\n", want: []string{"a\r"}, note: "end in CR LF"},
		{name: "C32 kept when asked", text: "a\r\nb\r\n", want: []string{"a\r", "b\r"}, set: carriage(CRKeep)},
		{name: "C32 stripped when asked", text: "a\nb\r\nc\n", want: []string{"a", "b", "c"}, set: carriage(CRStrip)},
		{name: "C32 name that ends in CR", text: "a\r", want: []string{"a\r"}},
		{name: "C32 CR within a line", text: "a\rb\n", want: []string{"a\rb"}},
		{name: "C33 hostile", text: "it's\n$(touch pwned)\n`id`\n-rf\n{}\n*\n", want: []string{"it's", "$(touch pwned)", "`id`", "-rf", "{}", "*"}},
		{name: "C33 not UTF-8", text: "a\xff\n\xc0\xaf\n", want: []string{"a\xff", "\xc0\xaf"}},
		{name: "C35 the same line three times", text: "a\na\na\n", want: []string{"a", "a", "a"}},
		{name: "C31 over the limit", text: "ok\n12345\nfine\n", want: []string{"ok", tooLong, "fine"}, set: limit(4)},
		{name: "C31 over the limit at the end", text: "ok\n12345", want: []string{"ok", tooLong}, set: limit(4)},
		{name: "C31 far over the limit", text: "ok\n" + strings.Repeat("x", 999) + "\nfine\n", want: []string{"ok", tooLong, "fine"}, set: limit(4)},
		{name: "C31 at the limit", text: "1234\n1234", want: []string{"1234", "1234"}, set: limit(4)},
		{name: "compressed", text: "\x1f\x8b\x08\n", want: []string{"\x1f\x8b\x08"}, note: "gzip"},
	})
}

// TestMixedCR reads whole files: what the first read gives decides.
func TestMixedCR(t *testing.T) {
	checkCase(t, "data.txt", readCase{text: "a\r\nb\nc\r\n", want: []string{"a\r", "b", "c\r"}, note: "some lines end in a CR"}, 0)
	long := strings.Repeat("x\r\n", blockSize)
	got := readAll(t, Config{Dir: folder(t, map[string]string{"data.txt": long + "y\nz\r\n"}), Inputs: []string{"data.txt"}})
	texts := got.texts()
	if diff := cmp.Diff([]string{"x", "y", "z"}, texts[blockSize-1:]); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if !strings.Contains(got.notes, fmt.Sprintf("not line %d", blockSize+1)) {
		t.Errorf("notes: %s", got.notes)
	}
}

func TestNULTouchesNothing(t *testing.T) {
	text := "\xef\xbb\xbfa\r\n\x00b\n\x00\x00c"
	cfg := Config{Format: NUL, Inputs: []string{"-"}, Stdin: strings.NewReader(text)}
	got := readAll(t, cfg)
	if diff := cmp.Diff([]string{"\xef\xbb\xbfa\r\n", "b\n", "", "c"}, got.texts()); diff != "" || got.notes != "" {
		t.Errorf("notes %q (-want +got)\n%s", got.notes, diff)
	}
}

// TestLargeItems is C31: one item of 10 MB among short ones, in each format.
func TestLargeItems(t *testing.T) {
	const size = 10_000_000
	long := strings.Repeat("x", size)
	for file, text := range map[string]string{
		"a.txt":   "a\n" + long + "\nb\n",
		"a.jsonl": "1\n\"" + long + "\"\n2\n",
		"a.json":  "[1,\"" + long + "\",2]",
		"a.csv":   "k\n1\n\"" + long + "\"\n2\n",
	} {
		t.Run(file, func(t *testing.T) {
			r, err := Open(Config{Dir: folder(t, map[string]string{file: text}), Inputs: []string{file}})
			must(t, err)
			defer r.Close()
			var sizes []int
			for {
				items, err := r.Next()
				if err != nil {
					break
				}
				sizes = append(sizes, len(items))
				if len(items) == 1 && len(items[0].Data) >= size && !bytes.Contains(items[0].Data, []byte(long)) {
					t.Error("the large item has other bytes")
				}
			}
			if diff := cmp.Diff([]int{1, 1, 1}, sizes); diff != "" {
				t.Errorf("a larger item comes alone (-want +got)\n%s", diff)
			}
			if len(r.block.buf) > 2*blockSize {
				t.Errorf("a block of %d bytes outlives the item", len(r.block.buf))
			}
		})
	}
}

// TestOversizedIsNotHeld reads far more than the limit in one item.
func TestOversizedIsNotHeld(t *testing.T) {
	for format, parts := range map[Format][3]string{
		Lines:     {"a\n", "x", "\nb\n"},
		JSONLines: {"1\n", "x", "\n2\n"},
		JSON:      {`[1,"`, "x", `",2]`},
		CSV:       {"k\n1\n", "x", "\n2\n"},
	} {
		t.Run(format.String(), func(t *testing.T) {
			text := parts[0] + strings.Repeat(parts[1], 20*blockSize) + parts[2]
			r, err := Open(Config{Inputs: []string{"-"}, Format: format, MaxItem: 1000, Stdin: strings.NewReader(text)})
			must(t, err)
			defer r.Close()
			n, largest := 0, 0
			for err == nil {
				items, next := r.Next()
				n, err = n+len(items), next
				largest = max(largest, len(r.block.buf))
			}
			if n != 3 || largest > 4*blockSize {
				t.Errorf("%d items, want 3; a block of %d bytes", n, largest)
			}
		})
	}
}
