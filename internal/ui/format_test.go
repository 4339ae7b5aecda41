package ui

import (
	"math"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestCount(t *testing.T) {
	for n, want := range map[uint64]string{
		0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", math.MaxUint64: "18,446,744,073,709,551,615",
	} {
		if got := Count(n); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 s", 800: "800 ns", 1500: "1.5 us", 12 * time.Microsecond: "12 us",
		999_600: "1 ms", 340 * time.Millisecond: "340 ms", 999_600_000: "1 s",
		1200 * time.Millisecond: "1.2 s", 12_440 * time.Millisecond: "12.4 s", 59_960 * time.Millisecond: "1m 00s",
		80 * time.Second: "1m 20s", 3599_700 * time.Millisecond: "1h 00m", 125 * time.Minute: "2h 05m",
		24*time.Hour - time.Second: "1d 0h", 76 * time.Hour: "3d 4h",
	} {
		if got := Duration(d); got != want {
			t.Errorf("Duration(%d ns) = %q, want %q", d, got, want)
		}
	}
}

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 512: "512 B", 1023: "1023 B", 1536: "1.5 KiB", 1<<20 - 1: "1 MiB", 312 << 20: "312 MiB",
		1288490188: "1.2 GiB", math.MaxInt64: "8192 PiB",
	} {
		if got := Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestRate(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0/s", 0.001: "3.6/h", 0.2: "12/min", 3.14: "3.1/s", 310.4: "310/s", 2_500_000: "2,500,000/s",
	} {
		if got := Rate(v); got != want {
			t.Errorf("Rate(%v) = %q, want %q", v, got, want)
		}
	}
}

func TestEscape(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "",
		"plain text, C:\\dir":    "plain text, C:\\dir",
		"caf\u00e9 \u65e5\u672c": "caf\u00e9 \u65e5\u672c",
		"a\nb\tc\r":              `a\nb\tc\r`,
		"\x1b[31mred":            `\x1b[31mred`,
		"bad\xff\xc3end":         `bad\xff\xc3end`,
		"\u0085\u009b":           `\u0085\u009b`,
		"right\u202eleft":        `right\u202eleft`,
		"\u2028":                 `\u2028`,
		"\ufffd":                 "\ufffd",
	} {
		if got := Escape(text); got != want {
			t.Errorf("Escape(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestEscapeOfAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		got := Escape(string(rapid.SliceOf(rapid.Byte()).Draw(t, "text")))
		if !utf8.ValidString(got) || Escape(got) != got {
			t.Fatalf("%q is not fit for a terminal", got)
		}
	})
}

func TestShorten(t *testing.T) {
	for _, test := range []struct {
		text  string
		limit int
		want  string
	}{
		{"abc", 3, "abc"}, {"abcdef", 5, "ab..."}, {"\u65e5\u672c\u65e5\u672c\u65e5", 4, "\u65e5..."}, {"abcdef", 2, ".."}, {"abc", 0, ""},
	} {
		if got := shorten(test.text, test.limit); got != test.want {
			t.Errorf("shorten(%q, %d) = %q, want %q", test.text, test.limit, got, test.want)
		}
	}
}
