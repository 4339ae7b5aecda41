package plan

import (
	"math"
	"slices"
	"time"

	"github.com/poolwise/poolwise/measure"
)

// The bounds that a prediction names.
const (
	boundSlots   = "slots"
	boundGIL     = "gil"
	boundCPU     = "cpu"
	boundFeed    = "feed"
	boundMemory  = "memory"
	boundStartUp = "start-up"
	boundTail    = "tail"
)

const (
	// chunkWork is how long the items of a message take together, and slowItem
	// the time from which each has a message of its own: as the engine has it.
	chunkWork, slowItem = 0.004, 0.020
	// switchInterval is how long a thread waits for the GIL before it asks the
	// one that has it (sys.getswitchinterval).
	switchInterval = 0.005
	// notable is the part of the predicted time from which start-up or tail is
	// what binds.
	notable = 0.35
)

// Predict returns how long a plan will take for what is left of a batch. It is
// finite and not negative whatever was measured.
func Predict(t *measure.Task, m Machine, b Batch, p Plan) Prediction {
	return newModel(t, m, b).predict(p).Prediction
}

// outcome is a prediction with the time of each draw, for comparing.
type outcome struct {
	Prediction
	times []float64 // seconds
}

func (mo *model) predict(p Plan) outcome {
	c := mo.course(p, mo.centre)
	o := outcome{Prediction: Prediction{Plan: p, Memory: mo.memory(p)}}
	short := mo.short(p)
	if short {
		o.times = mo.schedule(p)
	} else {
		o.times = make([]float64, len(mo.draws))
		for i, d := range mo.draws {
			o.times[i] = mo.course(p, d).total()
		}
	}
	sorted := slices.Sorted(slices.Values(o.times))
	at := func(q float64) time.Duration { return seconds(sorted[int(q*float64(len(sorted)-1)+0.5)]) }
	o.Low, o.Time, o.P75, o.High = at(0.1), at(0.5), at(0.75), at(0.9)
	o.Bound, o.Rate = c.bound, c.rate
	o.Startup, o.Tail = seconds(c.startup), seconds(c.tail)
	if short {
		// The schedule has both in it; what is not work is what it exceeds.
		o.Tail = max(0, o.Time-seconds(c.startup+c.work))
	}
	o.Work = max(0, o.Time-o.Startup-o.Tail)
	switch {
	case o.Startup > scale(o.Time, notable):
		o.Bound = boundStartUp
	case o.Tail > scale(o.Time, notable):
		o.Bound = boundTail
	}
	return o
}

func seconds(s float64) time.Duration {
	return time.Duration(min(max(s, 0), float64(math.MaxInt64)/4/1e9) * 1e9)
}

func scale(d time.Duration, by float64) time.Duration { return time.Duration(by * float64(d)) }

// memory returns what all workers of a plan take, in bytes.
func (mo *model) memory(p Plan) int64 {
	return int64(p.Processes) * (mo.task.BaseMemory + int64(p.Slots)*mo.task.ItemMemory)
}

// course is how a plan goes, in seconds.
type course struct {
	startup, work, tail float64
	rate                float64 // items a second with all workers up
	bound               string
}

func (c course) total() float64 { return c.startup + c.work + c.tail }

// course predicts a plan for one draw: the rates with the workers that are up
// and with all of them, what the start of the others delays, and the tail.
func (mo *model) course(p Plan, d params) course {
	n := float64(max(mo.batch.Items, 0))
	rate, bound := mo.rate(p, d)
	up := p
	up.Processes = min(p.Processes, mo.batch.Started)
	rateUp, _ := mo.rate(up, d)
	c := course{rate: rate, bound: bound, work: n / rate}
	if starting := p.Processes - up.Processes; starting > 0 && !mo.task.Command {
		ready := mo.ready(starting)
		if done := ready * rateUp; done >= n {
			c.rate, c.work = rateUp, n/rateUp // over before they are ready
		} else {
			c.startup = ready * (1 - rateUp/rate)
		}
		// Starting takes CPU from the items.
		cpu := n*mo.demand(d) + float64(starting)*mo.task.Startup.CPU.Seconds()
		if least := cpu / mo.machine.CPUs; c.startup+c.work < least {
			c.startup = least - c.work
		}
	}
	// What stretches an item, others beside it, has gone when it is among the
	// last.
	c.tail = mo.tail(p.Total()) * mo.wallIn(p, d)
	if d.wall < slowItem {
		// The last items go out in chunks that shrink with what is left.
		c.tail = min(c.tail, chunkWork)
	}
	return c
}

// ready returns how long it takes until further workers run at full speed.
func (mo *model) ready(starting int) float64 {
	s := &mo.task.Startup
	wall, cpu := (s.Spawn + s.Import).Seconds(), s.CPU.Seconds()
	// One CPU is busy with items meanwhile.
	if free := max(mo.machine.CPUs-1, 0.5); wall > 0 {
		wall = max(wall, cpu*float64(starting)/free)
	}
	return wall + s.First.Seconds()
}

// demand is the CPU time that one item costs the machine.
func (mo *model) demand(d params) float64 { return d.process + mo.codec + mo.engine }

