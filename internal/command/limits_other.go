//go:build !linux

package command

// argMax is the system's limit for arguments and environment together, in
// bytes: ARG_MAX of macOS.
func argMax() int { return 1 << 20 }
