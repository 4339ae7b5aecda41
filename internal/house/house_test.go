package house

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root is the module's folder, as seen from this package.
const root = "../.."

// longestFile is how many lines a source file may have. Readers of code with
// larger ones tire; files of ours are a third of this as a rule.
const longestFile = 500

// longFiles may be longer, each for its reason.
var longFiles = map[string]string{}

func TestFilesAreShort(t *testing.T) {
	for name, text := range files(t, ".go", ".py", ".sh") {
		if strings.Contains(path.Base(name), "test") || strings.Contains(name, "/tests/") {
			continue
		}
		if n := strings.Count(text, "\n"); n > longestFile && longFiles[name] == "" {
			t.Errorf("%s has %d lines, more than %d: divide it, or list it with the reason", name, n, longestFile)
		}
	}
}

// A folder without a list in .depguard.yml could import anything.
func TestEveryPackageHasImportRules(t *testing.T) {
	rules := read(t, ".depguard.yml")
	for name := range files(t, ".go") {
		dir := path.Dir(name)
		// The root's path depends on where the checkout is, and no pattern
		// names it; the rule that nobody imports internal/cli covers it.
		if dir == "." || strings.HasPrefix(dir, "benchmarks") || strings.HasSuffix(dir, "internal/cli") {
			continue
		}
		if !strings.Contains(rules, `"**/`+dir+`/*.go"`) {
			t.Errorf("%s has no list of imports in .depguard.yml", dir)
		}
	}
}

// Every target is explained to contributors, and every target that a page
// names is there.
func TestMakeTargetsAreDocumented(t *testing.T) {
	targets := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^([a-z-]+):.*?## `).FindAllStringSubmatch(read(t, "Makefile"), -1) {
		targets[m[1]] = true
	}
	if len(targets) < 5 {
		t.Fatalf("only these targets were found: %v", targets)
	}
	named := regexp.MustCompile("(?:`|^|    )make ([a-z-]+)")
	explained := map[string]bool{}
	for name, text := range files(t, ".md") {
		for line := range strings.Lines(text) {
			for _, m := range named.FindAllStringSubmatch(line, -1) {
				if !targets[m[1]] {
					t.Errorf("%s names `make %s`, which there is not", name, m[1])
				}
				explained[m[1]] = explained[m[1]] || name == "CONTRIBUTING.md"
			}
		}
	}
	for target := range targets {
		if !explained[target] {
			t.Errorf("CONTRIBUTING.md does not explain `make %s`", target)
		}
	}
}

// promised are pages that a command makes, and that may not be made yet.
var promised = []string{"docs/performance.md"}

func TestLinksBetweenPagesLead(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:\s]+)(?:#[^)]*)?\)`)
	for name, text := range files(t, ".md") {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			target := path.Join(path.Dir(name), m[1])
			if _, err := os.Stat(filepath.Join(root, target)); err != nil && !slices.Contains(promised, target) {
				t.Errorf("%s links to %s, which there is not", name, target)
			}
		}
	}
}

// Decisions are numbered files, each named in the index beside them.
func TestDecisionsAreListed(t *testing.T) {
	const dir = "docs/decisions/"
	index := read(t, dir+"README.md")
	numbered := regexp.MustCompile(`^\d{4}-[a-z0-9-]+\.md$`)
	for name := range files(t, ".md") {
		base, below := strings.CutPrefix(name, dir)
		if !below || base == "README.md" {
			continue
		}
		if !numbered.MatchString(base) {
			t.Errorf("%s is not named like 0001-what-was-decided.md", name)
		}
		if !strings.Contains(index, "("+base+")") {
			t.Errorf("%s is not in %sREADME.md", name, dir)
		}
	}
}

// The list of tests that may be skipped names packages that exist.
func TestAllowedSkipsNamePackages(t *testing.T) {
	for line := range strings.Lines(read(t, ".ci/allowed-skips.txt")) {
		pkg, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if pkg == "" || strings.HasPrefix(pkg, "#") {
			continue
		}
		if found, err := filepath.Glob(filepath.Join(root, pkg, "*_test.go")); err != nil || len(found) == 0 {
			t.Errorf("%s has no tests", pkg)
		}
	}
}

// files returns the texts of the module's files that end in one of the given
// ways, by their path with slashes.
func files(t *testing.T, endings ...string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() {
			if base == "testdata" || base == "bin" || strings.HasPrefix(base, ".") && base != ".." && base != ".ci" {
				return fs.SkipDir
			}
			return nil
		}
		if slices.Contains(endings, filepath.Ext(base)) {
			rel, err := filepath.Rel(root, name)
			if err != nil {
				return err
			}
			rel = filepath.ToSlash(rel)
			found[rel] = read(t, rel)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}
