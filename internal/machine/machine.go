// Package machine tells what a run may use here: CPUs, memory, limits and the
// runtimes that are installed, each with the reason for the figure.
//
// Everything is read through a System, so that a test can hand over the /proc
// and /sys of another machine. What a run asks for at its start (Brief) costs a
// few dozen small file reads and starts no program; what only the doctor shows
// (Describe) may start interpreters.
package machine

import (
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// A System is a machine as this package sees it.
type System struct {
	// Root is the root directory, from which /proc and /sys are read. Missing
	// files are no error: the limit they would hold is then not known.
	Root fs.FS
	// Env is the environment, as os.Environ gives it.
	Env []string
	// Affinity returns the number of CPUs that this process may be scheduled
	// on, at least 1.
	Affinity func() int
}

// Getenv returns the value of a variable, and whether it is set. Of a name that
// stands twice the last counts, as it does for a program started with Env.
func (s System) Getenv(name string) (string, bool) { return lookup(s.Env, name) }

func lookup(env []string, name string) (string, bool) {
	for i := len(env) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(env[i], name); ok && strings.HasPrefix(value, "=") {
			return value[1:], true
		}
	}
	return "", false
}

// text reads a small file. It is "" when the file cannot be read.
func (s System) text(name string) string {
	if s.Root == nil {
		return ""
	}
	data, err := fs.ReadFile(s.Root, strings.TrimPrefix(path.Clean(name), "/"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// number reads a file that holds one whole number.
func (s System) number(name string) (int64, bool) { return parseNumber(s.text(name)) }

func parseNumber(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}

// field returns the number that follows a key in a file of "key number" lines,
// such as /proc/meminfo and memory.stat.
func field(text, key string) (int64, bool) {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) >= 2 && words[0] == key {
			return parseNumber(words[1])
		}
	}
	return 0, false
}
