package command

import "strings"

// quote writes text as one word of a POSIX shell.
func quote(b *strings.Builder, text []byte) {
	b.WriteByte('\'')
	for _, c := range text {
		if c == '\'' {
			b.WriteString(`'\''`)
		} else {
			b.WriteByte(c)
		}
	}
	b.WriteByte('\'')
}

// isPlainWord reports whether a shell takes the text as it is.
func isPlainWord(text string) bool {
	for _, c := range []byte(text) {
		plain := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("%+,-./:=@_", c) >= 0
		if !plain {
			return false
		}
	}
	return text != ""
}
