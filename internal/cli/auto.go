package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime"
	"time"

	"github.com/poolwise/poolwise/internal/engine"
	"github.com/poolwise/poolwise/internal/journal"
	"github.com/poolwise/poolwise/internal/machine"
	"github.com/poolwise/poolwise/internal/pilot"
	"github.com/poolwise/poolwise/internal/profile"
	"github.com/poolwise/poolwise/plan"
)

// A run without --plan is steered by a pilot. This file gives it what it is to
// know of the machine, of the user's wishes and of earlier runs, and keeps what
// it has decided.

// mostSlots is how many slots a worker of such a run can have at most; more
// have to be asked for.
const mostSlots = 4096

// auto reports whether the plan is to be chosen.
func (s *session) auto() bool { return s.flags.plan.plan == nil }

// newPilot returns the pilot of a run.
func (s *session) newPilot() *pilot.Pilot {
	if !s.flags.noProfile {
		s.profileKey = s.keyOfProfile()
		s.prior, _ = profile.Load(s.app.cacheDir(), s.profileKey) // what cannot be read is learnt anew
	}
	return pilot.New(pilot.Config{
		Machine: s.planMachine(), Rules: s.planRules(), Command: s.inv.task.isCommand(), Total: s.total,
		Resident: func(pids []int) int64 { _, rss := machine.TreeUsage(pids); return rss },
		Prior:    s.prior, SampleOnly: s.planOnly, Decided: s.decided, Steered: makeRoom,
	})
}

// total returns how many items the source has, or an estimate by the bytes that
// were read of all; 0 where there is none.
func (s *session) total() (n uint64, certain bool) {
	if n, known := s.source.Total(); known {
		return n, true
	}
	read, size := s.source.Bytes()
	if read <= 0 || size <= 0 {
		return 0, false
	}
	return uint64(float64(s.engine.Read()) * max(1, float64(size)/float64(read))), false
}

// makeRoom lets the lanes of a plan run beside each other: they block in system
// calls on threads of their own, and with fewer processors than lanes they
// would wait for each other.
func makeRoom(p plan.Plan) {
	if want := max(4, p.Processes+2); want > runtime.GOMAXPROCS(0) {
		runtime.GOMAXPROCS(want)
	}
}

func (s *session) planRules() plan.Rules {
	r := plan.Rules{MaxSlots: mostSlots}
	switch {
	case s.flags.noThreads:
		r.Threads = plan.ThreadsNever
	case s.flags.threadsOK:
		r.Threads = plan.ThreadsOK
	}
	return r
}

// planMachine returns what plans have to keep to, and why.
func (s *session) planMachine() plan.Machine {
	m := plan.Machine{CPUs: s.cpus.Usable, CPUBound: s.cpus.Bound}
	memory := s.system.Memory()
	m.Memory, m.MemoryBound = memory.Usable, memory.Bound
	if limit := int64(s.flags.memory); limit > 0 && (m.Memory == 0 || limit < m.Memory) {
		m.Memory, m.MemoryBound = limit, "--memory"
	}
	limits := s.system.Limits()
	bound := func(n int, name string) {
		if n = max(n, 1); m.MaxProcesses == 0 || n < m.MaxProcesses {
			m.MaxProcesses, m.ProcessBound = n, name
		}
	}
	bound(plan.MaxProcesses, "poolwise")
	if limits.OpenFiles != nil {
		bound(int(*limits.OpenFiles-otherFiles)/workerFiles, "open files (ulimit -n)")
	}
	if limits.Tasks != nil {
		// Half of what is left: the workers may start threads and processes too.
		bound(int(*limits.Tasks/2), "pids of the control group")
	}
	if limits.Processes != nil {
		bound(int(*limits.Processes/2), "processes (ulimit -u)")
	}
	return m
}

// decided keeps and tells what the pilot has decided.
func (s *session) decided(d *pilot.Decision) {
	if !s.planOnly {
		s.explain(d)
	}
	s.infoLock.Lock()
	defer s.infoLock.Unlock()
	s.decisions = append(s.decisions, d)
	if len(s.decisions) == 1 {
		s.info.Why = d.Choice.Explain(&d.Task, s.planMachine(), d.Batch).Because
		s.info.Prediction = predictionOf(d)
	}
	s.info.Plan = d.Plan.String()
	if err := s.dir.WriteInfo(s.info); err != nil {
		s.note(err.Error())
	}
}

func predictionOf(d *pilot.Decision) *journal.Prediction {
	best := &d.Choice.Best
	return &journal.Prediction{
		Plan: d.Plan.String(), After: int64(d.After), Items: d.Batch.Items,
		Time: int64(best.Time), Low: int64(best.Low), High: int64(best.High), Serial: int64(d.Choice.Serial.Time),
	}
}

// currentPlan is the plan that is in effect.
func (s *session) currentPlan() plan.Plan {
	if s.auto() && s.engine != nil {
		return s.engine.Course().Plan
	}
	return s.plan
}

// lastDecision is the latest one, nil before the first.
func (s *session) lastDecision() *pilot.Decision {
	s.infoLock.Lock()
	defer s.infoLock.Unlock()
	if len(s.decisions) == 0 {
		return nil
	}
	return s.decisions[len(s.decisions)-1]
}

// keyOfProfile names what is learnt of this task, on this machine.
func (s *session) keyOfProfile() profile.Key {
	var info journal.Info
	s.task.describe(&info)
	name := s.inv.task.Name
	if s.inv.task.isCommand() {
		name = fmt.Sprintf("%q %v %v", s.inv.task.Command, s.flags.shell, s.flags.stdin)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", info.Task.Digest, name, s.flags.init))
	return profile.Key{
		Task:        hex.EncodeToString(sum[:]),
		Interpreter: info.Task.Interpreter,
		Machine:     fmt.Sprintf("%s/%s, %.3g CPUs by %s", runtime.GOOS, runtime.GOARCH, s.cpus.Usable, s.cpus.Bound),
	}
}

// remember keeps what this run has learnt for the next one. That it cannot be
// kept is no reason to fail, nor to tell.
func (s *session) remember(outcome engine.Snapshot) {
	if s.pilot == nil || s.flags.noProfile || s.app.cacheDir() == "" || tried(outcome) == 0 {
		return
	}
	if learnt := s.pilot.Learnt(); learnt != nil {
		learnt.Saved = time.Now()
		_ = profile.Save(s.app.cacheDir(), s.profileKey, learnt)
	}
}
