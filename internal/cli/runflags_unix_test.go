//go:build unix

package cli

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// A flagCase shows that a flag does something: the pattern is found in what the
// run shows with the flag, and not in what it shows without; the other way
// round where the flag takes something away.
type flagCase struct {
	flag  string // with its value
	args  string // words for a shell, after "poolwise run"
	want  string
	takes bool
}

var flagCases = map[string]flagCase{
	"from":       {"--from json", "--plan serial array.txt -- echo", `2 items`, false},
	"output":     {"-o out.txt", "-- echo ::: a", `file out\.txt`, false},
	"format":     {"--format records", "-- echo ::: a", `"index":0`, false},
	"on-error":   {"--on-error null", "task.py:fails ::: a", `(?m)^null$`, false},
	"unordered":  {"--unordered", `--plan processes:2 -- sh -c 'test $1 = b || sleep 1; echo $1' sh ::: a b`, `b\na\n`, false},
	"plan":       {"--plan threads:3", "task.py:same ::: a b", `as threads:3`, false},
	"chunk":      {"--chunk 2", "--plan processes:2 --window 1 task.py:met ::: a b", `alone`, false},
	"init":       {"--init setup", "task.py:ready ::: a", `true`, false},
	"shell":      {"--shell", "-- 'echo $((40 + 2)) {}' ::: a", `(?m)^42 a$`, false},
	"stdin":      {"--stdin", "-- cat ::: text", `(?m)^text`, false},
	"keep-empty": {"--keep-empty", "gap.txt -- echo", `3 items`, false},
	"cr":         {"--cr keep", "task.py:same crlf.txt", `"a\\r"`, false},
	"max-item":   {"--max-item 1", "-- echo ::: abc", `1 failed`, false},
	"cpus":       {"--cpus 0.5", "--json task.py:busy ::: $(seq 20)", `"cpu_bound":"--cpus"`, false},
	"memory":     {"--memory 15MB", "task.py:busy ::: $(seq 20)", `\(--memory\)`, false},
	"threads-ok": {"--threads-ok", "task.py:nap ::: 1 2 3 4 5 6 7 8", `plan +threads:`, false},
	"no-threads": {"--no-threads", "--threads-ok task.py:same ::: a", `contradict`, false},
	"no-profile": {"--no-profile", "task.py:busy ::: $(seq 20)", `file \.cache/poolwise/profiles/.*json`, true},
	"json":       {"--json", "-- echo ::: a", `"type":"summary"`, false},
	"python":     {"--python nosuchpython", "task.py:same ::: a", `nosuchpython`, false},
	"progress":   {"--progress json", "-- echo ::: a", `"type":"summary"`, false},
	"quiet":      {"-q", "-- echo ::: a", `1 item: 1 ok`, true},
	"dry-run":    {"--dry-run", "-- echo ::: a", `1 item: 1 ok`, true},
	"keep":       {"--keep", "-- echo ::: a", `journal\.jsonl`, false},
	"run-dir":    {"--run-dir elsewhere", "-- echo ::: a", `file elsewhere/runs/`, false},
}

// untested are flags that change how fast a run is and nothing else that can be
// told for certain.
var untested = map[string]string{"window": "how far ahead a worker is handed chunks"}

const flagTask = `import os, time
count = 0
def same(x):
    return x
def fails(x):
    raise ValueError(x)
def setup():
    global count
    count += 1
def ready(x):
    return count == 1
def nap(x):
    time.sleep(0.05)
def busy(x):
    until = time.thread_time() + 0.03
    while time.thread_time() < until:
        pass
def met(x):
    open(x, "w").close()
    for i in range(300):
        if os.path.exists("b" if x == "a" else "a"):
            return "met"
        time.sleep(0.01)
    return "alone"
`

// shown is all that a run shows: its outputs, its status, the files it leaves.
func shown(t *testing.T, line string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"task.py": flagTask, "array.txt": `["a","b"]` + "\n", "gap.txt": "a\n\nb\n", "crlf.txt": "a\r\nb\r\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sh := exec.Command("sh", "-c", "exec poolwise run "+line)
	sh.Dir = dir
	sh.Env = append(os.Environ(), "XDG_CACHE_HOME="+dir+"/.cache")
	out, err := sh.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	text := string(out)
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		text += "file " + strings.TrimPrefix(path, dir+"/") + "\n"
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Every flag of run is explained, and changes something that can be seen.
func TestEveryFlagOfRunDoesSomething(t *testing.T) {
	(&App{}).runCommand().Flags().VisitAll(func(f *pflag.Flag) {
		if f.Usage == "" {
			t.Errorf("--%s is not explained", f.Name)
		}
		c, ok := flagCases[f.Name]
		if !ok {
			if untested[f.Name] == "" {
				t.Errorf("no case of flagCases shows what --%s does", f.Name)
			}
			return
		}
		t.Run(f.Name, func(t *testing.T) {
			pattern := regexp.MustCompile(c.want)
			with, without := shown(t, c.flag+" "+c.args), shown(t, c.args)
			if pattern.MatchString(with) == c.takes || pattern.MatchString(without) != c.takes {
				t.Errorf("%s makes no difference of %q to poolwise run %s\nwith:\n%s\nwithout:\n%s", c.flag, c.want, c.args, with, without)
			}
		})
	})
}
