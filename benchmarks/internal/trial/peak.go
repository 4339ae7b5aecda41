package trial

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// peakEvery is how often the peak is read. It is a high-water mark kept by the
// kernel, so that only growth in a run's last moments can be missed.
const peakEvery = 5 * time.Millisecond

// watchPeak reads the peak memory of a process until the returned function is
// called, which returns it in MB.
func watchPeak(pid int) func() float64 {
	quit, peak := make(chan struct{}), make(chan float64)
	go func() {
		tick := time.NewTicker(peakEvery)
		defer tick.Stop()
		last := 0.0
		for {
			if now := peakMB(pid); now > last {
				last = now
			}
			select {
			case <-tick.C:
			case <-quit:
				peak <- last
				return
			}
		}
	}()
	return func() float64 { close(quit); return <-peak }
}

// peakMB returns VmHWM of one process, 0 if it is gone. rusage would not do:
// it covers children, and what the parent held before exec.
func peakMB(pid int) float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, found := bytes.Cut(status, []byte("VmHWM:"))
	fields := bytes.Fields(rest)
	if !found || len(fields) == 0 {
		return 0
	}
	kib, err := strconv.ParseFloat(string(fields[0]), 64)
	if err != nil {
		return 0
	}
	return kib * 1024 / 1e6
}
