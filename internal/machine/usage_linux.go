package machine

import (
	"os"
	"strconv"
)

var pageSize = int64(os.Getpagesize())

// readUsage leaves out the processes that are gone.
func readUsage(pids []int) map[int]usage {
	found := make(map[int]usage, len(pids))
	for _, pid := range pids {
		// The rss of statm comes from the same counters.
		data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil {
			continue
		}
		if u, ok := parseStat(string(data)); ok {
			u.rss *= pageSize
			found[pid] = u
		}
	}
	return found
}
