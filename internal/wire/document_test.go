package wire

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
)

// example is a fenced block of the document whose first line names a vector.
var example = regexp.MustCompile("(?ms)^```(hex|json)( frame)? ([a-z0-9/-]+)\n(.*?)^```$")

// The examples in docs/protocol.md are the vectors.
func TestDocument(t *testing.T) {
	doc, err := os.ReadFile("../../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	bodies := readVectors(t).byName(t)
	found := example.FindAllStringSubmatch(string(doc), -1)
	if fences := strings.Count(string(doc), "\n```") / 2; len(found) != fences || fences < 8 {
		t.Errorf("%d of %d blocks name a vector", len(found), fences)
	}
	for _, m := range found {
		kind, frame, name, text := m[1], m[2] != "", m[3], m[4]
		if kind == "json" {
			name = "json/" + name
		}
		want, ok := bodies[name]
		if !ok {
			t.Errorf("there is no vector %s", name)
			continue
		}
		if frame {
			want = AppendFrame(nil, Chunk, want)
		}
		if got := exampleBytes(t, kind, text); !bytes.Equal(got, want) {
			t.Errorf("%s: the document has\n%x, the vector\n%x", name, got, want)
		}
	}
}

func exampleBytes(t *testing.T, kind, text string) []byte {
	t.Helper()
	if kind == "json" {
		return []byte(strings.TrimSpace(text))
	}
	var digits strings.Builder
	for line := range strings.Lines(text) {
		before, _, _ := strings.Cut(line, ";")
		digits.WriteString(strings.Join(strings.Fields(before), ""))
	}
	data, err := hex.DecodeString(digits.String())
	if err != nil {
		t.Errorf("%v in\n%s", err, text)
	}
	return data
}

func (vs *vectors) byName(t *testing.T) map[string][]byte {
	out := map[string][]byte{}
	for _, v := range vs.Chunk {
		out["chunk/"+v.Name] = v.body(t)
	}
	for _, v := range vs.Result {
		out["result/"+v.Name] = v.body(t)
	}
	for _, v := range vs.Output {
		out["output/"+v.Name] = v.body(t)
	}
	for _, v := range vs.JSON {
		out["json/"+v.Name] = v.body(t)
	}
	return out
}

// The table of frames in the document lists the types that there are.
func TestDocumentListsAllTypes(t *testing.T) {
	doc, err := os.ReadFile("../../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	for kind, name := range map[Type]string{
		Load: "load", Chunk: "chunk", Drain: "drain", Hello: "hello", Ready: "ready",
		Cannot: "cannot", Result: "result", Output: "output", Bye: "bye",
	} {
		number, _ := json.Marshal(kind)
		if !strings.Contains(string(doc), "\n| "+string(number)+" | "+name+" | ") {
			t.Errorf("the table has no row for %s, type %s", name, number)
		}
	}
}
