//go:build unix

package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/poolwise/poolwise/internal/pilot"
	"github.com/poolwise/poolwise/internal/ui/contract"
	"github.com/poolwise/poolwise/measure"
	"github.com/poolwise/poolwise/plan"
)

// section reads a section of the page on JSON outputs.
func section(t *testing.T, name string) contract.Section {
	t.Helper()
	page, err := os.ReadFile("../../docs/json-output.md")
	if err != nil {
		t.Fatal(err)
	}
	s, err := contract.Read(string(page), name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// wantDocumented holds outputs and the examples of a section against its table.
func wantDocumented(t *testing.T, s contract.Section, outputs ...[]byte) {
	t.Helper()
	all := outputs
	for _, example := range s.Examples {
		all = append(all, []byte(example))
	}
	for _, output := range all {
		if extra, err := s.Undocumented(output); err != nil || len(extra) > 0 {
			t.Errorf("not documented: %q, %v, in %s", extra, err, output)
		}
	}
	if missing, err := s.Missing(outputs...); err != nil || len(missing) > 0 {
		t.Errorf("documented, but not written: %q, %v", missing, err)
	}
}

const documentedTask = `def f(x):
    try:
        return {"even": 1}[x]
    except KeyError as e:
        raise ValueError("odd") from e

def nap(x):
    import time
    time.sleep(0.05)
`

// said runs poolwise in dir, and returns what it printed, whatever its status.
func said(t *testing.T, dir string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command("poolwise", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+dir+"/.cache")
	out, err := cmd.Output()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		t.Fatal(err)
	}
	return out
}

func documentedDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "task.py"), []byte(documentedTask), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestRecordsAreDocumented(t *testing.T) {
	dir := documentedDir(t)
	records := said(t, dir, "run", "-q", "--format", "records", "task.py:f", ":::", "even", "odd")
	records = append(records, said(t, dir, "run", "-q", "--format", "records", "--", "sh", "-c", ":::",
		`printf '\344'; printf '\344' >&2; exit 3`, "kill -9 $$")...)
	lines := bytes.Split(bytes.TrimSpace(records), []byte("\n"))
	if len(lines) != 4 {
		t.Fatalf("4 items have these records:\n%s", records)
	}
	wantDocumented(t, section(t, "records"), lines...)
}

func TestRunsAndShowAreDocumented(t *testing.T) {
	dir := documentedDir(t)
	said(t, dir, "run", "--unordered", "-o", "out.txt", "task.py:f", ":::", "even", "odd")
	said(t, dir, "run", "task.py:nap", ":::", "1", "2", "3", "4", "5", "6", "7", "8")
	runs := section(t, "runs")
	doctor := section(t, "doctor")
	lines := bytes.Split(bytes.TrimSpace(said(t, dir, "runs", "--json")), []byte("\n"))
	if len(lines) != 2 {
		t.Fatalf("2 runs are listed as %q", lines)
	}
	var shown struct{ ID string }
	if err := json.Unmarshal(lines[0], &shown); err != nil {
		t.Fatal(err)
	}
	var one, other any
	show := said(t, dir, "show", shown.ID, "--json")
	if err := json.Unmarshal(show, &one); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(lines[0], &other); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(other, one); diff != "" {
		t.Errorf("show differs from runs:\n%s", diff)
	}
	for i := range lines {
		lines[i] = cutMachine(t, doctor, lines[i])
	}
	for i := range runs.Examples {
		runs.Examples[i] = string(cutMachine(t, doctor, []byte(runs.Examples[i])))
	}
	wantDocumented(t, runs, lines...)
	section(t, "show")
}

// What a run tells of its plan, all that can be told included.
func TestPlanIsDocumented(t *testing.T) {
	task := measure.Task{Held: measure.Share{Value: 1, N: 100}, BaseMemory: 1 << 30}
	for range 8 {
		task.Items = append(task.Items, measure.Item{Wall: 50 * time.Millisecond, CPU: 50 * time.Millisecond, Process: -1})
	}
	machine := plan.Machine{CPUs: 2, CPUBound: "cores", Memory: 1 << 30, MemoryBound: "available"}
	left := plan.Batch{Items: 100, Known: true}
	d := &pilot.Decision{
		Cause: pilot.Drift, Note: "an item takes longer", Task: task, Batch: left,
		Choice: plan.Choose(&task, machine, left, plan.Rules{}),
	}
	if d.Choice.Thumb == "" || len(d.Choice.Excluded) == 0 {
		t.Fatalf("the choice tells too little for this test: %+v", d.Choice)
	}
	o := planObject(d, machine)
	o.Run, o.Ran = "20260102-030405-a1b2", []uint64{0, 1}
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	dir := documentedDir(t)
	told := said(t, dir, "plan", "--json", "task.py:nap", ":::", "1", "2", "3", "4", "5", "6", "7", "8")
	over := said(t, dir, "plan", "--json", "task.py:nap", ":::", "1")
	wantDocumented(t, section(t, "plan"), text, bytes.TrimSpace(told), bytes.TrimSpace(over))
}

// cutMachine checks the machine in the record of a run against the fields of
// doctor, and returns the record with an empty one.
func cutMachine(t *testing.T, doctor contract.Section, record []byte) []byte {
	t.Helper()
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(record, &fields); err != nil {
		t.Fatal(err)
	}
	if extra, err := doctor.Undocumented(fields["machine"]); err != nil || len(extra) > 0 {
		t.Errorf("the machine of a run has other fields than doctor shows: %q, %v", extra, err)
	}
	fields["machine"] = json.RawMessage("{}")
	cut, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return cut
}