// rate returns the items a second with all workers of a plan up, and what keeps
// it from being more. Each station that items pass bounds it; see Lazowska et
// al., Quantitative System Performance (1984), chapters 5 and 6.
func (mo *model) rate(p Plan, d params) (perSecond float64, bound string) {
	processes, slots := float64(p.Processes), float64(p.Slots)
	item := mo.wallIn(p, d) + mo.codec + mo.message/mo.chunk(d)
	held := mo.heldIn(p, d)
	if held > 0 && d.wall > d.cpu {
		// A thread that comes back from waiting gets the GIL late: after one
		// that computes has been asked for it.
		busy := min(1, (slots-1)*held/item)
		item += min(switchInterval, held) * busy
	}
	perSecond, bound = processes*slots/item, boundSlots
	if two := mo.task.TwoSlots; two > 0 && p.Kind == Threads && p.Slots > 1 {
		// As it was measured; beyond two, as contention that grows (Amdahl).
		serial := min(max(2/two-1, 0), 1)
		perSecond = processes * slots / (1 + serial*(slots-1)) / item
		held = 0
	}
	lowest := perSecond
	// What binds is the station that could do the least; that items meet there
	// makes it less still.
	least := func(could, share float64, name string) {
		if could < lowest {
			lowest, bound = could, name
		}
		perSecond = min(perSecond, could*share)
	}
	if held > 0 {
		held += mo.codec
		least(processes/held, mo.meeting(p.Slots, held, item-held, 1, d.mix), boundGIL)
	}
	if cpu := mo.demand(d); cpu > 0 {
		// The threads of an item are customers of their own.
		k, threads := mo.machine.CPUs, mo.innerIn(p)
		each := cpu / threads
		least(k/cpu, mo.meeting(int(float64(p.Total())*threads+0.5), each, item-each, k, d.mix), boundCPU)
	}
	if mo.engine > 0 {
		least(min(processes, mo.machine.CPUs)/mo.engine, 1, boundFeed)
	}
	return perSecond, bound
}

// chunk is how many items a message has.
func (mo *model) chunk(d params) float64 {
	if d.wall >= slowItem {
		return 1
	}
	return max(1, chunkWork/max(d.wall, leastWall))
}

// wallIn is the time of an item in a worker of the plan: an item that keeps
// several CPUs busy gets fewer where there are more processes.
func (mo *model) wallIn(p Plan, d params) float64 {
	if mo.inner <= innerThreads {
		return d.wall
	}
	computing := min(d.wall, d.process/mo.inner)
	return d.wall - computing + d.process/mo.innerIn(p)
}

// innerThreads is the number of CPUs that an item keeps busy from which it is
// taken to have threads of its own.
const innerThreads = 1.3

// innerIn is how many CPUs an item keeps busy in a worker of the plan: poolwise
// tells libraries how many threads they may have.
func (mo *model) innerIn(p Plan) float64 {
	if mo.inner <= innerThreads {
		return 1
	}
	return min(mo.inner, max(1, math.Floor(mo.machine.CPUs)/float64(p.Processes)))
}

// heldIn is how long an item keeps the others of its process from running.
func (mo *model) heldIn(p Plan, d params) float64 {
	switch {
	case p.Slots == 1:
		return 0
	case p.Kind == Async:
		return max(d.cpu, d.held) // a loop runs one coroutine at a time
	case p.Kind == Threads:
		return d.held
	}
	return 0
}

// meeting is the share of a station's own rate that remains where items meet at
// it by chance. mix, 0 to 1, varies it around what holds for times that are
// exponential. demand and think are in seconds.
func (mo *model) meeting(n int, demand, think, servers, mix float64) float64 {
	// The ratio hardly changes from draw to draw: it is computed for steps of it.
	key := station{n, int(math.Round(meetingSteps * math.Log(max(think, leastWall)/demand))), servers}
	share, known := mo.meetings[key]
	if !known {
		share = repairmen(n, 1, math.Exp(float64(key.ratio)/meetingSteps), servers)
		mo.meetings[key] = share
	}
	// Items in step would have this.
	bound := min(1, float64(n)/(demand+max(think, 0))*demand/servers)
	return bound * math.Pow(min(1, share/bound), 0.7+0.6*mix)
}

// meetingSteps is how finely the ratio of think time and demand is told apart:
// to one part in so many.
const meetingSteps = 50

type station struct {
	n       int
	ratio   int // of think time and demand; see meetingSteps
	servers float64
}

// repairmen returns the share of their time in which servers are busy that n
// customers have, who think for a random time and are then served: the machine
// repairman model, M/M/c//n, in Kleinrock, Queueing Systems (1975), section 3.8.
func repairmen(n int, demand, think, servers float64) float64 {
	if n > mostRepaired || think < 1e-3*demand {
		// Far beyond the knee, or nobody thinks: all are busy, if there are enough.
		return min(1, float64(n)/servers*demand/(demand+think))
	}
	// Of j customers at the servers, by the balance of its neighbours.
	weight, sum, busy := 1.0, 1.0, 0.0
	for j := 1; j <= n; j++ {
		serving := min(float64(j), servers)
		weight *= float64(n-j+1) / think * demand / serving
		sum += weight
		busy += weight * serving
	}
	return busy / sum / servers
}

// mostRepaired bounds the customers that are looked at.
const mostRepaired = 64
