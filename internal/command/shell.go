package command

import (
	"fmt"
	"strings"
)

// A shellError says why a line of --shell cannot be filled in safely.
type shellError struct {
	line   string
	at     int // where in the line
	reason string
}

func (e *shellError) Error() string {
	from, to := max(0, e.at-10), min(len(e.line), e.at+20)
	return fmt.Sprintf("--shell: %s (at byte %d: ...%s...)", e.reason, e.at+1, strings.ToValidUTF8(e.line[from:to], "?"))
}

// scanner follows a shell's line as far as is needed to know that an item,
// quoted by poolwise, is one word wherever a placeholder stands. It accepts
// what it understands and refuses the rest: a line is refused for nothing
// rather than an item run as a command.
type scanner struct {
	line string
	at   int
	open []byte // what is open: '"', or '(' for a list of commands
	// sealed is why no placeholder may follow: the scanner is lost.
	sealed string
}

// checkQuoting refuses a line in which an item would not be one word.
// Appended says that the item follows at the end of the line.
func checkQuoting(line string, appended bool) error {
	s := &scanner{line: line}
	for s.at < len(line) {
		if err := s.step(); err != nil {
			return err
		}
	}
	if len(s.open) > 0 && s.sealed == "" {
		return s.errorf("%q is not closed", s.open[len(s.open)-1])
	}
	if !appended {
		return nil
	}
	return s.checkEnd()
}

// checkEnd refuses to append an item where a new command would begin with it.
func (s *scanner) checkEnd() error {
	if s.sealed != "" {
		return s.errorf("the item cannot follow here, %s; write {} where it should stand", s.sealed)
	}
	text := strings.TrimRight(s.line, " \t")
	if text == "" {
		return s.errorf("the line is empty")
	}
	if strings.ContainsRune("\n;&|()", rune(text[len(text)-1])) {
		return s.errorf("the item would be a command of its own after %q; write {} where it should stand", text[len(text)-1])
	}
	return nil
}

func (s *scanner) errorf(format string, args ...any) error {
	return &shellError{line: s.line, at: s.at, reason: fmt.Sprintf(format, args...)}
}

func (s *scanner) rest() string { return s.line[s.at:] }

// quoted reports whether the scanner is within double quotes.
func (s *scanner) quoted() bool { return len(s.open) > 0 && s.open[len(s.open)-1] == '"' }

// step takes one thing of the line.
func (s *scanner) step() error {
	if name := placeholderAt(s.rest()); name != "" {
		return s.placeholder(name)
	}
	switch s.line[s.at] {
	case '\\':
		return s.backslash()
	case '`':
		return s.skipQuotes('`', true)
	case '"':
		s.toggle()
		return nil
	case '$':
		return s.dollar()
	}
	if s.quoted() {
		s.at++
		return nil
	}
	return s.command()
}

func (s *scanner) placeholder(name string) error {
	switch {
	case s.sealed != "":
		return s.errorf("%s stands where poolwise cannot quote it, %s; set a variable at the start of the line (x=%s; ...) and use it as \"$x\"", name, s.sealed, name)
	case s.quoted():
		return s.errorf("%s stands inside double quotes; poolwise quotes each item itself, so write it without them", name)
	}
	s.at += len(name)
	return nil
}

// command takes one thing outside of all quotes.
func (s *scanner) command() error {
	switch c := s.line[s.at]; {
	case c == '\'':
		return s.skipQuotes('\'', false)
	case strings.HasPrefix(s.rest(), "<<") && !strings.HasPrefix(s.rest(), "<<<"):
		return s.errorf("poolwise does not look into here-documents; use printf, or put the script into a file")
	case strings.HasPrefix(s.rest(), "<<<"):
		s.at += 3
	case c == '#' && s.startsWord():
		return s.errorf("a comment would hide what follows it; leave it out")
	case strings.HasPrefix(s.rest(), "(("):
		s.arithmetic(2)
	case c == '(':
		s.open = append(s.open, '(')
		s.at++
	case c == ')':
		if len(s.open) > 0 { // else it belongs to a case
			s.open = s.open[:len(s.open)-1]
		}
		s.at++
	case len(s.open) > 0 && strings.HasPrefix(s.rest(), "case") && s.startsWord():
		s.seal(len("case"), "after case in parentheses")
	default:
		s.at++
	}
	return nil
}

