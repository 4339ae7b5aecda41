package main

import (
	"strings"
	"testing"
)

const events = `
go: a line of the go command
{"Action":"start","Package":"m/a"}
{"Action":"run","Package":"m/a","Test":"TestGood"}
{"Action":"output","Package":"m/a","Test":"TestGood","Output":"=== RUN   TestGood\n"}
{"Action":"output","Package":"m/a","Test":"TestGood","Output":"noise\n"}
{"Action":"pass","Package":"m/a","Test":"TestGood"}
`

const skip = `
{"Action":"output","Package":"m/a","Test":"TestOdd/here","Output":"    a_test.go:12: no such thing: here\n"}
{"Action":"output","Package":"m/a","Test":"TestOdd/here","Output":"    --- SKIP: TestOdd/here (0.00s)\n"}
{"Action":"skip","Package":"m/a","Test":"TestOdd/here"}
`

const end = `
{"Action":"output","Package":"m/a","Output":"PASS\n"}
{"Action":"output","Package":"m/a","Output":"ok  \tm/a\t0.1s\n"}
{"Action":"pass","Package":"m/a"}
`

func TestStream(t *testing.T) {
	for _, c := range []struct {
		name, list, events string
		good               bool
		want, not          string // in the output
	}{
		{"all pass", "", events + end, true, "ok  \tm/a\t0.1s\n1 passed, 0 failed, 0 skipped\n", "noise"},
		{"other lines are passed on", "", events + end, true, "go: a line of the go command\n", "PASS"},
		{"a skip", "", events + skip + end, false, "SKIPPED AND NOT LISTED: m/a TestOdd/here: no such thing: here\n", ""},
		{"a listed skip", "a TestOdd/* # not here", events + skip + end, true, "skipped as listed: m/a TestOdd/here: not here\n", "NOT"},
		{"a list for another package", "b TestOdd/* # not here", events + skip + end, false, "NOT LISTED", ""},
		{"a list for another test", "a TestOd # not here", events + skip + end, false, "NOT LISTED", ""},
		{"no test at all", "", end, false, "0 passed", ""},
		{
			"a failure shows what the test said", "",
			events + `{"Action":"output","Package":"m/a","Test":"TestBad","Output":"    a_test.go:1: broken\n"}
{"Action":"fail","Package":"m/a","Test":"TestBad"}`,
			false, "    a_test.go:1: broken\n1 passed, 1 failed", "noise",
		},
		{
			"a test without an end is a failure", "",
			events + `{"Action":"output","Package":"m/a","Test":"TestStuck","Output":"panic: test timed out\n"}
{"Action":"fail","Package":"m/a"}`,
			false, "panic: test timed out\n1 passed, 1 failed", "",
		},
		{"a build error", "", events + `{"Action":"build-output","ImportPath":"m/b","Output":"b.go:1: undefined: x\n"}`, true, "undefined: x", ""},
		{
			"skips inside of unittest", "",
			events + `{"Action":"output","Package":"m/a","Test":"TestPy","Output":"    py_test.go:9: OK (skipped=2)\n"}
{"Action":"pass","Package":"m/a","Test":"TestPy"}`,
			false, "m/a TestPy skipped=2: by unittest", "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			list, err := parseList(c.list)
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			s := newStream(&out, list)
			if err := s.readAll(strings.NewReader(c.events)); err != nil {
				t.Fatal(err)
			}
			if got := s.close(); got != c.good {
				t.Errorf("good is %v", got)
			}
			if !strings.Contains(out.String(), c.want) || c.not != "" && strings.Contains(out.String(), c.not) {
				t.Errorf("want %q and not %q in:\n%s", c.want, c.not, out.String())
			}
		})
	}
}

func TestListNeedsReasons(t *testing.T) {
	for _, line := range []string{"a TestX", "a # why", "a TestX #", "a TestX # "} {
		if _, err := parseList(line); err == nil {
			t.Errorf("%q was accepted", line)
		}
	}
	if list, err := parseList("\n# a comment\n\na TestX # why\n"); err != nil || len(list) != 1 {
		t.Errorf("%v %v", list, err)
	}
}
