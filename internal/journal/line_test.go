package journal

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/poolwise/poolwise/internal/batch"
	"pgregory.net/rapid"
)

func sample(i uint64) Entry {
	return Entry{
		Index: i, Hash: HashItem(batch.Text, []byte("item")), Attempt: 1, Worker: 3,
		Start: 123_456_789, Wall: 1_234, Status: batch.OK, Value: []byte(`12345678`),
	}
}

var written = cmpopts.IgnoreFields(Entry{}, "LineLen", "ValueAt")

// jsonValue generates JSON values of the shapes that are hard to delimit.
func jsonValue() *rapid.Generator[[]byte] {
	return rapid.Map(rapid.OneOf(
		rapid.SampledFrom([]string{
			`null`, `true`, `-1.5e+10`, `""`, `"\""`, `"\\"`, `"\\\""`, `"a,\"e\":1"`, `"}]"`, `"é"`, `"\u005c"`,
			`[]`, `{}`, `[1,[2,{"a":"]"}]]`, `{"e":1,"crc":"00000000"}`, ` 1 `, `{"a" : "\\" , "b":[ ]}`,
		}),
		rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{`\"`, `\\`, `,`, `x`, `{`, `]`, `\n`}), 0, 40),
			func(parts []string) string { return `"` + strings.Join(parts, "") + `"` }),
	), func(s string) []byte { return []byte(s) })
}

func genEntry(t *rapid.T) Entry {
	e := Entry{
		Index:   rapid.Uint64().Draw(t, "index"),
		Attempt: rapid.Uint32().Draw(t, "attempt"),
		Worker:  rapid.Int().Draw(t, "worker"),
		Start:   rapid.Int64().Draw(t, "start"),
		Wall:    rapid.Int64().Draw(t, "wall"),
		Status:  batch.Status(rapid.IntRange(0, batch.NumStatus-1).Draw(t, "status")),
	}
	copy(e.Hash[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "hash"))
	for _, part := range []*[]byte{&e.Value, &e.Error, &e.Input} {
		if rapid.Bool().Draw(t, "there") {
			*part = jsonValue().Draw(t, "json")
		}
	}
	return e
}

func TestLineIsReadBackEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := genEntry(t)
		before := []byte("line before\n")
		got, at := AppendLine(before, &e)
		line := got[len(before) : len(got)-1]
		if got[len(got)-1] != '\n' || bytes.IndexByte(line, '\n') >= 0 {
			t.Fatalf("not one line: %q", got)
		}
		var back Entry
		if err := ParseLine(line, &back); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if d := cmp.Diff(e, back, written); d != "" {
			t.Fatal(d)
		}
		if at >= 0 && !bytes.HasPrefix(got[at:], e.Value) {
			t.Fatalf("the value is not at %d of %q", at, got)
		}
		if at >= 0 && back.ValueAt != at-len(before) || at < 0 && back.ValueAt != -1 || back.LineLen != len(line) {
			t.Fatalf("value at %d of a line of %d: told %d of %d", at-len(before), len(line), back.ValueAt, back.LineLen)
		}
	})
}

func TestEveryDamagedByteIsNoticed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := genEntry(t)
		line, _ := AppendLine(nil, &e)
		line = line[:len(line)-1]
		at := rapid.IntRange(0, len(line)-1).Draw(t, "at")
		bad := bytes.Clone(line)
		bad[at] ^= byte(rapid.IntRange(1, 255).Draw(t, "flip"))
		var back Entry
		if ParseLine(bad, &back) == nil {
			t.Fatalf("byte %d of %s changed to %q without notice", at, line, bad[at])
		}
		if ParseLine(line[:at], &back) == nil {
			t.Fatalf("%s cut to %d bytes without notice", line, at)
		}
	})
}

func TestRawNewlinesBecomeSpaces(t *testing.T) {
	e := sample(1)
	e.Value, e.Error, e.Input = []byte("[1,\n2\n]"), []byte("{\n}"), []byte("\n3")
	line, at := AppendLine(nil, &e)
	if got := string(line[at : at+len(e.Value)]); got != "[1, 2 ]" {
		t.Errorf("value %q", got)
	}
	if string(e.Value) != "[1,\n2\n]" {
		t.Errorf("the caller's value was changed to %q", e.Value)
	}
	var back Entry
	if err := ParseLine(line[:len(line)-1], &back); err != nil {
		t.Fatal(err)
	}
	if string(back.Error) != "{ }" || string(back.Input) != " 3" {
		t.Errorf("error %q, input %q", back.Error, back.Input)
	}
}

// sealed ends a body of a line with its checksum.
func sealed(body string) []byte {
	line := appendSum([]byte(body), 0)
	return line[:len(line)-1]
}

