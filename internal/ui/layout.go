package ui

import "strings"

// importance lists the parts of a line, those that a narrow terminal keeps
// first.
var importance = [numParts]int{
	partCount, partFailed, partETA, partOldest, partPhase, partRate, partShare, partRunning, partCPU, partMemory,
}

// The bar takes what the other parts leave, within these widths. A narrower one
// shows little, a wider one pulls the figures apart.
const (
	narrowestBar = 10
	widestBar    = 40
)

const gap = "  "

// layout returns the line of the bar for a terminal of this width.
func layout(v *view, width int) string {
	parts := v.parts()
	kept, used := keep(&parts, width)
	bar := ""
	if left := width - used - len(gap); left >= narrowestBar {
		if _, _, ok := v.total(); ok {
			bar = drawBar(v.fraction(), min(left, widestBar))
		}
	}
	var words []string
	for i, text := range parts {
		if kept[i] {
			words = append(words, text)
		}
		if i == partCount && bar != "" {
			words = append(words, bar)
		}
	}
	return shorten(strings.Join(words, gap), max(0, width))
}

// keep chooses the parts that fit. The first is kept in any case.
func keep(parts *[numParts]string, width int) (kept [numParts]bool, used int) {
	for _, i := range importance {
		if parts[i] == "" {
			continue
		}
		// Every part is ASCII, or a phase of a few characters.
		need := len(parts[i])
		if used > 0 {
			need += len(gap)
		}
		if used == 0 || used+need <= width {
			kept[i] = true
			used += need
		}
	}
	return kept, used
}

func drawBar(fraction float64, width int) string {
	inner := width - 2
	full := int(fraction * float64(inner))
	bar := strings.Repeat("=", full)
	if full < inner {
		bar += ">" + strings.Repeat(" ", inner-full-1)
	}
	return "[" + bar + "]"
}

// sentence returns the same facts for a log: all of them, after the time.
func sentence(v *view) string {
	words := []string{Duration(v.Elapsed)}
	for _, text := range v.parts() {
		if text != "" {
			words = append(words, text)
		}
	}
	return strings.Join(words, gap)
}
