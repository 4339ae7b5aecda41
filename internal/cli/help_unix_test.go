//go:build unix

package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// ownCommands are all commands but those that cobra adds.
func ownCommands(cmd *cobra.Command) []*cobra.Command {
	var all []*cobra.Command
	for _, c := range cmd.Commands() {
		all = append(append(all, c), ownCommands(c)...)
	}
	return all
}

// play runs a shell line in a directory in which the files of the examples are.
func play(t *testing.T, dir, line string) {
	t.Helper()
	sh := exec.Command("sh", "-c", line)
	sh.Dir = dir
	sh.Env = append(os.Environ(), "XDG_CACHE_HOME="+dir+"/.cache", "PATH="+dir+"/bin:"+os.Getenv("PATH"))
	if out, err := sh.CombinedOutput(); err != nil {
		t.Errorf("%s\n%v\n%s", line, err, out)
	}
}

// scene makes a directory with the files that examples name.
func scene(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "examples"), os.DirFS("../../examples")); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"clean.py":          "def normalise(row):\n    return row['name'].strip()\n",
		"rows.jsonl":        "{\"name\": \" a \"}\n{\"name\": \"b\"}\n",
		"fetch.py":          "async def get(url):\n    return len(url)\n",
		"urls.txt":          "https://example.org/1\nhttps://example.org/2\n",
		"img/a.png":         "no picture",
		"a.log":             "a log",
		"b.log":             "another",
		"goroot/src/x/x.go": "package x\n",
		"bin/oxipng":        "#!/bin/sh\ntest -f \"$2\"\n",
		// The tests run as installed what a reader runs from source.
		"bin/go": "#!/bin/sh\nif [ \"$1\" = env ]; then echo goroot; else shift 2; exec poolwise \"$@\"; fi\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	play(t, dir, "poolwise run -q --keep -- echo ::: a b c") // for show
	return dir
}

// Every command has examples in its --help, and all of them work.
func TestExamplesOfHelp(t *testing.T) {
	for _, cmd := range ownCommands((&App{}).root()) {
		t.Run(cmd.CommandPath(), func(t *testing.T) {
			if cmd.Example == "" {
				t.Error("there are no examples")
			}
			for line := range strings.Lines(cmd.Example) {
				line = strings.TrimSpace(line)
				if line == "" || strings.HasPrefix(line, "#") {
					continue
				}
				if !strings.Contains(line, cmd.CommandPath()) {
					t.Errorf("no example of %s: %s", cmd.CommandPath(), line)
				}
				play(t, scene(t), line)
			}
		})
	}
}

// What the README shows works as it stands there.
func TestExamplesOfReadme(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile(`(?m)^(?:    |go run \./cmd/)(poolwise .*?)(?:    .*)?$`)
	found := command.FindAllStringSubmatch(string(text), -1)
	if len(found) < 5 {
		t.Fatalf("only these examples were found: %q", found)
	}
	for _, m := range found {
		play(t, scene(t), m[1])
	}
}

// The exit statuses stand once in the code; the page and --help show that list.
func TestExitStatusesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/exit-codes.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, m := range regexp.MustCompile(`(?m)^\| (\d+) \| (.*) \|$`).FindAllStringSubmatch(string(page), -1) {
		listed = append(listed, m[1]+" "+m[2])
	}
	var want []string
	for _, e := range exits {
		want = append(want, fmt.Sprintf("%d %s", e.Status, e.Meaning))
	}
	if !slices.Equal(listed, want) {
		t.Errorf("docs/exit-codes.md lists %q, want %q", listed, want)
	}
	help, err := exec.Command("poolwise", "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range exits {
		if line := fmt.Sprintf("\n  %3d  %s\n", e.Status, e.Meaning); !strings.Contains(string(help), line) {
			t.Errorf("--help has no line %q", line)
		}
	}
}

// poolwise completes commands and flags in each shell.
func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		out, err := exec.Command("poolwise", "completion", shell).Output()
		if err != nil || !strings.Contains(string(out), "__complete") {
			t.Errorf("%s: %v, %q", shell, err, out)
			continue
		}
		if check, err := exec.LookPath(shell); err == nil && shell != "powershell" {
			script := filepath.Join(t.TempDir(), "completion")
			if err := os.WriteFile(script, out, 0o600); err != nil {
				t.Fatal(err)
			}
			if out, err := exec.Command(check, "-n", script).CombinedOutput(); err != nil {
				t.Errorf("%s does not accept it: %v, %s", shell, err, out)
			}
		}
	}
	for _, test := range []struct{ line, want string }{
		{"ru", "run\t"}, {"run --unor", "--unordered\t"}, {"run --format ", "records\n"}, {"run --from j", "jsonl\n"},
		{"run --progress ", "lines\n"}, {"show --fail", "--failures\t"},
	} {
		args := append([]string{"__complete"}, strings.Split(test.line, " ")...)
		out, err := exec.Command("poolwise", args...).Output()
		if err != nil || !strings.Contains("\n"+string(out), "\n"+test.want) {
			t.Errorf("%q is completed by %q, %v, want %q", test.line, out, err, test.want)
		}
	}
}
