package machine

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// program writes an executable file and returns its path.
func program(t *testing.T, content string, name ...string) string {
	t.Helper()
	file := filepath.Join(name...)
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o777); err != nil {
		t.Fatal(err)
	}
	return file
}

// native is the start of a program; nothing in these tests starts it.
const native = "\x7fELF and so on"

func TestFindPython(t *testing.T) {
	dir := t.TempDir()
	at := func(names ...string) string { return filepath.Join(append([]string{dir}, names...)...) }
	program(t, native, at("usr", "python3"))
	program(t, native, at("old", "python"))
	program(t, native, at("real", "python3.12"))
	program(t, "#!/bin/sh\necho noise\necho "+at("real", "python3.12")+"\n", at("shims", "python3"))
	program(t, "#!/bin/sh\necho \"pyenv: version '3.99' is not installed\" >&2\nexit 1\n", at("broken", "python3"))
	program(t, "#!/bin/sh\necho\n", at("mute", "python3"))
	program(t, "#!/bin/sh\npwd | sed s,$,/chosen,\n", at("bydir", "python3"))
	program(t, native, at("chosen"))
	if err := os.WriteFile(at("plain.txt"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(at("venv", "bin"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(at("usr", "python3"), at("venv", "bin", "python")); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, flag string
		path, venv string
		want, how  string
		fails      []string // what the error says
	}{
		{name: "in PATH", path: at("none") + ":" + at("usr"), want: at("usr", "python3"), how: "python3 in PATH"},
		{name: "python3 goes before python", path: at("old") + ":" + at("usr"), want: at("usr", "python3"), how: "python3 in PATH"},
		{name: "python alone", path: at("old"), want: at("old", "python"), how: "python in PATH"},
		{name: "the environment's link is kept", path: at("usr"), venv: at("venv"), want: at("venv", "bin", "python"), how: "the active virtual environment"},
		{name: "the flag goes first", flag: at("old", "python"), venv: at("venv"), want: at("old", "python"), how: "--python"},
		{name: "a relative path", flag: "usr/python3", want: at("usr", "python3"), how: "--python"},
		{name: "a relative directory in PATH", path: "usr", want: at("usr", "python3"), how: "python3 in PATH"},
		{name: "a name", flag: "python3.12", path: at("usr") + ":" + at("real"), want: at("real", "python3.12"), how: "--python python3.12, in PATH"},
		{name: "through a shim", path: at("shims") + ":/bin:/usr/bin", want: at("real", "python3.12"), how: "python3 in PATH"},
		{name: "a shim chooses by the directory", path: at("bydir") + ":/bin:/usr/bin", want: at("chosen"), how: "python3 in PATH"},
		{name: "a shim that fails", path: at("broken"), fails: []string{at("broken", "python3"), "it is a script", "exit status 1", "'3.99' is not installed", "--python"}},
		{name: "a shim that says nothing", path: at("mute"), fails: []string{at("mute", "python3"), `names ""`}},
		{name: "none", path: at("none"), fails: []string{"no Python was found", "VIRTUAL_ENV is not set", "PATH (" + at("none") + ")", "--python"}},
		{name: "no PATH at all", fails: []string{"PATH, which is empty"}},
		{name: "an environment that is gone", path: at("usr"), venv: at("gone"), fails: []string{at("gone", "bin", "python"), "VIRTUAL_ENV"}},
		{name: "a flag that names nothing", flag: at("gone", "python"), fails: []string{at("gone", "python"), "no such file"}},
		{name: "a flag that is a name of nothing", flag: "python9", path: at("usr"), fails: []string{"python9", "no program of this name"}},
		{name: "a flag that is a directory", flag: at("venv"), fails: []string{"is a directory", at("venv", "bin", "python")}},
		{name: "a flag that is no program", flag: at("plain.txt"), fails: []string{"not executable"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			env := []string{"PATH=" + test.path}
			if test.venv != "" {
				env = append(env, "VIRTUAL_ENV="+test.venv)
			}
			got, err := FindPython(t.Context(), PythonOptions{Flag: test.flag, Env: env, Dir: dir})
			if test.fails != nil {
				checkPythonError(t, err, test.fails)
				return
			}
			if err != nil || got.Path != test.want || got.How != test.how {
				t.Errorf("got %+v, %v; want %s by %q", got, err, test.want, test.how)
			}
			if viaShim := strings.Contains(test.name, "shim"); viaShim != (got.Shim != "") || viaShim != (got.ShimTime > 0) {
				t.Errorf("shim %q, %v", got.Shim, got.ShimTime)
			}
		})
	}
}

func checkPythonError(t *testing.T, err error, says []string) {
	t.Helper()
	var bad *PythonError
	if !errors.As(err, &bad) {
		t.Fatalf("got %v, want a *PythonError", err)
	}
	for _, s := range says {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("the error does not say %q: %v", s, err)
		}
	}
}

func TestFindPythonIsInterrupted(t *testing.T) {
	dir := t.TempDir()
	started := filepath.Join(dir, "started")
	if out, err := exec.Command("mkfifo", started).CombinedOutput(); err != nil {
		t.Skipf("no named pipes here: %v %s", err, out)
	}
	program(t, "#!/bin/sh\necho > "+started+"\nexec sleep 60\n", dir, "python3")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		os.ReadFile(started) // returns when the shim is running
		cancel()
	}()
	_, err := FindPython(ctx, PythonOptions{Env: []string{"PATH=" + dir + ":/bin:/usr/bin"}, Dir: dir})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
}

func TestFacts(t *testing.T) {
	opts := PythonOptions{Env: os.Environ(), Dir: t.TempDir()}
	found, err := FindPython(t.Context(), opts)
	if err != nil {
		t.Skip(err)
	}
	facts, err := found.Facts(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	if facts.Path != found.Path || !strings.HasPrefix(facts.Version, "3.") || facts.Implementation == "" {
		t.Errorf("got %+v", facts)
	}
	if len(facts.StartMethods) == 0 || facts.DefaultStart == "" {
		t.Errorf("start methods %q, default %q", facts.StartMethods, facts.DefaultStart)
	}
	_, err = Python{Path: "/bin/echo"}.Facts(t.Context(), opts)
	checkPythonError(t, err, []string{"/bin/echo", "no Python 3"})
	_, err = Python{Path: "/bin/false"}.Facts(t.Context(), opts)
	checkPythonError(t, err, []string{"/bin/false", "exit status 1"})
}

func TestOtherPythons(t *testing.T) {
	dir := t.TempDir()
	found := program(t, native, dir, "a[1]", "python3.12")
	program(t, native, dir, "a[1]", "pytest")
	program(t, native, dir, "a[1]", "python3-config")
	if err := os.Symlink(found, filepath.Join(dir, "a[1]", "python3")); err != nil {
		t.Fatal(err)
	}
	other := program(t, native, dir, "b", "python3.14t")
	opts := PythonOptions{Env: []string{"PATH=" + filepath.Join(dir, "a[1]") + ":" + filepath.Join(dir, "b")}, Dir: dir}
	got := otherPythons(opts, Python{Path: found})
	if len(got) != 1 || got[0] != other {
		t.Errorf("got %q, want only %s", got, other)
	}
}
