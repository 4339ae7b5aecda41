package ui

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/poolwise/poolwise/internal/batch"
)

// A Summary is what is said at the end of a run.
type Summary struct {
	// Counts are the inputs by outcome. They add up to the inputs that were
	// read.
	Counts [batch.NumStatus]uint64
	Plan   string
	Wall   time.Duration
	// Median, P95 and Max are of the times of the items that were tried,
	// ItemSum is their sum.
	Median, P95, Max, ItemSum time.Duration
	// Failures are the first items that did not end well; MoreFailures is how
	// many there are besides.
	Failures     []FailureLine
	MoreFailures uint64
	// RunID and RunDir name the record of the run; "" when there is none.
	RunID, RunDir string
	// Output is the file that holds the results; "" for standard output.
	Output string
	// Notes are things to know, a line each.
	Notes []string
	// Resume is the command that carries on; "" when there is nothing left.
	Resume string
	// Quiet says nothing where all went well.
	Quiet bool
}

// A FailureLine tells of one item that did not end well.
type FailureLine struct {
	Index    uint64
	Item     string // its start
	Status   batch.Status
	LastLine string // of its error
}

// Total returns the number of inputs.
func (s *Summary) Total() uint64 {
	var n uint64
	for _, c := range s.Counts {
		n += c
	}
	return n
}

// AllOK tells whether every input ended well.
func (s *Summary) AllOK() bool { return s.Counts[batch.OK] == s.Total() }

// Speedup returns the summed time of the items over the time that passed; 0
// when either is not known.
func (s *Summary) Speedup() float64 {
	if s.Wall <= 0 {
		return 0
	}
	return s.ItemSum.Seconds() / s.Wall.Seconds()
}

// outcomes are the statuses in words.
var outcomes = [batch.NumStatus]string{"ok", "failed", "timed out", "killed", "not run"}

// These keep a failure on one line of a usual terminal.
const (
	itemWidth  = 40
	errorWidth = 160 // often the one thing that is worth more than a line
)

// WriteSummary writes a summary for people. The error is the writer's.
func WriteSummary(w io.Writer, s Summary) error {
	if s.Quiet && s.AllOK() {
		return nil
	}
	var b bytes.Buffer
	fmt.Fprintln(&b, s.countLine())
	fmt.Fprintln(&b, s.timeLine())
	for _, f := range s.Failures {
		fmt.Fprintln(&b, f.line())
	}
	s.writeMore(&b)
	for _, note := range s.Notes {
		fmt.Fprintln(&b, Escape(note))
	}
	s.writePlaces(&b)
	_, err := w.Write(b.Bytes())
	return err
}

func (s *Summary) countLine() string {
	total := s.Total()
	line := Count(total) + " " + plural(total, "item", "items")
	var parts []string
	for i, n := range s.Counts {
		if n > 0 {
			parts = append(parts, Count(n)+" "+outcomes[i])
		}
	}
	if len(parts) > 0 {
		line += ": " + strings.Join(parts, ", ")
	}
	return line
}

func (s *Summary) timeLine() string {
	line := "wall " + Duration(s.Wall)
	if s.Plan != "" {
		line += " as " + Escape(s.Plan)
	}
	if s.ItemSum <= 0 {
		return line
	}
	line += fmt.Sprintf("; an item %s median, %s p95, %s longest", Duration(s.Median), Duration(s.P95), Duration(s.Max))
	if speedup := s.Speedup(); speedup >= leastSpeedup {
		line += fmt.Sprintf("; speed-up %s over %s of item time", factor(speedup), Duration(s.ItemSum))
	}
	return line
}

// leastSpeedup is the speed-up from which it is told: below, the items take next
// to nothing of the time, and the figure says nothing.
const leastSpeedup = 0.05

// factor shows two digits, or more where there are more before the point.
func factor(v float64) string {
	switch {
	case v < 1:
		return decimal(math.Round(v*100) / 100)
	case v < 10:
		return decimal(math.Round(v*10) / 10)
	}
	return Count(uint64(math.Round(v)))
}

