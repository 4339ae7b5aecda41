package source

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/google/go-cmp/cmp"
)

func tree(t *testing.T) string {
	return folder(t, map[string]string{
		"a.txt": "", "b.txt": "", "a/x.txt": "", "a/y.md": "", "a/b/z.txt": "", "c/d/e/f.txt": "",
		".hidden.txt": "", "d[1].txt": "", "d1.txt": "", "empty/": "",
		".poolwise/runs/1/log.txt": "", "a/.poolwise/log.txt": "", "out.txt": "", "a-b/w.txt": "",
	})
}

func TestPaths(t *testing.T) {
	dir := tree(t)
	out := filepath.Join(dir, "out.txt")
	cases := []struct {
		name   string
		inputs []string
		want   []string
		note   string
	}{
		{"names as they are", []string{"b.txt", "none", "a", "", "b.txt"}, []string{"b.txt", "none", "a", "", "b.txt"}, ""},
		{"star", []string{"*.txt"}, []string{".hidden.txt", "a.txt", "b.txt", "d1.txt", "d[1].txt"}, ""},
		{"files only", []string{"*"}, []string{".hidden.txt", "a.txt", "b.txt", "d1.txt", "d[1].txt"}, ""},
		{"question mark", []string{"?.txt"}, []string{"a.txt", "b.txt"}, ""},
		{"class", []string{"[b-z].txt"}, []string{"b.txt"}, ""},
		{"a name that looks like a wildcard", []string{"d[1].txt"}, []string{"d[1].txt"}, ""},
		{"escaped", []string{`d\[?].txt`}, []string{"d[1].txt"}, ""},
		{"braces", []string{"{b,a}.txt"}, []string{"a.txt", "b.txt"}, ""},
		{"braces over slashes", []string{"{a/b,c/**,a/b}/*.txt"}, []string{"a/b/z.txt", "c/d/e/f.txt"}, ""},
		{"one level down", []string{"*/*.txt"}, []string{"a-b/w.txt", "a/x.txt"}, ""},
		{"any level, sorted by bytes", []string{"**/*.txt"}, []string{
			".hidden.txt", "a-b/w.txt", "a.txt", "a/b/z.txt", "a/x.txt", "b.txt", "c/d/e/f.txt", "d1.txt", "d[1].txt",
		}, ""},
		{"any level below", []string{"a/**"}, []string{"a/b/z.txt", "a/x.txt", "a/y.md"}, ""},
		{"any level between", []string{"c/**/f.txt", "c/d/e/**/f.txt"}, []string{"c/d/e/f.txt", "c/d/e/f.txt"}, ""},
		{"twice any level", []string{"**/b/**/*.txt"}, []string{"a/b/z.txt"}, ""},
		{"prefix stays as written", []string{"./a//../a/*.md"}, []string{"./a//../a/y.md"}, ""},
		{"absolute", []string{dir + "/a/*.md"}, []string{dir + "/a/y.md"}, ""},
		{"own directory when named", []string{".poolwise/runs/*/log.txt"}, []string{".poolwise/runs/1/log.txt"}, ""},
		{"own directory by wildcard", []string{".pool*/**/*"}, nil, ".pool*/**/*: matches no file"},
		{"nothing", []string{"*.zip", "a.txt", "none/*"}, []string{"a.txt"}, "*.zip: matches no file (the same 1 times more)"},
		{"directories do not match", []string{"empt*"}, nil, "matches no file"},
		{"the output", []string{"out.*", "out.txt"}, []string{"out.txt"}, "out.*: matches no file"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := readAll(t, Config{Dir: dir, Inputs: c.inputs, Format: Paths, Exclude: []string{out}})
			if diff := cmp.Diff(append([]string{}, c.want...), got.texts()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if got.notes != c.note && (c.note == "" || !strings.Contains(got.notes, c.note)) {
				t.Errorf("notes %q", got.notes)
			}
		})
	}
}

