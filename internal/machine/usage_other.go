//go:build !linux

package machine

import (
	"os/exec"
	"runtime"
	"strconv"
	"strings"
)

// readUsage leaves out the processes that are gone. macOS tells it to Mach calls
// only, which ps makes; a call takes some milliseconds.
func readUsage(pids []int) map[int]usage {
	found := make(map[int]usage, len(pids))
	if len(pids) == 0 || runtime.GOOS == "windows" {
		return found
	}
	list := make([]string, len(pids))
	for i, pid := range pids {
		list[i] = strconv.Itoa(pid)
	}
	// ps fails when one of them is gone, and prints the others all the same.
	out, _ := exec.Command("ps", "-o", "pid=,rss=,time=", "-p", strings.Join(list, ",")).Output()
	for line := range strings.Lines(string(out)) {
		if pid, u, ok := parsePS(line); ok {
			found[pid] = u
		}
	}
	return found
}
