package cli

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/poolwise/poolwise/plan"
)

// runFlags are the flags of run.
type runFlags struct {
	from      choice
	output    string
	format    choice
	onError   choice
	unordered bool
	plan      planFlag
	chunk     int
	window    int
	init      string
	shell     bool
	stdin     bool
	keepEmpty bool
	cr        choice
	maxItem   size
	cpus      float64
	memory    size
	threadsOK bool
	noThreads bool
	noProfile bool
	python    string
	progress  choice
	json      bool
	quiet     bool
	dryRun    bool
	keep      bool
	runDir    string
}

// Defaults that are more than a zero.
const (
	defaultMaxItem = 256 << 20
	defaultRunDir  = ".poolwise"
)

// notFromEnv are the flags that describe one run and not how runs are tuned.
var notFromEnv = map[string]bool{
	"output": true, "run-dir": true, "dry-run": true, "init": true, "shell": true, "stdin": true, "help": true,
}

// tuningFlags are the flags that variables set.
var tuningFlags = func() map[string]bool {
	var f runFlags
	s := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.add(s)
	names := map[string]bool{}
	s.VisitAll(func(flag *pflag.Flag) { names[flag.Name] = !notFromEnv[flag.Name] })
	return names
}()

func (f *runFlags) add(s *pflag.FlagSet) {
	f.maxItem = defaultMaxItem
	f.from = oneOf("auto", "lines", "nul", "jsonl", "json", "csv", "tsv", "paths")
	f.format = oneOf("values", "records")
	f.onError = oneOf("omit", "null")
	f.cr = oneOf("auto", "strip", "keep")
	f.progress = oneOf("auto", "bar", "lines", "json", "none")
	s.Var(&f.from, "from", "what the inputs are: auto|lines|nul|jsonl|json|csv|tsv, or paths: the arguments and globs themselves")
	s.StringVarP(&f.output, "output", "o", "", "write the results to this `FILE`, complete or not at all (default: standard output)")
	s.Var(&f.format, "format", "of the results: values|records")
	s.Var(&f.onError, "on-error", "what stands for a failed item among the values: omit|null")
	s.BoolVar(&f.unordered, "unordered", false, "write results as they complete, not in input order")
	s.Var(&f.plan, "plan", "serial, threads:N, processes:N, async:N, or PxN:KIND for N slots in each of P processes;\nauto measures the first items and chooses")
	s.BoolVar(&f.threadsOK, "threads-ok", false, "the task may run in threads: auto weighs them like any other plan")
	s.BoolVar(&f.noThreads, "no-threads", false, "the task may not run in threads: auto leaves them out")
	s.BoolVar(&f.noProfile, "no-profile", false, "auto neither uses nor keeps what it learns of a task")
	s.IntVar(&f.chunk, "chunk", 0, "items handed over in one message (default: a few milliseconds of work)")
	s.IntVar(&f.window, "window", 0, "chunks that a worker may hold (default: adapted)")
	s.StringVar(&f.init, "init", "", "call this `FUNC` of the task's module once in each worker, before its first item")
	s.BoolVar(&f.shell, "shell", false, "the command is a line for /bin/sh; each inserted item is quoted")
	s.BoolVar(&f.stdin, "stdin", false, "give the item to the command on its standard input")
	s.BoolVar(&f.keepEmpty, "keep-empty", false, "an empty line is an item too")
	s.Var(&f.cr, "cr", "a carriage return at the end of a line: auto|strip|keep; auto strips where the first lines all have one")
	s.Var(&f.maxItem, "max-item", "largest item, such as 64MiB; a larger one fails")
	s.Float64Var(&f.cpus, "cpus", 0, "use at most this many CPUs (default: all that this process may use)")
	s.Var(&f.memory, "memory", "auto plans workers for at most this much memory, such as 4GB (default: what is available)")
	s.StringVar(&f.python, "python", "", "interpreter: a `PATH` or a name (default: the active virtual environment's, else python3)")
	s.Var(&f.progress, "progress", "how the run is shown: auto|bar|lines|json|none")
	s.BoolVar(&f.json, "json", false, "the same as --progress json: plan, progress and summary as objects")
	s.BoolVarP(&f.quiet, "quiet", "q", false, "no progress, and no summary unless something failed")
	s.BoolVar(&f.dryRun, "dry-run", false, "show what would be run, and run nothing")
	s.BoolVar(&f.keep, "keep", false, "keep the whole run directory, also when all went well")
	s.StringVar(&f.runDir, "run-dir", defaultRunDir, "where runs are recorded")
}

