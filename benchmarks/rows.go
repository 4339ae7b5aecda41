package main

import (
	"fmt"
	"path/filepath"
	"strconv"
)

// A Contender is one way to do a row's work.
type Contender struct {
	Name string
	Ours bool
	// Argv is run in a folder of its own; "{dir}" stands for its path.
	Argv  []string
	Env   []string
	Stdin string                 // a file; empty for /dev/null
	Check func(dir string) error // looks at what the run left; may be nil
	// Once says that it takes too long to be repeated.
	Once    bool
	Missing string // why it cannot run here, if it cannot
}

// A Row is one comparison.
type Row struct {
	Number     int
	Title      string
	Text       string // what is compared, and where the sides differ
	Factor     int    // repetitions are multiplied by it, where one is short; 0 is 1
	Budget     Budget
	Contenders []Contender
}

// A Setup is what the rows need to know of this machine.
type Setup struct {
	Here     string // the folder of this module
	Poolwise string // the program
	Version  string // of the program; empty: that of this checkout
	Python   string // the interpreter of both sides
	// NoParallel says why GNU parallel is missing, if it is.
	NoParallel string
	// Straggle is how many seconds the first item of row 6 takes.
	Straggle int
}

// Rows returns all rows, with the input files that they read made.
func (s *Setup) Rows() ([]Row, error) {
	rows := []Row{s.oneByOne(), s.million(), s.commands(), s.cold(), s.waiting(), s.memory()}
	for _, n := range []int{1, 10_000, 20_000, 1_000_000, 10_000_000} {
		if err := writeIntegers(s.items(n), 0, n); err != nil {
			return nil, err
		}
	}
	return rows, writeIntegers(s.numbers(), 1, 2001)
}

func (s *Setup) items(n int) string {
	return filepath.Join(s.Here, ".cache", fmt.Sprintf("%d.jsonl", n))
}

// numbers is what seq 2000 prints.
func (s *Setup) numbers() string { return filepath.Join(s.Here, ".cache", "seq-2000.txt") }

// ours is a run of poolwise over the integers below n.
func (s *Setup) ours(name, task string, n int, flags ...string) Contender {
	argv := append([]string{s.Poolwise, "run", "--python", s.Python}, flags...)
	argv = append(argv, "-o", "{dir}/out.jsonl", filepath.Join(s.Here, "tasks", task), s.items(n))
	return Contender{Name: name, Ours: true, Argv: argv, Check: integers("out.jsonl", n)}
}

func (s *Setup) peer(name, script string, args ...any) Contender {
	argv := []string{s.Python, filepath.Join(s.Here, "peers", script)}
	for _, a := range args {
		argv = append(argv, fmt.Sprint(a))
	}
	return Contender{Name: name, Argv: argv}
}

func (s *Setup) oneByOne() Row {
	const n = 20_000
	return Row{
		Number: 1, Title: "20,000 calls that do nothing, two processes, one item a message",
		Text:   "The cost of handing over one item. joblib, as it comes, makes batches by itself.",
		Budget: Budget{Faster, 2, 2.7},
		Contenders: []Contender{
			s.ours("poolwise, window 8", "noop.py:noop", n, "--plan", "processes:2", "--chunk", "1", "--window", "8"),
			s.ours("poolwise, window 4", "noop.py:noop", n, "--plan", "processes:2", "--chunk", "1", "--window", "4"),
			s.peer("Pool.map, chunksize=1", "pool_map.py", n, 1),
			s.peer("Pool.imap_unordered", "pool_imap_unordered.py", n),
			s.peer("ProcessPoolExecutor.map", "futures_map.py", n),
			s.peer("joblib", "joblib_parallel.py", n),
			s.peer("mpire, chunk_size=1", "mpire_map.py", n, 1),
		},
	}
}

