package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// A LockedError reports that another process runs in a run directory.
type LockedError struct {
	Path string
	PID  int // 0 when it is not known
}

func (e *LockedError) Error() string {
	who := "another process"
	if e.PID > 0 {
		who = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("%s is running in %s; wait for it, or stop it, before resuming", who, e.Path)
}

// errLocked is what flock reports when somebody else has the lock.
var errLocked = errors.New("locked")

// Lock makes this process the one that runs in the directory, until Close or
// its end, however it comes. The error is a *LockedError when there is another.
func (d *Dir) Lock() error {
	if d.lock != nil {
		return nil
	}
	f, err := os.OpenFile(d.Path(lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("run %s cannot be locked: %w", d.ID, err)
	}
	if err := flock(f); err != nil {
		defer f.Close()
		if errors.Is(err, errLocked) {
			return &LockedError{Path: d.path, PID: readPID(f)}
		}
		return fmt.Errorf("run %s cannot be locked: %w", d.ID, err)
	}
	if !stillThere(f) {
		f.Close()
		return fmt.Errorf("run %s cannot be locked: it was removed meanwhile: %w", d.ID, fs.ErrNotExist)
	}
	d.lock = f
	// For the message of a second one only: the lock does not depend on it.
	if f.Truncate(0) == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return nil
}

// stillThere reports whether f was not removed between its opening and now.
func stillThere(f *os.File) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	now, err := os.Stat(f.Name())
	return err == nil && os.SameFile(mine, now)
}

func readPID(f *os.File) int {
	text, err := io.ReadAll(io.LimitReader(f, 20))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	return pid
}

// live reports whether a process runs in the directory.
func live(path string) bool {
	f, err := os.OpenFile((&Dir{path: path}).Path(lockName), os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(flock(f), errLocked)
}
