package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func sh(name, script string) Contender {
	return Contender{Name: name, Argv: []string{"sh", "-c", script, "sh", "{dir}"}}
}

// A row with programs that stand for poolwise and its peers: one that works,
// one that is wrong, one that fails, one that is not here.
func TestMeasureRow(t *testing.T) {
	work := t.TempDir()
	good := sh("good", `cd "$1" && printf '0\n1\n2\n' >out.jsonl`)
	good.Ours, good.Check = true, integers("out.jsonl", 3)
	wrong := sh("wrong", `printf '0\n2\n1\n' >"$1"/out.jsonl`)
	wrong.Check = integers("out.jsonl", 3)
	row := Row{Number: 9, Title: "fakes", Budget: Budget{Faster, 0.000001, 0}, Contenders: []Contender{
		good,
		wrong,
		sh("failing", "echo first >&2; echo last words >&2; exit 3"),
		sh("fine", "true"),
		{Name: "absent", Missing: notInstalled + "here"},
	}}
	results := measureRow(t.Context(), row, 3, work, t.Logf)
	for i, want := range []string{"", `line 2 is "2"`, "exit status 3: first; last words", "", notInstalled} {
		if r := results[i]; want == "" && (r.Error != "" || r.Wall.N != 3) || !strings.Contains(r.Error, want) {
			t.Errorf("%s: %+v, want the error %q", r.Name, r, want)
		}
	}
	if left, err := os.ReadDir(work); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v %v", left, err)
	}

	m := judge(row, results)
	page := Report{Rows: []Measured{m}}.Page()
	if len(m.Verdicts) != 1 || !m.Met || !strings.Contains(page, "| **good** |") || !strings.Contains(page, "| wrong | - |") {
		t.Errorf("verdicts %q in\n%s", m.Verdicts, page)
	}
	err := failures([]Measured{m})
	if err == nil || !strings.Contains(err.Error(), "wrong") || !strings.Contains(err.Error(), "failing") || strings.Contains(err.Error(), "absent") {
		t.Errorf("failures: %v", err)
	}
}

// What is not repeated is run once and counted, without a run before.
func TestOnceIsOnce(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	once := sh("once", "echo run >>"+log)
	once.Once = true
	measureRow(t.Context(), Row{Contenders: []Contender{once}}, 4, t.TempDir(), t.Logf)
	if text, err := os.ReadFile(log); err != nil || strings.Count(string(text), "run") != 1 {
		t.Errorf("%q %v", text, err)
	}
}
