package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/poolwise/poolwise/internal/engine"
	"github.com/poolwise/poolwise/internal/guardian"
	"github.com/poolwise/poolwise/internal/journal"
	"github.com/poolwise/poolwise/internal/machine"
	"github.com/poolwise/poolwise/internal/pilot"
	"github.com/poolwise/poolwise/internal/proc"
	"github.com/poolwise/poolwise/internal/profile"
	"github.com/poolwise/poolwise/internal/sink"
	"github.com/poolwise/poolwise/internal/source"
	"github.com/poolwise/poolwise/internal/ui"
	"github.com/poolwise/poolwise/plan"
)

// grace is how long running items may go on after Ctrl-C.
const grace = 10 * time.Second

// session is one run, from the command line to the exit status. prepare reads
// and checks, and leaves no trace; open makes what the run needs; execute runs;
// finish delivers, tells, and clears up.
type session struct {
	app   *App
	flags *runFlags
	inv   *invocation

	plan   plan.Plan
	system machine.System
	cpus   machine.CPUs
	source *source.Reader
	format source.Format
	task   launcher

	dir      *journal.Dir
	info     *journal.Info
	journal  *journal.Writer
	log      *journal.Log
	target   *sink.Target
	sink     *sink.Sink
	guardian *guardian.Guardian
	engine   *engine.Run
	progress *ui.Progress

	pilot      *pilot.Pilot // nil where the plan was given
	planOnly   bool         // poolwise plan: stop after the sample
	prior      *profile.Profile
	profileKey profile.Key
	decisions  []*pilot.Decision
	infoLock   sync.Mutex // guards decisions, and info while the run goes on

	begun     time.Time
	mode      ui.Mode
	meter     machine.Meter
	signals   chan os.Signal
	logFailed sync.Once
	ended     error // why the engine ended early, nil when it did not
}

// launcher starts the workers of one kind of task.
type launcher interface {
	// start starts worker number n for a plan and returns when it is ready.
	start(ctx context.Context, n int, p plan.Plan) (engine.Worker, error)
	// describe fills in what run.json says of the task.
	describe(info *journal.Info)
	// dryRun writes what would be run for the items.
	dryRun(w io.Writer, src engine.Source) error
}

// prepare checks everything that can be checked before anything is made.
func (a *App) prepare(ctx context.Context, f *runFlags, inv *invocation) (*session, error) {
	s := &session{app: a, flags: f, inv: inv, begun: time.Now()}
	var err error
	s.system = machine.Here(a.Env)
	s.cpus = s.system.CPUs(f.cpus)
	if s.mode, err = ui.ParseMode(f.progress.value); err != nil {
		return nil, usagef("--progress %w", err)
	}
	if s.plan, err = givenPlan(f, &inv.task); err != nil {
		return nil, err
	}
	if err := s.checkDescriptors(); err != nil {
		return nil, err
	}
	if err := s.checkOutput(); err != nil {
		return nil, err
	}
	if err := s.openSource(); err != nil {
		return nil, err
	}
	if n, known := s.source.Total(); known {
		// A process more than there are items would have nothing to do.
		s.plan.Processes = max(1, min(s.plan.Processes, int(min(n, plan.MaxProcesses))))
	}
	if inv.task.isCommand() {
		s.task, err = s.commandLauncher()
	} else {
		s.task, err = s.pythonLauncher(ctx)
	}
	if err != nil {
		s.source.Close()
		return nil, usagef("%w", err)
	}
	return s, nil
}

const (
	// A worker takes up to ten descriptors of poolwise's while it starts, and
	// everything else together some thirty.
	workerFiles, otherFiles = 10, 40
)

// checkDescriptors sees to it that there can be as many workers as planned.
func (s *session) checkDescriptors() error {
	limit := s.system.Limits().OpenFiles
	if limit == nil || *limit >= int64(otherFiles+workerFiles*s.plan.Processes) {
		return nil
	}
	fit := int(*limit-otherFiles) / workerFiles
	if fit < 1 {
		return usagef("at most %d files may be open here, and a run needs %d; raise the limit (ulimit -n)", *limit, otherFiles+workerFiles)
	}
	if s.flags.plan.plan != nil {
		return usagef("--plan %s: at most %d files may be open here, which is enough for %d processes; raise the limit (ulimit -n) or plan fewer",
			s.plan, *limit, fit)
	}
	s.plan.Processes = fit
	return nil
}

// checkOutput refuses an output that is one of the inputs.
func (s *session) checkOutput() error {
	out := s.flags.output
	if out == "" {
		return nil
	}
	if os.IsPathSeparator(out[len(out)-1]) {
		return usagef("-o %s: this names a directory; name a file in it", out)
	}
	to, err := os.Stat(s.app.path(out))
	if err != nil {
		return nil // not there yet
	}
	inputs := s.inv.inputs
	if len(inputs) == 0 && !s.inv.listed {
		inputs = []string{"-"}
	}
	for _, in := range inputs {
		if from, err := s.app.stat(in); err == nil && os.SameFile(from, to) && to.Mode().IsRegular() {
			return usagef("-o %s: this file is an input too; it would be replaced while it is read", out)
		}
	}
	return nil
}

// stat describes an input: - is standard input.
func (a *App) stat(input string) (os.FileInfo, error) {
	if input == "-" {
		return a.Stdin.Stat()
	}
	return os.Stat(a.path(input))
}

