package main

import (
	"bufio"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/poolwise/poolwise/benchmarks/internal/trial"
)

// A Contestant is one way to do a workload.
type Contestant struct {
	Name string
	trial.Trial
}

// results is the file that each contestant writes in its folder.
const results = "results"

// A field makes the contestants of one workload.
type field struct {
	setup *Setup
	w     *Workload
	input string // the file of the items
	env   []string
	check func(dir string) error
}

// plans returns poolwise with each plan of the grid, the likely ones first: they
// set the time beyond which others are given up.
func (f *field) plans() (all []Contestant) {
	for _, plan := range grid(f.w.kind(), f.w.Waits, f.setup.CPUs) {
		all = append(all, f.ours(plan, f.setup.cache(), "--plan", plan))
	}
	return all
}

// grid returns the plans to try, in plan notation. Two processes and four are
// tried on any machine, and as many and twice as many as it has CPUs.
func grid(kind string, waits bool, cpus int) []string {
	several := func(kind string, counts ...int) (plans []string) {
		for _, n := range counts {
			if plan := kind + ":" + strconv.Itoa(n); !slices.Contains(plans, plan) {
				plans = append(plans, plan)
			}
		}
		return plans
	}
	switch kind {
	case "command":
		return append(several("processes", cpus, 2, 4, 8, 16, 1, 2*cpus), "serial")
	case "async def":
		return append(several("async", 256, 64, 16, 4), fmt.Sprintf("%dx64:async", max(cpus, 2)), "serial")
	}
	processes := several("processes", cpus, 2, 4, 2*cpus)
	threads := append(several("threads", 64, 16, 4), fmt.Sprintf("%dx16:threads", max(cpus, 2)))
	if waits {
		return slices.Concat(threads, processes, []string{"serial"})
	}
	return slices.Concat(processes, threads, []string{"serial"})
}

// auto returns poolwise choosing by itself. Without a profile it knows nothing
// from before; with one it keeps it in the folder cache.
func (f *field) auto(name, cache string, profile bool) Contestant {
	flags := append([]string{"--plan", "auto"}, f.setup.Auto...)
	if !profile && f.setup.NoProfile {
		flags = append(flags, "--no-profile")
	}
	c := f.ours(name, cache, flags...)
	c.Lines = true
	return c
}

// cache is where poolwise keeps things for the next time, when no run is to
// learn from another.
func (s *Setup) cache() string { return filepath.Join(s.Cache, "xdg") }

func (f *field) ours(name, cache string, flags ...string) Contestant {
	argv := append([]string{f.setup.Poolwise, "run", "--python", f.setup.Python, "--progress", "json", "-o", "{dir}/" + results}, flags...)
	if f.w.Task == "" {
		argv = append(append(argv, f.input, "--"), f.w.Command...)
	} else {
		argv = append(argv, f.setup.task(f.w.Task), f.input)
	}
	return Contestant{Name: name, Trial: trial.Trial{
		Argv: argv, Env: append(slices.Clone(f.env), "XDG_CACHE_HOME="+cache), Check: f.check,
	}}
}

// hands returns what people write by hand.
func (f *field) hands() (all []Contestant) {
	if f.w.Task == "" {
		for _, n := range []int{f.setup.CPUs, 1} {
			argv := append([]string{"sh", "-c", `out=$1; shift; exec "$@" >"$out"`, "sh", "{dir}/" + results, "xargs", "-n1", fmt.Sprintf("-P%d", n)}, f.w.Command...)
			all = append(all, Contestant{Name: fmt.Sprintf("xargs -P%d", n), Trial: trial.Trial{Argv: argv, Env: f.env, Stdin: f.input, Check: f.check}})
		}
		return all
	}
	methods := []string{"pool", "threads", "loop"}
	if f.w.Async {
		methods = []string{"semaphore", "loop"}
	}
	for _, m := range methods {
		argv := []string{f.setup.Python, filepath.Join(f.setup.Here, "byhand", "byhand.py"), m, f.setup.task(f.w.Task), f.input, "{dir}/" + results}
		all = append(all, Contestant{Name: methodNames[m], Trial: trial.Trial{Argv: argv, Env: f.env, Check: f.check}})
	}
	return all
}

// methodNames are those of byhand/byhand.py.
var methodNames = map[string]string{
	"pool": "Pool.map", "threads": "ThreadPoolExecutor.map", "semaphore": "asyncio with a semaphore", "loop": "loop",
}

// agreement returns a check that all results of a workload are the same, the
// first being the measure of the others. The order of the lines does not count:
// not every contestant keeps it.
func agreement() func(dir string) error {
	type content struct {
		lines int
		sum   uint64
	}
	var want *content
	return func(dir string) error {
		f, err := os.Open(filepath.Join(dir, results))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		var got content
		if f != nil {
			defer f.Close()
			lines := bufio.NewScanner(f)
			lines.Buffer(nil, 1<<24) // the largest item is a megabyte
			for lines.Scan() {
				hash := fnv.New64a()
				hash.Write(lines.Bytes()) // never fails
				got.lines, got.sum = got.lines+1, got.sum+hash.Sum64()
			}
			if err := lines.Err(); err != nil {
				return err
			}
		}
		if want == nil {
			want = &got
		}
		if got != *want {
			return fmt.Errorf("wrong results: %d lines, where another has %d, or others", got.lines, want.lines)
		}
		return nil
	}
}
