package plan

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/poolwise/poolwise/measure"
)

// Explain puts the choice into words; t, m and b are what it was made from. Each
// text is one line.
func (c *Choice) Explain(t *measure.Task, m Machine, b Batch) Explanation {
	mo := newModel(t, m, b)
	parts := []string{mo.itemText()}
	if start := mo.startText(); start != "" {
		parts = append(parts, start)
	}
	if why := c.reason(mo); why != "" {
		parts = append(parts, why)
	}
	return Explanation{Plan: c.Best.Plan.String(), Because: strings.Join(parts, "; "), Instead: c.instead()}
}

// itemText says what an item does with its time.
func (mo *model) itemText() string {
	c := mo.centre
	text := timeText(seconds(c.wall)) + " an item"
	waits := mo.waiting()
	cpu, wait := timeText(seconds(c.cpu)), timeText(seconds(c.wall-c.cpu))
	switch {
	case waits < 0.03 || c.wall < 1e-6:
		text += ", all computing"
	case waits > 0.97:
		text += ", all waiting"
	default:
		text += fmt.Sprintf(": %s waiting, %s computing", wait, cpu)
	}
	switch held := c.held / max(c.cpu, leastWall); {
	case mo.inner > innerThreads:
		text += fmt.Sprintf(" on %.2g CPUs", mo.inner)
	case mo.task.Held.N == 0 || mo.task.Command || waits > 0.97:
	case held < 0.05:
		text += ", none of it holding the GIL"
	default:
		text += fmt.Sprintf(", %.0f%% of it holding the GIL", 100*min(held, 1))
	}
	return text
}

func (mo *model) startText() string {
	if mo.task.Command {
		return ""
	}
	s := &mo.task.Startup
	text := "a worker starts in " + timeText(s.Spawn+s.Import)
	if s.First > 0 {
		text += ", needs " + timeText(s.First) + " more for its first item"
	}
	if base := mo.task.BaseMemory; base > 0 {
		text += " and takes " + bytesText(base+mo.task.ItemMemory)
	}
	return text
}

// reason says what has decided.
func (c *Choice) reason(mo *model) string {
	best := c.Best.Plan
	switch {
	case best.Kind == Serial:
		return c.serialReason(mo)
	case c.Best.Bound == boundMemory:
		return mo.memoryReason(mo.fitting())
	case best.Kind == Threads && c.Climb:
		return "waiting is done side by side in one process; the threads share the module's state (--no-threads excludes them)"
	case best.Kind == Threads:
		return "they share the module's state (--no-threads excludes them)"
	case mo.noThreads(Rules{}) != "" && mo.waiting() >= waitsMuch && !mo.task.Async && !mo.task.Command:
		return "not in threads: " + mo.noThreads(Rules{})
	case c.Forgone != nil:
		return fmt.Sprintf("--threads-ok would allow %s, which saves %s", c.Forgone.Plan, timeText(c.Best.Time-c.Forgone.Time))
	}
	return ""
}

func (c *Choice) serialReason(mo *model) string {
	n, call := mo.batch.Items, mo.centre.wall
	switch fit := mo.fitting(); {
	case n <= 1:
		return "there is nothing to run beside it"
	case fit == 1:
		return mo.memoryReason(fit)
	case mo.cpus() == 1 && mo.waiting() < waitsMuch:
		return fmt.Sprintf("only %s may be used (%s)", cpuText(mo.machine.CPUs), mo.machine.CPUBound)
	}
	if transport := mo.codec + mo.engine; call < 5*transport {
		return fmt.Sprintf("a call takes %s, and handing it over %s", timeText(seconds(call)), timeText(seconds(transport)))
	}
	if start := mo.task.Startup.Total(); !mo.task.Command && start > scale(c.Serial.Time, 0.2) {
		return fmt.Sprintf("another worker is ready after %s, and what is left takes %s", timeText(start), timeText(c.Serial.Time))
	}
	if mo.inner > innerThreads {
		return "an item already keeps the CPUs busy"
	}
	return fmt.Sprintf("no other plan saves %d%% and %s", int(100*heavierShare), timeText(heavierTime))
}

// alternatives is how many other plans are named.
const alternatives = 3

// instead names the runners-up, each the best of its kind, and what binds.
func (c *Choice) instead() string {
	var parts []string
	seen := map[int]bool{weight(c.Best.Plan): true}
	serial := fmt.Sprintf("serial %s", timeText(c.Serial.Time))
	for _, p := range c.All {
		if len(parts) == alternatives-1 {
			break
		}
		if w := weight(p.Plan); !seen[w] && p.Plan.Kind != Serial {
			seen[w] = true
			parts = append(parts, fmt.Sprintf("%s %s", p.Plan, timeText(p.Time)))
		}
	}
	if c.Best.Plan.Kind != Serial {
		parts = append(parts, serial)
	}
	bound := map[string]string{boundGIL: "the GIL", boundCPU: "CPU", boundFeed: "poolwise itself"}[c.Best.Bound]
	if bound == "" {
		bound = c.Best.Bound
	}
	if parts == nil {
		parts = []string{"nothing else is possible"}
	}
	return strings.Join(parts, " | ") + "      bound: " + bound
}

// timeText shows a time with up to three digits.
func timeText(d time.Duration) string {
	s := d.Seconds()
	switch {
	case s <= 0:
		return "0 s"
	case s < 1e-6:
		return digits(s*1e9) + " ns"
	case s < 1e-3:
		return digits(s*1e6) + " us"
	case s < 1:
		return digits(s*1e3) + " ms"
	case s < 600:
		return digits(s) + " s"
	case s < 2*3600:
		return digits(s/60) + " min"
	}
	return digits(s/3600) + " h"
}

// digits shows a number with three digits, or all of those before the point.
func digits(v float64) string {
	if v >= 100 {
		return strconv.FormatFloat(math.Round(v), 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

func bytesText(n int64) string {
	switch v := float64(n); {
	case v >= 1e9:
		return digits(v/1e9) + " GB"
	case v >= 1e6:
		return digits(v/1e6) + " MB"
	case v >= 1e3:
		return digits(v/1e3) + " kB"
	}
	return strconv.FormatInt(n, 10) + " B"
}

func cpuText(n float64) string {
	if n == 1 {
		return "1 CPU"
	}
	return digits(n) + " CPUs"
}
