package cli

import (
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/internal/engine"
	"github.com/poolwise/poolwise/internal/journal"
	"github.com/poolwise/poolwise/internal/machine"
	"github.com/poolwise/poolwise/internal/supervisor"
	"github.com/poolwise/poolwise/internal/wire"
	"github.com/poolwise/poolwise/plan"
	"github.com/poolwise/poolwise/workers/python"
)

// threadVariables bound the threads that libraries start by themselves. They
// are read when a library is loaded, so they must be there before the task.
var threadVariables = []string{
	"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS",
	"VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS", "VIPS_CONCURRENCY", "UV_THREADPOOL_SIZE",
}

// childEnv is the environment of what a run starts: without the variables
// that tune poolwise, with bounds for the threads of libraries where the user
// has set none, and with the guardian's cookie.
func (s *session) childEnv(p plan.Plan) []string {
	env := make([]string, 0, len(s.app.Env)+len(threadVariables)+1)
	set := map[string]bool{}
	for _, e := range s.app.Env {
		name, _, _ := strings.Cut(e, "=")
		set[name] = true
		if !isTuning(name) {
			env = append(env, e)
		}
	}
	inner := max(1, int(math.Floor(s.cpus.Usable))/p.Processes)
	for _, name := range threadVariables {
		if !set[name] {
			env = append(env, name+"="+strconv.Itoa(inner))
		}
	}
	return append(env, s.guardian.Cookie())
}

// isTuning tells variables that set flags of run from others of the same
// prefix, such as those that poolwise gives to a child.
func isTuning(name string) bool {
	flag := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, envPrefix), "_", "-"))
	return strings.HasPrefix(name, envPrefix) && tuningFlags[flag]
}

// pythonTask runs a Python function.
type pythonTask struct {
	s      *session
	python machine.Python
	shim   string // where the worker's source lies
}

func (s *session) pythonLauncher(ctx context.Context) (*pythonTask, error) {
	py, err := machine.FindPython(ctx, machine.PythonOptions{Flag: s.flags.python, Env: s.app.Env, Dir: s.app.Dir})
	if err != nil {
		return nil, err
	}
	t := &pythonTask{s: s, python: py}
	if s.flags.dryRun {
		return t, nil
	}
	if t.shim, err = s.installWorker(); err != nil {
		return nil, err
	}
	return t, nil
}

// installWorker lays the worker's source into the user's cache, or, where that
// cannot be written, beside the runs.
func (s *session) installWorker() (string, error) {
	if cache := s.app.cacheDir(); cache != "" {
		if dir, err := python.Install(cache); err == nil {
			return dir, nil
		}
	}
	return python.Install(filepath.Join(s.app.path(s.flags.runDir), "worker"))
}

func (t *pythonTask) start(ctx context.Context, n int, p plan.Plan) (engine.Worker, error) {
	s := t.s
	capacity := 0
	if s.auto() {
		capacity = mostSlots // how many there will be is not decided yet
	}
	w, err := supervisor.Start(ctx, supervisor.Config{
		Number:  n,
		Command: python.Command(t.python.Path, t.shim),
		Env:     s.childEnv(p),
		Dir:     s.app.Dir,
		Load: wire.LoadBody{
			Task: s.inv.task.Python, Kind: p.Kind.String(), Slots: p.Slots, Capacity: capacity, Init: s.flags.init,
		},
		MaxFrame:    maxFrame(int64(s.flags.maxItem)),
		Output:      s.logOutput,
		ChannelLost: python.ChannelLost,
		Explain:     python.Explain,
	})
	if err != nil {
		return nil, err
	}
	hello := w.Hello()
	s.setRuntime(hello.Runtime + " " + hello.Version)
	return s.guarded(w)
}

// setRuntime keeps what the interpreter says of itself, for run.json.
func (s *session) setRuntime(text string) {
	s.infoLock.Lock()
	defer s.infoLock.Unlock()
	s.info.Task.Runtime = text
}

// guarded returns the worker, unless there is no guardian to watch over it: by
// now it has had the time to come up.
func (s *session) guarded(w engine.Worker) (engine.Worker, error) {
	err := s.guardian.Started()
	if err == nil {
		return w, nil
	}
	w.Kill()
	for {
		if _, ended := w.Wait(); ended != nil {
			return nil, fmt.Errorf("the guardian, which ends everything if poolwise is killed, cannot be started: %w", err)
		}
	}
}

// maxFrame is the largest frame that a worker may send: values may be larger
// than items, but not without a limit.
func maxFrame(maxItem int64) int64 { return max(4*maxItem, 1<<30) }

func (t *pythonTask) describe(info *journal.Info) {
	info.Task.Kind = "python"
	info.Task.Interpreter = t.python.Path
	info.Task.Digest = fileDigest(t.s.inv.task.Python.File)
}

func (t *pythonTask) dryRun(w io.Writer, src engine.Source) error {
	chosen := t.s.plan.String()
	if t.s.auto() {
		chosen = "auto: chosen once the first items have been measured (poolwise plan runs these only)"
	}
	_, err := fmt.Fprintf(w, "task         %s\ninterpreter  %s\nplan         %s\n", t.s.inv.task.Name, t.python.Path, chosen)
	return err
}

// logOutput keeps what tasks print.
func (s *session) logOutput(out batch.Output) {
	if err := s.log.Write(out); err != nil {
		s.logBroke(err)
	}
}

// logBroke says once that what tasks print is lost.
func (s *session) logBroke(err error) {
	s.logFailed.Do(func() { s.note("what tasks print is no longer kept: " + err.Error()) })
}
