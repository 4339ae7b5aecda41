// Package host prepares a machine for measurements, and describes it.
package host

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Venv makes a virtual environment in dir with the packages of a requirements
// file, unless it is there for these very requirements, and returns the path of
// its interpreter; that also with an error of pip, when it has no packages.
func Venv(ctx context.Context, dir, requirements string, log func(string, ...any)) (python string, err error) {
	python = filepath.Join(dir, "bin", "python")
	text, err := os.ReadFile(requirements)
	if err != nil {
		return "", err
	}
	stamp := filepath.Join(dir, fmt.Sprintf("made-%x", sha256.Sum256(text)))
	if _, err := os.Stat(stamp); err == nil {
		return python, nil
	}
	log("making %s", dir)
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	if err := Run(ctx, "python3", "-m", "venv", dir); err != nil {
		return "", err
	}
	if err := Run(ctx, python, "-m", "pip", "install", "-q", "--no-deps", "--disable-pip-version-check", "-r", requirements); err != nil {
		return python, err
	}
	return python, os.WriteFile(stamp, nil, 0o644)
}

// Build builds poolwise as users do, from the module around the folder here, and
// returns the program's path.
func Build(ctx context.Context, here string) (string, error) {
	root := filepath.Dir(here)
	if err := Run(ctx, "make", "-s", "-C", root, "build"); err != nil {
		return "", err
	}
	return filepath.Join(root, "bin", "poolwise"), nil
}

// Run runs a command whose output matters only if it fails: then it is part of
// the error.
func Run(ctx context.Context, argv ...string) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, out)
	}
	return nil
}