func (s *session) openSource() error {
	f := s.flags
	var err error
	if s.format, err = source.ParseFormat(f.from.value); err != nil {
		return usagef("--from %w", err)
	}
	cr, err := source.ParseCRMode(f.cr.value)
	if err != nil {
		return usagef("--cr %w", err)
	}
	cfg := source.Config{
		Inputs: s.inv.inputs, Format: s.format, Stdin: s.app.Stdin, Dir: s.app.Dir,
		MaxItem: int64(f.maxItem), CR: cr, KeepEmpty: f.keepEmpty,
	}
	if s.inv.listed {
		cfg.Args, cfg.Inputs = append([]string{}, s.inv.items...), nil
	} else if len(cfg.Inputs) == 0 {
		if s.format == source.Paths {
			return usagef("--from paths needs the paths: as arguments, or as globs such as '**/*.txt'")
		}
		if isTerminal(s.app.Stdin) {
			return usagef("no input: name files, give items after :::, or pipe them in (- reads from this terminal)")
		}
		cfg.Inputs = []string{"-"}
	}
	if f.output != "" {
		cfg.Exclude = []string{s.app.path(f.output)}
	}
	if s.source, err = source.Open(cfg); err != nil {
		return usagef("%w", err)
	}
	return nil
}

// open makes the run directory and all that writes to it.
func (s *session) open() error {
	f := s.flags
	var err error
	if s.dir, err = journal.CreateDir(s.app.path(f.runDir), s.begun); err != nil {
		return usagef("%w", err)
	}
	if s.journal, err = journal.Create(s.dir.Path("journal.jsonl")); err != nil {
		return usagef("%w", err)
	}
	s.log = journal.NewLog(s.dir.Path("log"), journal.LogOptions{Start: s.begun})
	if s.target, err = s.openTarget(); err != nil {
		return usagef("%w", err)
	}
	if s.guardian, err = guardian.Start(); err != nil {
		return usagef("the guardian, which ends everything if poolwise is killed, cannot be started: %w", err)
	}
	s.info = s.describe()
	if err := s.dir.WriteInfo(s.info); err != nil {
		return usagef("%w", err)
	}
	s.sink = sink.New(sink.Options{
		Format: sinkFormats[f.format.value], Unordered: f.unordered, OnError: sinkErrors[f.onError.value],
		Command: s.inv.task.isCommand(), Out: s.target, Journal: s.journal, Dir: s.dir.Path("."),
		Room: func() { s.engine.SinkReady() },
		Fail: func(err error) { s.engine.Stop(&engine.OutputError{Err: err}) },
	})
	cfg := engine.Config{
		Plan: s.plan, Chunk: f.chunk, Window: f.window, Source: s.source, Start: s.task.start,
		Journal: s.journal, Sink: s.sink, KeepInput: f.format.value == "records",
		Grace: grace, Origin: proc.Now(), Note: s.note,
	}
	if s.auto() {
		s.pilot = s.newPilot()
		s.plan = s.pilot.Start()
		cfg.Plan, cfg.Sample, cfg.Steer, cfg.Observer = s.plan, true, s.pilot.Steer, s.pilot
	}
	s.engine = engine.New(cfg)
	term, _ := s.system.Getenv("TERM")
	s.progress = ui.New(ui.Options{Mode: s.mode, Out: s.app.Stderr, Term: term, Snapshot: s.snapshot, Quiet: f.quiet})
	return nil
}

var (
	sinkFormats = map[string]sink.Format{"values": sink.Values, "records": sink.Records}
	sinkErrors  = map[string]sink.OnError{"omit": sink.Omit, "null": sink.Null}
)

// openTarget opens what the results are written to.
func (s *session) openTarget() (*sink.Target, error) {
	if s.planOnly {
		return sink.Stream(io.Discard, "of the sample"), nil // its results stay in the journal
	}
	if s.flags.output == "" {
		return sink.Stream(s.app.Stdout, "to standard output"), nil
	}
	return sink.OpenTarget(s.app.path(s.flags.output), s.dir.ID)
}

// execute runs the batch to its end.
func (s *session) execute() {
	s.meter.Read(time.Now(), nil) // what it tells later is since now
	s.progress.Start(context.Background())
	s.ended = s.engine.Do()
	s.progress.Stop()
}

// discard gives up a run of which nothing has been run.
func (s *session) discard() {
	s.source.Close()
	if s.target != nil {
		s.target.Abort()
	}
	if s.guardian != nil {
		s.guardian.Release()
	}
	if s.journal != nil {
		_ = s.journal.CloseUnsynced() // nothing was written to it
	}
	if s.dir != nil {
		_ = s.dir.Remove() // an empty record is no more than untidy
	}
}

// path makes a name of the command line absolute.
func (a *App) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(a.Dir, name)
}

// note says something once, now if there is a progress display.
func (s *session) note(text string) {
	if s.progress != nil {
		s.progress.Note(text)
	}
}

// failedStart reports whether the run ended before any item was tried, because
// no worker could be started.
func failedStart(err error) bool {
	return err != nil && exitOf(err) == ExitUsage
}

// isGone reports an output whose reader has left, such as head.
func isGone(err error) bool { return errors.Is(err, syscall.EPIPE) }
