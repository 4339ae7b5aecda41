package ui

import (
	"encoding/json"
	"io"
	"math"
	"time"

	"github.com/poolwise/poolwise/internal/batch"
)

// objects writes the state as JSON, one object a line. The fields are a
// contract: docs/json-output.md, section "progress".
type objects struct{ out io.Writer }

func (d *objects) show(v view)      { writeObject(d.out, progressObject(&v)) }
func (d *objects) close(v view)     { d.show(v) }
func (d *objects) note(text string) { writeObject(d.out, noteJSON{"note", text}) }

type noteJSON struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type progressJSON struct {
	Type           string            `json:"type"`
	Phase          string            `json:"phase"`
	Plan           string            `json:"plan"`
	ElapsedSeconds float64           `json:"elapsed_seconds"`
	Done           map[string]uint64 `json:"done"`
	Read           uint64            `json:"read"`
	Total          *uint64           `json:"total"`
	TotalEstimated bool              `json:"total_estimated"`
	BytesRead      int64             `json:"bytes_read"`
	BytesTotal     *int64            `json:"bytes_total"`
	RatePerSecond  float64           `json:"rate_per_second"`
	ETASeconds     *float64          `json:"eta_seconds"`
	Running        int               `json:"running"`
	Oldest         *oldestJSON       `json:"oldest"`
	TypicalSeconds float64           `json:"typical_seconds"`
	Workers        int               `json:"workers"`
	CPUs           float64           `json:"cpus"`
	RSSBytes       int64             `json:"rss_bytes"`
}

type oldestJSON struct {
	Index   uint64  `json:"index"`
	Seconds float64 `json:"seconds"`
	Unusual bool    `json:"unusual"`
}

func progressObject(v *view) progressJSON {
	o := progressJSON{
		Type: "progress", Phase: v.Phase, Plan: v.Plan,
		ElapsedSeconds: inSeconds(v.Elapsed), Done: byName(v.Done), Read: v.Read, BytesRead: v.BytesRead,
		RatePerSecond: rounded(v.Rate), Running: v.Running, TypicalSeconds: inSeconds(v.Typical),
		Workers: v.Workers, CPUs: rounded(v.CPU), RSSBytes: v.RSS,
	}
	if total, estimated, ok := v.total(); ok {
		o.Total, o.TotalEstimated = &total, estimated
	}
	if v.BytesTotal > 0 {
		o.BytesTotal = &v.BytesTotal
	}
	if v.HasETA {
		eta := inSeconds(v.ETA)
		o.ETASeconds = &eta
	}
	if v.Running > 0 {
		o.Oldest = &oldestJSON{v.OldestIndex, inSeconds(v.Oldest), v.unusual()}
	}
	return o
}

func byName(counts [batch.NumStatus]uint64) map[string]uint64 {
	named := make(map[string]uint64, len(counts))
	for i, n := range counts {
		named[batch.Status(i).String()] = n
	}
	return named
}

// inSeconds keeps all nanoseconds of times below 100 days.
func inSeconds(d time.Duration) float64 { return d.Seconds() }

// rounded leaves out digits that a measurement does not have.
func rounded(v float64) float64 { return math.Round(v*1000) / 1000 }

func writeObject(w io.Writer, object any) {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	// No value here can fail to be encoded, and a reader that is gone is no
	// reason to end the run.
	_ = enc.Encode(object)
}