// fromEnv sets flags that were not given from POOLWISE_* variables.
func fromEnv(s *pflag.FlagSet, env []string) error {
	values := map[string]string{}
	for _, e := range env {
		if name, value, ok := strings.Cut(e, "="); ok && strings.HasPrefix(name, envPrefix) {
			values[name] = value
		}
	}
	var err error
	s.VisitAll(func(f *pflag.Flag) {
		name := envPrefix + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		value, ok := values[name]
		// An empty variable is how one is taken back in a shell.
		if !ok || value == "" || f.Changed || notFromEnv[f.Name] || err != nil {
			return
		}
		if bad := s.Set(f.Name, value); bad != nil {
			err = usagef("the environment variable %s=%q: %w", name, value, bad)
		}
	})
	return err
}

const envPrefix = "POOLWISE_"

// check refuses values that no run can have.
func (f *runFlags) check(s *pflag.FlagSet, task *taskSpec) error {
	if f.output == "-" {
		f.output = "" // standard output, as - is standard input
	}
	if f.json {
		if s.Changed("progress") && f.progress.value != "json" {
			return usagef("--json is --progress json, and --progress %s was given too", f.progress.value)
		}
		f.progress.value = "json"
	}
	switch {
	case f.threadsOK && f.noThreads:
		return usagef("--threads-ok and --no-threads contradict each other; give one of them")
	case s.Changed("memory") && f.memory < 1:
		return usagef("--memory: it is 1 byte or more; leave it out for what is available")
	case s.Changed("cpus") && f.cpus == 0, s.Changed("chunk") && f.chunk == 0, s.Changed("window") && f.window == 0:
		return usagef("--cpus, --chunk and --window are above 0; leave them out for what poolwise chooses")
	case f.chunk < 0 || f.chunk > 1<<20:
		return usagef("--chunk %d: it is between 1 and %d", f.chunk, 1<<20)
	case f.window < 0 || f.window > 1<<20:
		return usagef("--window %d: it is between 1 and %d", f.window, 1<<20)
	case f.cpus < 0 || math.IsNaN(f.cpus):
		return usagef("--cpus %v: it is a number above 0", f.cpus)
	case f.maxItem < 1:
		return usagef("--max-item: it is 1 byte or more")
	case task.isCommand() && f.init != "":
		return usagef("--init is for Python tasks: a command has no function to call")
	case !task.isCommand() && f.shell:
		return usagef("--shell is for commands: put one after --")
	case !task.isCommand() && f.stdin:
		return usagef("--stdin is for commands: put one after --")
	}
	return nil
}

// choice is a flag for one of several words; the first is its default.
type choice struct {
	value   string
	allowed []string
}

func oneOf(words ...string) choice { return choice{value: words[0], allowed: words} }

// Set takes one of the words.
func (c *choice) Set(text string) error {
	if !slices.Contains(c.allowed, text) {
		return fmt.Errorf("%q is not one of %s", text, strings.Join(c.allowed, ", "))
	}
	c.value = text
	return nil
}

// String returns the chosen word.
func (c *choice) String() string { return c.value }

// Type is what --help shows.
func (c *choice) Type() string { return "WORD" }

// planFlag is a flag for a plan; nil means auto.
type planFlag struct{ plan *plan.Plan }

// Set reads plan notation, or auto.
func (p *planFlag) Set(text string) error {
	p.plan = nil
	if text == "auto" {
		return nil
	}
	got, err := plan.Parse(text)
	p.plan = &got
	return err
}

// String shows the plan.
func (p *planFlag) String() string {
	if p.plan == nil {
		return "auto"
	}
	return p.plan.String()
}

// Type is what --help shows.
func (p *planFlag) Type() string { return "PLAN" }

// size is a flag for a number of bytes: 100, 64k, 1MiB, 2GB.
type size int64

var sizeUnits = map[string]float64{
	"": 1, "b": 1,
	"k": 1 << 10, "kib": 1 << 10, "kb": 1e3,
	"m": 1 << 20, "mib": 1 << 20, "mb": 1e6,
	"g": 1 << 30, "gib": 1 << 30, "gb": 1e9,
	"t": 1 << 40, "tib": 1 << 40, "tb": 1e12,
}

// Set reads a size.
func (s *size) Set(text string) error {
	digits := strings.TrimRight(strings.ToLower(strings.TrimSpace(text)), "bikmgt ")
	unit, known := sizeUnits[strings.TrimSpace(strings.ToLower(text)[len(digits):])]
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil || !known || n < 0 || n*unit > math.MaxInt64/2 {
		return fmt.Errorf("%q is not a size; write 1000, 64KiB or 2GB", text)
	}
	*s = size(n * unit)
	return nil
}

// String shows the size in the largest unit that divides it.
func (s *size) String() string {
	for _, u := range []struct {
		name string
		n    int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if int64(*s) >= u.n && int64(*s)%u.n == 0 {
			return strconv.FormatInt(int64(*s)/u.n, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(*s), 10)
}

// Type is what --help shows.
func (s *size) Type() string { return "SIZE" }
