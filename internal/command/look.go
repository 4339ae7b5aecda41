package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// look finds the program of a command, as a shell would that runs in dir. The
// errors say what a shell reports as 127 or 126.
func look(name string, env []string, dir string) (string, error) {
	if name == "" {
		return "", errors.New("the command is empty")
	}
	if strings.Contains(name, "/") {
		path := inDir(name, dir)
		return path, executable(path, name)
	}
	var found error // a file of that name which cannot be run
	path := getenv(env, "PATH")
	for _, folder := range filepath.SplitList(path) {
		candidate := filepath.Join(inDir(folder, dir), name)
		err := executable(candidate, candidate)
		if err == nil {
			return candidate, nil
		}
		if found == nil && !errors.Is(err, fs.ErrNotExist) {
			found = err
		}
	}
	if found != nil {
		return "", found
	}
	return "", fmt.Errorf("the command %q is not found in PATH (%s); for a line of the shell use --shell", name, path)
}

func inDir(path, dir string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

func executable(path, name string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the command %q is not there: %w", name, err)
	case err != nil:
		return fmt.Errorf("the command %q cannot be run: %w", name, err)
	case info.IsDir():
		return fmt.Errorf("the command %q is a directory", name)
	case info.Mode()&0o111 == 0:
		return fmt.Errorf("the command %q is not executable; chmod +x makes it so", name)
	}
	return nil
}

func getenv(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(env[i], name+"="); ok {
			return value
		}
	}
	return ""
}
