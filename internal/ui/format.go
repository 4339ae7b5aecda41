package ui

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Count returns a number with its thousands set apart: 1,234,567.
func Count(n uint64) string {
	digits := strconv.FormatUint(n, 10)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// Duration returns a length of time in the unit that suits it: 12 us, 340 ms,
// 1.2 s, 1m 20s, 2h 05m, 3d 4h.
func Duration(d time.Duration) string {
	if d == 0 {
		return "0 s"
	}
	units := []struct {
		name string
		size time.Duration
	}{{"ns", time.Nanosecond}, {"us", time.Microsecond}, {"ms", time.Millisecond}, {"s", time.Second}}
	for i, u := range units {
		last := i == len(units)-1
		limit := 1000.0
		if last {
			limit = 60
		}
		v := float64(d) / float64(u.size)
		if rounded := roundFor(v, last); rounded < limit {
			return decimal(rounded) + " " + u.name
		}
	}
	return longDuration(d)
}

// roundFor keeps one place behind the point where it tells something.
func roundFor(v float64, seconds bool) float64 {
	if v < 10 || seconds {
		return math.Round(v*10) / 10
	}
	return math.Round(v)
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func longDuration(d time.Duration) string {
	seconds := int64(d.Round(time.Second) / time.Second)
	if seconds < 60*60 {
		return strconv.FormatInt(seconds/60, 10) + "m " + twoDigits(seconds%60) + "s"
	}
	minutes := int64(d.Round(time.Minute) / time.Minute)
	if minutes < 24*60 {
		return strconv.FormatInt(minutes/60, 10) + "h " + twoDigits(minutes%60) + "m"
	}
	hours := int64(d.Round(time.Hour) / time.Hour)
	return strconv.FormatInt(hours/24, 10) + "d " + strconv.FormatInt(hours%24, 10) + "h"
}

func twoDigits(n int64) string {
	if n < 10 {
		return "0" + strconv.FormatInt(n, 10)
	}
	return strconv.FormatInt(n, 10)
}

// Bytes returns a size in the unit that suits it: 512 B, 1.2 GiB.
func Bytes(n int64) string {
	v, units := float64(n), []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	for i, unit := range units {
		if rounded := roundFor(v, false); math.Abs(rounded) < 1024 || i == len(units)-1 {
			return decimal(rounded) + " " + unit
		}
		v /= 1024
	}
	return ""
}

// Rate returns a number of items in a second, or in a longer time when they
// are few: 2,500/s, 3.1/s, 12/min, 4/h.
func Rate(perSecond float64) string {
	switch {
	case !(perSecond > 0):
		return "0/s"
	case perSecond < 1.0/60:
		return decimal(roundFor(perSecond*3600, false)) + "/h"
	case perSecond < 1:
		return decimal(roundFor(perSecond*60, false)) + "/min"
	case perSecond < 10:
		return decimal(roundFor(perSecond, false)) + "/s"
	}
	return Count(uint64(math.Round(perSecond))) + "/s"
}

// Escape makes a text of unknown origin fit for a terminal: control characters,
// characters that are not printed or turn the direction of writing, and bytes
// that are not UTF-8 are written as escapes, on one line. A backslash stays as
// it is: this is for reading, not for reading back.
func Escape(text string) string {
	if isPlain(text) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			b.WriteString(`\x` + hexByte(text[0]))
		case isShown(r):
			b.WriteRune(r)
		default:
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		text = text[size:]
	}
	return b.String()
}

func isPlain(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// isShown leaves out what unicode.IsPrint leaves out: controls, formats such as
// U+202E, and all spaces but the plain one.
func isShown(r rune) bool { return unicode.IsPrint(r) }

func hexByte(b byte) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[b>>4], digits[b&15]})
}

// shorten cuts a text to a number of characters, the last of which say so.
func shorten(text string, limit int) string {
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	const mark = "..."
	if limit <= len(mark) {
		return mark[:max(0, limit)]
	}
	keep := limit - len(mark)
	for at := range text {
		if keep == 0 {
			return text[:at] + mark
		}
		keep--
	}
	return text
}
