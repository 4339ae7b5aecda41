package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// notInstalled begins the reason why a peer could not be measured here.
const notInstalled = "not installed: "

// prepare makes the virtual environment of the peers and looks for GNU
// parallel. What it makes stays below .cache for the next time.
func prepare(ctx context.Context, here string, log func(string, ...any)) (*Setup, error) {
	s := &Setup{Here: here, Python: filepath.Join(here, ".cache", "venv", "bin", "python")}
	if err := os.MkdirAll(filepath.Join(here, ".cache"), 0o755); err != nil {
		return nil, err
	}
	if err := s.venv(ctx, log); err != nil {
		return nil, fmt.Errorf("the peers' virtual environment: %w", err)
	}
	if err := parallel(ctx, log); err != nil {
		s.NoParallel = notInstalled + err.Error()
		log("GNU parallel: %s", s.NoParallel)
	}
	return s, nil
}

// venv makes the environment unless it is there for these very requirements.
func (s *Setup) venv(ctx context.Context, log func(string, ...any)) error {
	requirements := filepath.Join(s.Here, "requirements.txt")
	text, err := os.ReadFile(requirements)
	if err != nil {
		return err
	}
	dir := filepath.Join(s.Here, ".cache", "venv")
	stamp := filepath.Join(dir, fmt.Sprintf("made-%x", sha256.Sum256(text)))
	if _, err := os.Stat(stamp); err == nil {
		return nil
	}
	log("making %s", dir)
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := run(ctx, "python3", "-m", "venv", dir); err != nil {
		return err
	}
	if err := run(ctx, s.Python, "-m", "pip", "install", "-q", "--no-deps", "--disable-pip-version-check", "-r", requirements); err != nil {
		return err
	}
	return os.WriteFile(stamp, nil, 0o644)
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
	if err := run(ctx, "apt-get", "install", "-y", "-q", "parallel"); err != nil {
		if err := run(ctx, "apt-get", "update", "-q"); err != nil {
			return err
		}
		if err := run(ctx, "apt-get", "install", "-y", "-q", "parallel"); err != nil {
			return err
		}
	}
	return check()
}

// build builds the program as users do, and returns its path.
func build(ctx context.Context, here string) (string, error) {
	root := filepath.Dir(here)
	if err := run(ctx, "make", "-s", "-C", root, "build"); err != nil {
		return "", err
	}
	return filepath.Join(root, "bin", "poolwise"), nil
}

// run runs a command whose output matters only if it fails.
func run(ctx context.Context, argv ...string) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, out)
	}
	return nil
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
