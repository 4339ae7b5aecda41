package source

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// ownDir is the directory of poolwise's own files, which no wildcard enters.
const ownDir = ".poolwise"

// A walk finds the files that a glob matches, in the order of their paths as
// bytes. It reads one directory at a time, when its turn has come, and holds
// the names of those above it. Only directories that can hold a match are read.
//
// A wildcard between slashes follows symbolic links; ** does not follow those
// to directories, as in a shell, so that no loop of them is ever entered.
type walk struct {
	glob   *glob
	cfg    *Config
	notes  *notes
	closed func() bool
	stack  []dirFrame
	begun  bool
}

// dirFrame is a directory that is being gone through.
type dirFrame struct {
	prefix  string // what stands before its names in a path
	entries []dirEntry
}

// dirEntry is a file that matches or a directory that may hold a match.
type dirEntry struct {
	name  string
	key   string // what it is sorted by: the name, with a slash for a directory
	enter []globState
}

// globState is a part of the glob that has to match the next name.
type globState struct{ alt, part int }

func newWalk(r *Reader, g *glob) *walk {
	return &walk{glob: g, cfg: &r.cfg, notes: &r.notes, closed: r.isClosed}
}

// next returns the next match.
func (w *walk) next() (string, bool) {
	w.begin()
	for len(w.stack) > 0 && !w.closed() {
		top := &w.stack[len(w.stack)-1]
		if len(top.entries) == 0 {
			w.stack = w.stack[:len(w.stack)-1]
			continue
		}
		prefix, e := top.prefix, top.entries[0]
		top.entries = top.entries[1:]
		if len(e.enter) == 0 {
			return prefix + e.name, true
		}
		w.push(prefix+e.key, e.enter)
	}
	return "", false
}

// ready reports that next will not have to read a directory.
func (w *walk) ready() bool {
	if len(w.stack) == 0 {
		return false
	}
	top := w.stack[len(w.stack)-1].entries
	return len(top) > 0 && len(top[0].enter) == 0
}

func (w *walk) begin() {
	if w.begun {
		return
	}
	w.begun = true
	var start []globState
	for i := range w.glob.alts {
		start = w.reach(start, globState{alt: i})
	}
	w.push(w.glob.base, start)
}

// reach adds a state and those that are reached with it without a name: **
// stands for no directory, too.
func (w *walk) reach(states []globState, s globState) []globState {
	parts := w.glob.alts[s.alt]
	for ; s.part < len(parts) && !slices.Contains(states, s); s.part++ {
		states = append(states, s)
		if parts[s.part] != "**" {
			break
		}
	}
	return states
}

// push reads a directory and puts what matters of it on the stack.
func (w *walk) push(prefix string, states []globState) {
	names, err := readDir(resolve(w.cfg.Dir, cmp.Or(prefix, ".")))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.notes.add("unreadable", "%s: the directory cannot be read, and what may match in it is left out: %s", shown(cmp.Or(prefix, ".")), reason(err))
	}
	f := dirFrame{prefix: prefix}
	for _, d := range names {
		if e, ok := w.match(prefix, d, states); ok {
			f.entries = append(f.entries, e)
		}
	}
	slices.SortFunc(f.entries, func(a, b dirEntry) int { return strings.Compare(a.key, b.key) })
	w.stack = append(w.stack, f)
}

// readDir returns what a directory holds, unsorted.
func readDir(path string) ([]fs.DirEntry, error) {
	dir, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	names, err := dir.ReadDir(-1)
	return names, errors.Join(err, dir.Close())
}

// match tells what a name in a directory is to the glob: a file that matches, a
// directory to enter, or nothing.
func (w *walk) match(prefix string, d fs.DirEntry, states []globState) (dirEntry, bool) {
	e := dirEntry{name: d.Name(), key: d.Name()}
	link := d.Type()&fs.ModeSymlink != 0
	dir := d.IsDir() || link && isDir(resolve(w.cfg.Dir, prefix+e.name))
	if !dir {
		return e, w.matchesFile(e.name, states) && !w.excluded(prefix+e.name)
	}
	e.key += "/"
	e.enter = w.enter(e.name, link, states)
	return e, len(e.enter) > 0
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func (w *walk) matchesFile(name string, states []globState) bool {
	return slices.ContainsFunc(states, func(s globState) bool {
		parts := w.glob.alts[s.alt]
		return s.part == len(parts)-1 && partMatches(parts[s.part], name)
	})
}

// partMatches reports whether a name matches a part; the pattern is known to be
// a valid one.
func partMatches(part, name string) bool { return doublestar.MatchUnvalidated(part, name) }

// enter returns the states that hold within a directory.
func (w *walk) enter(name string, link bool, states []globState) []globState {
	var inner []globState
	for _, s := range states {
		parts := w.glob.alts[s.alt]
		part := parts[s.part]
		own := name == ownDir && hasMeta(part)
		switch {
		case own:
		case part == "**" && !link:
			inner = w.reach(inner, s)
		case part != "**" && s.part < len(parts)-1 && partMatches(part, name):
			inner = w.reach(inner, globState{s.alt, s.part + 1})
		}
	}
	return inner
}

// excluded reports a path that Config.Exclude names. Another spelling of the
// directory, as through a symbolic link, names the same file.
func (w *walk) excluded(path string) bool {
	for _, x := range w.cfg.Exclude {
		if filepath.Base(x) == filepath.Base(path) && sameFile(x, resolve(w.cfg.Dir, path)) {
			return true
		}
	}
	return false
}

func sameFile(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}
