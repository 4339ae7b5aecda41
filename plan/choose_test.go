package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/poolwise/poolwise/measure"
	"github.com/poolwise/poolwise/plan"
)

const (
	us = time.Microsecond
	ms = time.Millisecond
	mb = 1 << 20
)

// task is a task of n equal items.
func task(n int, wall, cpu time.Duration, held float64) measure.Task {
	t := measure.Task{
		Held: measure.Share{Value: held, N: 100}, Codec: 2 * us, Engine: us, Message: 150 * us,
		Startup: measure.Startup{Spawn: 40 * ms, Import: 5 * ms, CPU: 35 * ms}, BaseMemory: 15 * mb, ItemMemory: mb / 10,
	}
	for i := range n {
		// A little spread, as any measurement has.
		off := time.Duration((i+2)%5-2) * wall / 100
		t.Items = append(t.Items, measure.Item{Wall: wall + off, CPU: min(cpu, wall+off), Process: cpu, In: 10, Out: 10})
	}
	return t
}

var twoCPUs = plan.Machine{CPUs: 2, CPUBound: "cores", Memory: 8 << 30, MemoryBound: "available", MaxProcesses: 1000, ProcessBound: "open files"}

func some(n int) plan.Batch { return plan.Batch{Items: n, Known: true, Started: 1} }

// The cases that users meet, with figures as they are measured.
func TestChoose(t *testing.T) {
	async := task(8, 50*ms, 100*us, 0)
	async.Async = true
	heavy := task(16, 100*ms, 100*ms, 1)
	heavy.BaseMemory = 600 * mb
	slowImport := task(8, 20*ms, 20*ms, 1)
	slowImport.Startup.Import, slowImport.Startup.CPU = 2*time.Second, 2*time.Second
	moves := task(8, 50*ms, ms, 0)
	moves.Warnings = []string{"chdir"}
	inner := task(8, 100*ms, 95*ms, 0)
	for i := range inner.Items {
		inner.Items[i].Process = 195 * ms
	}
	command := task(8, 50*ms, 45*ms, 0)
	command.Command, command.Held, command.Startup = true, measure.Share{}, measure.Startup{}
	waits := command
	waits.Items = task(8, 50*ms, ms, 0).Items
	oneCPU := twoCPUs
	oneCPU.CPUs, oneCPU.CPUBound = 1, "affinity"
	gigabyte := twoCPUs
	gigabyte.Memory, gigabyte.MemoryBound = 1e9, "--memory"
	for name, c := range map[string]struct {
		task    measure.Task
		machine plan.Machine
		items   int
		rules   plan.Rules
		want    string // the plan, or its kind before the colon
		because string
	}{
		"sleeping":             {task(8, 50*ms, 100*us, 0), twoCPUs, 1000, plan.Rules{}, "threads:32", "--no-threads"},
		"sleeping, few":        {task(8, 50*ms, 100*us, 0), twoCPUs, 20, plan.Rules{}, "processes", "--threads-ok would allow"},
		"sleeping, threads ok": {task(8, 50*ms, 100*us, 0), twoCPUs, 20, plan.Rules{Threads: plan.ThreadsOK}, "threads:20", "waiting"},
		"sleeping, no threads": {task(8, 50*ms, 100*us, 0), twoCPUs, 1000, plan.Rules{Threads: plan.ThreadsNever}, "processes:8", "all waiting"},
		"changes its folder":   {moves, twoCPUs, 1000, plan.Rules{Threads: plan.ThreadsOK}, "processes:8", "waiting"},
		"a loop":               {task(8, 50*ms, 50*ms, 1), twoCPUs, 200, plan.Rules{}, "processes:2", "100% of it holding the GIL"},
		"a loop, threads ok":   {task(8, 50*ms, 50*ms, 1), twoCPUs, 200, plan.Rules{Threads: plan.ThreadsOK}, "processes:2", "holding the GIL"},
		"hashing":              {task(8, 50*ms, 50*ms, 0), twoCPUs, 200, plan.Rules{}, "processes:2", "none of it holding the GIL"},
		"hashing, threads ok":  {task(8, 50*ms, 50*ms, 0), twoCPUs, 200, plan.Rules{Threads: plan.ThreadsOK}, "threads:2", "none of it holding the GIL"},
		"half and half":        {task(8, 50*ms, 25*ms, 0.5), twoCPUs, 200, plan.Rules{}, "processes", "25 ms computing"},
		"a coroutine":          {async, twoCPUs, 1000, plan.Rules{}, "async:32", "waiting"},
		"ten of a second":      {task(1, time.Second, time.Second, 1), twoCPUs, 9, plan.Rules{}, "processes:2", "1 s an item"},
		"a slow import":        {slowImport, twoCPUs, 12, plan.Rules{}, "serial", "another worker is ready after 2"},
		"much memory":          {heavy, gigabyte, 200, plan.Rules{}, "serial", "memory: a worker takes 629 MB"},
		"one CPU":              {task(8, 50*ms, 50*ms, 1), oneCPU, 200, plan.Rules{}, "serial", "only 1 CPU may be used (affinity)"},
		"square roots":         {task(64, us/10, us/10, 1), twoCPUs, 20_000, plan.Rules{}, "serial", "a call takes 100 ns, and handing it over 3 us"},
		"threads of its own":   {inner, twoCPUs, 200, plan.Rules{}, "serial", "already keeps the CPUs busy"},
		"the last one":         {task(8, 50*ms, 50*ms, 1), twoCPUs, 1, plan.Rules{}, "serial", "nothing to run beside it"},
		"a command":            {command, twoCPUs, 200, plan.Rules{}, "processes:2", "computing"},
		"a command that waits": {waits, twoCPUs, 1000, plan.Rules{}, "processes:32", "waiting"},
	} {
		choice := plan.Choose(&c.task, c.machine, some(c.items), c.rules)
		words := choice.Explain(&c.task, c.machine, some(c.items))
		if got := choice.Best.Plan.String(); got != c.want && !strings.HasPrefix(got, c.want+":") {
			t.Errorf("%s: %s, want %s; because %s; instead %s", name, got, c.want, words.Because, words.Instead)
		} else if !strings.Contains(words.Because, c.because) {
			t.Errorf("%s: because %q; want %q in it", name, words.Because, c.because)
		}
	}
}

