// Package python carries the Python worker's source inside the binary, and
// lays it on disk where an interpreter can import it.
package python

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// A pattern, not the folder: embedding a folder leaves out names that begin
// with an underscore, and would bring compiled files along.
//
//go:embed poolwise_worker/*.py
var files embed.FS

// bootstrap is what the interpreter is started with. It is written so that any
// Python reads it, to name one that is too old. The worker's own modules are
// compiled once and kept even where the user has turned that off for theirs:
// compiling them takes longer than everything else that a start does. The
// current directory, which -c puts first, is out of the way meanwhile.
const bootstrap = `import sys
if sys.version_info < (3, 8):
    sys.stderr.write("poolwise needs Python 3.8 or later; %s is %s\n" % (sys.executable, sys.version.split()[0]))
    sys.exit(86)
d = sys.argv[1]
if sys.path and sys.path[0] == "":
    sys.path[0] = d
else:
    sys.path.insert(0, d)
w, sys.dont_write_bytecode = sys.dont_write_bytecode, False
from poolwise_worker.main import main
sys.dont_write_bytecode = w
del sys.path[0], d, w
main(3, 4)
`

// TooOld is the exit status of an interpreter before 3.8.
const TooOld = 86

// ChannelLost is the exit status of a worker whose socket was closed under it.
const ChannelLost = 87

// Command returns the argument vector of a worker: interpreter is the path of
// a Python, dir what Install returned. The worker expects its socket as
// descriptor 3 and its page as 4.
func Command(interpreter, dir string) []string {
	return []string{interpreter, "-u", "-c", bootstrap, dir}
}

// Install writes the worker's source below cache, in a folder named by its
// digest, and returns that folder. What is there already and equal is left as
// it is; what was damaged is written again.
func Install(cache string) (string, error) {
	names, err := fs.Glob(files, "poolwise_worker/*.py")
	if err != nil {
		return "", err
	}
	digest := sha256.New()
	for _, name := range names {
		data, err := files.ReadFile(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(digest, "%s %d\n", name, len(data))
		digest.Write(data)
	}
	dir := filepath.Join(cache, "python-"+hex.EncodeToString(digest.Sum(nil)[:8]))
	if err := os.MkdirAll(filepath.Join(dir, "poolwise_worker"), 0o700); err != nil {
		return "", fmt.Errorf("the Python worker cannot be laid out: %w", err)
	}
	for _, name := range names {
		if err := install(dir, name); err != nil {
			return "", fmt.Errorf("the Python worker cannot be laid out: %w", err)
		}
	}
	return dir, nil
}

func install(dir, name string) error {
	want, err := files.ReadFile(name)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, filepath.FromSlash(name))
	if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, want) {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(want)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// Explain says what an exit status of a worker means, "" for those that mean
// nothing in particular.
func Explain(exit int) string {
	switch exit {
	case TooOld:
		return "this Python is too old"
	case ChannelLost:
		return "its connection to poolwise was closed under it: the task closed descriptors that are not its own"
	}
	return ""
}
