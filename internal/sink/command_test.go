package sink

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/internal/journal"
	"github.com/poolwise/poolwise/internal/jsontext"
)

func ended(index uint64, status batch.Status, value string) journal.Entry {
	e := journal.Entry{Index: index, Attempt: 1, Status: status, Value: []byte(value)}
	if status != batch.OK {
		e.Error = []byte(`{"type":"ExitStatus","message":"exit status 3"}`)
	}
	return e
}

func TestWhatCommandsPrinted(t *testing.T) {
	dir := t.TempDir()
	os.Mkdir(filepath.Join(dir, "out"), 0o700)
	long := strings.Repeat("é\xff\n", windowSize) // no end of a piece is one of a character
	if err := os.WriteFile(filepath.Join(dir, "out", "2-1"), []byte(long), 0o600); err != nil {
		t.Fatal(err)
	}
	file := fmt.Sprintf(`{"$file":"out/2-1","bytes":%d}`, len(long))
	block := []journal.Entry{
		ended(0, batch.OK, `{"exit":0,"stdout":"a\nb \udcff\u0000","stderr":"noise"}`),
		ended(1, batch.Failed, `{"exit":3,"stdout":{"$bytes":"/wA="},"stderr":""}`),
		ended(2, batch.OK, `{"exit":0,"stdout":`+file+`,"stderr":""}`),
		ended(3, batch.Killed, ``),
		ended(4, batch.TimedOut, `{"signal":"SIGKILL","stdout":"half a li","stderr":""}`),
		ended(5, batch.OK, `{"exit":0}`),
	}
	t.Run("values", func(t *testing.T) {
		want := "a\nb \xff\x00" + "\xff\x00" + long + "half a li"
		if got := written(t, Options{Command: true, Dir: dir, OnError: Null}, block); got != want {
			t.Errorf("%d bytes, want %d; it begins %q", len(got), len(want), got[:10])
		}
	})
	t.Run("records", func(t *testing.T) {
		const failure = `"error":{"type":"ExitStatus","message":"exit status 3"},`
		const end = `"attempts":1,"seconds":0}` + "\n"
		want := `{"index":0,"status":"ok","exit":0,"stdout":"a\nb \udcff\u0000","stderr":"noise",` + end +
			`{"index":1,"status":"failed",` + failure + `"exit":3,"stdout":{"$bytes":"/wA="},"stderr":"",` + end +
			`{"index":2,"status":"ok","exit":0,"stdout":` + string(jsontext.AppendQuoted(nil, []byte(long))) + `,"stderr":"",` + end +
			`{"index":3,"status":"killed",` + failure + end +
			`{"index":4,"status":"timeout",` + failure + `"signal":"SIGKILL","stdout":"half a li","stderr":"",` + end +
			`{"index":5,"status":"ok","exit":0,` + end
		got := written(t, Options{Command: true, Dir: dir, Format: Records}, block)
		if d := gocmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); d != "" {
			t.Error(d[:min(len(d), 2000)])
		}
	})
}

func TestOutputThatIsNoLongerThere(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(filepath.Join(dir, "short"), []byte("12345"), 0o600)
	for _, value := range []string{
		`{"exit":0,"stdout":{"$file":"out/0-1","bytes":5}}`,
		`{"exit":0,"stdout":{"$file":"short","bytes":6}}`,
		`{"exit":0,"stdout":{"$file":"../etc/passwd","bytes":1}}`,
		`{"exit":0,"stdout":{"$bytes":"!"}}`,
		`{"exit":0,"stdout":"\ud800"}`,
		`{"exit":0,"stdout":[]}`,
		`[]`,
	} {
		b := newBook(t, dir)
		var out bytes.Buffer
		s := New(Options{Command: true, Out: &out, Journal: b.w, Dir: dir})
		s.Add(b.enter(t, ended(0, batch.OK, value)))
		if err := s.Close(); err == nil {
			t.Errorf("%s: no error, wrote %q", value, out.String())
		}
		b.w.CloseUnsynced()
	}
}

// TestPiecesAreQuotedAsTheWhole cuts bytes anywhere.
func TestPiecesAreQuotedAsTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.SliceOf(rapid.OneOf(rapid.Byte(), rapid.SampledFrom([]byte("\xf0\x9f\x98\x80\xc3\xa9\"\\")))).Draw(t, "data")
		if rapid.Bool().Draw(t, "utf-8") {
			data = []byte(rapid.String().Draw(t, "text"))
		}
		var b bytes.Buffer
		q := quoter{out: newOutput(&b)}
		for rest := data; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			if err := q.write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := q.end(); err != nil {
			t.Fatal(err)
		}
		q.out.flush()
		if want := string(jsontext.AppendQuoted(nil, data)); `"`+b.String() != want {
			t.Fatalf("%s, want %s", b.String(), want)
		}
	})
}

func TestRecordsAreJSON(t *testing.T) {
	value, _ := json.Marshal(map[string]any{"exit": 0, "stdout": map[string]string{"$bytes": base64.StdEncoding.EncodeToString([]byte{0xff})}})
	got := written(t, Options{Command: true, Format: Records}, []journal.Entry{ended(0, batch.OK, string(value))})
	if !json.Valid([]byte(got)) {
		t.Errorf("%s", got)
	}
}