// draw makes up measurements, sensible or not.
func draw(t *rapid.T) (measure.Task, plan.Machine, plan.Batch, plan.Rules) {
	length := rapid.Map(rapid.Float64Range(0, 11), func(e float64) time.Duration { return time.Duration(pow10(e)) })
	share := rapid.Float64Range(0, 1)
	task := measure.Task{
		Held:  measure.Share{Value: share.Draw(t, "held"), N: rapid.IntRange(0, 500).Draw(t, "knocks")},
		Async: rapid.Bool().Draw(t, "async"), Codec: length.Draw(t, "codec") / 1000, Engine: length.Draw(t, "engine") / 1000,
		Message: length.Draw(t, "message") / 100, Queued: share.Draw(t, "queued"),
		Startup:    measure.Startup{Spawn: length.Draw(t, "spawn"), Import: length.Draw(t, "import"), CPU: length.Draw(t, "start cpu")},
		BaseMemory: rapid.Int64Range(0, 1<<33).Draw(t, "base"), ItemMemory: rapid.Int64Range(0, 1<<30).Draw(t, "item"),
		TwoSlots: rapid.SampledFrom([]float64{0, 0, 0.5, 1, 1.5, 2}).Draw(t, "two"),
		Warnings: rapid.SliceOfN(rapid.SampledFrom([]string{"chdir", "signal", "new"}), 0, 2).Draw(t, "warnings"),
	}
	if rapid.IntRange(0, 4).Draw(t, "is a command") == 0 {
		task.Command, task.Async = true, false
	}
	for i := range rapid.IntRange(0, 20).Draw(t, "items") {
		wall := rapid.SampledFrom([]time.Duration{0, length.Draw(t, "wall")}).Draw(t, "which")
		cpu := rapid.SampledFrom([]time.Duration{-1, time.Duration(share.Draw(t, "cpu") * float64(wall))}).Draw(t, "which cpu")
		task.Items = append(task.Items, measure.Item{Wall: wall, CPU: cpu, Process: cpu, First: i == 0})
	}
	machine := plan.Machine{
		CPUs: rapid.Float64Range(0.1, 64).Draw(t, "cpus"), Memory: rapid.Int64Range(0, 1<<36).Draw(t, "memory"),
		MaxProcesses: rapid.IntRange(0, 300).Draw(t, "processes"),
	}
	batch := plan.Batch{Items: rapid.IntRange(0, 1_000_000).Draw(t, "left"), Known: rapid.Bool().Draw(t, "known"), Started: rapid.IntRange(0, 4).Draw(t, "started")}
	rules := plan.Rules{
		Threads:  rapid.SampledFrom([]plan.ThreadRule{plan.ThreadsAsk, plan.ThreadsOK, plan.ThreadsNever}).Draw(t, "threads"),
		MaxSlots: rapid.IntRange(0, 64).Draw(t, "slots"),
	}
	return task, machine, batch, rules
}

func pow10(e float64) float64 {
	v := 1.0
	for ; e >= 1; e-- {
		v *= 10
	}
	return v * (1 + 9*e)
}

