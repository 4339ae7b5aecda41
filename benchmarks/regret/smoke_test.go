package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/poolwise/poolwise/benchmarks/internal/host"
)

// The whole way, with workloads that take no time: one of each kind of task, and
// one whose task is broken.
func TestSuite(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the benchmarks need Linux")
	}
	ctx := t.Context()
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	s := &Setup{
		Here: here, Cache: t.TempDir(), CPUs: 2, Poolwise: filepath.Join(t.TempDir(), "poolwise"),
		// The program itself and not a script that looks for it.
		Python: host.FirstLine(ctx, "python3", "-c", "import sys; print(sys.executable)"),
	}
	if err := host.Run(ctx, "go", "build", "-C", filepath.Join(here, "..", ".."), "-o", s.Poolwise, "./cmd/poolwise"); err != nil {
		t.Fatal(err)
	}
	if err := s.probe(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.calibrate(ctx); err != nil {
		t.Fatal(err)
	}
	server := s.overServer("HTTP", "real.py:fetch", []int{0, 1, 2, 3}, 10)
	broken := Spec{Work: "loop", Item: 1e-5, Items: 10, Spread: "constant", Payload: 100}.workload(s.Rates)
	broken.Name, broken.Task = "broken", "synthetic.py:nothing"
	suite := []*Workload{
		Spec{Work: "loop", Item: 0.001, Items: 20, Spread: "lognormal", Payload: 100, Echo: true}.workload(s.Rates),
		Spec{Work: "wait", Async: true, Item: 0.002, Items: 20, Spread: "constant", Payload: 100}.workload(s.Rates),
		overCommand("wc", []string{"wc", "-l"}, []string{filepath.Join(here, "smoke_test.go"), filepath.Join(here, "main.go")}, 0.1),
		server,
		broken,
		{Name: "absent", Missing: "it is not here"},
	}
	measured, cut, err := s.measureAll(ctx, suite, 2, t.Logf)
	if err != nil || len(cut) > 0 || len(measured) != len(suite) {
		t.Fatalf("%d measured, %v cut, %v", len(measured), cut, err)
	}
	for _, m := range measured[:4] {
		if m.Missing != "" {
			t.Errorf("%s: %s", m.Name, m.Missing)
			continue
		}
		for _, o := range append(m.Plans, m.Hands...) {
			if o.Error != "" {
				t.Errorf("%s: %s: %s", m.Name, o.Name, o.Error)
			}
		}
		for _, o := range []Outcome{m.Final.Best, m.Final.Again, m.Final.Cold, m.Final.Warm, m.Final.Hand} {
			if len(o.Seconds) != 2 || o.Median() <= 0 {
				t.Errorf("%s: %s: %v", m.Name, o.Name, o.Seconds)
			}
		}
		if usual(m.Final.Cold.Choices) == "" {
			t.Errorf("%s: poolwise told no plan: %+v", m.Name, m.Final.Cold)
		}
	}
	if m := measured[4]; !strings.Contains(m.Missing, "has no nothing") {
		t.Errorf("the broken task is told as %q", m.Missing)
	}
	if left, err := filepath.Glob(filepath.Join(s.Cache, "work-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	page := Report{Measured: measured}.Page()
	for _, want := range []string{"| HTTP, 10 ms |", "- broken: ", "- absent: it is not here"} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not on the page:\n%s", want, page)
		}
	}
}

// What the time does not suffice for is named.
func TestBudgetCuts(t *testing.T) {
	ctx, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	s := &Setup{Cache: t.TempDir(), Python: "/nowhere/python", Poolwise: "/nowhere/poolwise", CPUs: 2}
	suite := []*Workload{
		overNumbers("one", "real.py:fetch", []int{1}, 1),
		overNumbers("two", "real.py:fetch", []int{1}, 1),
	}
	measured, cut, err := s.measureAll(ctx, suite, 1, t.Logf)
	if err != nil || len(measured) != 0 || strings.Join(cut, " ") != "one two" {
		t.Errorf("measured %v, cut %v, %v", measured, cut, err)
	}
	if page := (Report{Cut: cut}).Page(); !strings.Contains(page, "- two: the time was up") {
		t.Errorf("the page does not tell:\n%s", page)
	}
	if left, err := os.ReadDir(s.Cache); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}
