package journal

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A Dir is the directory of one run, <base>/runs/<id>.
type Dir struct {
	ID   string
	path string
	lock *os.File // held by this process, or nil
}

// Names in a run directory that this package gives.
const (
	infoName = "run.json"
	lockName = "lock"
	// timelineName begins the names of what the timeline is drawn from.
	timelineName = "timeline"
)

const (
	runsName = "runs"
	ownName  = ".poolwise"
	// idTime is the time, in UTC, with which an id begins, so that ids sort as
	// the runs were started.
	idTime = "20060102-150405"
	// idLetters leaves out what is easily taken for something else. Four of
	// them tell apart the runs of one second.
	idLetters = "23456789abcdefghjkmnpqrstuvwxyz"
	idRandom  = 4
)

// CreateDir makes the directory of a new run, readable by its owner only, and
// locks it. base is made if it is missing, and git told to ignore what is in
// it. now is the start of the run.
func CreateDir(base string, now time.Time) (*Dir, error) {
	runs := filepath.Join(base, runsName)
	if err := os.MkdirAll(runs, 0o700); err != nil {
		return nil, fmt.Errorf("the run cannot be recorded: %w; name another place with --run-dir", err)
	}
	ignore(base)
	for {
		id := newID(now)
		d := &Dir{ID: id, path: filepath.Join(runs, id)}
		err := os.Mkdir(d.path, 0o700)
		switch {
		case errors.Is(err, fs.ErrExist):
			continue
		case err != nil:
			return nil, fmt.Errorf("the run cannot be recorded: %w; name another place with --run-dir", err)
		}
		if err := d.Lock(); err != nil {
			os.RemoveAll(d.path)
			return nil, err
		}
		return d, nil
	}
}

// ignore makes git ignore the runs: all of a directory of our own, and no more
// than the runs in a directory that may hold other things.
func ignore(base string) {
	if filepath.Base(base) != ownName {
		base = filepath.Join(base, runsName)
	}
	f, err := os.OpenFile(filepath.Join(base, ".gitignore"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return // it is there already; and no run fails for the want of it
	}
	_, _ = f.WriteString("*\n")
	_ = f.Close()
}

func newID(now time.Time) string {
	var random [idRandom]byte
	_, _ = rand.Read(random[:]) // never fails
	for i := range random {
		random[i] = idLetters[int(random[i])%len(idLetters)]
	}
	return now.UTC().Format(idTime) + "-" + string(random[:])
}

// isID reports whether a name is the id of a run.
func isID(name string) bool {
	_, ok := startOf(name)
	return ok
}

// startOf returns the time in an id.
func startOf(id string) (time.Time, bool) {
	if len(id) != len(idTime)+1+idRandom || id[len(idTime)] != '-' {
		return time.Time{}, false
	}
	t, err := time.Parse(idTime, id[:len(idTime)])
	return t, err == nil
}

// A RefError reports that a name stands for no run, or for several.
type RefError struct {
	Ref  string
	Base string
	// Runs are those that Ref stands for, or, when it stands for none, the
	// ones most like it. At most five.
	Runs      []string
	Ambiguous bool
}

func (e *RefError) Error() string {
	list := strings.Join(e.Runs, ", ")
	switch {
	case e.Ambiguous:
		return fmt.Sprintf("%q stands for several runs: %s; write more of it", e.Ref, list)
	case len(e.Runs) == 0:
		return fmt.Sprintf("there is no run %q: %s holds none", e.Ref, filepath.Join(e.Base, runsName))
	}
	return fmt.Sprintf("there is no run %q in %s; there are %s", e.Ref, filepath.Join(e.Base, runsName), list)
}

// maxRefs is how many runs a RefError names.
const maxRefs = 5

// OpenDir finds the directory of a run. ref is "last", an id, the beginning of
// one or the letters at its end, or the path of the directory. It does not lock
// it. The error is a *RefError, or tells what the system says.
func OpenDir(base, ref string) (*Dir, error) {
	ids, err := runIDs(base)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the runs cannot be listed: %w", err)
	}
	found := matching(ids, ref)
	switch {
	case len(found) == 1:
		return &Dir{ID: found[0], path: filepath.Join(base, runsName, found[0])}, nil
	case len(found) > 1:
		return nil, &RefError{Ref: ref, Base: base, Runs: found[:min(len(found), maxRefs)], Ambiguous: true}
	}
	if info, err := os.Stat(filepath.Join(ref, infoName)); ref != "" && err == nil && info.Mode().IsRegular() {
		path, err := filepath.Abs(ref)
		if err != nil {
			return nil, fmt.Errorf("run directory %s: %w", ref, err)
		}
		return &Dir{ID: filepath.Base(path), path: path}, nil
	}
	return nil, &RefError{Ref: ref, Base: base, Runs: near(ids, ref)}
}

// runIDs returns the ids of all runs, newest first.
func runIDs(base string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(base, runsName))
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, e := range entries {
		if e.IsDir() && isID(e.Name()) {
			ids = append(ids, e.Name())
		}
	}
	slices.Reverse(ids)
	return ids, nil
}

// matching returns the ids that ref stands for.
func matching(ids []string, ref string) []string {
	if ref == "" {
		return nil
	}
	if ref == "last" {
		return ids[:min(len(ids), 1)]
	}
	var found []string
	for _, id := range ids {
		if strings.HasPrefix(id, ref) || strings.HasSuffix(id, "-"+ref) {
			found = append(found, id)
		}
	}
	return found
}

// near returns the ids that have the longest beginning in common with ref.
func near(ids []string, ref string) []string {
	common := func(id string) int {
		n := 0
		for n < len(id) && n < len(ref) && id[n] == ref[n] {
			n++
		}
		return n
	}
	ids = slices.Clone(ids)
	slices.SortStableFunc(ids, func(a, b string) int { return cmp.Compare(common(b), common(a)) })
	return ids[:min(len(ids), maxRefs)]
}

// Path returns the path of a file in the directory; that of the directory for ".".
func (d *Dir) Path(name string) string { return filepath.Join(d.path, name) }

// Close gives up the lock, if it is held.
func (d *Dir) Close() error {
	if d.lock == nil {
		return nil
	}
	err := d.lock.Close()
	d.lock = nil
	return err
}

// Remove removes the directory of a run that has not run anything.
func (d *Dir) Remove() error {
	err := os.RemoveAll(d.path)
	return errors.Join(err, d.Close())
}

// Finish clears up after a run that ended all ok and whose output was
// delivered: only run.json and the data of its timeline stay, everything when
// keep is set. The journal must be closed.
func (d *Dir) Finish(keep bool) error {
	if keep {
		return nil
	}
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return fmt.Errorf("run %s cannot be cleared up: %w", d.ID, err)
	}
	var failed error
	for _, e := range entries {
		if e.Name() == infoName || strings.HasPrefix(e.Name(), timelineName) {
			continue
		}
		failed = errors.Join(failed, os.RemoveAll(d.Path(e.Name())))
	}
	if failed != nil {
		return fmt.Errorf("run %s cannot be cleared up: %w", d.ID, failed)
	}
	return nil
}