func (s *Setup) million() Row {
	const n = 1_000_000
	files := s.peer("Pool.map, from file to file", "pool_map_files.py", n, s.items(n), "{dir}/out.jsonl")
	files.Check = integers("out.jsonl", n)
	return Row{
		Number: 2, Title: "1,000,000 calls that do nothing, two processes, chunks chosen by the tool",
		Text: "Throughput as each comes. poolwise times every item and goes from file to file; of the peers only those " +
			"that say so do one or the other, and they are here to tell the costs apart: the budget is against the fastest.",
		Budget: Budget{Faster, 2, 4},
		Contenders: []Contender{
			s.ours("poolwise", "noop.py:noop", n, "--plan", "processes:2"),
			s.peer("Pool.map", "pool_map.py", n),
			s.peer("Pool.map, timing each item", "pool_map_timed.py", n),
			files,
			s.peer("joblib", "joblib_parallel.py", n),
			s.peer("mpire", "mpire_map.py", n),
		},
	}
}

func (s *Setup) commands() Row {
	in := s.numbers()
	return Row{
		Number: 3, Title: "2,000 runs of `true`, two at a time",
		Text:   "poolwise and GNU parallel capture and group what the commands print; xargs does not.",
		Budget: Budget{Faster, 1, 1.1},
		Contenders: []Contender{
			{Name: "poolwise", Ours: true, Argv: []string{s.Poolwise, "run", "--plan", "processes:2", in, "--", "true"}},
			{Name: "xargs -P2 -n1", Argv: []string{"xargs", "-P2", "-n1", "true"}, Stdin: in},
			{Name: "GNU parallel -j2", Argv: []string{"parallel", "-j2", "true"}, Stdin: in, Missing: s.NoParallel},
		},
	}
}

func (s *Setup) cold() Row {
	return Row{
		Number: 4, Title: "One call that does nothing, from start to end",
		Text:   "What a start costs, over the bare interpreter.",
		Factor: 4, // a run takes 20 ms
		Budget: Budget{Extra, 15, 10},
		Contenders: []Contender{
			s.ours("poolwise, 1 worker", "noop.py:noop", 1, "--plan", "processes:1"),
			s.ours("poolwise, 2 workers", "noop.py:noop", 1, "--plan", "processes:2"),
			{Name: "python -c pass", Argv: []string{s.Python, "-c", "pass"}},
		},
	}
}

func (s *Setup) waiting() Row {
	const n = 10_000
	return Row{
		Number: 5, Title: "10,000 coroutines that sleep for 0.1 s, all in flight",
		Text:   "The floor is 100 ms. Results pass through one event loop on both sides.",
		Budget: Budget{Within, 1.15, 1},
		Contenders: []Contender{
			s.ours("poolwise, async:10000", "nap.py:nap", n, "--plan", "async:10000"),
			s.peer("asyncio.gather", "asyncio_gather.py", n),
		},
	}
}

func (s *Setup) memory() Row {
	const peers, ours = 1_000_000, 10_000_000
	slow := func(c Contender) Contender {
		c.Once, c.Env = true, []string{"STRAGGLER_SECONDS=" + strconv.Itoa(s.Straggle)}
		return c
	}
	during := fmt.Sprintf(", the first taking %d s", s.Straggle)
	return Row{
		Number: 6, Title: "Memory of the dispatching process alone, results in input order",
		Text: "Its largest resident memory, workers not counted. The peer has a tenth of the items and drops " +
			"every result at once: what it holds are arguments, and results that wait for the first.",
		Budget: Budget{Memory, 150, 0},
		Contenders: []Contender{
			s.ours("poolwise, 1,000,000 items", "noop.py:noop", peers, "--plan", "processes:2"),
			s.ours("poolwise, 10,000,000 items", "noop.py:noop", ours, "--plan", "processes:2"),
			slow(s.ours("poolwise, 10,000,000 items"+during, "straggler.py:first_is_slow", ours, "--plan", "processes:2")),
			slow(s.peer("Pool.imap, 1,000,000 items"+during, "pool_imap_straggler.py", peers)),
		},
	}
}
