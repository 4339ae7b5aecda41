package command

import "golang.org/x/sys/unix"

// argMax is the system's limit for arguments and environment together, in
// bytes: a quarter of the limit for the stack, at least 128 KiB and at most
// three quarters of 8 MiB (execve(2), fs/exec.c).
func argMax() int {
	const least, most = 128 << 10, 6 << 20
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_STACK, &limit) != nil {
		return least
	}
	return int(min(max(limit.Cur/4, least), most))
}
