package main

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"
)

// The suite is what is promised of it: many workloads, of all kinds, within the
// limits, and each once.
func TestSpecs(t *testing.T) {
	all := specs()
	if len(all) < 40 {
		t.Errorf("%d workloads", len(all))
	}
	seen, works, spreads, quick := map[string]bool{}, map[string]int{}, map[string]int{}, 0
	for _, s := range all {
		name := s.String()
		if seen[name] {
			t.Errorf("%s is there twice", name)
		}
		seen[name] = true
		works[s.Work]++
		spreads[s.Spread]++
		if s.Quick {
			quick++
		}
		if s.Items < fewestItems || s.Items > mostItems || s.Item < 10e-6 || s.Item > 1 || s.Payload < 100 || s.Payload > 1e6 || s.Import < 0 || s.Import > 1 {
			t.Errorf("%s is out of bounds", name)
		}
		if serial := s.Item * float64(s.Items); serial > longestSerial*1.001 {
			t.Errorf("%s takes %.1f s", name, serial)
		}
		if s.Payload*s.Items > mostPayload {
			t.Errorf("%s has %d bytes", name, s.Payload*s.Items)
		}
	}
	for _, work := range []string{"loop", "sha256", "deflate", "wait", "loop+wait", "loop+sha256"} {
		if works[work] < 4 {
			t.Errorf("%d workloads of %s", works[work], work)
		}
	}
	for _, spread := range []string{"constant", "lognormal", "pareto", "bimodal", "fast then slow"} {
		if spreads[spread] < 4 {
			t.Errorf("%d workloads are %s", spreads[spread], spread)
		}
	}
	if quick < 10 || quick > 16 {
		t.Errorf("the short suite has %d synthetic workloads", quick)
	}
	for i, s := range specs() {
		if s != all[i] {
			t.Errorf("the suite is another the second time: %v", s)
		}
	}
}

func TestTimes(t *testing.T) {
	for _, spread := range spreads {
		s := Spec{Item: 0.01, Items: 1000, Spread: spread}
		times := s.times()
		sum, most, least := 0.0, 0.0, math.Inf(1)
		for _, v := range times {
			sum, most, least = sum+v, max(most, v), min(least, v)
		}
		if len(times) != s.Items || math.Abs(sum-10) > 1e-6 || least <= 0 {
			t.Errorf("%s: %d items of %v s", spread, len(times), sum)
		}
		ratio := most / least
		if want, exact := map[string]float64{"constant": 1, "bimodal": 100, "fast then slow": 19}[spread]; exact && math.Abs(ratio-want) > 1e-6 || !exact && ratio < 20 {
			t.Errorf("%s: the longest takes %v times the shortest", spread, ratio)
		}
	}
	few := Spec{Item: 1, Items: 10, Spread: "bimodal"}.times()
	if most := max(few[0], few[5]); most < 9 {
		t.Errorf("none of ten items is long: %v", few)
	}
}

func TestItems(t *testing.T) {
	s := Spec{Item: 0.5, Items: 3, Spread: "constant", Payload: 100}
	var out bytes.Buffer
	if err := s.write(&out); err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n"))
	if len(lines) != 3 {
		t.Fatalf("%d lines", len(lines))
	}
	for i, line := range lines {
		var item struct {
			I   int
			S   float64
			Pad string
		}
		if err := json.Unmarshal(line, &item); err != nil || item.I != i || item.S != 0.5 || len(item.Pad) != 100 {
			t.Errorf("item %d: %s %v", i, line, err)
		}
	}
}

func TestNames(t *testing.T) {
	s := Spec{Work: "wait", Async: true, Item: 0.1, Items: 48, Spread: "pareto", Payload: 1_000_000, Echo: true, Import: 0.3}
	if got, want := s.String(), "async wait, 48 x 100 ms pareto, 1 MB both ways, import 300 ms"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	s = Spec{Work: "loop", Item: 12e-6, Items: 10, Spread: "constant", Payload: 1500}
	if got, want := s.String(), "loop, 10 x 12 us constant, 1.5 kB"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
