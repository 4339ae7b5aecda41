// Package proc holds what starting child processes and waiting for several
// things at once needs of the system. On Windows there is only the clock yet.
package proc

import "time"

var start = time.Now()

// Now reads a monotonic clock, in ns.
func Now() int64 { return int64(time.Since(start)) }
