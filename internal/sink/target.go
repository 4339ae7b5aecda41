package sink

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A Target is where the output of a run goes. A regular file is written beside
// its name and moved there by Commit, so that nobody ever finds half of one.
type Target struct {
	name string    // as the user knows it
	to   io.Writer // what is written to
	file *os.File  // to is this file, opened by us; nil for a stream of the caller's
	temp string    // the path that is written to; "" when it is written directly
	path string    // where it is moved to
}

// Stream returns a target that is written as it comes, such as standard
// output. Commit and Abort leave it open.
func Stream(to io.Writer, name string) *Target { return &Target{name: name, to: to} }

// OpenTarget opens the file at path for the run with this id. What is no
// regular file (/dev/null, a FIFO) is written directly; of a symbolic link, the
// file it points to is replaced and the link stays. The permissions of a file
// that is replaced are kept. The errors say what to do.
func OpenTarget(path, id string) (*Target, error) {
	if isDescriptor(path) {
		return openDirect(path)
	}
	real, err := follow(path)
	if err != nil {
		return nil, fmt.Errorf("the output %s cannot be opened: %w", path, err)
	}
	info, err := os.Stat(real)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return openTemp(path, real, id, nil)
	case err != nil:
		return nil, fmt.Errorf("the output %s cannot be opened: %w", path, err)
	case info.IsDir():
		return nil, fmt.Errorf("the output %s is a directory; name a file in it", path)
	case !info.Mode().IsRegular():
		return openDirect(path)
	}
	// What may not be written may not be replaced either.
	f, err := os.OpenFile(real, os.O_WRONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("the output %s may not be replaced: %w", path, err)
	}
	f.Close()
	return openTemp(path, real, id, info)
}

// isDescriptor reports whether a path names an open file of the process. Such
// a one is written where it is, even if it is a regular file: whoever opened
// it holds it open and would not see another in its place.
func isDescriptor(path string) bool {
	switch path {
	case "/dev/stdout", "/dev/stderr":
		return true
	}
	return strings.HasPrefix(path, "/dev/fd/") || strings.HasPrefix(path, "/proc/self/fd/")
}

// maxLinks is as many symbolic links as Linux follows.
const maxLinks = 40

// follow returns the path that a symbolic link leads to, which need not exist.
func follow(path string) (string, error) {
	for range maxLinks {
		info, err := os.Lstat(path)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			return path, nil // whatever is wrong, opening it tells
		}
		to, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(to) {
			// Not Join: a/.. is not nothing when a is a link itself.
			to = filepath.Dir(path) + string(filepath.Separator) + to
		}
		path = to
	}
	return "", errors.New("too many symbolic links")
}

func openDirect(path string) (*Target, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return nil, fmt.Errorf("the output %s cannot be opened: %w", path, err)
	}
	return &Target{name: path, to: f, file: f}, nil
}

// maxBase leaves room for what is added to a name of at most 255 bytes.
const maxBase = 200

// openTemp opens the file that will replace real; old is nil when there is none.
func openTemp(name, real, id string, old fs.FileInfo) (*Target, error) {
	dir := filepath.Dir(real)
	base := filepath.Base(real)
	temp := filepath.Join(dir, "."+base[:min(len(base), maxBase)]+".poolwise-"+id)
	os.Remove(temp) // left by an earlier life of the same run
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, fmt.Errorf("the output %s cannot be written in its directory: %w; name a file in a directory that exists and that you may write to", name, err)
	}
	if old != nil {
		if err := f.Chmod(old.Mode().Perm()); err != nil {
			f.Close()
			os.Remove(temp)
			return nil, fmt.Errorf("the output %s cannot get the permissions of the file that it replaces: %w", name, err)
		}
	}
	return &Target{name: name, to: f, file: f, temp: temp, path: real}, nil
}

// Name returns the name of the target, for messages.
func (t *Target) Name() string { return t.name }

// Write writes to the target, or to the file that will be it.
func (t *Target) Write(p []byte) (int, error) { return t.to.Write(p) }

// Commit puts the output in its place, and returns when it will be there even
// after a power loss. The error is a *WriteError; there is no half output then,
// and what was there before still is.
func (t *Target) Commit() error {
	if t.file == nil {
		return nil
	}
	var err error
	if t.temp != "" {
		err = t.file.Sync()
	}
	err = errors.Join(err, t.file.Close())
	if err == nil && t.temp != "" {
		err = os.Rename(t.temp, t.path)
	}
	if err != nil {
		t.discard()
		return &WriteError{Target: t.name, Err: err}
	}
	if t.temp != "" {
		syncDir(filepath.Dir(t.path))
	}
	t.file = nil
	return nil
}

// Abort gives the output up and leaves what was there before. It does nothing
// after Commit.
func (t *Target) Abort() {
	if t.file != nil {
		t.file.Close()
		t.discard()
	}
}

func (t *Target) discard() {
	if t.temp != "" {
		os.Remove(t.temp)
	}
	t.file = nil
}

// syncDir makes a renaming durable, where the system knows such a thing.
func syncDir(path string) {
	if d, err := os.Open(path); err == nil {
		_ = d.Sync() // some file systems refuse it, and then need none
		d.Close()
	}
}
