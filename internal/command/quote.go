package command

import (
	"fmt"
	"strings"
)

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

// checkQuoting refuses a shell's line with a placeholder where a quoted item
// would not be one word: inside quotes, where its own quotes would end them,
// in a comment or a here-document, and right after a backslash.
func checkQuoting(line string) error {
	const (
		bare   = 0
		single = '\''
		double = '"'
		back   = '`'
	)
	state := byte(bare)
	for i := 0; i < len(line); i++ {
		if name := placeholderAt(line[i:]); name != "" {
			if state != bare {
				return fmt.Errorf("--shell: %s stands inside %c...%c (%s); poolwise quotes each item itself, so write it without these", name, state, state, spot(line, i))
			}
			i += len(name) - 1
			continue
		}
		switch c := line[i]; {
		case c == '\\' && state != single:
			if i+1 < len(line) && placeholderAt(line[i+1:]) != "" {
				return fmt.Errorf("--shell: a backslash stands before %s (%s); poolwise quotes each item itself", placeholderAt(line[i+1:]), spot(line, i))
			}
			i++
		case c == single || c == double || c == back:
			switch state {
			case bare:
				state = c
			case c:
				state = bare
			}
		case c == '<' && state == bare && strings.HasPrefix(line[i:], "<<") && !strings.HasPrefix(line[i:], "<<<"):
			return fmt.Errorf("--shell: a here-document (%s) cannot be told from the rest of the line; put the script into a file", spot(line, i))
		case c == '#' && state == bare && (i == 0 || strings.IndexByte(" \t;&|(", line[i-1]) >= 0):
			return fmt.Errorf("--shell: a comment (%s) would hide what follows it", spot(line, i))
		}
	}
	return nil
}

// spot shows where in a line something is.
func spot(line string, at int) string {
	from, to := max(0, at-10), min(len(line), at+15)
	return fmt.Sprintf("at byte %d: ...%s...", at+1, strings.ToValidUTF8(line[from:to], "?"))
}
