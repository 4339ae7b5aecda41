package source

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// stdinPlace is what messages call standard input.
const stdinPlace = "standard input"

// newInput finds out what an input is, and that it can be read.
func newInput(cfg *Config, n *notes, name string) (*input, error) {
	in := &input{cfg: cfg, notes: n, name: name, place: shown(name), format: cfg.Format, limit: cfg.MaxItem}
	if name == "-" {
		return in, in.asStdin()
	}
	in.path = resolve(cfg.Dir, name)
	if in.format == Auto {
		in.format = formatOf(name)
	}
	return in, in.check()
}

func (in *input) asStdin() error {
	in.stdin, in.place = true, stdinPlace
	if in.format == Auto {
		in.format = Lines
	}
	if in.cfg.Stdin == nil {
		return &InputError{Input: in.name, Reason: "there is no standard input", Advice: "name a file"}
	}
	f, ok := in.cfg.Stdin.(*os.File)
	if !ok {
		return nil
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	if at, err := f.Seek(0, io.SeekCurrent); err == nil {
		in.regular, in.size = true, max(0, info.Size()-at)
	}
	return nil
}

// check opens a regular file once, to see that it can be read. Others must not
// be opened here: that may block, and closing them again may end their writer.
func (in *input) check() error {
	info, err := os.Stat(in.path)
	if err != nil {
		return in.unusable(err)
	}
	if info.IsDir() {
		return &InputError{
			Input: in.name, Reason: "is a directory, not a file of items", Err: errIsDir,
			Advice: fmt.Sprintf("for the files in it, use --from paths '%s/**'", strings.TrimRight(in.name, "/")),
		}
	}
	if !info.Mode().IsRegular() {
		return nil
	}
	in.regular, in.size = true, info.Size()
	f, err := os.Open(in.path)
	if err != nil {
		return in.unusable(err)
	}
	return f.Close()
}

// errIsDir is the cause of an InputError about a directory.
var errIsDir = errors.New("is a directory")

func (in *input) unusable(err error) error {
	e := &InputError{Input: in.name, Reason: reason(err), Err: err}
	switch {
	case errors.Is(err, fs.ErrNotExist) && hasMeta(in.name):
		e.Reason = "no such file"
		e.Advice = "wildcards are left to the shell here; with --from paths the files that match are the items"
	case errors.Is(err, fs.ErrNotExist):
		e.Reason = "no such file"
		e.Advice = "check the name; for items on the command line, write them behind :::"
	case errors.Is(err, fs.ErrPermission):
		e.Reason = "may not be read"
		e.Advice = "check its permissions and those of the directories above it"
	default:
		e.Advice = "check that the file can be read"
	}
	return e
}

// reason is an error without the path, which the message has already.
func reason(err error) string {
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// resolve makes a name absolute, as far as dir is. It does not clean it: x/../y
// is not y where x is a symbolic link.
func resolve(dir, name string) string {
	if dir == "" || filepath.IsAbs(name) {
		return name
	}
	return strings.TrimRight(dir, string(filepath.Separator)) + string(filepath.Separator) + name
}

// reader opens the input.
func (in *input) reader() (io.ReadCloser, error) {
	switch {
	case in.stdin && in.regular:
		return io.NopCloser(in.cfg.Stdin), nil
	case in.stdin:
		return pumpReader(in.cfg.Stdin), nil
	case !in.regular:
		return pumpFile(in.path), nil
	}
	f, err := os.Open(in.path)
	if err != nil {
		return nil, &ReadError{Path: in.place, Err: err}
	}
	return f, nil
}
