package source

import (
	"strings"
	"testing"
)

func TestCSV(t *testing.T) {
	runCases(t, "data.csv", []readCase{
		{name: "C30 empty file"},
		{name: "C30 only newlines", text: "\n\r\n"},
		{name: "only a header", text: "a,b\n"},
		{name: "order of the header", text: "b,a\n1,2\n", want: []string{`{"b":"1","a":"2"}`}},
		{name: "C30 last row without newline", text: "a\n1", want: []string{`{"a":"1"}`}},
		{name: "blank lines skipped", text: "\na\n\n1\n\n", want: []string{`{"a":"1"}`}},
		{name: "empty fields", text: "a,b\n,\n\"\",\n", want: []string{`{"a":"","b":""}`, `{"a":"","b":""}`}},
		{name: "space is kept", text: "a , b\n 1, \"x\n", want: []string{"! data.csv:2: a quote within a field that does not start with one; write \"a \"\"quoted\"\" word\""}},
		{name: "quoted", text: "a,b\n\"1,2\",\"x\"\"y\"\"\"\n\"\"\"\",z\n", want: []string{`{"a":"1,2","b":"x\"y\""}`, `{"a":"\"","b":"z"}`}},
		{name: "line ends in quotes are kept", text: "a\n\"x\r\ny\n\"\n", want: []string{`{"a":"x\r\ny\n"}`}},
		{name: "C32 CR LF", text: "a,b\r\n1,2\r\n", want: []string{`{"a":"1","b":"2"}`}},
		{name: "C32 byte order mark", text: "\xef\xbb\xbfa\n1\n", want: []string{`{"a":"1"}`}, note: "byte order mark"},
		{name: "C33 not UTF-8", text: "\xe9\n\xff\n", want: []string{`{"\udce9":"\udcff"}`}},
		{name: "control characters", text: "a\n\x01\t\\\n", want: []string{`{"a":"\u0001\t\\"}`}},
		{
			name: "wrong number of fields", text: "a,b\n1,2\n\n\"x\ny\"\n1,2,3\n3,4\n",
			want: []string{`{"a":"1","b":"2"}`, "! data.csv:4: 1 field, but the header has 2", "! data.csv:6: 3 fields, but the header has 2", `{"a":"3","b":"4"}`},
		},
		{
			name: "a stray quote costs one row", text: "a\n5\" disk\n2\n\"x\"y\n3\n",
			want: []string{
				"! data.csv:2: " + errBareQuote.Error(), `{"a":"2"}`,
				"! data.csv:4: " + errAfter.Error(), `{"a":"3"}`,
			},
		},
		{name: "quote never closed", text: "a\n1\n\"x\n2\n", want: []string{`{"a":"1"}`, "! data.csv:3: " + errOpenQuote.Error()}},
		{name: "header twice the same", text: "\na,b,a\n1,2,3\n", err: `data.csv:2: columns 1 and 3 are both called "a"; name every column, once`},
		{name: "header without a name", text: "a,,b\n1,2,3\n", err: "data.csv:1: column 2 has no name"},
		{name: "header that cannot be read", text: "\"a\n1,2,3\n", err: "data.csv:1: a field starts with a quote"},
		{
			name: "C31 over the limit", text: "a\n\"12\n45\"\nok\n", set: limit(4),
			want: []string{"! data.csv:2: larger than 4 bytes, the limit for one item; raise it with --max-item", `{"a":"ok"}`},
		},
		{name: "C31 header over the limit", text: "abcdef\n1\n", set: limit(4), err: "data.csv:1: the header row is larger than 4 bytes"},
	})
}

func TestTSV(t *testing.T) {
	runCases(t, "data.tsv", []readCase{
		{name: "rows", text: "a\tb\n1,2\t3\n", want: []string{`{"a":"1,2","b":"3"}`}},
		{name: "quote within a field", text: "a\tb\n5\" disk\tx\"\n", want: []string{`{"a":"5\" disk","b":"x\""}`}},
		{name: "quoted as by a spreadsheet", text: "a\tb\n\"x\ty\n\"\"z\"\"\"\t2\n", want: []string{`{"a":"x\ty\n\"z\"","b":"2"}`}},
		{name: "quoted and not closed", text: "a\n\"hello\" he said\n1\n", want: []string{"! data.tsv:2: " + errAfter.Error(), `{"a":"1"}`}},
	})
}

// TestWideRows has rows whose objects are far larger than they.
func TestWideRows(t *testing.T) {
	header := strings.Repeat("k", 100)
	rows := strings.Repeat(strings.Repeat("\x01", 500)+"\n", 3000)
	got := readAll(t, Config{Inputs: []string{"-"}, Format: CSV, Stdin: strings.NewReader(header + "\n" + rows)})
	want := `{"` + header + `":"` + strings.Repeat(`\u0001`, 500) + `"}`
	if len(got.items) != 3000 {
		t.Fatalf("%d items", len(got.items))
	}
	for _, it := range got.items {
		if string(it.Data) != want {
			t.Fatalf("item %d is %.80s...", it.Index, it.Data)
		}
	}
}
