package journal

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// makeRun makes the directory of a run that is over.
func makeRun(t *testing.T, base string, start time.Time, info Info) *Dir {
	t.Helper()
	d, err := CreateDir(base, start)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	if err := d.WriteInfo(&info); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"journal.jsonl", "log/tasks.log", "out/1-1", "timeline.json"} {
		os.MkdirAll(filepath.Dir(d.Path(name)), 0o700)
		if err := os.WriteFile(d.Path(name), []byte("0123456789"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func TestCreateDir(t *testing.T) {
	base := filepath.Join(t.TempDir(), ".poolwise")
	d, err := CreateDir(base, noon)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if !isID(d.ID) || !strings.HasPrefix(d.ID, "20261201-120000-") {
		t.Errorf("id %q", d.ID)
	}
	if info, err := os.Stat(d.Path(".")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if text, _ := os.ReadFile(filepath.Join(base, ".gitignore")); string(text) != "*\n" {
		t.Errorf(".gitignore holds %q", text)
	}
	if _, err := CreateDir(filepath.Join(d.Path(lockName), "x"), noon); err == nil || !strings.Contains(err.Error(), "--run-dir") {
		t.Errorf("under a file: %v", err)
	}
}

func TestNoIgnoreFileAmongOtherPeoplesFiles(t *testing.T) {
	base := t.TempDir()
	d, err := CreateDir(base, noon)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := os.Stat(filepath.Join(base, ".gitignore")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a .gitignore in a directory of the user's: %v", err)
	}
	if _, err := os.Stat(filepath.Join(base, "runs", ".gitignore")); err != nil {
		t.Error(err)
	}
}

func TestOpenDir(t *testing.T) {
	base := filepath.Join(t.TempDir(), ".poolwise")
	var refErr *RefError
	if _, err := OpenDir(base, "last"); !errors.As(err, &refErr) || len(refErr.Runs) > 0 {
		t.Errorf("without runs: %v", err)
	}
	a := makeRun(t, base, noon, Info{})
	b := makeRun(t, base, noon.Add(time.Hour), Info{})
	c := makeRun(t, base, noon.Add(24*time.Hour), Info{})
	os.Mkdir(filepath.Join(base, "runs", "not-a-run"), 0o700)
	for _, tc := range []struct{ ref, want string }{
		{"last", c.ID}, {a.ID, a.ID}, {"20261201-12", a.ID}, {"20261202", c.ID},
		{b.ID[len(b.ID)-idRandom:], b.ID}, {b.Path("."), b.ID},
	} {
		if d, err := OpenDir(base, tc.ref); err != nil || d.ID != tc.want || d.lock != nil {
			t.Errorf("%s: %v, %v; want %s", tc.ref, d, err, tc.want)
		}
	}
	if _, err := OpenDir(base, "20261201"); !errors.As(err, &refErr) || !refErr.Ambiguous || !slices.Equal(refErr.Runs, []string{b.ID, a.ID}) {
		t.Errorf("ambiguous: %v", err)
	}
	for _, ref := range []string{"20261202-9", "", "not-a-run", base} {
		if _, err := OpenDir(base, ref); !errors.As(err, &refErr) || refErr.Ambiguous || len(refErr.Runs) != 3 {
			t.Errorf("%q: %v", ref, err)
		}
	}
	if _, err := OpenDir(base, "20261202-9"); !errors.As(err, &refErr) || refErr.Runs[0] != c.ID {
		t.Errorf("the nearest comes first: %v", err)
	}
}

func TestOneRunnerAtATime(t *testing.T) {
	base := filepath.Join(t.TempDir(), ".poolwise")
	d := makeRun(t, base, noon, Info{})
	other, err := OpenDir(base, "last")
	if err != nil {
		t.Fatal(err)
	}
	var locked *LockedError
	if err := other.Lock(); !errors.As(err, &locked) || locked.PID != os.Getpid() {
		t.Errorf("got %v", err)
	}
	if !live(d.path) {
		t.Error("a locked run does not count as live")
	}
	d.Close()
	if live(d.path) {
		t.Error("a free run counts as live")
	}
	if err := other.Lock(); err != nil {
		t.Fatal(err)
	}
	if err := other.Remove(); err != nil {
		t.Fatal(err)
	}
	if err := d.Lock(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a run that was removed: %v", err)
	}
}

func TestInfoIsReadBackEqual(t *testing.T) {
	base := filepath.Join(t.TempDir(), ".poolwise")
	exit := 1
	info := Info{
		Command: []string{"run", "a.py:f", "caf\xe9.txt"}, Dir: "/tmp/\xff",
		Task:   Task{Kind: "python", Name: "a\xfe.py:f", Digest: "ab", Interpreter: "/usr/bin/\xf0", Runtime: "CPython 3.14"},
		Inputs: []string{"caf\xe9.txt"}, From: "lines", Machine: json.RawMessage(`{"cpus":2}`),
		Plan: "processes:2", Why: "<because> & so on", Output: Output{Path: "out\x80", Format: "values", Delivered: true},
		Started: noon, Ended: noon.Add(time.Second), State: Done,
		Counts: map[string]uint64{"ok": 5, "failed": 1}, Exit: &exit, Summary: &Summary{Wall: 7, Speedup: 1.9},
	}
	d := makeRun(t, base, noon, info)
	got, err := ReadInfo(d.Path("."))
	if err != nil {
		t.Fatal(err)
	}
	info.Version, info.ID, info.Path = InfoVersion, d.ID, d.path
	indented := got.Machine
	got.Machine = info.Machine
	if d := cmp.Diff(&info, got); d != "" || !json.Valid(indented) {
		t.Error(d)
	}
	if err := d.WriteInfo(got); err != nil {
		t.Error(err)
	}
}

func TestListShowsWhatItCan(t *testing.T) {
	base := filepath.Join(t.TempDir(), ".poolwise")
	if infos, errs := List(base); infos != nil || errs != nil {
		t.Errorf("without runs: %v, %v", infos, errs)
	}
	done := makeRun(t, base, noon, Info{State: Done})
	alive := makeRun(t, base, noon.Add(time.Second), Info{State: Running})
	dead := makeRun(t, base, noon.Add(2*time.Second), Info{State: Running})
	dead.Close()
	damaged := makeRun(t, base, noon.Add(3*time.Second), Info{State: Done})
	os.WriteFile(damaged.Path(infoName), []byte(`{"version":1,`), 0o600)
	later := makeRun(t, base, noon.Add(4*time.Second), Info{State: Done})
	os.WriteFile(later.Path(infoName), []byte(`{"version":2,"state":7}`), 0o600)

	infos, errs := List(base)
	var got []string
	for _, i := range infos {
		got = append(got, i.ID+" "+string(i.State))
	}
	if d := cmp.Diff([]string{dead.ID + " died", alive.ID + " running", done.ID + " done"}, got); d != "" {
		t.Error(d)
	}
	if len(errs) != 2 || !strings.Contains(errs[0].Error(), "version 2") || !strings.Contains(errs[1].Error(), "damaged") {
		t.Errorf("errors: %v", errs)
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func TestFinish(t *testing.T) {
	d := makeRun(t, t.TempDir(), noon, Info{State: Done})
	before := names(t, d.path)
	if err := d.Finish(true); err != nil || !slices.Equal(names(t, d.path), before) {
		t.Errorf("keep: %v, %v", names(t, d.path), err)
	}
	if err := d.Finish(false); err != nil || !slices.Equal(names(t, d.path), []string{infoName, "timeline.json"}) {
		t.Errorf("%v, %v", names(t, d.path), err)
	}
}

func TestPrune(t *testing.T) {
	ok, bad := map[string]uint64{"ok": 3, "failed": 0}, map[string]uint64{"ok": 3, "failed": 1}
	for _, c := range []struct {
		name string
		opts PruneOptions
		want string // of the runs made below
	}{
		{"nothing to do", PruneOptions{}, "complete"},
		{"failed too", PruneOptions{Failed: true}, "undelivered failed died complete"},
		{"all", PruneOptions{All: true}, "damaged undelivered failed died complete"},
		{"old ones", PruneOptions{All: true, OlderThan: 150 * time.Minute}, "died complete"},
	} {
		t.Run(c.name, func(t *testing.T) {
			base := t.TempDir()
			run := map[string]string{}
			hour := 0
			add := func(name string, info Info) *Dir {
				d := makeRun(t, base, noon.Add(time.Duration(hour)*time.Hour), info)
				hour++
				run[d.ID] = name
				if name != "live" {
					d.Close()
				}
				return d
			}
			add("complete", Info{State: Done, Counts: ok, Output: Output{Delivered: true}})
			add("died", Info{State: Running})
			add("failed", Info{State: Done, Counts: bad, Output: Output{Delivered: true}})
			add("undelivered", Info{State: Stopped, Counts: ok})
			os.Remove(add("damaged", Info{}).Path(infoName))
			add("live", Info{State: Running})
			c.opts.Now = noon.Add(4 * time.Hour)
			for _, dry := range []bool{true, false} {
				pruned, err := Prune(base, c.opts, dry)
				var got []string
				for _, p := range pruned {
					got = append(got, run[p.ID])
					if p.Bytes < 40 {
						t.Errorf("%d bytes of %s", p.Bytes, run[p.ID])
					}
				}
				if strings.Join(got, " ") != c.want || err != nil {
					t.Errorf("dry %v: %v, %v; want %s", dry, got, err, c.want)
				}
			}
			if left := len(names(t, filepath.Join(base, runsName))) - 1; left != 6-len(strings.Fields(c.want)) {
				t.Errorf("%d runs are left", left)
			}
		})
	}
}

// An output that a killed poolwise has left unfinished goes with its run; what
// else lies beside it stays.
func TestPruneRemovesTheUnfinishedOutput(t *testing.T) {
	base, place := t.TempDir(), t.TempDir()
	d := makeRun(t, base, noon, Info{State: Running, Output: Output{Path: filepath.Join(place, "out.txt")}})
	d.Close()
	ours := ".out.txt.poolwise-" + d.ID
	for _, name := range []string{ours, "out.txt", ".out.txt.poolwise-20260102-030405-abcd"} {
		if err := os.WriteFile(filepath.Join(place, name), []byte("12345"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Prune(base, PruneOptions{Failed: true}, true); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(place, ours)); err != nil {
		t.Errorf("a dry run has removed it: %v", err)
	}
	gone, err := Prune(base, PruneOptions{Failed: true}, false)
	if err != nil || len(gone) != 1 || gone[0].Bytes < 5 {
		t.Fatalf("pruned %+v, %v", gone, err)
	}
	left, err := os.ReadDir(place)
	if err != nil || len(left) != 2 {
		t.Errorf("in the output's folder are %v, %v; want the two other files", left, err)
	}
}
