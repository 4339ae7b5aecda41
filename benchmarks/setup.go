package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/poolwise/poolwise/benchmarks/internal/host"
)

// notInstalled begins the reason why a peer could not be measured here.
const notInstalled = "not installed: "

// prepare makes the virtual environment of the peers and looks for GNU
// parallel. What it makes stays below .cache for the next time.
func prepare(ctx context.Context, here string, log func(string, ...any)) (*Setup, error) {
	s := &Setup{Here: here}
	if err := os.MkdirAll(filepath.Join(here, ".cache"), 0o755); err != nil {
		return nil, err
	}
	var err error
	if s.Python, err = host.Venv(ctx, filepath.Join(here, ".cache", "venv"), s.requirements(), log); err != nil {
		return nil, fmt.Errorf("the peers' virtual environment: %w", err)
	}
	if err := parallel(ctx, log); err != nil {
		s.NoParallel = notInstalled + err.Error()
		log("GNU parallel: %s", s.NoParallel)
	}
	return s, nil
}

func (s *Setup) requirements() string { return filepath.Join(s.Here, "requirements.txt") }

// facts describes the machine and the tools.
func (s *Setup) facts(ctx context.Context, command, load string) [][2]string {
	tools := append(host.Pins(s.requirements()), host.FirstLine(ctx, "xargs", "--version"))
	if s.NoParallel == "" {
		tools = append(tools, host.FirstLine(ctx, "parallel", "--version"))
	}
	facts := host.Facts(ctx, host.Measurement{Command: command, Here: s.Here, Python: s.Python, Version: s.Version, Load: load})
	return append(facts, [2]string{"peers", strings.Join(tools, ", ")})
}

// parallel sees to it that GNU parallel is in PATH, by the package manager of
// Debian where this process may use it.
func parallel(ctx context.Context, log func(string, ...any)) error {
	check := func() error {
		out, err := exec.CommandContext(ctx, "parallel", "--version").Output()
		if err == nil && !strings.HasPrefix(string(out), "GNU parallel") {
			err = errors.New("the program of that name is another")
		}
		return err
	}
	err := check()
	if err == nil {
		return nil
	}
	if _, missing := exec.LookPath("apt-get"); missing != nil || os.Geteuid() != 0 {
		return err
	}
	log("installing GNU parallel")
	if err := host.Run(ctx, "apt-get", "install", "-y", "-q", "parallel"); err != nil {
		if err := host.Run(ctx, "apt-get", "update", "-q"); err != nil {
			return err
		}
		if err := host.Run(ctx, "apt-get", "install", "-y", "-q", "parallel"); err != nil {
			return err
		}
	}
	return check()
}

// writeIntegers writes from..to-1, a line each, unless the file is there.
func writeIntegers(path string, from, to int) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.Create(path + ".new")
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	var line []byte
	for i := from; i < to; i++ {
		line = append(strconv.AppendInt(line[:0], int64(i), 10), '\n')
		w.Write(line) // an error stays with w until Flush
	}
	if err := errors.Join(w.Flush(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
