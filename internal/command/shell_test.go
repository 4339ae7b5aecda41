//go:build linux

package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// shells are those whose quoting is tested: sh is one of them everywhere.
var shells = []string{"dash", "bash"}

// accepted are lines that print the item n times, in brackets.
var accepted = []struct {
	line string
	n    int
}{
	{`printf '[%s]'`, 1},
	{`printf '[%s]' {}`, 1},
	{`printf '[%s]' {} {}`, 2},
	{`y=$(printf '%sx' {}); printf '[%s]' "${y%x}"`, 1},
	{`y="$(printf '%sx' {})"; printf '[%s]' "${y%x}"`, 1},
	{`x={}; printf '[%s]' "$x"`, 1},
	{`printf "[%s]" {}; : "it's" '"'`, 1},
	{`(printf '[%s]' {})`, 1},
	{`: $((1+2)) ${HOME} "${HOME}" "$((1 + (2)))"; printf '[%s]' {}`, 1},
	{"if true; then\nprintf '[%s]' {}\nfi", 1},
	{`case x in x) printf '[%s]' {};; esac`, 1},
	{`printf \[%s\] {}`, 1},
	{"printf '[%s]' {} `: x`", 1},
	{`f() { printf '[%s]' "$1"; }; f {}`, 1},
}

func TestShellIsOneWord(t *testing.T) {
	for _, c := range accepted {
		for _, sh := range shells {
			t.Run(sh+" "+c.line, func(t *testing.T) { oneWord(t, sh, c.line, c.n) })
		}
	}
}

// oneWord runs a line with every hostile item at once.
func oneWord(t *testing.T, sh, line string, n int) {
	dir := t.TempDir()
	var script, want strings.Builder
	for _, item := range hostile {
		argv, err := expand(t, Config{Args: []string{line}, Shell: true}, text(item))
		if err != nil {
			t.Fatal(err)
		}
		script.WriteString(argv[2] + "\n")
		want.WriteString(strings.Repeat("["+item+"]", n))
	}
	cmd := exec.Command(sh, "-c", script.String())
	cmd.Dir, cmd.Env = dir, testEnv
	got, err := cmd.CombinedOutput()
	if err != nil || string(got) != want.String() {
		t.Errorf("%v: got\n%q, want\n%q", err, got, want.String())
	}
	notPwned(t, dir)
}

func TestShellRefuses(t *testing.T) {
	cases := []struct{ line, want string }{
		{`echo "{}"`, "inside double quotes"},
		{`echo '{}'`, "inside '...'"},
		{"echo `echo {}`", "inside `...`"},
		{"echo \"`echo {}`\"", "inside `...`"},
		{`echo \{}`, "backslash stands before {}"},
		{`echo "$(echo "{}")"`, "inside double quotes"},
		{`echo "$(case x in x) echo "{}";; esac)"`, "after case"},
		{`echo ${#}`, "$ stands before {#}"},
		{`echo $'a\' {} '`, "do not agree on $'...'"},
		{`echo $((1+{}))`, "((...))"},
		{`((x={}))`, "((...))"},
		{`echo $[{}]`, "after $["},
		{`echo ${x:{}}`, "after a ${...}"},
		{`echo ${x:-"{}"}`, "after a ${...}"},
		{`echo "${x:-"{}"}"`, "after a ${...}"},
		{`echo $((echo ")"); echo "{}")`, "((...))"},
		{"cat <<EOF\n{}\nEOF", "here-documents"},
		{"cat <<-E\n{}\nE", "here-documents"},
		{"# '\n echo ' {} '", "comment"},
		{"echo a;# '\n echo ' {} '", "comment"},
		{"(# '\n echo ' {} ')", "comment"},
		{"echo {} # no", "comment"},
		{`echo "abc`, "not closed"},
		{`echo 'abc`, "not closed"},
		{"echo `abc", "not closed"},
		{`echo $(abc`, "not closed"},
		{`echo \`, "backslash at the end"},
		{`sleep 1 &`, "command of its own"},
		{`sleep 1; `, "command of its own"},
		{`yes |`, "command of its own"},
		{"echo\n", "command of its own"},
		{`(echo)`, "command of its own"},
		{`   `, "is empty"},
		{`echo $[1]`, "write {} where"},
	}
	for _, c := range cases {
		t.Run(c.line, func(t *testing.T) {
			_, err := Parse(Config{Args: []string{c.line}, Shell: true, Env: testEnv})
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "at byte") {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// With --stdin and no placeholder there is nothing to quote, only to close.
func TestShellWithStdin(t *testing.T) {
	for _, line := range []string{`sleep 0 &`, `cat; `, `echo $[1]`} {
		if _, err := Parse(Config{Args: []string{line}, Shell: true, Stdin: true, Env: testEnv}); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// Arguments are joined by a space, as GNU parallel does.
func TestShellJoins(t *testing.T) {
	argv, err := expand(t, Config{Args: []string{"echo", "{}", "|", "cat"}, Shell: true}, text("a b"))
	if err != nil || argv[2] != "echo 'a b' | cat" {
		t.Errorf("got %q, %v", argv, err)
	}
}

// Whatever line is accepted, no shell may take an item for a command. Lines are
// made of the pieces that change how a shell reads on.
func TestNoLineRunsAnItem(t *testing.T) {
	pieces := []string{
		"{}", " {}", " ", "'", `"`, "`", `\`, "$", "$(", ")", "(", "((", "))", "$((", "${x:-", "}", "{ ", "; }", "#", "\n", ";",
		"|", "&&", " echo ", "x=", "case x in x)", ";; esac", "$'", "$[", "]", "<<E", "E", "[[ ", " ]]", "<", "if true; then ", " fi",
	}
	dir := t.TempDir()
	accepted := 0
	rapid.Check(t, func(r *rapid.T) {
		line := "echo " + strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 8).Draw(r, "line"), "")
		tmpl, err := Parse(Config{Args: []string{line}, Shell: true, Env: testEnv})
		if err != nil {
			return
		}
		accepted++
		item := text(rapid.SampledFrom([]string{"$(echo>pwned)", "a[$(echo>pwned)]", "';echo>pwned;'", `\';echo>pwned;'`}).Draw(r, "item"))
		_, argv, _, err := tmpl.Expand(&item)
		if err != nil {
			r.Fatal(err)
		}
		for _, sh := range shells {
			cmd := exec.Command(sh, "-c", argv[2])
			cmd.Dir, cmd.Env = dir, []string{"PATH="}
			cmd.Run() // most are no valid commands
			if os.Remove(filepath.Join(dir, "pwned")) == nil {
				r.Fatalf("%s ran the item: %s", sh, argv[2])
			}
		}
	})
	if accepted == 0 {
		t.Error("no line was accepted")
	}
}
