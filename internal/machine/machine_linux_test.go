package machine

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// This is what taskset -c does to a program.
func TestAffinityOfThisMoment(t *testing.T) {
	done := make(chan CPUs)
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: the thread ends with its mask
		var all, one unix.CPUSet
		if err := unix.SchedGetaffinity(0, &all); err != nil || all.Count() < 2 {
			return
		}
		for cpu := 0; one.Count() == 0; cpu++ {
			if all.IsSet(cpu) {
				one.Set(cpu)
			}
		}
		if unix.SchedSetaffinity(0, &one) == nil {
			done <- Here(nil).CPUs(0)
		}
	}()
	got, ok := <-done
	if !ok {
		t.Skip("this process has one CPU only")
	}
	if got.Bounds[0].Name != "affinity" || got.Bounds[0].CPUs != 1 || got.Workers != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestThisMachine(t *testing.T) {
	s := Here(os.Environ())
	b := s.Brief(0)
	if b.CPUs.Usable <= 0 || b.CPUs.Workers < 1 || b.Memory.Total <= 0 || b.Memory.Usable <= 0 || b.Kernel == "" {
		t.Errorf("got %+v", b)
	}
	p := s.processor(b.CPUs.Logical)
	if p.Logical < 1 || p.Physical > p.Logical || len(p.Load) != 3 {
		t.Errorf("got %+v", p)
	}
}

// What a run does at its start.
func BenchmarkBrief(b *testing.B) {
	s := Here(os.Environ())
	for b.Loop() {
		s.Brief(0)
	}
}

func BenchmarkTreeUsage(b *testing.B) {
	pids := []int{os.Getpid(), os.Getppid(), 1, 2}
	for b.Loop() {
		TreeUsage(pids)
	}
}
