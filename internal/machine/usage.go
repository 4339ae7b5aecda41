package machine

import (
	"strconv"
	"strings"
	"time"
)

// usage is what one process has used.
type usage struct {
	cpu time.Duration // by itself and by children that it has waited for
	rss int64         // bytes; memory shared with other processes included
}

// TreeUsage returns the CPU time that processes have used, children they have
// waited for included, and the memory they hold. Memory that several of them
// share is counted for each. Processes that are gone count nothing.
func TreeUsage(pids []int) (cpuSeconds float64, rssBytes int64) {
	for _, u := range readUsage(pids) {
		cpuSeconds += u.cpu.Seconds()
		rssBytes += u.rss
	}
	return cpuSeconds, rssBytes
}

// A Meter tells how many CPUs a changing set of processes uses. The zero value
// is ready. It is for one goroutine.
type Meter struct {
	last map[int]usage
	when time.Time
}

// Read returns the CPUs that were in use on average since the call before, 0 at
// the first, and the memory that is held, in bytes. A process that was not among
// the pids before counts with all it has used: it has come since.
func (m *Meter) Read(now time.Time, pids []int) (cores float64, rssBytes int64) {
	read := readUsage(pids)
	var spent time.Duration
	for pid, u := range read {
		spent += max(0, u.cpu-m.last[pid].cpu)
		rssBytes += u.rss
	}
	if elapsed := now.Sub(m.when); m.last != nil && elapsed > 0 {
		cores = spent.Seconds() / elapsed.Seconds()
	}
	m.last, m.when = read, now
	return cores, rssBytes
}

// ticksPerSecond is the unit of times in /proc: USER_HZ, which is 100 on every
// architecture that Go runs on.
const ticksPerSecond = 100

// parseStat reads /proc/PID/stat, see proc_pid_stat(5). The name of the program
// stands in brackets and may hold anything, brackets included.
func parseStat(text string) (usage, bool) {
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	// Counted from the state, which is field 3 of the page: utime 14, stime 15,
	// cutime 16, cstime 17, rss 24 (in pages).
	if len(fields) < 22 {
		return usage{}, false
	}
	var ticks int64
	for _, f := range fields[11:15] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return usage{}, false
		}
		ticks += n
	}
	pages, err := strconv.ParseInt(fields[21], 10, 64)
	return usage{cpu: time.Duration(ticks) * time.Second / ticksPerSecond, rss: pages}, err == nil
}

// parsePS reads a line of "ps -o pid=,rss=,time=": a number, KiB, and a time
// like 1-02:03:04.56, of which the days, hours and hundredths may be missing.
func parsePS(line string) (pid int, u usage, ok bool) {
	f := strings.Fields(line)
	if len(f) != 3 {
		return 0, usage{}, false
	}
	pid, err := strconv.Atoi(f[0])
	kib, err2 := strconv.ParseInt(f[1], 10, 64)
	seconds, ok := clockSeconds(f[2])
	u = usage{cpu: time.Duration(seconds * float64(time.Second)), rss: kib << 10}
	return pid, u, ok && err == nil && err2 == nil
}

func clockSeconds(text string) (float64, bool) {
	days, clock, ok := strings.Cut(text, "-")
	if !ok {
		days, clock = "0", text
	}
	d, err := strconv.ParseFloat(days, 64)
	if err != nil {
		return 0, false
	}
	seconds := 0.0
	for part := range strings.SplitSeq(clock, ":") {
		n, err := strconv.ParseFloat(part, 64)
		if err != nil {
			return 0, false
		}
		seconds = seconds*60 + n
	}
	return d*24*60*60 + seconds, true
}
