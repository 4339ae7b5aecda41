//go:build linux

package command

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/poolwise/poolwise/internal/batch"
)

var testEnv = []string{"PATH=/usr/bin:/bin"}

func expand(t testing.TB, cfg Config, it batch.Item) ([]string, error) {
	t.Helper()
	if cfg.Env == nil {
		cfg.Env = testEnv
	}
	tmpl, err := Parse(cfg)
	if err != nil {
		t.Fatal(err)
	}
	_, argv, _, err := tmpl.Expand(&it)
	return argv, err
}

func TestPlaceholders(t *testing.T) {
	cases := []struct {
		name, item string
		args, want []string
	}{
		{"none: appended", "x", []string{"-n"}, []string{"-n", "x"}},
		{"each", "dir/sub/a.tar.gz", []string{"{}", "{.}", "{/}", "{//}", "{/.}", "{#}"},
			[]string{"dir/sub/a.tar.gz", "dir/sub/a.tar", "a.tar.gz", "dir/sub", "a.tar", "8"}},
		{"inside an argument, twice", "in/a.jpg", []string{"out/{/.}.png:{}{}"}, []string{"out/a.png:in/a.jpgin/a.jpg"}},
		{"not scanned again", "{#}{}", []string{"{}", "{}{#}"}, []string{"{#}{}", "{#}{}8"}},
		{"unknown braces stay", "x", []string{"{x}", "{", "}", "{ }", "{}", "{{}}"}, []string{"{x}", "{", "}", "{ }", "x", "{x}"}},
		{"unclosed, then a placeholder", "x", []string{"{a{}"}, []string{"{ax"}},
		{"a dot in a folder is no extension", "a.b/c", []string{"{.}", "{/.}"}, []string{"a.b/c", "c"}},
		{"hidden file", "a/.profile", []string{"{.}", "{/.}"}, []string{"a/.profile", ".profile"}},
		{"no folder", "x", []string{"{//}"}, []string{"."}},
		{"folder of a folder", "a/b/", []string{"{//}", "{/}"}, []string{"a", ""}},
		{"root", "/", []string{"{//}"}, []string{"/"}},
		{"below the root", "/x", []string{"{//}"}, []string{"/"}},
		{"doubled slashes", "a//b", []string{"{//}"}, []string{"a"}},
		{"empty", "", []string{"{}", "{.}", "{/}", "{//}", "{/.}"}, []string{"", "", "", ".", ""}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := expand(t, Config{Args: append([]string{"echo"}, c.args...)}, batch.Item{Index: 7, Data: []byte(c.item)})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(append([]string{"echo"}, c.want...), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnyItemIsOneArgument(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		item := strings.ReplaceAll(string(rapid.SliceOf(rapid.Byte()).Draw(r, "item")), "\x00", "0")
		got, err := expand(t, Config{Args: []string{"echo", "a{}b"}}, text(item))
		if err != nil || !slices.Equal(got, []string{"echo", "a" + item + "b"}) {
			r.Errorf("%q became %q (%v)", item, got, err)
		}
	})
}

func TestItemText(t *testing.T) {
	cases := []struct{ name, json, want string }{
		{"string", `"a\n\u00e9\ud83d\ude00"`, "a\né😀"},
		{"bytes", `"\udcff\udcfe"`, "\xff\xfe"},
		{"blanks around", " \"a\" ", "a"},
		{"number", "1.50", "1.50"},
		{"object", `{"a": "b"}`, `{"a": "b"}`},
		{"null", "null", "null"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := expand(t, Config{Args: []string{"echo"}}, batch.Item{Form: batch.JSON, Data: []byte(c.json)})
			if err != nil || got[1] != c.want {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
		})
	}
}

func TestImpossibleItems(t *testing.T) {
	cases := []struct {
		name     string
		it       batch.Item
		repeat   int
		kind     string
		mentions []string
	}{
		{"zero byte", text("a\x00b"), 1, "InvalidInput", []string{"zero byte", "--stdin"}},
		{"lone surrogate", batch.Item{Form: batch.JSON, Data: []byte(`"\ud800"`)}, 1, "InvalidInput", nil},
		{"too large", text(strings.Repeat("x", maxArg+1)), 1, "InvalidInput", []string{"131072", "131071", "--stdin"}},
		{"too large together", text(strings.Repeat("x", maxArg)), 60, "InvalidInput", []string{fmt.Sprint(argRoom(testEnv)), "--stdin"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := expand(t, Config{Args: append([]string{"echo"}, slices.Repeat([]string{"{}"}, c.repeat)...)}, c.it)
			var f *batch.Failure
			if !errors.As(err, &f) || f.Type != c.kind {
				t.Fatalf("got %v, want %s", err, c.kind)
			}
			for _, word := range c.mentions {
				if !strings.Contains(f.Message, word) {
					t.Errorf("%q does not mention %q", f.Message, word)
				}
			}
		})
	}
	if argv, err := expand(t, Config{Args: []string{"echo"}}, text(strings.Repeat("x", maxArg))); err != nil || len(argv[1]) != maxArg {
		t.Errorf("the largest argument: %v", err)
	}
}

// What is counted as possible must be possible, and little more must not be.
func TestArgumentLimit(t *testing.T) {
	const n = 100
	for _, c := range []struct {
		name   string
		excess int
		fits   bool
	}{{"below", 0, true}, {"above", 2 * argSpare, false}} {
		t.Run(c.name, func(t *testing.T) {
			args := slices.Repeat([]string{strings.Repeat("x", (argRoom(testEnv)+c.excess)/n-9)}, n)
			cmd := exec.Command("/bin/true", args...)
			cmd.Env = testEnv
			if err := cmd.Run(); (err == nil) != c.fits {
				t.Errorf("%d bytes beside a room of %d: %v", n*argCost(args[0]), argRoom(testEnv), err)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "plain"), []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name string
		args []string
		want string
	}{
		{"nothing", nil, "no command after --"},
		{"empty", []string{""}, "no command after --"},
		{"not in PATH", []string{"nosuchcommand"}, `"nosuchcommand" is not found in PATH (` + dir + ":/bin)"},
		{"not there", []string{"./nosuchcommand"}, "is not there"},
		{"a folder", []string{"/"}, "is a directory"},
		{"not executable, by path", []string{"./plain"}, "not executable; chmod +x"},
		{"not executable, in PATH", []string{"plain"}, "not executable; chmod +x"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse(Config{Args: c.args, Env: []string{"PATH=" + dir + ":/bin"}, Dir: dir})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestProgramOfTheItem(t *testing.T) {
	got, err := expand(t, Config{Args: []string{"{}"}}, text("echo"))
	if err != nil || !slices.Equal(got, []string{"echo"}) {
		t.Errorf("got %q, %v", got, err)
	}
	for _, item := range []string{"nosuchcommand", ""} {
		_, err = expand(t, Config{Args: []string{"{}"}}, text(item))
		var f *batch.Failure
		if !errors.As(err, &f) || f.Type != "CommandNotFound" {
			t.Errorf("%q: got %v", item, err)
		}
	}
}

func TestLine(t *testing.T) {
	tmpl, err := Parse(Config{Args: []string{"echo", "-n"}, Env: testEnv})
	if err != nil {
		t.Fatal(err)
	}
	it := text("it's")
	if got, err := tmpl.Line(&it); err != nil || got != `echo -n 'it'\''s'` {
		t.Errorf("got %s, %v", got, err)
	}
}
