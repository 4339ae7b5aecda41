//go:build linux || darwin

package supervisor_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/internal/engine"
	"github.com/poolwise/poolwise/internal/supervisor"
	"github.com/poolwise/poolwise/internal/wire"
	"github.com/poolwise/poolwise/internal/workertest"
	"github.com/poolwise/poolwise/workers/python"
)

// conforming holds the suite's tasks.
const conforming = `
import asyncio, os, signal, subprocess, sys

def meet(folder, line=""):
    with open(folder + "/started", "w") as f:
        f.write(line + "\n")
    with open(folder + "/release", "rb", buffering=0) as f:
        f.read(1)

def echo(x):
    return x

def fails(x):
    if x.startswith("fail"):
        raise ValueError(x)
    return x

def prints(x):
    sys.stderr.write(x)
    return x

def waits(x):
    if x.startswith("/"):
        meet(x)
    return x

def makes(x):
    return "x" * int(x)

def leaves(x):
    meet(x, str(subprocess.Popen(["sleep", "3600"]).pid))

def dies(x):
    if x == "exit":
        os._exit(3)
    if x == "signal":
        signal.raise_signal(signal.SIGSEGV)
    return waits(x)

async def aecho(x): return echo(x)
async def afails(x): return fails(x)
async def aprints(x): return prints(x)
async def awaits(x): return await asyncio.to_thread(waits, x) if x.startswith("/") else x
async def amakes(x): return makes(x)
async def aleaves(x): return await asyncio.to_thread(leaves, x)
async def adies(x): return dies(x) if x in ("exit", "signal") else await awaits(x)
`

func TestConformance(t *testing.T) {
	for _, c := range []struct {
		kind, prefix string
		slots        int
	}{{"serial", "", 1}, {"threads", "", 3}, {"async", "a", 4}} {
		t.Run(c.kind, func(t *testing.T) {
			file := writeFile(t, "conforming.py", conforming)
			workertest.Run(t, workertest.Kind{
				Slots:   c.slots,
				Largest: 1 << 30,
				Text:    unquote,
				Start: func(ctx context.Context, task workertest.Task, output func(batch.Output)) (engine.Worker, error) {
					w, err := supervisor.Start(ctx, pythonConfig(file, c.prefix+string(task), c.kind, c.slots, output))
					if err != nil {
						return nil, err // not a nil pointer in an interface
					}
					return w, nil
				},
			})
		})
	}
}

func unquote(value []byte) (text string, err error) {
	err = json.Unmarshal(value, &text)
	return text, err
}

func failureOf(t *testing.T, text []byte) (f batch.Failure) {
	t.Helper()
	if err := json.Unmarshal(text, &f); err != nil {
		t.Errorf("a failure that is no JSON: %v: %q", err, text)
	}
	return f
}

// pythonConfig is how poolwise starts a Python worker.
func pythonConfig(file, name, kind string, slots int, output func(batch.Output)) supervisor.Config {
	return supervisor.Config{
		Number:      1,
		Command:     python.Command(interpreter, shim),
		Env:         os.Environ(),
		Dir:         filepath.Dir(file),
		Load:        wire.LoadBody{Task: wire.TaskRef{File: file, Name: name}, Kind: kind, Slots: slots},
		MaxFrame:    1 << 30,
		Output:      output,
		Explain:     python.Explain,
		ChannelLost: python.ChannelLost,
	}
}

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
