package machine

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// PythonFacts are what an interpreter tells of itself.
type PythonFacts struct {
	Python
	Version        string `json:"version"`
	Implementation string `json:"implementation"`
	// GIL tells whether the global interpreter lock is on. FreeThreaded tells
	// whether the build can do without it.
	GIL          bool `json:"gil"`
	FreeThreaded bool `json:"free_threaded"`
	// StartMethods are those of multiprocessing; DefaultStart is the one it
	// uses unless told otherwise.
	StartMethods []string `json:"start_methods"`
	DefaultStart string   `json:"default_start_method"`
	// VirtualEnv tells whether it belongs to a virtual environment.
	VirtualEnv bool `json:"virtual_env"`
	// OpenFiles is the number of files that the interpreter may hold open, as
	// workers may. It can be less than poolwise's own: Go raises that to the
	// hard limit. Nil where it is not known.
	OpenFiles *int64 `json:"open_files"`
}

const factsProgram = `
import json, platform, sys, sysconfig
facts = {
    "version": platform.python_version(),
    "implementation": platform.python_implementation(),
    "gil": getattr(sys, "_is_gil_enabled", lambda: True)(),
    "free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
    "virtual_env": sys.prefix != sys.base_prefix,
    "start_methods": [], "default_start_method": "", "open_files": None,
}
try:
    import multiprocessing
    facts["start_methods"] = sorted(multiprocessing.get_all_start_methods())
    facts["default_start_method"] = multiprocessing.get_start_method()
except Exception:
    pass
try:
    import resource
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    facts["open_files"] = None if soft == resource.RLIM_INFINITY else soft
except Exception:
    pass
print(json.dumps(facts))
`

// factsLimit is how long an interpreter may take to tell of itself. It imports
// a few dozen modules, some 50 ms from a warm cache.
const factsLimit = 20 * time.Second

// Facts asks an interpreter for what it is. The error is a *PythonError, or
// that of the context.
func (p Python) Facts(ctx context.Context, opts PythonOptions) (*PythonFacts, error) {
	out, err := capture(ctx, factsLimit, opts, p.Path, "-c", factsProgram)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, &PythonError{p.Path, fmt.Sprintf("it did not run: %v; name another interpreter with --python", err), err}
	}
	facts := &PythonFacts{}
	if err := json.Unmarshal([]byte(lastLine(out)), facts); err != nil {
		return nil, &PythonError{p.Path, "it is no Python 3: it did not answer as one; name another interpreter with --python", err}
	}
	facts.Python = p
	return facts, nil
}

var pythonName = regexp.MustCompile(`^(python([23](\.\d+)?t?)?|pypy3?)(\.exe)?$`)

// otherPythons returns the interpreters and shims in PATH, without starting
// them, each file once, except for the one that was found.
func otherPythons(opts PythonOptions, found Python) []string {
	seen := map[string]bool{}
	for _, file := range []string{found.Path, found.Shim} {
		if file != "" {
			seen[resolved(file)] = true
		}
	}
	others := []string{}
	for _, dir := range searchPath(opts.Env, opts.Dir) {
		files, err := filepath.Glob(filepath.Join(globQuote(dir), "py*"))
		if err != nil {
			continue
		}
		for _, file := range files {
			if pythonName.MatchString(filepath.Base(file)) && !seen[resolved(file)] && isExecutable(file) {
				seen[resolved(file)] = true
				others = append(others, file)
			}
		}
	}
	return others
}

var globQuote = strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`).Replace

func resolved(file string) string {
	if real, err := filepath.EvalSymlinks(file); err == nil {
		return real
	}
	return file
}

// Node is a Node.js that was found.
type Node struct {
	Path    string `json:"path"`
	Version string `json:"version"` // such as v22.4.0; "" when it did not tell
}

// nodeLimit is how long Node.js may take to print its version, some 40 ms.
const nodeLimit = 10 * time.Second

func findNode(ctx context.Context, opts PythonOptions) *Node {
	file, ok := findInPath("node", opts.Env, opts.Dir)
	if !ok {
		return nil
	}
	out, err := capture(ctx, nodeLimit, opts, file, "--version")
	if err != nil {
		return &Node{Path: file}
	}
	return &Node{Path: file, Version: lastLine(out)}
}

// threadVariables size the thread pools inside libraries: of OpenMP, of the
// kinds of BLAS, of numexpr, Numba and macOS's Accelerate, of Node.js and of
// libvips.
var threadVariables = []string{
	"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "NUMEXPR_NUM_THREADS",
	"VECLIB_MAXIMUM_THREADS", "NUMBA_NUM_THREADS", "UV_THREADPOOL_SIZE", "VIPS_CONCURRENCY",
}

// ThreadPools returns the variables that size thread pools, with their values;
// nil for those that are not set.
func (s System) ThreadPools() map[string]*string {
	pools := make(map[string]*string, len(threadVariables))
	for _, name := range threadVariables {
		pools[name] = nil
		if value, set := s.Getenv(name); set {
			pools[name] = &value
		}
	}
	return pools
}
