package source

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// hasMeta reports a name with characters that are special in a wildcard.
func hasMeta(name string) bool { return strings.ContainsAny(name, "*?[{") }

// maxAlternatives bounds what braces with slashes in them expand to. It guards
// against {a/,b/}{a/,b/}..., which doubles with each pair.
const maxAlternatives = 1024

var errAlternatives = errors.New("too many alternatives in braces")

// A glob is a wildcard, cut at its slashes.
type glob struct {
	pattern string // as it was given
	base    string // what comes before the first part with a wildcard, slash included
	// alts are the parts behind base; more than one list where braces span
	// slashes.
	alts [][]string
}

// parseGlob understands ** (any directories, also none), *, ?, [class], {a,b}
// and \ before an ordinary character. As in most libraries, and other than in
// a shell, * also matches names that start with a dot.
func parseGlob(pattern string) (*glob, error) {
	if !doublestar.ValidatePattern(pattern) {
		return nil, doublestar.ErrBadPattern
	}
	parts := splitOutside(filepath.ToSlash(pattern), '/')
	n := slices.IndexFunc(parts, hasMeta)
	g := &glob{pattern: pattern}
	for _, p := range parts[:n] {
		g.base += unescape(p) + "/"
	}
	patterns, err := expand(strings.Join(parts[n:], "/"))
	if err != nil {
		return nil, err
	}
	for _, p := range patterns {
		alt := splitOutside(p, '/')
		if slices.ContainsFunc(alt, func(part string) bool { return !doublestar.ValidatePattern(part) }) {
			return nil, doublestar.ErrBadPattern
		}
		g.alts = append(g.alts, alt)
	}
	return g, nil
}

// unescape takes the backslashes off a part without wildcards.
func unescape(part string) string {
	if !strings.Contains(part, `\`) || filepath.Separator == '\\' {
		return part
	}
	var plain strings.Builder
	for i := 0; i < len(part); i++ {
		if part[i] == '\\' && i+1 < len(part) {
			i++
		}
		plain.WriteByte(part[i])
	}
	return plain.String()
}

// splitOutside cuts a pattern at each sep that lies outside of braces and
// classes.
func splitOutside(pattern string, sep byte) []string {
	var parts []string
	start := 0
	scanOutside(pattern, func(i, depth int) bool {
		if pattern[i] == sep && depth == 0 {
			parts = append(parts, pattern[start:i])
			start = i + 1
		}
		return true
	})
	return append(parts, pattern[start:])
}

// scanOutside calls visit with each byte of a pattern that is not escaped and
// in no class, and with the number of braces open around it, until visit
// returns false.
func scanOutside(pattern string, visit func(i, depth int) bool) {
	depth, class := 0, false
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\':
			i++
			continue
		case class:
			class = c != ']'
			continue
		case c == '[':
			class = true
		case c == '}':
			depth = max(0, depth-1)
		}
		if !visit(i, depth) {
			return
		}
		if pattern[i] == '{' {
			depth++
		}
	}
}

// expand writes out the braces that hold a slash, since a pattern is matched
// part by part. Other braces are left to the matcher.
func expand(pattern string) ([]string, error) {
	todo, done := []string{pattern}, []string(nil)
	for len(todo) > 0 {
		p := todo[0]
		todo = todo[1:]
		open, end := slashedBraces(p)
		if end < 0 {
			done = append(done, p)
			continue
		}
		for _, alt := range splitOutside(p[open+1:end], ',') {
			todo = append(todo, p[:open]+alt+p[end+1:])
		}
		if len(todo)+len(done) > maxAlternatives {
			return nil, errAlternatives
		}
	}
	return done, nil
}

// slashedBraces finds the first outer pair of braces with a slash between them;
// end is -1 when there is none.
func slashedBraces(pattern string) (open, end int) {
	open, end = -1, -1
	slash := false
	scanOutside(pattern, func(i, depth int) bool {
		switch c := pattern[i]; {
		case c == '{' && depth == 0:
			open, slash = i, false
		case c == '/' && depth > 0:
			slash = true
		case c == '}' && depth == 0 && slash && open >= 0:
			end = i
			return false
		}
		return true
	})
	return open, end
}
