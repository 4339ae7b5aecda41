// Package contract holds JSON output against the document that promises its
// fields. It is for tests.
//
// A section of the document lists each field in the first column of a table, as
// a path in backticks: `a.b` is the field b of the object a, `a[].b` that of
// each object in the array a, and `a.*` is any field of a.
package contract

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A Section is what the document says about one kind of output.
type Section struct {
	Fields   []string // the documented paths, sorted
	Examples []string // the blocks of JSON
}

var (
	row   = regexp.MustCompile("(?m)^\\| `([^`]+)`")
	block = regexp.MustCompile("(?s)```json\n(.*?)```")
)

// Read returns the section of a document under the heading "## name".
func Read(document, name string) (Section, error) {
	_, text, ok := strings.Cut(document, "\n## "+name+"\n")
	if !ok {
		return Section{}, fmt.Errorf("the document has no section %q", name)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	var s Section
	for _, m := range row.FindAllStringSubmatch(text, -1) {
		s.Fields = append(s.Fields, m[1])
	}
	for _, m := range block.FindAllStringSubmatch(text, -1) {
		s.Examples = append(s.Examples, m[1])
	}
	slices.Sort(s.Fields)
	return s, nil
}

// Undocumented returns the paths of an output that the section does not list.
func (s Section) Undocumented(output []byte) ([]string, error) {
	paths, err := Paths(output)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(paths, s.lists), nil
}

func (s Section) lists(path string) bool {
	if slices.Contains(s.Fields, path) {
		return true
	}
	at := strings.LastIndexByte(path, '.')
	return at >= 0 && slices.Contains(s.Fields, path[:at]+".*")
}

// Missing returns the fields that the section lists and none of the outputs has.
func (s Section) Missing(outputs ...[]byte) ([]string, error) {
	var all []string
	for _, output := range outputs {
		paths, err := Paths(output)
		if err != nil {
			return nil, err
		}
		all = append(all, paths...)
	}
	return slices.DeleteFunc(slices.Clone(s.Fields), func(field string) bool {
		stem, any := strings.CutSuffix(field, "*")
		return slices.ContainsFunc(all, func(p string) bool { return p == field || any && strings.HasPrefix(p, stem) })
	}), nil
}

// Paths returns the paths of all fields of a JSON value, sorted.
func Paths(output []byte) ([]string, error) {
	var value any
	if err := json.Unmarshal(output, &value); err != nil {
		return nil, fmt.Errorf("the output is no JSON: %w", err)
	}
	var paths []string
	collect(value, "", &paths)
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

func collect(value any, at string, paths *[]string) {
	switch v := value.(type) {
	case map[string]any:
		for name, field := range v {
			path := name
			if at != "" {
				path = at + "." + name
			}
			*paths = append(*paths, path)
			collect(field, path, paths)
		}
	case []any:
		for _, element := range v {
			collect(element, at+"[]", paths)
		}
	}
}
