package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/poolwise/poolwise/internal/batch"
)

// PruneOptions say which runs to remove. The zero value removes those that
// leave nothing to do: every item ok, and the output delivered.
type PruneOptions struct {
	// Failed removes the others too: with failed items, stopped, interrupted, died.
	Failed bool
	// All removes even those whose run.json cannot be read.
	All bool
	// OlderThan leaves those alone that were started within this time before
	// Now. 0: none.
	OlderThan time.Duration
	Now       time.Time // zero: the present
}

// Pruned is a run that was removed.
type Pruned struct {
	ID    string
	State State // "" when run.json could not be read
	Bytes int64 // freed
}

// Prune removes runs, and never one in which a process runs. With dryRun it
// only tells which it would remove. On an error it goes on with the next run.
func Prune(base string, opts PruneOptions, dryRun bool) ([]Pruned, error) {
	ids, err := runIDs(base)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the runs cannot be listed: %w", err)
	}
	if opts.Now.IsZero() {
		opts.Now = time.Now()
	}
	var pruned []Pruned
	var failed error
	for _, id := range ids {
		dir := &Dir{ID: id, path: filepath.Join(base, runsName, id)}
		p, err := dir.prune(&opts, dryRun)
		if err != nil {
			failed = errors.Join(failed, err)
		} else if p != nil {
			pruned = append(pruned, *p)
		}
	}
	return pruned, failed
}

// prune removes the run if the options say so, and returns nil if not.
func (d *Dir) prune(opts *PruneOptions, dryRun bool) (*Pruned, error) {
	if start, ok := startOf(d.ID); !ok || opts.Now.Sub(start) < opts.OlderThan {
		return nil, nil
	}
	info, err := readState(d.path)
	if !opts.selects(info, err) {
		return nil, nil
	}
	p := &Pruned{ID: d.ID}
	if info != nil {
		p.State = info.State
	}
	if dryRun {
		if live(d.path) {
			return nil, nil
		}
		p.Bytes = sizeOf(d.path)
		return p, nil
	}
	var locked *LockedError
	if err := d.Lock(); errors.As(err, &locked) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	p.Bytes = sizeOf(d.path)
	if left, size := unfinished(info, d.ID); left != "" {
		if err := os.Remove(left); err != nil {
			return nil, fmt.Errorf("the unfinished output of run %s cannot be removed: %w", d.ID, err)
		}
		p.Bytes += size
	}
	if err := d.Remove(); err != nil {
		return nil, fmt.Errorf("run %s cannot be removed: %w", d.ID, err)
	}
	return p, nil
}

// unfinished returns the file, and its size, that a run has begun beside its
// output and that nobody moved there, since poolwise was killed; "" for none.
// Its name is internal/sink's: it begins with a dot and ends in the run's id.
func unfinished(info *Info, id string) (name string, size int64) {
	if info == nil || info.Output.Path == "" {
		return "", 0
	}
	output := info.Output.Path
	if real, err := filepath.EvalSymlinks(output); err == nil {
		output = real
	}
	entries, err := os.ReadDir(filepath.Dir(output))
	if err != nil {
		return "", 0 // the folder is gone, and the file with it
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") && strings.HasSuffix(e.Name(), ".poolwise-"+id) && e.Type().IsRegular() {
			if i, err := e.Info(); err == nil {
				size = i.Size()
			}
			return filepath.Join(filepath.Dir(output), e.Name()), size
		}
	}
	return "", 0
}

// selects judges a run by what ReadInfo returned for it.
func (o *PruneOptions) selects(info *Info, err error) bool {
	switch {
	case o.All:
		return true
	case err != nil:
		return false
	case o.Failed:
		return info.State != Running
	}
	return info.Complete()
}

// Complete reports whether a run leaves nothing to do: every item ended ok, and
// the output was delivered.
func (i *Info) Complete() bool {
	for name, n := range i.Counts {
		if name != batch.OK.String() && n > 0 {
			return false
		}
	}
	return i.State == Done && i.Output.Delivered
}

// sizeOf returns the bytes in all files below a directory.
func sizeOf(dir string) int64 {
	var total int64
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // whatever is not there takes no room
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			total += info.Size()
		}
		return nil
	})
	return total
}

// indent lays out JSON for people.
func indent(compact []byte) []byte {
	var b bytes.Buffer
	if json.Indent(&b, compact, "", "  ") != nil {
		return compact
	}
	b.WriteByte('\n')
	return b.Bytes()
}