// TestGlobAgrees compares with the library's own matching of whole paths.
func TestGlobAgrees(t *testing.T) {
	var files []string
	all := map[string]string{}
	for _, a := range []string{"a", "b", "ab"} {
		for _, b := range []string{"a", "b.c", "ab"} {
			for _, path := range []string{a + "/" + b + "/x.c", a + "/" + b + "/y", a + "/" + b + "1"} {
				files = append(files, path)
				all[path] = ""
			}
		}
	}
	slices.Sort(files)
	dir := folder(t, all)
	for _, pattern := range []string{
		"**", "*/**", "**/x.c", "a*/*/*", "{a,b}/**/y", "**/{b.c/x,ab/y}*", "[!b]/*", "**/a/**", "**/**/y", "?/*.c/*.c", "a/{b.c/{x.c,y},ab1}",
	} {
		want := []string{}
		for _, f := range files {
			if doublestar.MatchUnvalidated(pattern, f) {
				want = append(want, f)
			}
		}
		got := readAll(t, Config{Dir: dir, Inputs: []string{pattern}, Format: Paths})
		if diff := cmp.Diff(want, got.texts()); diff != "" {
			t.Errorf("%s (-want +got)\n%s", pattern, diff)
		}
	}
}

func TestPathsOddNames(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("file systems elsewhere refuse these names")
	}
	names := []string{"$(touch pwned)", "-rf", "a\nb", "it's", "x\xff\xfe", "{}"}
	files := map[string]string{}
	for _, n := range names {
		files[n] = ""
	}
	got := readAll(t, Config{Dir: folder(t, files), Inputs: []string{"*"}, Format: Paths})
	if diff := cmp.Diff(names, got.texts()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestLinks(t *testing.T) {
	dir := folder(t, map[string]string{"real/f.txt": "", "real/sub/g.txt": ""})
	for link, target := range map[string]string{
		"real/loop": "..", "real/self": "self", "dir": "real", "file.txt": "real/f.txt", "broken.txt": "none",
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Skip("no symbolic links here:", err)
		}
	}
	for pattern, want := range map[string][]string{
		"**/*.txt": {"broken.txt", "file.txt", "real/f.txt", "real/sub/g.txt"},
		"*/f.txt":  {"dir/f.txt", "real/f.txt"},
		"dir/**":   {"dir/f.txt", "dir/self", "dir/sub/g.txt"},
	} {
		got := readAll(t, Config{Dir: dir, Inputs: []string{pattern}, Format: Paths})
		if diff := cmp.Diff(want, got.texts()); diff != "" {
			t.Errorf("%s (-want +got)\n%s", pattern, diff)
		}
	}
	got := readAll(t, Config{Dir: dir, Inputs: []string{"real/f*"}, Format: Paths, Exclude: []string{filepath.Join(dir, "dir", "f.txt")}})
	if len(got.items) > 0 {
		t.Errorf("the output was found under another spelling of its directory: %q", got.texts())
	}
}

// TestUnreadableDirectory takes a file for one, which holds back any user.
func TestUnreadableDirectory(t *testing.T) {
	dir := folder(t, map[string]string{"a": "", "b/y": ""})
	got := readAll(t, Config{Dir: dir, Inputs: []string{"a/*", "*/*"}, Format: Paths})
	if diff := cmp.Diff([]string{"b/y"}, got.texts()); diff != "" || !strings.Contains(got.notes, "a/: the directory cannot be read") {
		t.Errorf("notes %q (-want +got)\n%s", got.notes, diff)
	}
}

// TestManyPaths has more of them than fit one batch.
func TestManyPaths(t *testing.T) {
	files := map[string]string{}
	for i := range 100 {
		files[fmt.Sprintf("%02d", i)] = ""
	}
	dir := folder(t, files)
	const times = maxBatch/100 + 2
	got := readAll(t, Config{Dir: dir, Inputs: slices.Repeat([]string{"*"}, times), Format: Paths})
	if len(got.items) != 100*times || string(got.items[maxBatch].Data) != fmt.Sprintf("%02d", maxBatch%100) {
		t.Errorf("%d paths of %d", len(got.items), 100*times)
	}
	names := make([]string, maxBatch+1)
	got = readAll(t, Config{Inputs: names, Format: Paths})
	if len(got.items) != len(names) {
		t.Errorf("%d empty names of %d", len(got.items), len(names))
	}
}

// TestWalkIsLazy ends a batch where the next directory has to be read.
func TestWalkIsLazy(t *testing.T) {
	dir := folder(t, map[string]string{"a/1": "", "a/2": "", "b/3": ""})
	r, err := Open(Config{Dir: dir, Inputs: []string{"**"}, Format: Paths})
	must(t, err)
	items, err := r.Next()
	must(t, err)
	if len(items) != 2 {
		t.Errorf("%d items in the first batch", len(items))
	}
	must(t, r.Close())
	if _, err := r.Next(); err != os.ErrClosed {
		t.Errorf("after Close: %v", err)
	}
}
