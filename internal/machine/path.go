package machine

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// isName tells whether a program was given by its name, to be looked for in
// PATH, and not by a path.
func isName(program string) bool {
	return !strings.ContainsRune(program, '/') && !strings.ContainsRune(program, filepath.Separator)
}

// searchPath returns the directories of PATH. As for a shell, an empty one is
// the working directory.
func searchPath(env []string, dir string) []string {
	value, _ := lookup(env, "PATH")
	dirs := filepath.SplitList(value)
	for i, d := range dirs {
		dirs[i] = inDir(dir, d)
	}
	return dirs
}

func inDir(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// findInPath returns the first program of a name in PATH.
func findInPath(name string, env []string, dir string) (string, bool) {
	for _, d := range searchPath(env, dir) {
		if file := filepath.Join(d, executableName(name)); isExecutable(file) {
			return file, true
		}
	}
	return "", false
}

func executableName(name string) string {
	if runtime.GOOS == "windows" && filepath.Ext(name) == "" {
		return name + ".exe"
	}
	return name
}

func isExecutable(file string) bool {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	return runtime.GOOS == "windows" || info.Mode()&0o111 != 0
}

// magics are the first bytes of programs that the system loads by itself, as
// against scripts: ELF, the kinds of Mach-O, and Windows.
var magics = []string{
	"\x7fELF",
	"\xfe\xed\xfa\xce", "\xfe\xed\xfa\xcf", "\xce\xfa\xed\xfe", "\xcf\xfa\xed\xfe", "\xca\xfe\xba\xbe",
	"MZ",
}

// isNative tells whether a file is a program itself, and no script that may
// start another one.
func isNative(file string) (bool, error) {
	f, err := os.Open(file)
	if err != nil {
		return false, err
	}
	defer f.Close()
	var head [4]byte
	n, _ := f.Read(head[:])
	for _, m := range magics {
		if strings.HasPrefix(string(head[:n]), m) {
			return true, nil
		}
	}
	return false, nil
}
