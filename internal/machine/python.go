package machine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Python is an interpreter that was found.
type Python struct {
	// Path is the program to start. The link of a virtual environment is not
	// followed, as Python finds the environment's packages by it.
	Path string `json:"path"`
	// How says in words where it was found.
	How string `json:"how"`
	// Shim is the script that led to Path, such as one of pyenv's, and empty
	// where there was none. ShimTime is what asking it took.
	Shim     string        `json:"shim,omitempty"`
	ShimTime time.Duration `json:"-"`
}

// PythonOptions say where to look for an interpreter.
type PythonOptions struct {
	// Flag is what the user asked for: a path, a name to be looked for in PATH,
	// or nothing.
	Flag string
	// Env is the environment, as os.Environ gives it. PATH and VIRTUAL_ENV are
	// read from it.
	Env []string
	// Dir is the working directory: paths are relative to it, and shims choose
	// by it.
	Dir string
}

// A PythonError says why there is no interpreter to be used.
type PythonError struct {
	Path   string // the program that is of no use; "" when none was found
	Reason string // what is wrong, and what may be done
	Err    error  // the cause; may be nil
}

func (e *PythonError) Error() string {
	if e.Path == "" {
		return e.Reason
	}
	return e.Path + ": " + e.Reason
}

// Unwrap returns the cause.
func (e *PythonError) Unwrap() error { return e.Err }

// FindPython returns the interpreter to run tasks with: the one asked for, else
// that of the active virtual environment, else python3 or python in PATH. What
// it finds is started only if it is a script, to learn which interpreter that
// leads to. Whether a version will do is not looked at. The error is a
// *PythonError, or that of the context.
func FindPython(ctx context.Context, opts PythonOptions) (Python, error) {
	found, err := choosePython(opts)
	if err != nil {
		return Python{}, err
	}
	native, err := isNative(found.Path)
	if err != nil {
		return Python{}, &PythonError{found.Path, fmt.Sprintf("it cannot be read: %v", errors.Unwrap(err)), err}
	}
	if native {
		return found, nil
	}
	return throughShim(ctx, found, opts)
}

func choosePython(opts PythonOptions) (Python, error) {
	if opts.Flag != "" {
		return askedPython(opts)
	}
	if env, set := lookup(opts.Env, "VIRTUAL_ENV"); set && env != "" {
		file := inDir(opts.Dir, venvPython(env))
		if isExecutable(file) {
			return Python{Path: file, How: "the active virtual environment"}, nil
		}
		return Python{}, &PythonError{Path: file, Reason: "there is no such program, though VIRTUAL_ENV says that this environment is active; " +
			"activate one that exists, or name an interpreter with --python"}
	}
	for _, name := range []string{"python3", "python"} {
		if file, ok := findInPath(name, opts.Env, opts.Dir); ok {
			return Python{Path: file, How: name + " in PATH"}, nil
		}
	}
	return Python{}, &PythonError{Reason: "no Python was found: there is no active virtual environment (VIRTUAL_ENV is not set), and no python3 or python in " +
		pathInWords(opts) + "; name an interpreter with --python"}
}

func pathInWords(opts PythonOptions) string {
	value, _ := lookup(opts.Env, "PATH")
	if value == "" {
		return "PATH, which is empty"
	}
	return "PATH (" + value + ")"
}

func venvPython(env string) string {
	if runtime.GOOS == "windows" {
		return filepath.Join(env, "Scripts", "python.exe")
	}
	return filepath.Join(env, "bin", "python")
}

func askedPython(opts PythonOptions) (Python, error) {
	if isName(opts.Flag) {
		file, ok := findInPath(opts.Flag, opts.Env, opts.Dir)
		if !ok {
			return Python{}, &PythonError{Path: opts.Flag, Reason: "there is no program of this name in " + pathInWords(opts) + "; give --python a path or another name"}
		}
		return Python{Path: file, How: "--python " + opts.Flag + ", in PATH"}, nil
	}
	file := inDir(opts.Dir, opts.Flag)
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return Python{}, &PythonError{file, fmt.Sprintf("%v; give --python the path of an interpreter", errors.Unwrap(err)), err}
	case info.IsDir():
		return Python{}, &PythonError{Path: file, Reason: "it is a directory; give --python the interpreter inside, such as " + venvPython(file)}
	case !isExecutable(file):
		return Python{}, &PythonError{Path: file, Reason: "it is not executable; chmod +x makes it so, if it is an interpreter"}
	}
	return Python{Path: file, How: "--python"}, nil
}

// shimLimit is how long a script may take to start an interpreter. pyenv's take
// some 50 ms; on a network file system with cold caches it is seconds.
const shimLimit = 10 * time.Second

// throughShim asks a script which interpreter it starts, so that workers are
// spared the way through it.
func throughShim(ctx context.Context, found Python, opts PythonOptions) (Python, error) {
	begin := time.Now()
	out, err := capture(ctx, shimLimit, opts, found.Path, "-c", "import sys; print(sys.executable)")
	if err != nil {
		if ctx.Err() != nil {
			return Python{}, context.Cause(ctx)
		}
		return Python{}, &PythonError{found.Path, fmt.Sprintf("it is a script, and starting Python through it failed: %v; name an interpreter with --python", err), err}
	}
	// What a user's own start-up code prints comes before.
	real := lastLine(out)
	if !filepath.IsAbs(real) || !isExecutable(real) {
		return Python{}, &PythonError{Path: found.Path, Reason: fmt.Sprintf("it is a script, and the interpreter that it starts names %q as its own program; name an interpreter with --python", real)}
	}
	return Python{Path: real, How: found.How, Shim: found.Path, ShimTime: time.Since(begin)}, nil
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
