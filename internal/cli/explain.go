package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/poolwise/poolwise/internal/pilot"
	"github.com/poolwise/poolwise/internal/ui"
	"github.com/poolwise/poolwise/measure"
	"github.com/poolwise/poolwise/plan"
)

// explain tells why a plan was chosen, to people or as an object.
func (s *session) explain(d *pilot.Decision) {
	switch {
	case s.progress == nil:
	case s.mode == ui.JSON:
		if !s.flags.quiet {
			s.progress.Object(planObject(d, s.planMachine()))
		}
	case !s.flags.quiet:
		s.note(planLines(d, s.planMachine()))
	}
}

// planLines are the plan line, the because line and the instead line.
func planLines(d *pilot.Decision, m plan.Machine) string {
	best := &d.Choice.Best
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-7s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("plan", "%-28s predicted %s (%s to %s) for %s items%s", d.Plan, ui.Duration(best.Time), ui.Duration(best.Low), ui.Duration(best.High),
		leftText(d), causeText(d))
	if d.Note != "" && d.Cause != pilot.Sample {
		line("because", "%s", d.Note)
		return strings.TrimRight(b.String(), "\n")
	}
	words := d.Choice.Explain(&d.Task, m, d.Batch)
	line("because", "%s", words.Because)
	if words.Instead != "" {
		line("instead", "%s", words.Instead)
	}
	if d.Choice.Thumb != "" {
		line("thumb", "%s", d.Choice.Thumb)
	}
	return strings.TrimRight(b.String(), "\n")
}

// leftText is how many items a prediction is for.
func leftText(d *pilot.Decision) string {
	text := ui.Count(uint64(d.Batch.Items))
	if !d.Batch.Known {
		return "perhaps " + text // the end of the input was not seen
	}
	return text
}

func causeText(d *pilot.Decision) string {
	switch d.Cause {
	case pilot.Sample:
		return ""
	case pilot.Profile:
		return ", known from an earlier run"
	}
	return ", after " + ui.Duration(d.After) + " (" + string(d.Cause) + ")"
}

// planJSON is a decision as an object: docs/json-output.md, section "plan".
type planJSON struct {
	Type      string          `json:"type"`
	Cause     pilot.Cause     `json:"cause"`
	Note      string          `json:"note,omitempty"`
	Plan      notationJSON    `json:"plan"`
	Predicted predictedJSON   `json:"predicted"`
	Because   string          `json:"because"`
	Instead   string          `json:"instead"`
	Thumb     string          `json:"thumb,omitempty"`
	Serial    float64         `json:"serial_seconds"`
	Sample    sampleJSON      `json:"sample"`
	Machine   planMachineJSON `json:"machine"`
	Table     []tableJSON     `json:"table"`
	Excluded  []excludedJSON  `json:"excluded"`
	Run       string          `json:"run,omitempty"`
	Ran       []uint64        `json:"ran,omitempty"`
}

type notationJSON struct {
	Notation  string `json:"notation"`
	Processes int    `json:"processes"`
	Slots     int    `json:"slots"`
	Kind      string `json:"kind"`
}

type predictedJSON struct {
	Seconds float64 `json:"seconds"`
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
	Bound   string  `json:"bound"`
}

type sampleJSON struct {
	Items       uint64  `json:"items"`
	Elapsed     float64 `json:"elapsed_seconds"`
	Left        int     `json:"left"`
	LeftCertain bool    `json:"left_certain"`
	Wall        float64 `json:"wall_seconds"`
	CPU         float64 `json:"cpu_seconds"`
	GILHeld     float64 `json:"gil_held"`
	Knocks      int     `json:"knocks"`
	Start       float64 `json:"start_seconds"`
	Import      float64 `json:"import_seconds"`
	First       float64 `json:"first_seconds"`
	WorkerBytes int64   `json:"worker_bytes"`
	ItemBytes   int64   `json:"item_bytes"`
}

type planMachineJSON struct {
	CPUs        float64 `json:"cpus"`
	CPUBound    string  `json:"cpu_bound"`
	Memory      int64   `json:"memory_bytes"`
	MemoryBound string  `json:"memory_bound"`
}

type tableJSON struct {
	Plan    string  `json:"plan"`
	Seconds float64 `json:"seconds"`
	Low     float64 `json:"low"`
	P75     float64 `json:"p75"`
	High    float64 `json:"high"`
	Bound   string  `json:"bound"`
	Memory  int64   `json:"memory_bytes"`
}

type excludedJSON struct {
	Plan   string `json:"plan"`
	Reason string `json:"reason"`
}

func planObject(d *pilot.Decision, m plan.Machine) *planJSON {
	c, words := &d.Choice, d.Choice.Explain(&d.Task, m, d.Batch)
	o := &planJSON{
		Type: "plan", Cause: d.Cause, Note: d.Note,
		Plan:      notationJSON{d.Plan.String(), d.Plan.Processes, d.Plan.Slots, d.Plan.Kind.String()},
		Predicted: predictedJSON{c.Best.Time.Seconds(), c.Best.Low.Seconds(), c.Best.High.Seconds(), c.Best.Bound},
		Because:   words.Because, Instead: words.Instead, Thumb: c.Thumb, Serial: c.Serial.Time.Seconds(),
		Sample:  sampleOf(d),
		Machine: planMachineJSON{m.CPUs, m.CPUBound, m.Memory, m.MemoryBound},
		Table:   make([]tableJSON, 0, len(c.All)), Excluded: make([]excludedJSON, 0, len(c.Excluded)),
	}
	for _, p := range c.All {
		o.Table = append(o.Table, tableJSON{
			p.Plan.String(), p.Time.Seconds(), p.Low.Seconds(), p.P75.Seconds(), p.High.Seconds(), p.Bound, p.Memory,
		})
	}
	for _, e := range c.Excluded {
		o.Excluded = append(o.Excluded, excludedJSON{e.Plan, e.Reason})
	}
	return o
}

func sampleOf(d *pilot.Decision) sampleJSON {
	t := &d.Task
	var walls, cpus []time.Duration
	for _, it := range t.Steady() {
		walls = append(walls, it.Wall)
		if it.CPU >= 0 {
			cpus = append(cpus, it.CPU)
		}
	}
	return sampleJSON{
		Items: d.Ran, Elapsed: d.After.Seconds(), Left: d.Batch.Items, LeftCertain: d.Batch.Known,
		Wall: measure.Median(walls).Seconds(), CPU: measure.Median(cpus).Seconds(), GILHeld: t.Held.Value, Knocks: t.Held.N,
		Start: t.Startup.Spawn.Seconds(), Import: t.Startup.Import.Seconds(), First: t.Startup.First.Seconds(),
		WorkerBytes: t.BaseMemory, ItemBytes: t.ItemMemory,
	}
}
