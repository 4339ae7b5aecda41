package plan

import "fmt"

// Rules of thumb that are published for executors, each with what it is read
// from. They are here to be compared with, not to be followed.

const (
	thumbCPUItem   = 0.010   // seconds of computing from which processes are advised
	thumbMany      = 10      // items from which a batch is called many
	thumbLarge     = 1 << 20 // bytes from which arguments or results are called large
	thumbReleases  = 0.2     // share of the GIL up to which a task is said to release it
	thumbBothLeast = 0.25    // share of waiting, and of computing, of a task that does both
)

// rule is what a rule of thumb says of the task: when it holds, and which kind
// of plan it names.
func (mo *model) rule() (when string, kind Kind, ok bool) {
	c, n := mo.centre, mo.batch.Items
	waits, held := mo.waiting(), c.held/max(c.wall, leastWall)
	many := n >= thumbMany
	bytes := 0
	for _, it := range mo.task.Items {
		bytes = max(bytes, it.In, it.Out)
	}
	start := (mo.task.Startup.Spawn + mo.task.Startup.Import).Seconds()
	switch {
	case mo.task.Command:
		return "", 0, false // they are about executors
	case float64(n)*c.wall < start:
		return "total work shorter than the pool's start-up", Serial, true
	case bytes >= thumbLarge:
		return "large arguments or results", Threads, true
	case mo.task.Async && waits > thumbBothLeast && waits < 1-thumbBothLeast:
		return "waiting and CPU in one task", Async, true
	case waits >= waitsMuch && mo.task.Async:
		return "waiting, over 1,000 at once", Async, n > 1000
	case waits >= waitsMuch:
		return "waiting", Threads, true
	case !many:
		return "CPU-bound, few tasks", Serial, true
	case mo.task.Held.N > 0 && held < thumbReleases && c.cpu > thumbCPUItem:
		return "compiled code that releases the GIL", Threads, true
	case c.cpu > thumbCPUItem:
		return "CPU-bound, over 0.01 s a task, many tasks", Processes, true
	}
	return "", 0, false
}

// thumb says which rule of thumb would have chosen another kind of plan, and
// what that is predicted to take; "" where none would.
func (mo *model) thumb(all []outcome, best Plan) string {
	when, kind, ok := mo.rule()
	if !ok || kind == best.Kind {
		return ""
	}
	text := fmt.Sprintf("%q would choose %s", when, kind)
	for _, g := range groups(all) {
		if g.Plan.Kind == kind && (g.Plan.Processes == 1 || kind == Processes) {
			return fmt.Sprintf("%s: %s takes %s", text, g.Plan, timeText(g.Time))
		}
	}
	return text
}
