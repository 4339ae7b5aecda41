package main

import "fmt"

// A Budget is what poolwise promises for a row, against the fastest peer.
type Budget struct {
	Kind BudgetKind
	Must float64
	Aim  float64 // 0 where there is nothing beyond Must
}

// BudgetKind says what the numbers of a Budget are.
type BudgetKind int

const (
	// Faster: the peer's time over poolwise's is at least so much.
	Faster BudgetKind = iota
	// Within: poolwise's time over the peer's is at most so much.
	Within
	// Extra: poolwise's time less the peer's is at most so many milliseconds.
	Extra
	// Memory: poolwise's peak is at most so many MB, whatever the peer's.
	Memory
)

// Judge compares poolwise's value with the best peer's and says in words how
// it stands to the budget. Times are in milliseconds, memory in MB.
func (b Budget) Judge(ours, peer float64) (text string, met bool) {
	var value float64
	var format string
	atLeast := false
	switch b.Kind {
	case Faster:
		value, format, atLeast = peer/ours, "%.2f x as fast as the fastest peer", true
	case Within:
		value, format = ours/peer, "%.2f x the fastest peer's time"
	case Extra:
		value, format = ours-peer, "%+.1f ms over the fastest peer"
	case Memory:
		value, format = ours, "%.0f MB"
	}
	reached := func(goal float64) bool {
		if atLeast {
			return value >= goal
		}
		return value <= goal
	}
	goals := fmt.Sprintf("budget %g", b.Must)
	if b.Aim != 0 {
		goals += fmt.Sprintf(", aim %g", b.Aim)
	}
	word := "missed"
	switch {
	case b.Aim != 0 && reached(b.Aim):
		word = "aim reached"
	case reached(b.Must):
		word = "within budget"
	}
	return fmt.Sprintf(format, value) + " (" + goals + ": " + word + ")", reached(b.Must)
}
