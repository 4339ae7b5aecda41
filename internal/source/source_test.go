package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/poolwise/poolwise/internal/batch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type result struct {
	items []batch.Item
	notes string
	err   error // nil at a proper end
}

// texts shows items in one line each: the data, or for an invalid one "!" and
// its problem.
func (r result) texts() []string {
	texts := []string{}
	for _, it := range r.items {
		if it.Problem != nil {
			texts = append(texts, "! "+it.Problem.Message)
			continue
		}
		texts = append(texts, string(it.Data))
	}
	return texts
}

type fataler interface {
	Helper()
	Fatalf(string, ...any)
}

// readAll reads everything and checks what holds for every reader.
func readAll(t fataler, cfg Config) result {
	t.Helper()
	r, err := Open(cfg)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	defer r.Close()
	var res result
	for {
		items, err := r.Next()
		if err != nil {
			if len(items) > 0 {
				t.Fatalf("items together with %v", err)
			}
			if err != io.EOF {
				res.err = err
			}
			break
		}
		checkBatch(t, items, uint64(len(res.items)))
		res.items = append(res.items, items...)
	}
	if _, again := r.Next(); again != io.EOF && again != res.err {
		t.Fatalf("the end does not stay: %v", again)
	}
	res.notes = strings.Join(r.Notes(), "\n")
	return res
}

func checkBatch(t fataler, items []batch.Item, index uint64) {
	t.Helper()
	size := 0
	for i, it := range items {
		if it.Index != index+uint64(i) {
			t.Fatalf("index %d where %d is due", it.Index, index+uint64(i))
		}
		if (it.Form == batch.Invalid) != (it.Problem != nil) {
			t.Fatalf("form %d with problem %v", it.Form, it.Problem)
		}
		if cap(it.Data) > len(it.Data) {
			t.Fatalf("item %d could be appended to into the next one", it.Index)
		}
		size += len(it.Data)
	}
	if len(items) == 0 || len(items) > maxBatch || size > blockSize && len(items) > 1 && size > 2*blockSize {
		t.Fatalf("a batch of %d items and %d bytes", len(items), size)
	}
}

// folder makes a directory of files; a name that ends in a slash is a directory.
func folder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		path := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o777))
		if strings.HasSuffix(name, "/") {
			must(t, os.MkdirAll(path, 0o777))
			continue
		}
		must(t, os.WriteFile(path, []byte(data), 0o666))
	}
	return dir
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// readCase is one text, read as a file of its own.
type readCase struct {
	name string
	text string
	want []string
	note string // a part of the notes; "" where there are none
	err  string // a part of the error
	set  func(*Config)
}

func runCases(t *testing.T, file string, cases []readCase) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for _, step := range []int{0, 1, 3} {
				checkCase(t, file, c, step)
			}
		})
	}
}

// checkCase reads the text from a file, or from standard input in small steps.
func checkCase(t *testing.T, file string, c readCase, step int) {
	t.Helper()
	cfg := Config{Dir: folder(t, map[string]string{file: c.text}), Inputs: []string{file}}
	if step > 0 {
		cfg.Inputs = []string{"-"}
		cfg.Format = formatOf(file)
		cfg.Stdin = &stepReader{data: []byte(c.text), steps: []int{step}}
	}
	if c.set != nil {
		c.set(&cfg)
	}
	got := readAll(t, cfg)
	got.notes = strings.ReplaceAll(got.notes, stdinPlace, file)
	texts := got.texts()
	for i := range texts {
		texts[i] = strings.ReplaceAll(texts[i], stdinPlace, file)
	}
	if diff := cmp.Diff(append([]string{}, c.want...), texts); diff != "" {
		t.Errorf("steps of %d: (-want +got)\n%s", step, diff)
	}
	if (c.note == "") != (got.notes == "") || !strings.Contains(got.notes, c.note) {
		t.Errorf("steps of %d: notes %q, want %q", step, got.notes, c.note)
	}
	if (c.err == "") != (got.err == nil) || got.err != nil && !strings.Contains(strings.ReplaceAll(got.err.Error(), stdinPlace, file), c.err) {
		t.Errorf("steps of %d: error %v, want %q", step, got.err, c.err)
	}
}

// stepReader gives its data in steps of certain sizes, over and over.
type stepReader struct {
	data  []byte
	steps []int
	turn  int
}

