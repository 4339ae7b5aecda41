//go:build linux || darwin

package workertest

import (
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// warmUp lets the runtime open the descriptors that it keeps.
func warmUp(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.SetDeadline(time.Now())
	r.Close()
	w.Close()
}

// NothingLeft checks, when the test is over, that no goroutine, descriptor or
// child is there that was not there before. What was reported as gone must be
// gone: only goroutines are given time to end.
func NothingLeft(t *testing.T) {
	t.Helper()
	warmUp(t)
	before, running := descriptors(), goleak.IgnoreCurrent()
	t.Cleanup(func() {
		if pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); err != unix.ECHILD {
			t.Errorf("a child is left: %d %v", pid, err)
		}
		after := descriptors()
		maps.DeleteFunc(after, func(fd, what string) bool { return before[fd] == what })
		if len(after) > 0 {
			t.Errorf("descriptors are left: %v", after)
		}
		if err := goleak.Find(running); err != nil {
			t.Error(err)
		}
	})
}

// descriptors returns the open descriptors and what they are.
func descriptors() map[string]string {
	entries, _ := os.ReadDir("/dev/fd")
	open := map[string]string{}
	for _, e := range entries {
		// The folder that was just read is closed by now.
		if what, err := os.Readlink(filepath.Join("/dev/fd", e.Name())); err == nil {
			open[e.Name()] = what
		}
	}
	return open
}

// Gone waits until a process, which is no child, has ended.
func Gone(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(patience); alive(pid); {
		if time.Now().After(deadline) {
			t.Fatalf("process %d is left", pid)
		}
		time.Sleep(time.Millisecond) // the system tells only parents
	}
}

// alive tells whether a process runs. One that has ended may wait for its
// parent to take note.
func alive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return unix.Kill(pid, 0) == nil
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(after, "Z") && !strings.HasPrefix(after, "X")
}
