package main

import "testing"

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		name       string
		budget     Budget
		ours, peer float64
		met        bool
		want       string
	}{
		{"faster, aim", Budget{Faster, 2, 2.7}, 100, 280, true, "2.80 x as fast as the fastest peer (budget 2, aim 2.7: aim reached)"},
		{"faster, budget", Budget{Faster, 2, 2.7}, 100, 200, true, "2.00 x as fast as the fastest peer (budget 2, aim 2.7: within budget)"},
		{"faster, missed", Budget{Faster, 2, 2.7}, 100, 199, false, "1.99 x as fast as the fastest peer (budget 2, aim 2.7: missed)"},
		{"within", Budget{Within, 1.15, 1}, 230, 200, true, "1.15 x the fastest peer's time (budget 1.15, aim 1: within budget)"},
		{"within, missed", Budget{Within, 1.15, 1}, 240, 200, false, "1.20 x the fastest peer's time (budget 1.15, aim 1: missed)"},
		{"extra", Budget{Extra, 15, 10}, 21, 11, true, "+10.0 ms over the fastest peer (budget 15, aim 10: aim reached)"},
		{"memory needs no peer", Budget{Memory, 150, 0}, 151, 0, false, "151 MB (budget 150: missed)"},
	} {
		text, met := c.budget.Judge(c.ours, c.peer)
		if text != c.want || met != c.met {
			t.Errorf("%s: got %q, %v; want %q, %v", c.name, text, met, c.want, c.met)
		}
	}
}
