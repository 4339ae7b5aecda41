package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/poolwise/poolwise/internal/machine"
	"github.com/poolwise/poolwise/internal/ui/contract"
)

// doctorSays runs doctor and returns what it printed.
func doctorSays(t *testing.T, env []string, args ...string) (string, error) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	printed := make(chan string)
	go func() {
		data, _ := io.ReadAll(read)
		printed <- string(data)
	}()
	app := &App{Env: env, Dir: t.TempDir(), Stdout: write, Stderr: os.Stderr}
	cmd := app.doctorCommand()
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	cmd.SetOut(write)
	err = cmd.ExecuteContext(t.Context())
	write.Close()
	return <-printed, err
}

func TestDoctorExamples(t *testing.T) {
	for line := range strings.Lines((&App{}).doctorCommand().Example) {
		words := strings.Fields(line)
		if len(words) < 2 || words[0] != "poolwise" || words[1] != "doctor" {
			t.Errorf("no example of doctor: %q", line)
			continue
		}
		out, err := doctorSays(t, os.Environ(), words[2:]...)
		if err != nil || out == "" {
			t.Errorf("%s: %v, printed %q", strings.TrimSpace(line), err, out)
		}
	}
}

func TestDoctorWithoutPython(t *testing.T) {
	out, err := doctorSays(t, []string{"PATH=" + t.TempDir()}, "--cpus", "0.5")
	if err != nil {
		t.Fatalf("findings are no failure: %v", err)
	}
	for _, want := range []string{
		"usable CPUs 0.5, bound by --cpus; workers for tasks that compute: 1\n", "python      none that can be used", "node        none in PATH",
		"what would hold a run back\n", "  - 0.5 of the ", "commands can: no Python was found",
		"threads     not set: BLIS_NUM_THREADS, MKL_NUM_THREADS,",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if strings.HasSuffix(out, "\n\n") || strings.Contains(out, "%!") {
		t.Errorf("odd text:\n%s", out)
	}
}

func TestDoctorRefuses(t *testing.T) {
	for _, args := range [][]string{{"--cpus", "-1"}, {"--cpus", "0"}, {"--cpus", "NaN"}} {
		_, err := doctorSays(t, nil, args...)
		var exit *ExitError
		if !errors.As(err, &exit) || exit.Status != ExitUsage {
			t.Errorf("%q: %v", args, err)
		}
	}
	if _, err := doctorSays(t, nil, "surplus"); err == nil {
		t.Error("an argument is accepted")
	}
}

func TestDoctorIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	app := &App{Env: os.Environ(), Dir: t.TempDir()}
	cmd := app.doctorCommand()
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(nil)
	err := cmd.ExecuteContext(ctx)
	var exit *ExitError
	if !errors.As(err, &exit) || exit.Status != ExitInterrupted {
		t.Errorf("got %v", err)
	}
}

// fullReport has every field.
func fullReport() doctorReport {
	n, value := int64(1), "2"
	var c machine.Context
	c.CPUs.Bounds = []machine.Bound{{Name: "cores", CPUs: 1, Detail: "all that are online"}}
	c.CPUs.Notes = []string{"note"}
	c.Memory.Limits = []machine.MemoryLimit{{File: "/file", Limit: 1 << 30, Used: 1 << 20}}
	c.Limits = machine.Limits{OpenFiles: &n, Processes: &n, Tasks: &n, SharedMemory: &n}
	c.KernelFeatures = &machine.Kernel{Pidfd: true}
	c.Processor = machine.Processor{Model: "model\x1b", Physical: 1, Logical: 2, SMT: true, Governor: "powersave", Load: []float64{1, 2, 3}}
	c.Python = &machine.PythonFacts{
		Python:  machine.Python{Path: "/python", How: "python3 in PATH", Shim: "/shim", ShimTime: time.Second},
		Version: "3.14.0", Implementation: "CPython", FreeThreaded: true, VirtualEnv: true,
		StartMethods: []string{"fork", "spawn"}, DefaultStart: "spawn", OpenFiles: &n,
	}
	c.PythonProblem, c.OtherPythons = "problem", []string{"/other"}
	c.Node = &machine.Node{Path: "/node", Version: "v22.0.0"}
	c.ThreadPools = map[string]*string{"OMP_NUM_THREADS": &value}
	return doctorReport{&c, []machine.Finding{{About: "cpus", Text: "text", Do: "remedy"}}}
}

func TestDoctorText(t *testing.T) {
	out := string(fullReport().text())
	for _, want := range []string{
		"processor   model\\x1b\n", "cores       1 physical, 2 logical, several threads each (SMT)\n", "frequency governor powersave",
		"cgroup limit         1023 MiB of 1 GiB are left, /file", "pidfd yes, memfd no",
		"CPython 3.14.0, GIL off, free-threaded build, virtual environment\n", "through the script /shim in 1 s",
		"fork, spawn (default)\n", "also in PATH: /other\n", "v22.0.0, /node\n", "OMP_NUM_THREADS=2\n", "  - text; remedy\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	quiet := doctorReport{fullReport().Context, nil}
	if !strings.Contains(string(quiet.text()), "nothing that was looked for") || !strings.Contains(string(quiet.json()), `"findings": []`) {
		t.Error("a sound machine is not said to be one")
	}
}

func TestDoctorJSONIsDocumented(t *testing.T) {
	document, err := os.ReadFile(filepath.Join("..", "..", "docs", "json-output.md"))
	if err != nil {
		t.Fatal(err)
	}
	section, err := contract.Read(string(document), "doctor")
	if err != nil {
		t.Fatal(err)
	}
	printed, err := doctorSays(t, os.Environ(), "--json")
	if err != nil || !json.Valid([]byte(printed)) {
		t.Fatalf("%v, printed %q", err, printed)
	}
	full := fullReport().json()
	outputs := [][]byte{[]byte(printed), full}
	for _, example := range section.Examples {
		outputs = append(outputs, []byte(example))
	}
	for _, output := range outputs {
		if extra, err := section.Undocumented(output); err != nil || len(extra) > 0 {
			t.Errorf("not documented: %q, %v", extra, err)
		}
	}
	if missing, err := section.Missing(full); err != nil || len(missing) > 0 {
		t.Errorf("documented, but not written: %q, %v", missing, err)
	}
}