// Whatever was measured, the choice keeps to the rules and the machine, its
// percentiles are in order, and it is the same when asked again.
func TestChoiceKeepsToTheRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		task, machine, batch, rules := draw(t)
		c := plan.Choose(&task, machine, batch, rules)
		for _, p := range append(c.All, c.Best, c.Serial) {
			if p.Time < 0 || p.Low > p.Time || p.Time > p.P75 || p.P75 > p.High {
				t.Fatalf("%s: %v, %v, %v, %v are no percentiles", p.Plan, p.Low, p.Time, p.P75, p.High)
			}
			allowed(t, p, &task, machine, batch, rules)
		}
		words := c.Explain(&task, machine, batch)
		for _, text := range []string{words.Because, words.Instead} {
			if text == "" || strings.ContainsAny(text, "\n") || strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
				t.Fatalf("%q explains nothing", text)
			}
		}
		if diff := cmp.Diff(c, plan.Choose(&task, machine, batch, rules)); diff != "" {
			t.Fatalf("asked again it chooses otherwise:\n%s", diff)
		}
	})
}

func allowed(t *rapid.T, p plan.Prediction, task *measure.Task, m plan.Machine, b plan.Batch, r plan.Rules) {
	t.Helper()
	bad := ""
	switch {
	case p.Plan.Kind == plan.Threads && (r.Threads == plan.ThreadsNever || task.Async || task.Command):
		bad = "threads are not allowed"
	case p.Plan.Kind == plan.Async && (!task.Async || task.Command):
		bad = "it is no coroutine function"
	case p.Plan.Total() > 1 && p.Plan.Total() > max(b.Items, 1)+p.Plan.Processes-1:
		bad = "there are fewer items"
	case p.Plan.Processes > 1 && m.MaxProcesses > 0 && p.Plan.Processes > m.MaxProcesses:
		bad = "there may be fewer processes"
	case p.Plan.Total() > 1 && m.Memory > 0 && float64(p.Memory) > plan.MemoryShare*float64(m.Memory):
		bad = "there is less memory"
	case r.MaxSlots > 0 && p.Plan.Slots > r.MaxSlots:
		bad = "a worker has fewer slots"
	}
	if bad != "" {
		t.Fatalf("%s is weighed, and %s", p.Plan, bad)
	}
}

// More of what a plan lives on does not make it slower.
func TestPredictionsAreMonotonic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		task, machine, batch, _ := draw(t)
		p := plan.Plan{Processes: rapid.IntRange(2, 16).Draw(t, "planned"), Slots: 1, Kind: plan.Processes}
		before := plan.Predict(&task, machine, batch, p).Time
		const slack = 1.01 // rounding, and the next simulated schedule
		more := machine
		more.CPUs *= 2
		if task.Inner() <= 1.3 { // else another number of inner threads is planned
			if after := plan.Predict(&task, more, batch, p).Time; float64(after) > slack*float64(before)+1000 {
				t.Fatalf("with twice the CPUs %s takes %v, and took %v", p, after, before)
			}
		}
		if batch.Items > 400 { // below, few items are simulated one by one
			twice := batch
			twice.Items *= 2
			if after := plan.Predict(&task, machine, twice, p).Time; float64(after)*slack < float64(before) {
				t.Fatalf("twice the items take %v, and the half took %v", after, before)
			}
		}
	})
}

// Two threads that were tried are believed more than the probe.
func TestTwoSlotsAreBelieved(t *testing.T) {
	c := task(8, 50*ms, 50*ms, 0)
	at := func(two float64) time.Duration {
		c.TwoSlots = two
		return plan.Predict(&c, twoCPUs, some(1000), plan.Plan{Processes: 1, Slots: 2, Kind: plan.Threads}).Time
	}
	alone := plan.Predict(&c, twoCPUs, some(1000), plan.Plan{Processes: 1, Slots: 1, Kind: plan.Serial}).Time
	for _, two := range []float64{1, 1.3, 1.9} {
		if got := float64(alone) / float64(at(two)); got < 0.93*two || got > 1.07*two {
			t.Errorf("two threads were %.2f times as fast as one, and are predicted to be %.2f times", two, got)
		}
	}
}

func BenchmarkChoose(b *testing.B) {
	for _, cpus := range []float64{2, 8, 64} {
		b.Run(plan.Plan{Processes: int(cpus), Slots: 1, Kind: plan.Processes}.String(), func(b *testing.B) {
			c := task(64, 50*ms, 25*ms, 0.5)
			m := twoCPUs
			m.CPUs = cpus
			for b.Loop() {
				plan.Choose(&c, m, some(10_000), plan.Rules{Threads: plan.ThreadsOK})
			}
		})
	}
}
