package source

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/poolwise/poolwise/internal/batch"
)

// InvalidInput is the Type of the Problem of an item of Form Invalid.
const InvalidInput = "InvalidInput"

// An InputError reports an input that cannot be used at all. Open returns it,
// before anything has been read.
type InputError struct {
	Input  string // the name as it was given
	Reason string // what is wrong
	Advice string // what to do about it
	Err    error  // the cause, where there is one
}

func (e *InputError) Error() string {
	return fmt.Sprintf("%s: %s; %s", shown(e.Input), e.Reason, e.Advice)
}

// Unwrap returns the cause.
func (e *InputError) Unwrap() error { return e.Err }

// A ReadError reports an input that cannot be read on. The items before the
// place it names have been delivered; those after it are unknown.
type ReadError struct {
	Path   string // the name as it was given, or "standard input"
	Line   int64  // from 1; 0 where lines are not counted
	Offset int64  // in bytes from the start of the input
	Err    error
}

func (e *ReadError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s:%d: %v", e.Path, e.Line, e.Err)
	}
	return fmt.Sprintf("%s: at byte %d: %v", e.Path, e.Offset, e.Err)
}

// Unwrap returns the cause.
func (e *ReadError) Unwrap() error { return e.Err }

// shown makes a name fit for a message of one line.
func shown(name string) string {
	plain := utf8.ValidString(name) && name != "" && strings.IndexFunc(name, unicode.IsControl) < 0
	if plain {
		return name
	}
	return strconv.Quote(name)
}

func problem(format string, args ...any) *batch.Failure {
	return &batch.Failure{Type: InvalidInput, Message: fmt.Sprintf(format, args...)}
}

// tooLong is the problem of an item above the limit.
func tooLong(where string, limit int64) *batch.Failure {
	return problem("%s: larger than %s, the limit for one item; raise it with --max-item", where, sizeText(limit))
}

// sizeText writes a number of bytes in the largest unit that divides it.
func sizeText(n int64) string {
	for _, u := range []struct {
		size int64
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= u.size && n%u.size == 0 {
			return fmt.Sprintf("%d %s", n/u.size, u.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
