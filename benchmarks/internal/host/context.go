package host

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// A Measurement is what Facts has to be told.
type Measurement struct {
	Command string // that made the figures
	Here    string // a folder of the checkout
	Python  string // the interpreter of both sides
	Version string // of poolwise; empty for that of the checkout
	Load    string // the load average before
}

// Facts says where and with what figures were made, as names and values: figures
// without it mean nothing.
func Facts(ctx context.Context, m Measurement) [][2]string {
	if m.Version == "" {
		m.Version = FirstLine(ctx, "git", "-C", m.Here, "describe", "--tags", "--always", "--dirty") + ", " + runtime.Version()
	}
	return [][2]string{
		{"made by", "`" + m.Command + "`"},
		{"date", time.Now().UTC().Format("2006-01-02 15:04 UTC")},
		{"poolwise", m.Version},
		{"machine", fmt.Sprintf("%d usable CPUs, %s, %s of memory", runtime.NumCPU(), cpuModel(), memory())},
		{"system", FirstLine(ctx, "uname", "-srm")},
		{"load average", m.Load + " before, " + Load() + " after (1, 5, 15 minutes)"},
		{"Python", FirstLine(ctx, m.Python, "-c", "import platform; print(platform.python_implementation(), platform.python_version())")},
	}
}

// FirstLine returns the first line that a command prints, "unknown" if it fails.
func FirstLine(ctx context.Context, argv ...string) string {
	out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).Output()
	if err != nil {
		return "unknown"
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return line
}

// Pins returns what a requirements file pins, "joblib 1.6.0" and so on.
func Pins(requirements string) (found []string) {
	text, _ := os.ReadFile(requirements)
	for line := range strings.Lines(string(text)) {
		if name, version, pinned := strings.Cut(strings.TrimSpace(line), "=="); pinned {
			found = append(found, name+" "+version)
		}
	}
	return found
}

// Load returns the load averages of 1, 5 and 15 minutes, "unknown" where the
// system does not tell.
func Load() string {
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
