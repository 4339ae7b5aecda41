package plan_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/poolwise/poolwise/plan"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]plan.Plan{
		"serial":         {Processes: 1, Slots: 1, Kind: plan.Serial},
		"threads:8":      {Processes: 1, Slots: 8, Kind: plan.Threads},
		"processes:4":    {Processes: 4, Slots: 1, Kind: plan.Processes},
		"async:500":      {Processes: 1, Slots: 500, Kind: plan.Async},
		"interpreters:4": {Processes: 1, Slots: 4, Kind: plan.Interpreters},
		"4x125:async":    {Processes: 4, Slots: 125, Kind: plan.Async},
		"2x8:threads":    {Processes: 2, Slots: 8, Kind: plan.Threads},
		"3x1:processes":  {Processes: 3, Slots: 1, Kind: plan.Processes},
	} {
		got, err := plan.Parse(text)
		if err != nil || got != want {
			t.Errorf("Parse(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for text, reason := range map[string]string{
		"":                 "names no kind",
		"thread:8":         "no kind is called",
		"threads":          "names no kind",
		"threads:0":        "not a number of 1 or more",
		"threads:-1":       "not a number of 1 or more",
		"threads:+1":       "not a number of 1 or more",
		"threads:x":        "not a number of 1 or more",
		"serial:2":         "no kind is called",
		"2x2:processes":    "one slot",
		"2x:threads":       "not a number",
		"x2:threads":       "not a number",
		"threads:99999999": "more than",
		"processes:5000":   "more than",
		"2x2:serial":       "no kind is called",
	} {
		_, err := plan.Parse(text)
		var syntax *plan.SyntaxError
		if !errors.As(err, &syntax) || !strings.Contains(err.Error(), reason) {
			t.Errorf("Parse(%q): error %v; want one that says %q", text, err, reason)
		}
	}
}

func TestParseReadsWhatStringWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := plan.Kind(rapid.IntRange(int(plan.Async), int(plan.Processes)).Draw(t, "kind"))
		p := plan.Plan{
			Processes: rapid.IntRange(1, plan.MaxProcesses).Draw(t, "processes"),
			Slots:     rapid.IntRange(1, plan.MaxSlots).Draw(t, "slots"),
			Kind:      kind,
		}
		if kind == plan.Processes {
			p.Slots = 1
		}
		got, err := plan.Parse(p.String())
		if err != nil || got != p {
			t.Fatalf("Parse(%q) = %v, %v; want %v", p.String(), got, err, p)
		}
	})
}
