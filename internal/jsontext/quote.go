// Package jsontext writes and reads JSON string literals of arbitrary bytes.
//
// Items, names of files and outputs of commands need not be UTF-8, and JSON
// text must be. A byte that is not part of valid UTF-8 is written as the lone
// surrogate \udc80 to \udcff, as Python's "surrogateescape" error handler has
// it, so that nothing is replaced and the way back is exact. (The standard
// encoder writes U+FFFD, which cannot be undone.)
package jsontext

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// plain holds the bytes that stand for themselves in a JSON string: ASCII but
// control characters, the quote and the backslash.
var plain = func() (table [256]bool) {
	for c := 0x20; c < utf8.RuneSelf; c++ {
		table[c] = c != '"' && c != '\\'
	}
	return table
}()

// AppendQuoted appends data to dst as a JSON string literal, quotes included,
// and returns the extended buffer. Valid UTF-8 stays as it is but for control
// characters, quotes and backslashes; every other byte becomes \udcXX.
// AppendUnquoted is the inverse.
func AppendQuoted(dst, data []byte) []byte {
	dst = append(dst, '"')
	for len(data) > 0 {
		if n := plainPrefix(data); n > 0 {
			dst = append(dst, data[:n]...)
			data = data[n:]
			continue
		}
		if data[0] < utf8.RuneSelf {
			dst = appendEscape(dst, data[0])
			data = data[1:]
			continue
		}
		r, size := utf8.DecodeRune(data)
		if r == utf8.RuneError && size == 1 {
			dst = append(dst, '\\', 'u', 'd', 'c', hexDigits[data[0]>>4], hexDigits[data[0]&15])
		} else {
			dst = append(dst, data[:size]...)
		}
		data = data[size:]
	}
	return append(dst, '"')
}

// plainPrefix returns how many bytes at the start of data stand for themselves.
// It looks at eight bytes at a time: this is the path of a million items a run.
func plainPrefix(data []byte) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	n := 0
	for len(data)-n >= 8 {
		w := binary.LittleEndian.Uint64(data[n:])
		// A byte's high bit ends up set when it is not ASCII, below 0x20, a
		// quote or a backslash; a borrow can only come from such a byte.
		hits := w | (w - 0x20*ones) | ((w ^ '"'*ones) - ones) | ((w ^ '\\'*ones) - ones)
		if hits &= highs; hits != 0 {
			return n + bits.TrailingZeros64(hits)/8
		}
		n += 8
	}
	for n < len(data) && plain[data[n]] {
		n++
	}
	return n
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}
