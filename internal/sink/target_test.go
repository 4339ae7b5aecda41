package sink

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// put writes text to a target and commits it.
func put(t *testing.T, path, text string) {
	t.Helper()
	target, err := OpenTarget(path, "id")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := target.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := target.Commit(); err != nil {
		t.Fatal(err)
	}
	target.Abort() // as a deferred one would
}

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTheOutputAppearsWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.jsonl")
	os.WriteFile(path, []byte("old"), 0o640)
	os.Chmod(path, 0o604)
	target, err := OpenTarget(path, "id")
	if err != nil {
		t.Fatal(err)
	}
	target.Write([]byte("new"))
	if got := content(t, path); got != "old" {
		t.Errorf("before Commit: %q", got)
	}
	if err := target.Commit(); err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(path); content(t, path) != "new" || info.Mode().Perm() != 0o604 {
		t.Errorf("%q, %v", content(t, path), info.Mode())
	}
	noneLeft(t, filepath.Dir(path))
}

func noneLeft(t *testing.T, dir string) {
	t.Helper()
	if left, _ := filepath.Glob(filepath.Join(dir, ".*poolwise-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestANewOutputAndLongNames(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"new", strings.Repeat("n", 255)} {
		put(t, filepath.Join(dir, name), "text")
		if got := content(t, filepath.Join(dir, name)); got != "text" {
			t.Errorf("%q", got)
		}
	}
	noneLeft(t, dir)
}

func TestAbortLeavesWhatWasThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	os.WriteFile(path, []byte("old"), 0o600)
	target, err := OpenTarget(path, "id")
	if err != nil {
		t.Fatal(err)
	}
	target.Write([]byte("new"))
	target.Abort()
	if got := content(t, path); got != "old" {
		t.Errorf("%q", got)
	}
	noneLeft(t, filepath.Dir(path))
}

func TestWhatAnEarlierLifeLeft(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	if _, err := OpenTarget(path, "id"); err != nil { // killed here
		t.Fatal(err)
	}
	put(t, path, "text")
	if got := content(t, path); got != "text" {
		t.Errorf("%q", got)
	}
}

func TestLinksStay(t *testing.T) {
	dir := t.TempDir()
	os.Mkdir(filepath.Join(dir, "data"), 0o700)
	file := filepath.Join(dir, "data", "file")
	os.WriteFile(file, []byte("old"), 0o600)
	os.Symlink("data/file", filepath.Join(dir, "link"))
	os.Symlink("link", filepath.Join(dir, "second"))
	os.Symlink("data/missing", filepath.Join(dir, "dangling"))
	os.Symlink("loop", filepath.Join(dir, "loop"))
	put(t, filepath.Join(dir, "second"), "new")
	put(t, filepath.Join(dir, "dangling"), "made")
	if content(t, file) != "new" || content(t, filepath.Join(dir, "data", "missing")) != "made" {
		t.Errorf("%q, %q", content(t, file), content(t, filepath.Join(dir, "data", "missing")))
	}
	for _, name := range []string{"link", "second", "dangling"} {
		if info, err := os.Lstat(filepath.Join(dir, name)); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("%s is no link any more: %v", name, err)
		}
	}
	if _, err := OpenTarget(filepath.Join(dir, "loop"), "id"); err == nil {
		t.Error("a link to itself was opened")
	}
}

func TestSpecialFilesAreWrittenDirectly(t *testing.T) {
	put(t, os.DevNull, "text")
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode()&fs.ModeDevice == 0 {
		t.Fatal("the null device is gone")
	}
	var b bytes.Buffer
	target := Stream(&b, "standard output")
	target.Write([]byte("text"))
	if err := target.Commit(); err != nil || b.String() != "text" || target.Name() != "standard output" {
		t.Errorf("%v, %q", err, b.String())
	}
	target.Abort()
}

func TestTargetsThatAreRefused(t *testing.T) {
	dir := t.TempDir()
	if _, err := OpenTarget(dir, "id"); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("a directory: %v", err)
	}
	if _, err := OpenTarget(filepath.Join(dir, "gone", "out"), "id"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
	if os.Geteuid() == 0 {
		return // root may write anywhere
	}
	path := filepath.Join(dir, "readonly")
	os.WriteFile(path, nil, 0o400)
	if _, err := OpenTarget(path, "id"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a file that may not be written: %v", err)
	}
	os.Chmod(dir, 0o500)
	defer os.Chmod(dir, 0o700)
	if _, err := OpenTarget(filepath.Join(dir, "new"), "id"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a directory that may not be written: %v", err)
	}
}

// TestTheDirectoryGoesAway is part of C39.
func TestTheDirectoryGoesAway(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "results")
	os.Mkdir(dir, 0o700)
	target, err := OpenTarget(filepath.Join(dir, "out"), "id")
	if err != nil {
		t.Fatal(err)
	}
	os.RemoveAll(dir)
	target.Write([]byte("text"))
	var w *WriteError
	if err := target.Commit(); !errors.As(err, &w) || w.Target != filepath.Join(dir, "out") {
		t.Errorf("got %v", err)
	}
}