func TestParseLineIsStrict(t *testing.T) {
	const head = `{"i":7,"h":"000102030405060708090a0b0c0d0e0f","a":1,"w":0,"t":0,"d":5,"s":"ok"`
	for _, c := range []struct{ name, body, reason string }{
		{"plain", head + `,"v":1`, ""},
		{"no value", head, ""},
		{"keys of a later version", head + `,"x":[1,{"y":"]"}],"v":1,"z":null`, ""},
		{"nothing", ``, "a key is missing"},
		{"other order", `{"h":"","i":7`, "a key is missing"},
		{"leading zero", strings.Replace(head, `"i":7`, `"i":07`, 1), "malformed"},
		{"no digits", strings.Replace(head, `"i":7`, `"i":`, 1), "malformed"},
		{"too large", strings.Replace(head, `"i":7`, `"i":18446744073709551616`, 1), "too large"},
		{"attempt too large", strings.Replace(head, `"a":1`, `"a":4294967296`, 1), "too large"},
		{"hash", strings.Replace(head, `0001`, `000g`, 1), "hash"},
		{"status", strings.Replace(head, `"ok"`, `"fine"`, 1), "status is unknown"},
		{"twice", head + `,"v":1,"v":2`, "twice"},
		{"no value after the key", head + `,"v":`, "missing"},
		{"empty value", head + `,"v":,"e":1`, "missing"},
		{"open bracket", head + `,"v":[1`, "not closed"},
		{"closed twice", head + `,"v":1]`, "not opened"},
		{"open string", head + `,"v":"a\"`, "string is cut"},
		{"key without a value", head + `,"v"`, "key is cut"},
		{"open key", head + `,"v`, "key is cut"},
		{"brace before the checksum", head + `,"v":1}`, "not opened"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var e Entry
			err := ParseLine(sealed(c.body), &e)
			switch {
			case err == nil && c.reason != "":
				t.Fatalf("accepted: %+v", e)
			case err != nil && (c.reason == "" || !strings.Contains(err.Error(), c.reason)):
				t.Fatalf("got %v, want %q", err, c.reason)
			}
		})
	}
}

func TestHashItemTellsFormsApart(t *testing.T) {
	data := []byte("1")
	if HashItem(batch.Text, data) == HashItem(batch.JSON, data) {
		t.Error("the text 1 and the JSON value 1 have the same hash")
	}
	if HashItem(batch.Text, nil) == HashItem(batch.JSON, nil) {
		t.Error("the empty text and the empty JSON item have the same hash")
	}
}

func FuzzParseLine(f *testing.F) {
	e := sample(9)
	e.Error, e.Input = []byte(`{"type":"E","message":""}`), []byte(`"in"`)
	line, _ := AppendLine(nil, &e)
	f.Add(line[:len(line)-1])
	f.Add(line[:len(line)-sumSize-1])
	f.Fuzz(func(t *testing.T, data []byte) {
		// The fuzzer cannot guess checksums, so it also gets them for nothing.
		for _, line := range [][]byte{data, sealed(string(data))} {
			var e, back Entry
			if ParseLine(line, &e) != nil {
				continue
			}
			again, _ := AppendLine(nil, &e)
			if err := ParseLine(again[:len(again)-1], &back); err != nil {
				t.Fatalf("%v: %q after %q", err, again, line)
			}
		}
	})
}

func BenchmarkAppendLine(b *testing.B) {
	item := []byte("123456")
	e := sample(0)
	buf := make([]byte, 0, 1<<20)
	b.ReportAllocs()
	for i := range b.N {
		if len(buf) > 1<<20-1024 {
			buf = buf[:0]
		}
		e.Index = uint64(i)
		e.Start += 1000
		e.Hash = HashItem(batch.Text, item)
		buf, _ = AppendLine(buf, &e)
	}
}

func BenchmarkParseLine(b *testing.B) {
	e := sample(123456)
	line, _ := AppendLine(nil, &e)
	line = line[:len(line)-1]
	b.ReportAllocs()
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		if err := ParseLine(line, &e); err != nil {
			b.Fatal(err)
		}
	}
}

func TestNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64().Draw(t, "n") >> rapid.IntRange(0, 63).Draw(t, "shift")
		if got := string(appendInt([]byte("x"), n)); got != "x"+strconv.FormatInt(n, 10) {
			t.Errorf("%d is written %q", n, got)
		}
		u := rapid.Uint64().Draw(t, "u")
		if got := string(appendUint(nil, u)); got != strconv.FormatUint(u, 10) {
			t.Errorf("%d is written %q", u, got)
		}
		digits := hexDigits(uint32(u))
		if got, want := string(binary.BigEndian.AppendUint64(nil, digits)), fmt.Sprintf("%08x", uint32(u)); got != want {
			t.Errorf("%x is written %q", uint32(u), got)
		}
		for shift := 0; shift < 64; shift += 8 {
			bad := digits ^ uint64(rapid.IntRange(1, 255).Draw(t, "flip"))<<shift
			got, ok := hexValue(bad)
			if back := fmt.Sprintf("%08x", got); ok && back != string(binary.BigEndian.AppendUint64(nil, bad)) {
				t.Errorf("%x is read as %s", bad, back)
			}
		}
	})
}

func TestNumbersAtTheirLimits(t *testing.T) {
	for _, n := range append(powers[:], math.MaxUint64, 1<<63, 1<<63-1, math.MaxUint32) {
		for _, n := range []uint64{n - 1, n, n + 1} {
			text := strconv.FormatUint(n, 10)
			if got := string(appendUint(nil, n)); got != text {
				t.Errorf("%d is written %q", n, got)
			}
			c := cursor{b: []byte(text)}
			if got := c.uint(math.MaxUint64); got != n || c.reason != "" {
				t.Errorf("%s is read as %d %s", text, got, c.reason)
			}
		}
	}
	for _, text := range []string{"18446744073709551616", "19000000000000000000", "28446744073709551615", "99999999999999999999", "100000000000000000000"} {
		c := cursor{b: []byte(text)}
		if c.uint(math.MaxUint64); c.reason == "" {
			t.Errorf("%s is read as a number of 64 bits", text)
		}
	}
}
