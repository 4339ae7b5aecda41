package main

import (
	"encoding/json"

	"github.com/poolwise/poolwise/benchmarks/internal/trial"
)

// A Choice is what one run of poolwise told of the plan that it chose. Times are
// in seconds.
type Choice struct {
	Plan string `json:"plan"` // the last one, in plan notation
	// At is when the plan was told, since the start of the process; 0 if never.
	At float64 `json:"at,omitempty"`
	// Predicted is how long the run would take, between Low and High; 0 if that
	// was not told.
	Predicted float64 `json:"predicted,omitempty"`
	Low       float64 `json:"low,omitempty"`
	High      float64 `json:"high,omitempty"`
}

// readChoice reads the objects of --progress json. A program that tells no plan
// as it chooses names it at the end at least.
func readChoice(lines []trial.Line) (c Choice) {
	for _, line := range lines {
		var object struct {
			Type      string
			Plan      json.RawMessage
			Predicted struct{ Seconds, Low, High float64 }
		}
		if json.Unmarshal([]byte(line.Text), &object) != nil {
			continue // not among the objects; it is not for us
		}
		switch object.Type {
		case "plan":
			var plan struct{ Notation string }
			if json.Unmarshal(object.Plan, &plan) != nil {
				continue
			}
			c.Plan = plan.Notation
			if c.At == 0 {
				c.At = line.At.Seconds()
				c.Predicted, c.Low, c.High = object.Predicted.Seconds, object.Predicted.Low, object.Predicted.High
			}
		case "summary":
			var plan string
			if c.Plan == "" && json.Unmarshal(object.Plan, &plan) == nil {
				c.Plan = plan
			}
		}
	}
	return c
}
