package jsontext

import (
	"errors"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// A SyntaxError reports a text that is not a JSON string literal of bytes.
type SyntaxError struct {
	Offset int // of the byte that cannot stand where it does
	Reason string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("not a JSON string: %s (byte %d)", e.Reason, e.Offset)
}

// errLoneSurrogate is the reason given for a surrogate that stands for no byte.
var errLoneSurrogate = errors.New("a lone surrogate that stands for no byte")

// AppendUnquoted appends the bytes that the JSON string literal stands for to
// dst and returns the extended buffer. The lone surrogates \udc80 to \udcff
// stand for the bytes 0x80 to 0xff; any other lone surrogate, a raw control
// character, bytes that are not UTF-8 and anything around the literal are
// errors. The error is a *SyntaxError, and dst is returned as it was.
func AppendUnquoted(dst, literal []byte) ([]byte, error) {
	bad := func(at int, reason string) ([]byte, error) {
		return dst, &SyntaxError{Offset: at, Reason: reason}
	}
	last := len(literal) - 1
	if last < 1 || literal[0] != '"' || literal[last] != '"' {
		return bad(0, "it does not begin and end with a quote")
	}
	out, i := dst, 1
	for i < last {
		if n := plainPrefix(literal[i:last]); n > 0 {
			out = append(out, literal[i:i+n]...)
			i += n
			continue
		}
		size, err := 0, error(nil)
		if literal[i] == '\\' {
			out, size, err = appendUnescaped(out, literal[i:last])
		} else {
			out, size, err = appendRune(out, literal[i:last])
		}
		if err != nil {
			return bad(i, err.Error())
		}
		i += size
	}
	return out, nil
}

// appendRune appends the character at the start of text, which is no escape.
func appendRune(dst, text []byte) ([]byte, int, error) {
	if c := text[0]; c < 0x20 || c == '"' {
		return dst, 0, fmt.Errorf("a raw %q within", c)
	}
	r, size := utf8.DecodeRune(text)
	if r == utf8.RuneError && size == 1 {
		return dst, 0, errors.New("bytes that are not UTF-8")
	}
	return append(dst, text[:size]...), size, nil
}

// shortEscapes maps the letter of a two-character escape to its byte.
var shortEscapes = [256]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// appendUnescaped appends what the escape at the start of text stands for and
// returns the escape's length.
func appendUnescaped(dst, text []byte) ([]byte, int, error) {
	if len(text) < 2 {
		return dst, 0, errors.New("an escape cut short")
	}
	if c := shortEscapes[text[1]]; c != 0 {
		return append(dst, c), 2, nil
	}
	r, ok := hexEscape(text)
	switch {
	case !ok:
		return dst, 0, errors.New("an unknown escape")
	case !utf16.IsSurrogate(r):
		return utf8.AppendRune(dst, r), 6, nil
	}
	if low, ok := hexEscape(text[6:]); ok {
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			return utf8.AppendRune(dst, pair), 12, nil
		}
	}
	if r >= 0xdc80 && r <= 0xdcff {
		return append(dst, byte(r)), 6, nil
	}
	return dst, 0, errLoneSurrogate
}

// hexEscape reads \uXXXX at the start of text.
func hexEscape(text []byte) (r rune, ok bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	for _, c := range text[2:6] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return r, true
}
