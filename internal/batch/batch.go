// Package batch holds the few types that every room of poolwise shares: the
// item that is read, the attempt that is made on it and the result that comes
// back. It imports nothing of ours, so that all the others may import it.
package batch

// Form says how an item's bytes are to be understood.
type Form uint8

const (
	// Text is a string: the bytes as they were read. They need not be UTF-8
	// and are handed on unchanged.
	Text Form = iota
	// JSON is one valid JSON value, on one line or several.
	JSON
	// Invalid is a record that could not be read as its format demands. It is
	// never handed to a worker; Item.Problem says what is wrong with it.
	Invalid
)

// An Item is one input record of a batch.
type Item struct {
	// Index is the position of the item in the whole input, from 0.
	Index uint64
	// Data holds the item's bytes. Whoever holds the item may read them and
	// must not change them: several items share one buffer.
	Data []byte
	// Problem says, for Form Invalid, what is wrong and where, such as
	// "data.jsonl:17: invalid character '}'". It is nil otherwise.
	Problem *Failure
	// Form says what Data is.
	Form Form
	// Attempt counts the tries of this item, from 1; 0 before the first.
	Attempt uint32
}

// Status is how an item, or one attempt at it, ended.
type Status uint8

const (
	// OK means that the task returned a value.
	OK Status = iota
	// Failed means that the task raised, exited with a status other than 0, or
	// returned something that has no JSON form.
	Failed
	// TimedOut means that the item ran past its time limit.
	TimedOut
	// Killed means that the worker died while it ran the item.
	Killed
	// NotRun means that the run ended before the item was tried.
	NotRun

	// NumStatus is the number of statuses, for tables indexed by them.
	NumStatus = int(NotRun) + 1
)

var statusNames = [NumStatus]string{"ok", "failed", "timeout", "killed", "not_run"}

// String returns the name of the status as it stands in journals and records.
func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return "unknown"
}

// ParseStatus is the inverse of Status.String.
func ParseStatus(name string) (Status, bool) {
	for i, n := range statusNames {
		if n == name {
			return Status(i), true
		}
	}
	return 0, false
}

// A Failure describes why an attempt did not end well. It is text only: no
// exception of a user is ever rebuilt on this side.
type Failure struct {
	// Type is the name of the exception, or one of poolwise's own names, such
	// as WorkerDied, ExitStatus or InvalidInput.
	Type      string   `json:"type"`
	Message   string   `json:"message"`
	Traceback string   `json:"traceback,omitempty"`
	Cause     *Failure `json:"cause,omitempty"`
}

// Error makes a Failure usable as an error.
func (f *Failure) Error() string {
	if f.Message == "" {
		return f.Type
	}
	return f.Type + ": " + f.Message
}

// A Result is the end of one attempt, as a worker reports it. Its slices
// belong to the worker that gave it and are valid only until that worker is
// asked for more.
type Result struct {
	Index   uint64
	Attempt uint32
	Status  Status
	// Start and End are readings in nanoseconds of a monotonic clock that all
	// workers of this machine share. End - Start is the wall time of the item.
	Start, End int64
	// CPU is the CPU time, in nanoseconds, of the thread that ran the item, and
	// Process that of the worker's whole process meanwhile, helper threads
	// included. Each is -1 where it was not measured, or says nothing of this
	// item because others ran beside it; zero is a measured zero.
	CPU, Process int64
	// PeakRSS is the largest memory of a command, in bytes; 0 where it is not
	// known, as for a function, whose worker has run others.
	PeakRSS int64
	// Value is the task's value as one JSON value without raw newlines. For a
	// command it is an object with "exit" or "signal", "stdout" and "stderr",
	// present whatever the status. It is nil where there is none.
	Value []byte
	// Error is a Failure as JSON, without raw newlines; nil when Status is OK.
	Error []byte
}

// Running tells that a slot of a worker has an item in hand.
type Running struct {
	Slot    int
	Index   uint64
	Attempt uint32
	// Since is when the item was started, on the clock of Result.Start.
	Since int64
}

// Output is something that a task wrote to its standard output or standard
// error, other than the standard output of a command, which is its value.
type Output struct {
	Worker int    // the worker's number
	Stream string // "stdout" or "stderr"
	// Items are those that may have written it: one, where it is known; all
	// that were running, where it is not; none outside of any item (an import).
	Items []Running
	// Data is as it was written, and valid only during the call it is passed in.
	Data []byte
}