// startsWord reports whether a word can begin here.
func (s *scanner) startsWord() bool {
	return s.at == 0 || strings.IndexByte(" \t\n;&|()<>{", s.line[s.at-1]) >= 0
}

func (s *scanner) backslash() error {
	s.at++
	switch {
	case s.at == len(s.line):
		return s.errorf("a backslash at the end of the line quotes nothing")
	case placeholderAt(s.rest()) != "":
		return s.errorf("a backslash stands before %s; poolwise quotes each item itself", placeholderAt(s.rest()))
	}
	s.at++
	return nil
}

func (s *scanner) toggle() {
	if s.quoted() {
		s.open = s.open[:len(s.open)-1]
	} else {
		s.open = append(s.open, '"')
	}
	s.at++
}

// skipQuotes goes past '...' or `...`, where no placeholder may stand.
func (s *scanner) skipQuotes(quote byte, escapes bool) error {
	begin := s.at
	for s.at++; s.at < len(s.line); s.at++ {
		switch c := s.line[s.at]; {
		case c == quote:
			s.at++
			return nil
		case c == '\\' && escapes:
			s.at++
		case placeholderAt(s.rest()) != "":
			name := placeholderAt(s.rest())
			return s.errorf("%s stands inside %c...%c; poolwise quotes each item itself, so write it without them", name, quote, quote)
		}
	}
	s.at = begin
	return s.errorf("%c is not closed", quote)
}

// dollar takes an expansion.
func (s *scanner) dollar() error {
	next := s.line[s.at+1:]
	switch {
	case placeholderAt(next) != "":
		return s.errorf("$ stands before %s, which shells would read as $'...' (the number of arguments is $#)", placeholderAt(next))
	case strings.HasPrefix(next, "'") && !s.quoted():
		return s.errorf("shells do not agree on $'...'; use printf")
	case strings.HasPrefix(next, "(("):
		s.arithmetic(3)
	case strings.HasPrefix(next, "("):
		s.open = append(s.open, '(')
		s.at += 2
	case strings.HasPrefix(next, "{"):
		s.parameter()
	case strings.HasPrefix(next, "["):
		s.seal(2, "after $[")
	default:
		s.at++
	}
	return nil
}

func (s *scanner) seal(n int, why string) {
	s.at += n
	if s.sealed == "" {
		s.sealed = why
	}
}

// parameter goes past ${name} and the like, if that is simple.
func (s *scanner) parameter() {
	end := strings.IndexByte(s.rest(), '}')
	if end < 0 || strings.ContainsAny(s.rest()[2:end], "\"'`\\${(\n") {
		s.seal(2, "after a ${...} that poolwise does not look into")
		return
	}
	s.at += end + 1
}

// arithmetic goes past $((...)) or ((...)), if that is simple: shells expand
// what stands in there once more, quoted or not. Begin is the length of how it
// begins.
func (s *scanner) arithmetic(begin int) {
	text := s.rest()
	depth := 2
	for i := begin; i < len(text); i++ {
		switch c := text[i]; {
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth == 1 && !strings.HasPrefix(text[i:], "))") {
				s.seal(begin, "after (( which may be two things")
				return
			}
			if depth == 0 {
				s.at += i + 1
				return
			}
		case strings.IndexByte("\"'`\\{}#;\n", c) >= 0:
			s.seal(begin, "inside ((...)) or after it")
			return
		}
	}
	s.seal(begin, "inside ((...))")
}
