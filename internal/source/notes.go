package source

import (
	"fmt"
	"sync"
)

// notes collects what is said once. A note of one kind is kept for the first
// place only, with a count of the others: a thousand files with a byte order
// mark are one note.
type notes struct {
	mu    sync.Mutex
	kinds map[string]int // place in list
	list  []note
}

type note struct {
	text  string
	times int
}

func (n *notes) add(kind, format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if i, ok := n.kinds[kind]; ok {
		n.list[i].times++
		return
	}
	if n.kinds == nil {
		n.kinds = make(map[string]int)
	}
	n.kinds[kind] = len(n.list)
	n.list = append(n.list, note{fmt.Sprintf(format, args...), 1})
}

func (n *notes) texts() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var texts []string
	for _, note := range n.list {
		text := note.text
		if note.times > 1 {
			text += fmt.Sprintf(" (the same %d times more)", note.times-1)
		}
		texts = append(texts, text)
	}
	return texts
}
