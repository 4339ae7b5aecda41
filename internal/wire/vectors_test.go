package wire

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/poolwise/poolwise/internal/batch"
)

// vectors are the frames that the tests of every worker's language read.
type vectors struct {
	Chunk []struct {
		vector
		Items []struct {
			Index       uint64
			Attempt     uint32
			Form        string
			Data        pieces
			JSON        pieces
			Undecodable bool
		}
	}
	Result []struct {
		vector
		Results []struct {
			Index        uint64
			Attempt      uint32
			Status       string
			Start, End   int64
			CPU, Process *int64 // nil: not measured
			Value, Error string
		}
	}
	Output []struct {
		vector
		Stream  string
		Index   *uint64
		Attempt uint32
		Data    pieces
	}
	JSON []struct {
		vector
		Type Type
		Form json.RawMessage
	}
}

type vector struct {
	Name  string
	Shows string
	Hex   pieces
}

func (v vector) body(t testing.TB) []byte { return v.Hex.bytes(t) }

// pieces is a text that stands whole in the file, or in parts that repeat.
type pieces string

func (p *pieces) UnmarshalJSON(data []byte) error {
	var whole string
	if json.Unmarshal(data, &whole) == nil {
		*p = pieces(whole)
		return nil
	}
	var parts []json.RawMessage
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	for _, part := range parts {
		var run struct {
			Repeat string
			Times  int
		}
		if json.Unmarshal(part, &run.Repeat) == nil {
			run.Times = 1
		} else if err := json.Unmarshal(part, &run); err != nil {
			return err
		}
		*p += pieces(strings.Repeat(run.Repeat, run.Times))
	}
	return nil
}

func (p pieces) bytes(t testing.TB) []byte {
	t.Helper()
	data, err := hex.DecodeString(string(p))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func readVectors(t testing.TB) *vectors {
	t.Helper()
	data, err := os.ReadFile("../../workers/testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	v := new(vectors)
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestChunkVectors(t *testing.T) {
	for _, v := range readVectors(t).Chunk {
		t.Run(v.Name, func(t *testing.T) {
			var sent, want []batch.Item
			for _, i := range v.Items {
				it := batch.Item{Index: i.Index, Attempt: i.Attempt, Data: i.Data.bytes(t)}
				if i.Form == "json" {
					it.Form = batch.JSON
				}
				sent = append(sent, it)
				if i.JSON != "" { // as it travels
					it.Form, it.Data = batch.JSON, []byte(i.JSON)
				}
				want = append(want, it)
			}
			if got := AppendChunk(nil, sent); !bytes.Equal(got, AppendFrame(nil, Chunk, v.body(t))) {
				t.Errorf("encoded as\n%.200x, want\n%.200x", got[HeaderSize:], v.body(t))
			}
			got, err := ParseChunk(v.body(t))
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("decoded with error %v (-want +got):\n%.1000s", err, diff)
			}
		})
	}
}

func TestResultVectors(t *testing.T) {
	for _, v := range readVectors(t).Result {
		t.Run(v.Name, func(t *testing.T) {
			var want []batch.Result
			for _, r := range v.Results {
				status, _ := batch.ParseStatus(r.Status)
				one := batch.Result{Index: r.Index, Attempt: r.Attempt, Status: status, Start: r.Start, End: r.End, CPU: -1, Process: -1}
				if r.CPU != nil {
					one.CPU, one.Process = *r.CPU, *r.Process
				}
				if status == batch.OK {
					one.Value = []byte(r.Value)
				} else {
					one.Error = []byte(r.Error)
				}
				want = append(want, one)
			}
			var got Results
			err := got.Parse(v.body(t))
			if diff := cmp.Diff(want, got.All()); diff != "" || err != nil {
				t.Errorf("decoded with error %v (-want +got):\n%s", err, diff)
			}
			if flags := v.body(t)[4]; flags != 15 && flags != 31 {
				return // AppendResults always writes all columns, if there are costs those too
			}
			if got := AppendResults(nil, want)[HeaderSize:]; !bytes.Equal(got, v.body(t)) {
				t.Errorf("encoded as\n%x, want\n%x", got, v.body(t))
			}
		})
	}
}

func TestOutputVectors(t *testing.T) {
	for _, v := range readVectors(t).Output {
		t.Run(v.Name, func(t *testing.T) {
			want := batch.Output{Stream: v.Stream, Data: v.Data.bytes(t)}
			if v.Index != nil {
				want.Items = []batch.Running{{Index: *v.Index, Attempt: v.Attempt}}
			}
			got, err := ParseOutput(v.body(t))
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("decoded with error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// The objects of the handshake keep their names: what is decoded and encoded
// again is what the vector holds.
func TestJSONVectors(t *testing.T) {
	into := map[Type]func() any{
		Load:   func() any { return new(LoadBody) },
		Hello:  func() any { return new(HelloBody) },
		Ready:  func() any { return new(ReadyBody) },
		Cannot: func() any { return new(CannotBody) },

		Measure:  func() any { return new(MeasureBody) },
		Slots:    func() any { return new(SlotsBody) },
		Measured: func() any { return new(MeasuredBody) },
	}
	for _, v := range readVectors(t).JSON {
		t.Run(v.Name, func(t *testing.T) {
			for _, text := range [][]byte{v.body(t), v.Form} {
				body := into[v.Type]()
				decoder := json.NewDecoder(bytes.NewReader(text))
				decoder.DisallowUnknownFields()
				if err := decoder.Decode(body); err != nil {
					t.Fatal(err)
				}
				var again bytes.Buffer
				encoder := json.NewEncoder(&again)
				encoder.SetEscapeHTML(false)
				if err := encoder.Encode(body); err != nil {
					t.Fatal(err)
				}
				if got := bytes.TrimSuffix(again.Bytes(), []byte("\n")); !bytes.Equal(got, v.body(t)) {
					t.Errorf("encoded as\n%s, want\n%s", got, v.body(t))
				}
			}
		})
	}
}

func TestVectorsAreTold(t *testing.T) {
	vs, names := readVectors(t), map[string]bool{}
	check := func(group string, v vector) {
		if v.Name == "" || v.Shows == "" || v.Hex == "" || names[group+v.Name] {
			t.Errorf("%s %q lacks a name of its own, what it shows, or its bytes", group, v.Name)
		}
		names[group+v.Name] = true
	}
	for _, v := range vs.Chunk {
		check("chunk", v.vector)
	}
	for _, v := range vs.Result {
		check("result", v.vector)
	}
	for _, v := range vs.Output {
		check("output", v.vector)
	}
	for _, v := range vs.JSON {
		check("json", v.vector)
	}
}
