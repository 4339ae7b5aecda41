package contract

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const document = "# Title\n\n## one\n\n| field | meaning |\n|---|---|\n| `a` | |\n| `a[].b` | |\n| `m` | |\n| `m.*` | |\n| `gone` | |\n\n" +
	"```json\n{\"a\":[]}\n```\n\n## two\n\n| `z` | |\n"

func TestSection(t *testing.T) {
	s, err := Read(document, "one")
	if err != nil {
		t.Fatal(err)
	}
	want := Section{Fields: []string{"a", "a[].b", "gone", "m", "m.*"}, Examples: []string{"{\"a\":[]}\n"}}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Error(diff)
	}
	output := []byte(`{"a":[{"b":1},{"b":2,"c":3}],"m":{"x":null}}`)
	extra, err := s.Undocumented(output)
	if diff := cmp.Diff([]string{"a[].c"}, extra); diff != "" || err != nil {
		t.Error(diff, err)
	}
	missing, err := s.Missing(output)
	if diff := cmp.Diff([]string{"gone"}, missing); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if _, err := Read(document, "three"); err == nil {
		t.Error("a section that is not there is found")
	}
	if _, err := s.Undocumented([]byte("{")); err == nil {
		t.Error("an output that is no JSON is accepted")
	}
}
