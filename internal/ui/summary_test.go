package ui

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/poolwise/poolwise/internal/batch"
)

func ended() Summary {
	return Summary{
		Counts: [batch.NumStatus]uint64{9990, 7, 2, 1, 0}, Plan: "processes:4",
		Wall: 12_400 * time.Millisecond, Median: 2300 * time.Microsecond, P95: 9 * time.Millisecond, Max: 1200 * time.Millisecond,
		ItemSum: 48_200 * time.Millisecond,
		Failures: []FailureLine{
			{17, "a\x1b[31m.jpg", batch.Failed, "ValueError: bad\nheader"},
			{1234, strings.Repeat("x", 100), batch.TimedOut, ""},
			{9999, "bad\xff", batch.Killed, "WorkerDied: signal 9\n"},
		},
		MoreFailures: 7, RunID: "r1", RunDir: ".poolwise/runs/r1", Output: "out.jsonl",
		Notes: []string{"3 empty lines were left out"}, Resume: "poolwise resume r1 --retry-failed",
	}
}

func TestWriteSummary(t *testing.T) {
	const want = `10,000 items: 9,990 ok, 7 failed, 2 timed out, 1 killed
wall 12.4 s as processes:4; an item 2.3 ms median, 9 ms p95, 1.2 s longest; speed-up 3.9 over 48.2 s of item time
  item 17 failed  a\x1b[31m.jpg  ValueError: bad\nheader
  item 1234 timed out  xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...
  item 9999 killed  bad\xff  WorkerDied: signal 9
  and 7 more; see ` + "`poolwise show r1`" + `
3 empty lines were left out
results  out.jsonl
record  .poolwise/runs/r1
resume with  poolwise resume r1 --retry-failed
`
	var b bytes.Buffer
	if err := WriteSummary(&b, ended()); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestShortSummaries(t *testing.T) {
	for _, test := range []struct {
		name string
		s    Summary
		want string
	}{
		{"nothing to do", Summary{Wall: time.Millisecond}, "0 items\nwall 1 ms\n"},
		{"one item", Summary{Counts: [batch.NumStatus]uint64{1}, Wall: time.Second}, "1 item: 1 ok\nwall 1 s\n"},
		{"items that take no time", Summary{Counts: [batch.NumStatus]uint64{1}, Wall: time.Second, Median: 2000, P95: 2000, Max: 2000, ItemSum: 2000},
			"1 item: 1 ok\nwall 1 s; an item 2 us median, 2 us p95, 2 us longest\n"},
		{"quiet", Summary{Counts: [batch.NumStatus]uint64{1}, Quiet: true}, ""},
		{"quiet, with a failure", Summary{Counts: [batch.NumStatus]uint64{0, 1}, Quiet: true, Wall: time.Second}, "1 item: 1 failed\nwall 1 s\n"},
		{"quiet, cut short", Summary{Counts: [batch.NumStatus]uint64{0, 0, 0, 0, 2}, Quiet: true, Wall: time.Second}, "2 items: 2 not run\nwall 1 s\n"},
		{"more, without a record", Summary{Counts: [batch.NumStatus]uint64{0, 2}, MoreFailures: 2, Wall: time.Second}, "2 items: 2 failed\nwall 1 s\n  and 2 more\n"},
	} {
		var b bytes.Buffer
		if err := WriteSummary(&b, test.s); err != nil || b.String() != test.want {
			t.Errorf("%s: got %q, %v; want %q", test.name, b.String(), err, test.want)
		}
	}
}

type brokenWriter struct{}

var errBroken = errors.New("broken pipe")

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestWriteSummaryTellsOfABrokenPipe(t *testing.T) {
	if err := WriteSummary(brokenWriter{}, ended()); !errors.Is(err, errBroken) {
		t.Errorf("got %v", err)
	}
}

func TestFactor(t *testing.T) {
	for v, want := range map[float64]string{0.984: "0.98", 3.887: "3.9", 12.4: "12", 1500: "1,500"} {
		if got := factor(v); got != want {
			t.Errorf("factor(%v) = %q, want %q", v, got, want)
		}
	}
}

func TestJSONSummaryKeepsBytes(t *testing.T) {
	var got struct {
		Failures []struct{ Item, Error string }
		Resume   *string
	}
	if err := json.Unmarshal(JSONSummary(ended()), &got); err != nil {
		t.Fatal(err)
	}
	if got.Failures[0].Item != "a\x1b[31m.jpg" || got.Failures[2].Item != `bad\xff` {
		t.Errorf("items %q", got.Failures)
	}
	if !strings.Contains(string(JSONSummary(Summary{})), `"failures":[]`) {
		t.Error("no failures are no empty array")
	}
}
