package engine

import (
	"slices"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/plan"
)

// A Course says how a run is carried out. It may be changed as often as wanted
// while the run goes on; what is running then is not disturbed.
type Course struct {
	// Plan is how many workers are in use, and what their slots are. Workers
	// beyond it finish what they hold and go, or wait if Keep is set.
	Plan plan.Plan
	Keep bool
	// Sample has the first worker run one chunk at a time, taken from all over
	// the items that were read.
	Sample bool
	// Measure has the first worker time CPU as well.
	Measure bool
	// Renew is raised to have workers replaced that were started before.
	Renew int
}

// An Answer is what a worker answered at a time. Its slices are valid only
// during the call it is passed in.
type Answer struct {
	Lane    int
	Worker  Worker
	Results []batch.Result
	// Sizes holds the bytes of their items.
	Sizes []int
	// Handed is when the last chunk was handed over, Now when these results had
	// been recorded, on the clock of the results. Last: the worker holds nothing now.
	Handed, Now int64
	Last        bool
}

// An Observer is told what happens in a run. The lanes call it from their
// goroutines, several at a time, and wait for it.
type Observer interface {
	// Up tells of a worker that is ready.
	Up(lane int, w Worker)
	// Answered tells of results that are recorded.
	Answered(a *Answer)
	// Down tells that a worker has gone; killed items are counted.
	Down(lane int, killed int)
}

// Tunable is a worker that can change how it runs what it is given. Only the
// worker's own goroutine calls these.
type Tunable interface {
	// Measure turns the timing of CPU on or off.
	Measure(on bool)
	// Slots makes the worker run so many items at a time, in slots of this
	// kind. It holds for what is submitted from now on.
	Slots(kind string, n int) error
}

// Course returns how the run is carried out now.
func (r *Run) Course() Course { return *r.course.Load() }

// Steer changes how the run is carried out. Only the function that Config.Steer
// names, and what it calls, may call this.
func (r *Run) Steer(c Course) {
	r.course.Store(&c)
	r.addLanes(c.Plan.Processes)
	r.feed.setLanes(c.Plan.Processes)
	r.wakeAll()
}

// addLanes sees to it that there are n lanes.
func (r *Run) addLanes(n int) {
	lanes := r.lanes()
	if n <= len(lanes) {
		return
	}
	lanes = slices.Clip(lanes)
	for k := len(lanes); k < n; k++ {
		lanes = append(lanes, newLane(r, k))
	}
	added := lanes[len(r.lanes()):]
	r.allLanes.Store(&lanes)
	for _, l := range added {
		r.working.Go(l.loop)
	}
}

func (r *Run) lanes() []*lane { return *r.allLanes.Load() }

// Over is closed when there is nothing left to steer: every item has its
// outcome, or the run is being stopped.
func (r *Run) Over() <-chan struct{} { return r.feed.closed }

// Left returns how many of the items that were read have no outcome yet, and
// whether these are all.
func (r *Run) Left() (items int, all bool) {
	_, open, ended := r.feed.counts()
	return open, ended
}

// Read returns how many items have been read.
func (r *Run) Read() uint64 {
	read, _, _ := r.feed.counts()
	return read
}

// mode is how a worker runs its items.
type mode struct {
	kind  plan.Kind
	slots int
}

// modeOf returns the mode of the workers of a plan. A worker of a serial plan
// is no other than one of several processes.
func modeOf(p plan.Plan) mode {
	if p.Kind == plan.Serial {
		return mode{plan.Processes, 1}
	}
	return mode{p.Kind, p.Slots}
}

// follow brings the worker on course. It reports false while the worker must
// get nothing: it is not of the course, or has to end what it holds first.
func (l *lane) follow(w Worker, c *Course) bool {
	if l.number >= c.Plan.Processes || l.renewed != c.Renew {
		return false
	}
	t, tunable := w.(Tunable)
	if !tunable {
		return true
	}
	if measure := c.Measure && l.number == 0; measure != l.measuring {
		t.Measure(measure)
		l.measuring = measure
	}
	to := modeOf(c.Plan)
	if to == l.mode {
		return true
	}
	if to.kind != l.mode.kind && l.held > 0 {
		return false
	}
	if t.Slots(to.kind.String(), to.slots) != nil {
		l.renewed = unfit // another worker is started for it; or Wait tells why
		return false
	}
	l.mode, l.slots = to, to.slots
	return true
}

// unfit stands for Course.Renew in a lane whose worker cannot follow.
const unfit = -1

// dismissed reports whether the worker is to go, since others take its place.
func (l *lane) dismissed(c *Course) bool {
	return l.renewed != c.Renew || (l.number >= c.Plan.Processes && !c.Keep)
}
