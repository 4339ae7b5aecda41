//go:build linux || darwin

package supervisor

import (
	"slices"
	"testing"

	"github.com/poolwise/poolwise/internal/batch"
)

// TestPage reads what workers write.
func TestPage(t *testing.T) {
	for _, c := range []struct {
		name  string
		slots int
		words []uint64 // from the count on
		want  []batch.Running
	}{
		{"nothing", 1, nil, nil},
		{"one item", 1, []uint64{0, 0, 0, 0, 0, 0, 8, 100}, []batch.Running{{Index: 7, Since: 100}}},
		{"first of a strip", 1, []uint64{3, 0, 0, 0, 0, 0, 8, 100}, []batch.Running{{Index: 7, Since: 100}}},
		{"last of a strip", 1, []uint64{3, 0, 0, 0, 0, 0, 8, 100, 110, 120}, []batch.Running{{Index: 9, Since: 120}}},
		{"strip that is done", 1, []uint64{3, 0, 0, 0, 0, 0, 8, 100, 110, 120, 130}, nil},
		{"strip longer than it can be", 1, []uint64{1 << 63, 0, 0, 0, 0, 0, 8, 100, 110}, []batch.Running{{Index: 8, Since: 110}}},
		{"a strip where there may be slots", 3, []uint64{3, 0, 0, 0, 0, 0, 8, 100, 110}, []batch.Running{{Index: 8, Since: 110}}},
		{"slots", 3, []uint64{0, 0, 0, 0, 0, 0, 8, 100, 0, 90, 1, 95},
			[]batch.Running{{Slot: 0, Index: 7, Since: 100}, {Slot: 2, Index: 0, Since: 95}}},
	} {
		p := newPage(make([]byte, pageSize(c.slots)), c.slots)
		copy(p.words[countWord:], c.words)
		if got := p.running(nil); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
