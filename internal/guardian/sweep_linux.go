package guardian

import (
	"bytes"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// A process that forks while it is being looked for leaves a child behind
	// the look: sweeping goes on until one finds nothing, or for this long.
	sweepLimit = 2 * time.Second
	sweepPause = 2 * time.Millisecond
)

// detach keeps signals of the terminal from the guardian.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

func ignoreSignals() {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE,
		syscall.SIGUSR1, syscall.SIGUSR2)
}

// sweep ends all processes that carry the cookie, and the process groups of
// those that lead one, until none is left. It returns what it found.
func sweep(cookie string) []Process {
	seen := map[int]bool{}
	var ended []Process
	deadline := time.Now().Add(sweepLimit)
	for {
		found := find(cookie)
		for _, p := range found {
			if !seen[p.PID] {
				seen[p.PID] = true
				ended = append(ended, p)
			}
			end(p.PID, cookie)
		}
		if len(found) == 0 || time.Now().After(deadline) {
			return ended
		}
		time.Sleep(sweepPause)
	}
}

// end kills a process, if it still is the one that carries the cookie, and its
// process group, if it leads one.
func end(pid int, cookie string) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if !carries(pid, cookie) {
		return
	}
	// The group first: while its leader is there, its number is not another's.
	if group, err := unix.Getpgid(pid); err == nil && group == pid {
		unix.Kill(-pid, unix.SIGKILL)
	}
	unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
}

// find returns the processes whose environment has all these entries.
func find(entries ...string) []Process {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil
	}
	self := os.Getpid()
	var found []Process
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || pid == self || !carries(pid, entries...) {
			continue
		}
		name, _ := os.ReadFile(dir + "/comm")
		found = append(found, Process{PID: pid, Name: strings.TrimSpace(string(name))})
	}
	return found
}

// carries reports whether a process has these entries in its environment. That
// of a process which has ended, or is another user's, cannot be read.
func carries(pid int, entries ...string) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	for _, entry := range entries {
		at := bytes.Index(env, []byte(entry+"\x00"))
		if at < 0 || (at > 0 && env[at-1] != 0) {
			return false
		}
	}
	return true
}
