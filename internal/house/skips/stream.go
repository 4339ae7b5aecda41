package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// event is a line of `go test -json`, as `go doc test2json` has it.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
}

type testName struct{ pkg, test string }

// stream follows a run of tests.
type stream struct {
	out     io.Writer
	allowed []entry
	// said holds what each unfinished test printed.
	said                    map[testName][]string
	passed, failed, skipped int
	unlisted                []string
}

func newStream(out io.Writer, allowed []entry) *stream {
	return &stream{out: out, allowed: allowed, said: map[testName][]string{}}
}

// readAll reads events to the end. Lines that are none are passed on.
func (s *stream) readAll(r io.Reader) error {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			var e event
			if json.Unmarshal([]byte(line), &e) == nil && e.Action != "" {
				s.see(e)
			} else {
				fmt.Fprint(s.out, line)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (s *stream) see(e event) {
	name := testName{e.Package, e.Test}
	switch {
	case e.Action == "build-output":
		fmt.Fprint(s.out, e.Output)
	case e.Test == "":
		s.seePackage(e)
	case e.Action == "output":
		s.said[name] = append(s.said[name], e.Output)
	case e.Action == "pass":
		s.passed++
		s.unittest(name)
		delete(s.said, name)
	case e.Action == "fail":
		s.failed++
		s.show(name)
	case e.Action == "skip":
		s.skip(name, reason(s.said[name]))
		delete(s.said, name)
	}
}

// seePackage sees what is of no test in particular: the summary line, above all.
func (s *stream) seePackage(e event) {
	switch e.Action {
	case "output":
		if e.Output != "PASS\n" {
			fmt.Fprint(s.out, e.Output)
		}
	case "fail":
		for _, name := range s.unfinished(e.Package) {
			s.failed++
			s.show(name)
		}
	}
}

// unfinished returns the tests of a package that came to no end.
func (s *stream) unfinished(pkg string) (names []testName) {
	for name := range s.said {
		if name.pkg == pkg {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b testName) int { return strings.Compare(a.test, b.test) })
	return names
}

// show prints what a failed test said.
func (s *stream) show(name testName) {
	for _, text := range s.said[name] {
		if !strings.HasPrefix(text, "=== ") {
			fmt.Fprint(s.out, text)
		}
	}
	delete(s.said, name)
}

// skippedByUnittest is in the last line of Python's unittest.
var skippedByUnittest = regexp.MustCompile(`\b(?:OK|FAILED) \(.*?(skipped=\d+)`)

// unittest sees the tests that were skipped inside of a Python test run.
func (s *stream) unittest(name testName) {
	for _, text := range s.said[name] {
		if m := skippedByUnittest.FindStringSubmatch(text); m != nil {
			s.skip(testName{name.pkg, name.test + " " + m[1]}, "by unittest")
		}
	}
}

func (s *stream) skip(name testName, reason string) {
	s.skipped++
	if e := find(s.allowed, name.pkg, name.test); e != nil {
		fmt.Fprintf(s.out, "skipped as listed: %s %s: %s\n", name.pkg, name.test, e.reason)
		return
	}
	s.unlisted = append(s.unlisted, fmt.Sprintf("%s %s: %s", name.pkg, name.test, reason))
}

// reason returns what a test said when it was skipped.
func reason(said []string) string {
	for _, text := range slices.Backward(said) {
		if _, words, found := strings.Cut(text, ".go:"); found {
			_, words, _ = strings.Cut(words, ": ")
			return strings.TrimSpace(words)
		}
	}
	return "no reason given"
}

// close prints the count, and says whether all is well.
func (s *stream) close() bool {
	for _, u := range s.unlisted {
		fmt.Fprintf(s.out, "SKIPPED AND NOT LISTED: %s\n", u)
	}
	fmt.Fprintf(s.out, "%d passed, %d failed, %d skipped\n", s.passed, s.failed, s.skipped)
	return s.failed == 0 && len(s.unlisted) == 0 && s.passed > 0
}
