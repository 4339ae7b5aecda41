package guardian

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// sweepPause lets those that were killed go, before the next look.
const sweepPause = 2 * time.Millisecond

// detach keeps signals of the terminal from the guardian.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

func tableFile() (*os.File, error) {
	fd, err := unix.MemfdCreate("poolwise-commands", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	return os.NewFile(uintptr(fd), "poolwise-commands"), nil
}

// hunt looks for processes: those with these entries in their environment, and
// all that are in one of these sessions. Sessions of the former are added as
// they are found, but for the spared one, poolwise's own.
type hunt struct {
	entries []string
	groups  []int
	spare   int
}

// sweep ends what is found until nothing was found this many times in a row,
// or for as long as the limit. It returns what it found.
func (h *hunt) sweep(times int, limit time.Duration) []Process {
	var ended []Process
	deadline := time.Now().Add(limit)
	for clean := 0; clean < times; {
		found := h.find()
		for _, p := range found {
			if !slices.ContainsFunc(ended, func(q Process) bool { return q.PID == p.PID }) {
				ended = append(ended, p)
			}
			h.end(p.PID)
		}
		clean++
		if len(found) > 0 {
			clean = 0
		}
		if time.Now().After(deadline) {
			break
		}
		if clean < times {
			time.Sleep(sweepPause)
		}
	}
	return ended
}

// find returns the processes that are hunted at this moment.
func (h *hunt) find() []Process {
	pids, self := processes(), os.Getpid()
	var found []int
	for _, pid := range pids {
		if pid == self || !carries(pid, h.entries) {
			continue
		}
		found = append(found, pid)
		if sid, err := unix.Getsid(pid); err == nil && sid > 1 && sid != h.spare && !slices.Contains(h.groups, sid) {
			h.groups = append(h.groups, sid)
		}
	}
	for _, pid := range pids {
		if pid != self && h.inSession(pid) && !slices.Contains(found, pid) && !ended(pid) {
			found = append(found, pid)
		}
	}
	named := make([]Process, len(found))
	for i, pid := range found {
		name, _ := os.ReadFile(procFile(pid, "comm")) // gone by now: no name
		named[i] = Process{PID: pid, Name: strings.TrimSpace(string(name))}
	}
	return named
}

// end kills a process, if it still is one that is hunted, and its process
// group, if it leads one.
func (h *hunt) end(pid int) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err == unix.ESRCH {
		return
	}
	if err == nil {
		defer unix.Close(fd)
	}
	// From here on, where there is a descriptor, the number is not another's.
	if !carries(pid, h.entries) && !h.inSession(pid) {
		return
	}
	if group, err := unix.Getpgid(pid); err == nil && group == pid {
		unix.Kill(-pid, unix.SIGKILL)
	}
	if err != nil { // before Linux 5.3, or forbidden
		unix.Kill(pid, unix.SIGKILL)
		return
	}
	unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
}

func (h *hunt) inSession(pid int) bool {
	sid, err := unix.Getsid(pid)
	return err == nil && slices.Contains(h.groups, sid)
}

// processes returns the ids of all processes.
func processes() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // what was read before an error counts
	pids := make([]int, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// carries reports whether a process has these entries in its environment. That
// of a process which has ended, or is another user's, cannot be read.
func carries(pid int, entries []string) bool {
	env, err := os.ReadFile(procFile(pid, "environ"))
	if err != nil || len(env) == 0 {
		return false
	}
	for _, entry := range entries {
		if !bytes.HasPrefix(env, []byte(entry+"\x00")) && !bytes.Contains(env, []byte("\x00"+entry+"\x00")) {
			return false
		}
	}
	return true
}

// ended reports whether a process is a zombie, or not there any more.
func ended(pid int) bool {
	stat, err := os.ReadFile(procFile(pid, "stat"))
	if err != nil {
		return true
	}
	at := bytes.LastIndexByte(stat, ')') // the name may hold anything
	return at < 0 || at+2 >= len(stat) || stat[at+2] == 'Z' || stat[at+2] == 'X'
}

func procFile(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }
