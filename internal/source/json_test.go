package source

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/poolwise/poolwise/internal/batch"
)

func TestJSONLines(t *testing.T) {
	runCases(t, "data.jsonl", []readCase{
		{name: "C30 empty file"},
		{name: "C30 blank lines", text: "\n  \n\t\r\n"},
		{name: "C30 last line without newline", text: "1\n2", want: []string{"1", "2"}},
		{name: "trimmed", text: "  {\"a\": 1}\t\r\n", want: []string{`{"a": 1}`}},
		{name: "C32 byte order mark", text: "\xef\xbb\xbf1\n", want: []string{"1"}, note: "byte order mark"},
		{name: "numbers keep their text", text: "1.0\n1e400\n1180591620717411303424\n-0\n", want: []string{"1.0", "1e400", "1180591620717411303424", "-0"}},
		{
			name: "invalid among valid", text: "1\n\n{\"a\":}\n[2\n3\n",
			want: []string{
				"1",
				"! data.jsonl:3: column 6: invalid character '}' looking for beginning of value",
				"! data.jsonl:4: column 2: unexpected end of JSON input",
				"3",
			},
		},
		{name: "two values on a line", text: "1 2\n", want: []string{"! data.jsonl:1: column 3: invalid character '2' after top-level value"}},
		{name: "not UTF-8", text: "1\n\"a\xff\"\n", want: []string{"1", "! data.jsonl:2: column 3: the JSON text is not UTF-8"}},
		{name: "NaN", text: "NaN\n", want: []string{"! data.jsonl:1: column 1: invalid character 'N' looking for beginning of value"}},
		{name: "lone surrogate passes", text: `"\ud800"`, want: []string{`"\ud800"`}},
		{
			name: "C31 over the limit", text: "1\n\"12345\"\n2\n", set: limit(4),
			want: []string{"1", "! data.jsonl:2: larger than 4 bytes, the limit for one item; raise it with --max-item", "2"},
		},
	})
}

func TestJSON(t *testing.T) {
	runCases(t, "data.json", []readCase{
		{name: "C30 empty file"},
		{name: "C30 only white space", text: " \n\t"},
		{name: "empty array", text: " [ ]\n"},
		{name: "array", text: `[1, "a,]\"[", {"b": [2, 3]}, [4], null, true]`, want: []string{"1", `"a,]\"["`, `{"b": [2, 3]}`, "[4]", "null", "true"}},
		{name: "numbers keep their text", text: "[1.0,1e400,\n1180591620717411303424]", want: []string{"1.0", "1e400", "1180591620717411303424"}},
		{name: "elements over several lines", text: "[\n  {\n    \"a b\": \"\\\" x\",\r\n    \"c\": [1.0, 2]\n  }\n]\n", want: []string{`{"a b":"\" x","c":[1.0,2]}`}},
		{name: "one object", text: "{\"a\":\n1}", want: []string{`{"a":1}`}},
		{name: "one number", text: "12", want: []string{"12"}},
		{name: "several values", text: "{\"a\":1} [2,3]\n4 \"x\"5", want: []string{`{"a":1}`, "[2,3]", "4", `"x"`, "5"}},
		{name: "C32 byte order mark", text: "\xef\xbb\xbf[1]", want: []string{"1"}, note: "byte order mark"},
		{name: "not UTF-8 goes on", text: "[1,\n\"\xff\",2]", want: []string{"1", "! data.json:2: the JSON text is not UTF-8", "2"}},
		{name: "bad element", text: "[1,\n2,\n{\"a\":\n}, 3]", want: []string{"1", "2"}, err: "data.json:4: invalid character '}' looking for beginning of value"},
		{name: "bad word", text: "[1, nul, 2]", want: []string{"1"}, err: "data.json:1: "},
		{name: "wrong bracket", text: "[1, {\"a\":1], 2]", want: []string{"1"}, err: "invalid character ']'"},
		{name: "missing comma", text: "[1\n2]", want: []string{"1"}, err: "data.json:2: invalid character '2' after an element of the array"},
		{name: "comma too many", text: "[1,]", want: []string{"1"}, err: "invalid character ']' where a value should begin"},
		{name: "comma first", text: "[,1]", err: "invalid character ','"},
		{name: "not closed", text: "[1,2", want: []string{"1", "2"}, err: "not closed"},
		{name: "cut in an element", text: "[1,\n[2,\n3", want: []string{"1"}, err: "data.json:2: the value that begins here is not complete"},
		{name: "more behind the array", text: "[1]\n[2]", want: []string{"1"}, err: "data.json:2: invalid character '[' after the array; where each line is a value, use --from jsonl"},
		{name: "comma between values", text: "1,2", want: []string{"1"}, err: "invalid character ','"},
		{
			name: "C31 over the limit", text: "[1,\n[10, [\"]\"]],\n2]", set: limit(4),
			want: []string{"1", "! data.json:2: larger than 4 bytes, the limit for one item; raise it with --max-item", "2"},
		},
		{name: "C31 over the limit, then wrong", text: "[\"12345\",\n2}", set: limit(4), want: []string{"! data.json:1: larger than 4 bytes, the limit for one item; raise it with --max-item", "2"}, err: "data.json:2"},
	})
}

func TestJSONErrorIsTyped(t *testing.T) {
	got := readAll(t, Config{Inputs: []string{"-"}, Format: JSON, Stdin: strings.NewReader("[1,\n  x]")})
	var read *ReadError
	if !errors.As(got.err, &read) {
		t.Fatalf("error %#v", got.err)
	}
	if read.Path != "standard input" || read.Line != 2 || read.Offset != 6 {
		t.Errorf("place %q, line %d, offset %d", read.Path, read.Line, read.Offset)
	}
	got = readAll(t, Config{Inputs: []string{"-"}, Format: JSON, Stdin: strings.NewReader("[1")})
	if !errors.Is(got.err, io.ErrUnexpectedEOF) {
		t.Errorf("error %v", got.err)
	}
}

// TestDeepNesting is no stack overflow: the fast validator recurses.
func TestDeepNesting(t *testing.T) {
	const depth = 200_000
	bomb := strings.Repeat("[", depth) + strings.Repeat("]", depth)
	got := readAll(t, Config{Inputs: []string{"-"}, Format: JSONLines, Stdin: strings.NewReader(bomb + "\n1\n")})
	if len(got.items) != 2 || got.items[0].Form != batch.Invalid || !strings.Contains(got.items[0].Problem.Message, "depth") {
		t.Errorf("%d items, %v", len(got.items), got.err)
	}
	got = readAll(t, Config{Inputs: []string{"-"}, Format: JSON, Stdin: strings.NewReader("[1," + bomb + "]")})
	if len(got.items) != 1 || got.err == nil || !strings.Contains(got.err.Error(), "depth") {
		t.Errorf("%d items, %v", len(got.items), got.err)
	}
}
