//go:build linux || darwin

package supervisor_test

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/poolwise/poolwise/internal/supervisor"
	"github.com/poolwise/poolwise/internal/wire"
	"github.com/poolwise/poolwise/internal/workertest"
	"github.com/poolwise/poolwise/workers/python"
)

// badConfig starts the test binary as a bad worker.
func badConfig(t *testing.T, name string) supervisor.Config {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return supervisor.Config{
		Command:  []string{self},
		Env:      append(os.Environ(), badWorker+"="+name),
		Load:     wire.LoadBody{Kind: "serial", Slots: 1},
		MaxFrame: 1 << 20, Explain: python.Explain, ChannelLost: python.ChannelLost,
	}
}

// startBad starts a worker that shows what it is only later.
func startBad(t *testing.T, name string) *worker {
	t.Helper()
	workertest.NothingLeft(t)
	w := &worker{t: t, answers: map[uint64]string{}}
	cfg := badConfig(t, name)
	cfg.Output = w.keep
	var err error
	if w.Worker, err = supervisor.Start(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.Kill()
		w.finish()
	})
	return w
}

func TestBadStarts(t *testing.T) {
	const ended = "the worker was ended by poolwise before it was ready: "
	for name, want := range map[string]string{
		"is too old": "the worker exited 86 before it was ready: this Python is too old\n\n" +
			"  poolwise needs Python 3.8 or later; /opt/python is 2.7.18\n",
		"speaks another version": ended + "the worker speaks version 2 of the protocol, poolwise 1",
		"sends garbage": ended + "protocol: header: a frame of type 116 with 7935469438780008808 bytes" +
			" is larger than the limit of 1048576",
		"is ready too soon": ended + "the worker sent a frame of type 65 out of turn",
		"answers too soon":  ended + "the worker sent a frame of type 67 out of turn",
		"breaks its hello":  ended + "hello frame: unexpected end of JSON input",
		"breaks its ready": ended + "ready frame: json: cannot unmarshal array into Go value of type" +
			" wire.ReadyBody",
		"cannot, and stays": "it will not\ninterpreter   ()\nsearched     ",
	} {
		t.Run(name, func(t *testing.T) {
			if strings.HasSuffix(name, "stays") && testing.Short() {
				t.Skip("takes 5 s")
			}
			cfg := badConfig(t, name)
			err := startError(t, cfg)
			if strings.HasPrefix(want, "the worker") {
				want += "\ninterpreter  " + cfg.Command[0]
			}
			if got := err.Error(); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			var d *supervisor.Death
			if dead := errors.As(err, &d); dead != (err.Cannot == nil) {
				t.Errorf("Err is %v", err.Err)
			}
		})
	}
}

func TestStartOfSilentWorker(t *testing.T) {
	workertest.NothingLeft(t)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := supervisor.Start(ctx, badConfig(t, "says nothing")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Start returns %v", err)
	}
}

// TestBadWorkers hands item 0 to workers that do not keep to the protocol.
func TestBadWorkers(t *testing.T) {
	const ended = "ended by poolwise: "
	for _, c := range []struct{ name, told, death string }{
		{"sends too large a frame", "", ended + "protocol: header: a frame of type 67 with 2097152 bytes is larger than the limit of 1048576"},
		{"sends a bad result", "", ended + "protocol: result frame: 16 bytes do not hold 0 results"},
		{"sends a bad output", "", ended + "protocol: output frame: its head is wrong"},
		{"answers, then garbage", `ok: "x"`, ended + "protocol: header: a frame of type 103 with 7431050879851197025 bytes is larger than the limit of 1048576"},
		{"dies amid a frame", "", "exited 0 without answering"},
		{"answers and dies", `ok: "x"`, "exited 0 without answering"},
		{"closes its socket", "", ended + "it closed its connection to poolwise and went on"},
		{"is ready twice", "", ended + "the worker sent a frame of type 65 out of turn"},
		{"leaves unasked", "", ended + "the worker sent a frame of type 69 out of turn"},
		{"cannot after all", "", ended + "the worker sent a frame of type 66 out of turn"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := startBad(t, c.name)
			w.Submit(items("a")) // it may be gone already
			d := w.death()
			if got := d.Error(); got != c.death {
				t.Errorf("got  %s\nwant %s", got, c.death)
			}
			if got := w.told(0); got != c.told {
				t.Errorf("item 0: %q, want %q", got, c.told)
			}
			if len(d.Running) > 0 || d.Killed || d.Ended != strings.HasPrefix(c.death, ended) {
				t.Errorf("an odd death: %+v", d)
			}
		})
	}
}

func TestUnknownFramesAreSkipped(t *testing.T) {
	w := startBad(t, "sends unknown frames")
	w.run(items("a", "b")...)
	w.drain()
}

// TestAnswersOfOthers: whether an answer makes sense is the engine's to judge.
func TestAnswersOfOthers(t *testing.T) {
	w := startBad(t, "answers others' items")
	w.run(items("a")...)
	if w.told(77) == "" || w.err != nil {
		t.Errorf("told are %v, %v", w.answers, w.err)
	}
}

func TestWorkerThatReadsNothing(t *testing.T) {
	w := startBad(t, "reads nothing")
	for range 16 {
		if err := w.Submit(items(strings.Repeat("x", 4<<20))); err != nil {
			t.Fatal(err)
		}
	}
	w.Wake()
	w.wait()
	w.Drain()
	w.Kill()
	if d := w.death(); !d.Killed {
		t.Errorf("died thus: %+v", d)
	}
}

func TestWorkerThatIgnoresDrain(t *testing.T) {
	w := startBad(t, "ignores drain")
	w.Drain()
	w.Wake()
	w.wait()
	if w.err != nil {
		t.Fatalf("it ends with %v", w.err)
	}
	w.Kill()
	if d := w.death(); !d.Killed || d.Signal != unix.SIGKILL {
		t.Errorf("died thus: %+v", d)
	}
}

func TestWorkerThatStays(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 5 s")
	}
	w := startBad(t, "says bye and stays")
	w.run(items("a")...)
	began := time.Now()
	w.Drain()
	w.finish()
	if took := time.Since(began); w.err != io.EOF || took < 4*time.Second || took > 8*time.Second {
		t.Errorf("after %v: %v", took, w.err)
	}
}

// TestFloodDoesNotDeafen: Wake and Kill are heard, and what waits is sent.
func TestFloodDoesNotDeafen(t *testing.T) {
	w := startBad(t, "prints without end")
	w.Submit(items(strings.Repeat("x", 4<<20)))
	for range 20 {
		began := time.Now()
		w.Wake()
		w.wait()
		if took := time.Since(began); took > 2*time.Second || w.err != nil {
			t.Fatalf("after Wake, Wait returns in %v: %v", took, w.err)
		}
		w.output = nil
	}
	began := time.Now()
	w.Kill()
	if d := w.death(); !d.Killed || time.Since(began) > time.Second {
		t.Errorf("after %v: %+v", time.Since(began), d)
	}
}

// TestPageIsNotTrusted: a worker can write anything there.
func TestPageIsNotTrusted(t *testing.T) {
	w := startBad(t, "scribbles on its page")
	w.run(items("a")...)
	if got := w.Running(nil); len(got) > 1 {
		t.Errorf("one slot runs %v", got)
	}
	w.drain()
}