func (f *FailureLine) line() string {
	text := fmt.Sprintf("  item %d %s", f.Index, outcomes[f.Status])
	if f.Item != "" {
		text += "  " + shorten(Escape(f.Item), itemWidth)
	}
	if f.LastLine != "" {
		text += "  " + shorten(Escape(strings.TrimSpace(f.LastLine)), errorWidth)
	}
	return text
}

func (s *Summary) writeMore(w io.Writer) {
	if s.MoreFailures == 0 {
		return
	}
	fmt.Fprintf(w, "  and %s more", Count(s.MoreFailures))
	if s.RunID != "" {
		fmt.Fprintf(w, "; see `poolwise show %s`", Escape(s.RunID))
	}
	fmt.Fprintln(w)
}

func (s *Summary) writePlaces(w io.Writer) {
	for _, place := range []struct{ label, value string }{
		{"results", s.Output}, {"record", s.RunDir}, {"resume with", s.Resume},
	} {
		if place.value != "" {
			fmt.Fprintf(w, "%s  %s\n", place.label, Escape(place.value))
		}
	}
}

func plural(n uint64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

type summaryJSON struct {
	Type         string            `json:"type"`
	Plan         string            `json:"plan"`
	Total        uint64            `json:"total"`
	Counts       map[string]uint64 `json:"counts"`
	WallSeconds  float64           `json:"wall_seconds"`
	ItemSeconds  itemTimesJSON     `json:"item_seconds"`
	Speedup      *float64          `json:"speedup"`
	Failures     []failureJSON     `json:"failures"`
	MoreFailures uint64            `json:"more_failures"`
	RunID        *string           `json:"run_id"`
	RunDir       *string           `json:"run_dir"`
	Output       *string           `json:"output"`
	Notes        []string          `json:"notes"`
	Resume       *string           `json:"resume"`
}

type itemTimesJSON struct {
	Median float64 `json:"median"`
	P95    float64 `json:"p95"`
	Max    float64 `json:"max"`
	Sum    float64 `json:"sum"`
}

type failureJSON struct {
	Index  uint64 `json:"index"`
	Item   string `json:"item"`
	Status string `json:"status"`
	Error  string `json:"error"`
}

// JSONSummary returns a summary as one JSON object and a newline: the last
// object of --progress json. Its fields are a contract: docs/json-output.md,
// section "summary".
func JSONSummary(s Summary) []byte {
	o := summaryJSON{
		Type: "summary", Plan: s.Plan, Total: s.Total(), Counts: byName(s.Counts), WallSeconds: inSeconds(s.Wall),
		ItemSeconds:  itemTimesJSON{inSeconds(s.Median), inSeconds(s.P95), inSeconds(s.Max), inSeconds(s.ItemSum)},
		Failures:     make([]failureJSON, 0, len(s.Failures)),
		MoreFailures: s.MoreFailures, RunID: named(s.RunID), RunDir: named(s.RunDir), Output: named(s.Output),
		Notes: make([]string, 0, len(s.Notes)), Resume: named(s.Resume),
	}
	if v := s.Speedup(); v > 0 {
		v = rounded(v)
		o.Speedup = &v
	}
	for _, note := range s.Notes {
		o.Notes = append(o.Notes, inJSON(note))
	}
	for _, f := range s.Failures {
		o.Failures = append(o.Failures, failureJSON{f.Index, inJSON(f.Item), f.Status.String(), inJSON(f.LastLine)})
	}
	var b bytes.Buffer
	writeObject(&b, o)
	return b.Bytes()
}

func named(text string) *string {
	if text == "" {
		return nil
	}
	text = inJSON(text)
	return &text
}

// inJSON writes the bytes that are not UTF-8 as escapes, as they have no place
// in JSON: the encoder would replace them without a trace.
func inJSON(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return Escape(text)
}
