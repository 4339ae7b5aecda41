//go:build unix

package cli

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/poolwise/poolwise/plan"
)

// --progress json: one object a line, each as documented, the summary last, and
// its counts those of the last progress.
func TestProgressJSONOfARun(t *testing.T) {
	cmd := exec.Command("poolwise", "run", "--progress", "json", "-o", "out.txt", "--",
		"sh", "-c", "sleep 0.4; exit $1", "sh", ":::", "0", "0", "0", "1", "0", "0")
	cmd.Dir = documentedDir(t)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != 1 {
		t.Fatalf("%v, %s", err, stderr.String())
	}
	type object struct {
		Type   string
		Plan   json.RawMessage
		Done   map[string]int
		Counts map[string]int
		Total  *int
	}
	var last, before object
	var kinds []string
	for line := range strings.Lines(stderr.String()) {
		before, last = last, object{}
		if err := json.Unmarshal([]byte(line), &last); err != nil {
			t.Fatalf("no JSON: %s", line)
		}
		if extra, err := section(t, last.Type).Undocumented([]byte(line)); err != nil || len(extra) > 0 {
			t.Errorf("%q are not documented, %v, in %s", extra, err, line)
		}
		kinds = append(kinds, last.Type)
	}
	var notation string
	if err := json.Unmarshal(last.Plan, &notation); err != nil || !bytes.Equal(before.Plan, last.Plan) {
		t.Errorf("the plans are %s and %s, %v", before.Plan, last.Plan, err)
	}
	if _, err := plan.Parse(notation); err != nil {
		t.Error(err)
	}
	if len(kinds) < 3 || last.Type != "summary" || before.Type != "progress" {
		t.Fatalf("the objects are %q", kinds)
	}
	want := map[string]int{"ok": 5, "failed": 1, "timeout": 0, "killed": 0, "not_run": 0}
	if diff := cmp.Diff(want, last.Counts); diff != "" || last.Total == nil || *last.Total != 6 {
		t.Error("summary", diff)
	}
	if diff := cmp.Diff(want, before.Done); diff != "" || before.Total == nil || *before.Total != 6 {
		t.Error("progress", diff)
	}
}
