package main

import (
	"fmt"
	"regexp"
	"strings"
)

// An entry allows the tests of one package whose names match to be skipped.
type entry struct {
	pkg     string
	test    *regexp.Regexp
	pattern string
	reason  string
}

// parseList reads the list; empty lines and those that begin with # are not
// part of it.
func parseList(text string) ([]entry, error) {
	var list []entry
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		what, reason, _ := strings.Cut(line, " # ")
		pkg, pattern, _ := strings.Cut(strings.TrimSpace(what), " ")
		pattern, reason = strings.TrimSpace(pattern), strings.TrimSpace(reason)
		if pattern == "" || reason == "" {
			return nil, fmt.Errorf("line %d is not PACKAGE TEST # REASON: %s", i+1, line)
		}
		quoted := strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, `.*`)
		list = append(list, entry{pkg, regexp.MustCompile("^" + quoted + "$"), pattern, reason})
	}
	return list, nil
}

// find returns the entry that allows a skip, nil if none does.
func find(list []entry, pkg, test string) *entry {
	for i := range list {
		if e := &list[i]; (pkg == e.pkg || strings.HasSuffix(pkg, "/"+e.pkg)) && e.test.MatchString(test) {
			return e
		}
	}
	return nil
}
