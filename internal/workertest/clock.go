//go:build linux || darwin

package workertest

import "golang.org/x/sys/unix"

// clock reads the monotonic clock of batch.Result, in ns.
func clock() int64 {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) != nil {
		return 0
	}
	return ts.Nano()
}
