package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// facts says where and with what the figures were made: figures without it
// mean nothing.
func facts(ctx context.Context, s *Setup, command string, loadBefore string) [][2]string {
	first := func(argv ...string) string {
		out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).Output()
		if err != nil {
			return "unknown"
		}
		line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		return line
	}
	if s.Version == "" {
		s.Version = first("git", "-C", s.Here, "describe", "--tags", "--always", "--dirty") + ", " + runtime.Version()
	}
	tools := []string{first("xargs", "--version")}
	if s.NoParallel == "" {
		tools = append(tools, first("parallel", "--version"))
	}
	return [][2]string{
		{"made by", "`" + command + "`"},
		{"date", time.Now().UTC().Format("2006-01-02 15:04 UTC")},
		{"poolwise", s.Version},
		{"machine", fmt.Sprintf("%d usable CPUs, %s, %s of memory", runtime.NumCPU(), cpuModel(), memory())},
		{"system", first("uname", "-srm")},
		{"load average", loadBefore + " before, " + load() + " after (1, 5, 15 minutes)"},
		{"Python", first(s.Python, "-c", "import platform; print(platform.python_implementation(), platform.python_version())")},
		{"peers", strings.Join(append(pins(s.Here), tools...), ", ")},
	}
}

// pins returns the requirements, "joblib 1.6.0" and so on.
func pins(here string) (found []string) {
	text, _ := os.ReadFile(filepath.Join(here, "requirements.txt"))
	for line := range strings.Lines(string(text)) {
		if name, version, pinned := strings.Cut(strings.TrimSpace(line), "=="); pinned {
			found = append(found, name+" "+version)
		}
	}
	return found
}

func load() string {
	text, _ := os.ReadFile("/proc/loadavg")
	fields := strings.Fields(string(text))
	if len(fields) < 3 {
		return "unknown"
	}
	return strings.Join(fields[:3], " ")
}

func cpuModel() string {
	if model := procField("/proc/cpuinfo", "model name"); model != "" {
		return model
	}
	return runtime.GOARCH
}

func memory() string {
	kib, err := strconv.ParseFloat(strings.TrimSuffix(procField("/proc/meminfo", "MemTotal"), " kB"), 64)
	if err != nil {
		return "unknown"
	}
	return fmt.Sprintf("%.1f GB", kib*1024/1e9)
}

func procField(path, name string) string {
	text, _ := os.ReadFile(path)
	for line := range strings.Lines(string(text)) {
		if key, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
