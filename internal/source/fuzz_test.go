package source

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/internal/jsontext"
)

// readSteps reads text in reads of step bytes, or of any size for 0. readAll
// checks the indices and the batches.
func readSteps(t *testing.T, text []byte, step byte, cfg Config) result {
	t.Helper()
	cfg.Inputs = []string{"-"}
	cfg.Stdin = &stepReader{data: text, steps: []int{max(1, int(step))}}
	return readAll(t, cfg)
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("\xef\xbb\xbfa\r\n\nb\x00\r\nc"), byte(2), byte(0))
	f.Add([]byte("a\n123456789\nb"), byte(1), byte(3))
	f.Fuzz(func(t *testing.T, text []byte, step, limit byte) {
		got := readSteps(t, text, step, Config{Format: Lines, CR: CRKeep, KeepEmpty: true})
		size := len(got.items)
		for _, it := range got.items {
			size += len(it.Data)
		}
		want := len(bytes.TrimPrefix(text, []byte(byteOrderMark)))
		if want > 0 && text[len(text)-1] != '\n' {
			want++
		}
		if size != want || got.err != nil {
			t.Fatalf("%q: items of %d bytes, want %d; %v", text, size, want, got.err)
		}
		limited := readSteps(t, text, step, Config{Format: Lines, CR: CRKeep, KeepEmpty: true, MaxItem: int64(limit)})
		if len(limited.items) != len(got.items) {
			t.Fatalf("%q: %d items with a limit, %d without", text, len(limited.items), len(got.items))
		}
		for i, it := range limited.items {
			over := limit > 0 && len(got.items[i].Data) > int(limit)
			if over != (it.Form == batch.Invalid) || !over && !bytes.Equal(it.Data, got.items[i].Data) {
				t.Fatalf("%q: item %d is %q with a limit of %d", text, i, it.Data, limit)
			}
		}
		readSteps(t, text, step, Config{Format: Lines, MaxItem: int64(limit)})
	})
}

func FuzzJSONLines(f *testing.F) {
	f.Add([]byte("{\"a\":1}\n [2 \n\n\"\xff\"\n3"), byte(2))
	f.Fuzz(func(t *testing.T, text []byte, step byte) {
		got := readSteps(t, text, step, Config{Format: JSONLines})
		lines := bytes.Split(bytes.TrimPrefix(text, []byte(byteOrderMark)), []byte("\n"))
		lines = slices.DeleteFunc(lines, func(l []byte) bool { return len(bytes.Trim(l, jsonSpace)) == 0 })
		if len(lines) != len(got.items) || got.err != nil {
			t.Fatalf("%q: %d items, want %d; %v", text, len(got.items), len(lines), got.err)
		}
		for i, it := range got.items {
			valid := json.Valid(lines[i]) && utf8.Valid(lines[i])
			if valid != (it.Form == batch.JSON) || !bytes.Equal(it.Data, bytes.Trim(lines[i], jsonSpace)) {
				t.Fatalf("line %q became %q of form %d", lines[i], it.Data, it.Form)
			}
		}
	})
}

// FuzzValidator holds the fast validator against the standard one.
func FuzzValidator(f *testing.F) {
	f.Add([]byte(`{"a":[1,2.0e+5,-0,"x\u00e9\n",true,false,null]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if got, want := gjson.ValidBytes(text), json.Valid(text); got != want {
			t.Fatalf("%q: gjson %v, encoding/json %v", text, got, want)
		}
	})
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte("[1, {\"a\\\"]\": [\n]}, \"x\" ,null]"), byte(2))
	f.Add([]byte("{\"a\":1} [2]\n3"), byte(1))
	f.Fuzz(func(t *testing.T, text []byte, step byte) {
		got := readSteps(t, text, step, Config{Format: JSON})
		for _, it := range got.items {
			if it.Form == batch.JSON && (!json.Valid(it.Data) || !utf8.Valid(it.Data) || bytes.ContainsAny(it.Data, "\r\n")) {
				t.Fatalf("%q gave %q", text, it.Data)
			}
		}
		var want []json.RawMessage
		if json.Unmarshal(text, &want) != nil || bytes.HasPrefix(bytes.TrimSpace(text), []byte("null")) || !utf8.Valid(text) {
			return
		}
		if len(want) != len(got.items) || got.err != nil {
			t.Fatalf("%q: %d items, want %d; %v", text, len(got.items), len(want), got.err)
		}
		for i, it := range got.items {
			var a, b bytes.Buffer
			if json.Compact(&a, it.Data) != nil || json.Compact(&b, want[i]) != nil || a.String() != b.String() {
				t.Fatalf("%q: item %d is %s, want %s", text, i, it.Data, want[i])
			}
		}
	})
}

// FuzzCSV compares with encoding/csv, but for what is documented: line ends in
// quoted fields, and that an error costs one row only.
func FuzzCSV(f *testing.F) {
	f.Add([]byte("a,b\n\"1\"\"\",2\r\n\n3,\"4\n\"\n"), byte(2))
	f.Add([]byte("a\n\"x\"y\nz\"\n"), byte(1))
	f.Fuzz(func(t *testing.T, text []byte, step byte) {
		readSteps(t, text, step, Config{Format: TSV})
		got := readSteps(t, text, step, Config{Format: CSV})
		for _, it := range got.items {
			if it.Form == batch.JSON && !(json.Valid(it.Data) && utf8.Valid(it.Data)) {
				t.Fatalf("%q gave %q", text, it.Data)
			}
		}
		if bytes.Contains(text, []byte("\r")) {
			return
		}
		want, bad := csvRows(bytes.TrimPrefix(text, []byte(byteOrderMark)))
		if bad || got.err != nil {
			return
		}
		if diff := cmp.Diff(want, got.texts()); diff != "" {
			t.Fatalf("%q (-want +got)\n%s", text, diff)
		}
	})
}

// csvRows makes what FuzzCSV expects; bad tells that the standard reader stops
// at something.
func csvRows(text []byte) (rows []string, bad bool) {
	r := csv.NewReader(bytes.NewReader(text))
	header, err := r.Read()
	rows = []string{}
	for err == nil {
		var fields []string
		if fields, err = r.Read(); err == nil {
			rows = append(rows, object(header, fields))
		}
	}
	return rows, !errors.Is(err, io.EOF)
}

func object(keys, values []string) string {
	var pairs []string
	for i, k := range keys {
		pair := append(jsontext.AppendQuoted(nil, []byte(k)), ':')
		pairs = append(pairs, string(jsontext.AppendQuoted(pair, []byte(values[i]))))
	}
	return "{" + strings.Join(pairs, ",") + "}"
}