func (r *stepReader) Read(buf []byte) (int, error) {
	if len(r.data) == 0 {
		return 0, io.EOF
	}
	step := min(len(r.data), len(buf), r.steps[r.turn%len(r.steps)])
	r.turn++
	n := copy(buf, r.data[:step])
	r.data = r.data[n:]
	return n, nil
}

func TestFormatNames(t *testing.T) {
	for f := Auto; f <= Paths; f++ {
		if got, err := ParseFormat(f.String()); err != nil || got != f {
			t.Errorf("%v is read as %v, %v", f, got, err)
		}
	}
	if _, err := ParseFormat("xml"); err == nil || !strings.Contains(err.Error(), "jsonl") {
		t.Errorf("error %v does not name the formats", err)
	}
	for m := CRAuto; m <= CRKeep; m++ {
		if got, err := ParseCRMode(m.String()); err != nil || got != m {
			t.Errorf("%v is read as %v, %v", m, got, err)
		}
	}
	if _, err := ParseCRMode("x"); err == nil {
		t.Error("x is no mode")
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := folder(t, map[string]string{"a.txt": "a\n", "d/": "", "secret": "x"})
	must(t, os.Chmod(filepath.Join(dir, "secret"), 0))
	cases := []struct {
		name string
		cfg  Config
		want []string
	}{
		{"missing file", Config{Inputs: []string{"a.txt", "none.txt"}}, []string{"none.txt", "no such file", "check"}},
		{"missing file with wildcard", Config{Inputs: []string{"*.log"}}, []string{"*.log", "no such file", "--from paths"}},
		{"directory", Config{Inputs: []string{"d"}}, []string{"d: is a directory", "--from paths 'd/**'"}},
		{"name with newline", Config{Inputs: []string{"a\nb"}}, []string{`"a\nb": no such file`}},
		{"standard input twice", Config{Inputs: []string{"-", "-"}, Stdin: strings.NewReader("")}, []string{"twice"}},
		{"no standard input", Config{Inputs: []string{"-"}}, []string{"no standard input"}},
		{"arguments and inputs", Config{Inputs: []string{"a.txt"}, Args: []string{"b"}}, []string{":::", "exclude"}},
		{"arguments as rows", Config{Args: []string{"b"}, Format: CSV}, []string{":::", "csv"}},
		{"bad wildcard", Config{Inputs: []string{"a[b"}, Format: Paths}, []string{"a[b", "wildcard", `\`}},
		{"too many alternatives", Config{Inputs: []string{strings.Repeat("{a/,b/}", 12)}, Format: Paths}, []string{"alternatives"}},
		{"standard input as path", Config{Inputs: []string{"-"}, Format: Paths}, []string{"--from lines -", "./-"}},
	}
	if os.Geteuid() > 0 {
		cases = append(cases, cases[0])
		last := &cases[len(cases)-1]
		last.name, last.cfg, last.want = "unreadable file", Config{Inputs: []string{"secret"}}, []string{"secret", "may not be read", "permissions"}
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.cfg.Dir = dir
			_, err := Open(c.cfg)
			if err == nil {
				t.Fatal("no error")
			}
			for _, part := range c.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not say %q", err, part)
				}
			}
		})
	}
}

func TestOpenErrorIsTyped(t *testing.T) {
	_, err := Open(Config{Inputs: []string{"none.txt"}, Dir: t.TempDir()})
	var input *InputError
	if !errors.As(err, &input) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %#v", err)
	}
}

func TestSeveralInputs(t *testing.T) {
	dir := folder(t, map[string]string{
		"a.txt": "one\ntwo", "b.JSONL": "{\"x\":1}\n2\n", "c.json": "[3, 4]", "d.csv": "k\nv\n",
		"e.tab": "k\tl\nv\tw\n", "empty": "", "f.ndjson": "5", "g": "a\x00b",
	})
	got := readAll(t, Config{
		Dir: dir, Stdin: strings.NewReader("in\n"),
		Inputs: []string{"a.txt", "b.JSONL", "empty", "c.json", "-", "d.csv", filepath.Join(dir, "e.tab"), "f.ndjson", "a.txt"},
	})
	want := []string{"one", "two", `{"x":1}`, "2", "3", "4", "in", `{"k":"v"}`, `{"k":"v","l":"w"}`, "5", "one", "two"}
	if diff := cmp.Diff(want, got.texts()); diff != "" || got.err != nil {
		t.Errorf("error %v (-want +got)\n%s", got.err, diff)
	}
}

func TestNothing(t *testing.T) {
	for name, cfg := range map[string]Config{"no inputs": {}, "no arguments": {Args: []string{}}, "no paths": {Format: Paths}} {
		if got := readAll(t, cfg); len(got.items) > 0 || got.err != nil {
			t.Errorf("%s: %v, %v", name, got.texts(), got.err)
		}
	}
}

func TestNotesAreSaidOnce(t *testing.T) {
	files := map[string]string{}
	var inputs []string
	for i := range 50 {
		name := fmt.Sprintf("%02d.txt", i)
		files[name] = "\xef\xbb\xbfa\r\n"
		inputs = append(inputs, name)
	}
	got := readAll(t, Config{Dir: folder(t, files), Inputs: inputs})
	if n := strings.Count(got.notes, "\n") + 1; n != 2 || !strings.Contains(got.notes, "00.txt") || !strings.Contains(got.notes, "49 times more") {
		t.Errorf("%d notes:\n%s", n, got.notes)
	}
}

func TestArgs(t *testing.T) {
	// C33: each argument is one item, byte for byte.
	hostile := []string{"it's", "a b", "$(touch pwned)", "`id`", "-rf", "{}", "{input}", "*", "a\nb", "\xff\xfe", "", "-"}
	got := readAll(t, Config{Args: hostile})
	if diff := cmp.Diff(hostile, got.texts()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	got = readAll(t, Config{Args: []string{" 1.0 ", "{\n\"a\": 2\n}", "x", ""}, Format: JSON})
	want := []string{"1.0", `{"a":2}`, "! argument 3: byte 1: invalid character 'x' looking for beginning of value", "! argument 4: byte 1: unexpected end of JSON input"}
	if diff := cmp.Diff(want, got.texts()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	got = readAll(t, Config{Args: []string{"long", "ok"}, MaxItem: 3})
	want = []string{"! argument 1: larger than 3 bytes, the limit for one item; raise it with --max-item", "ok"}
	if diff := cmp.Diff(want, got.texts()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestTotalAndBytes(t *testing.T) {
	dir := folder(t, map[string]string{"a": "12\n45\n", "b": "xyz"})
	cases := []struct {
		name  string
		cfg   Config
		total uint64
		known bool
		bytes int64
	}{
		{"files", Config{Inputs: []string{"a", "b"}}, 0, false, 9},
		{"pipe", Config{Inputs: []string{"a", "-"}, Stdin: strings.NewReader("x")}, 0, false, 0},
		{"arguments", Config{Args: []string{"1", "2"}}, 2, true, 0},
		{"paths", Config{Inputs: []string{"a", "b", "c"}, Format: Paths}, 3, true, 0},
		{"wildcard", Config{Inputs: []string{"*", "c"}, Format: Paths}, 0, false, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.cfg.Dir = dir
			r, err := Open(c.cfg)
			must(t, err)
			defer r.Close()
			for err == nil {
				_, err = r.Next()
			}
			n, known := r.Total()
			read, total := r.Bytes()
			if n != c.total || known != c.known || total != c.bytes || c.bytes > 0 && read != total {
				t.Errorf("total %d, %v; bytes %d of %d", n, known, read, total)
			}
		})
	}
}

// TestRoundTrip writes byte strings with a separator and reads them back in
// reads of any sizes.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		format := rapid.SampledFrom([]Format{Lines, NUL}).Draw(t, "format")
		sep := byte('\n')
		if format == NUL {
			sep = 0
		}
		element := rapid.SliceOf(rapid.Byte().Filter(func(b byte) bool { return b != sep }))
		want := rapid.SliceOf(element).Draw(t, "items")
		text := bytes.Join(append(want, nil), []byte{sep})
		if format == Lines && bytes.HasPrefix(text, []byte(byteOrderMark)) {
			text = append([]byte{sep}, text...)
			want = append([][]byte{{}}, want...)
		}
		got := readAll(t, Config{
			Inputs: []string{"-"}, Format: format, CR: CRKeep, KeepEmpty: true,
			Stdin: &stepReader{data: text, steps: rapid.SliceOfN(rapid.IntRange(1, 50), 1, 9).Draw(t, "reads")},
		})
		if len(got.items) != len(want) {
			t.Fatalf("%d items, want %d", len(got.items), len(want))
		}
		for i, it := range got.items {
			if !bytes.Equal(it.Data, want[i]) {
				t.Fatalf("item %d is %q, want %q", i, it.Data, want[i])
			}
		}
	})
}
