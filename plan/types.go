package plan

import "time"

// A Machine is what a plan has to keep to.
type Machine struct {
	// CPUs is how many CPUs may be used: a real number, as quotas are.
	CPUs float64
	// CPUBound says where that comes from, such as "cores" or "affinity".
	CPUBound string
	// Memory is what all workers together may take, in bytes; 0: not known.
	Memory int64
	// MemoryBound says where that comes from, such as "available" or "--memory".
	MemoryBound string
	// MaxProcesses is the most workers there may be; 0: no limit known.
	MaxProcesses int
	// ProcessBound says where that comes from, such as "open files".
	ProcessBound string
}

// A Batch is what is left to do.
type Batch struct {
	// Items is how many are left; an estimate unless Known.
	Items int
	Known bool
	// Started is how many workers are up already; 0 counts as 1.
	Started int
}

// ThreadRule says what the user allows of threads.
type ThreadRule uint8

const (
	// ThreadsAsk has threads chosen where they save much.
	ThreadsAsk ThreadRule = iota
	// ThreadsOK says that the task may run in threads.
	ThreadsOK
	// ThreadsNever says that it may not.
	ThreadsNever
)

// Rules are what the user allows.
type Rules struct {
	Threads ThreadRule
	// MaxSlots is the most slots that a worker can have; 0: no limit.
	MaxSlots int
}

// MemoryShare is the part of the memory that workers may be planned to take.
const MemoryShare = 0.7

// A Prediction is how long a plan will take, and why no less.
type Prediction struct {
	Plan Plan
	// Low, Time, P75 and High are the 10th, 50th, 75th and 90th percentile of
	// the time until all items are done.
	Low, Time, P75, High time.Duration
	// Bound is what binds: "slots", "gil", "cpu", "feed", "memory", "start-up" or "tail".
	Bound string
	// Startup, Work and Tail are the parts of Time.
	Startup, Work, Tail time.Duration
	// Rate is the items a second once all workers are up.
	Rate float64
	// Memory is what all workers take, in bytes.
	Memory int64
}

// Excluded is a plan, or a kind of plan, that was not weighed.
type Excluded struct {
	Plan   string // in plan notation, or a kind
	Reason string
}

// A Choice is the plan that was chosen, and what it was chosen from.
type Choice struct {
	Best Prediction
	// All are the plans that were weighed, the best first by P75.
	All []Prediction
	// Serial is the prediction of the plain loop.
	Serial Prediction
	// Climb: the number of slots is a start; to find the best one, it is to be
	// raised while throughput grows.
	Climb bool
	// Race names plans, Best among them, that are too close to call.
	Race []Plan
	// Forgone is the best plan that was not chosen because threads were neither
	// allowed nor worth it; nil where there is none.
	Forgone *Prediction
	// Excluded are the plans that were not weighed.
	Excluded []Excluded
	// Thumb is a published rule of thumb that would have chosen otherwise; "".
	Thumb string
}

// An Explanation is a choice in words: what follows "because" and "instead".
type Explanation struct {
	Plan, Because, Instead string
}
