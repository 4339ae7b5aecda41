package ui

import (
	"bytes"
	"os"
	"testing"

	"github.com/poolwise/poolwise/internal/ui/contract"
)

func TestJSONOutputIsDocumented(t *testing.T) {
	document, err := os.ReadFile("../../docs/json-output.md")
	if err != nil {
		t.Fatal(err)
	}
	var full, empty, note bytes.Buffer
	v := busy()
	v.BytesTotal = 1
	writeObject(&full, progressObject(v))
	writeObject(&empty, progressObject(&view{}))
	writeObject(&note, noteJSON{"note", "text"})
	for name, outputs := range map[string][][]byte{
		"progress": {full.Bytes(), empty.Bytes()},
		"note":     {note.Bytes()},
		"summary":  {JSONSummary(ended()), JSONSummary(Summary{})},
	} {
		section, err := contract.Read(string(document), name)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, example := range section.Examples {
			outputs = append(outputs, []byte(example))
		}
		for _, output := range outputs {
			if extra, err := section.Undocumented(output); err != nil || len(extra) > 0 {
				t.Errorf("%s: not documented: %q, %v", name, extra, err)
			}
		}
		if missing, err := section.Missing(outputs[0]); err != nil || len(missing) > 0 {
			t.Errorf("%s: documented, but not written: %q, %v", name, missing, err)
		}
	}
}
