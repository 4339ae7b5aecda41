package guardian

import (
	"os"
	"os/signal"
	"syscall"
)

// tableFD is where the guardian finds the table of commands.
const tableFD = 3

// watch is the guardian's life: it waits for the pipe to end and, unless
// poolwise said bye, ends everything that was started but for what is in
// poolwise's own session.
func watch(cookie string, session int) {
	ignoreSignals()
	groups := openTable(tableFD)
	closeInherited()
	if !saidBye(os.Stdin) {
		// A process that forked during a look and went may leave a child which
		// that look could not see: only the second empty one counts.
		h := hunt{entries: []string{cookie}, spare: session, groups: groups.pids()}
		h.sweep(2, sweepLimit)
	}
}

// ignoreSignals makes the guardian go after poolwise and not with it.
func ignoreSignals() {
	signal.Ignore() // all but those of a fault, and those that cannot be
	faults := make(chan os.Signal, 1)
	// Sent from outside, these are no faults; nobody needs to read them.
	signal.Notify(faults, syscall.SIGILL, syscall.SIGTRAP, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGSEGV, lastFault)
}

// saidBye reads to the end of the pipe.
func saidBye(pipe *os.File) bool {
	var buf [16]byte
	said := false
	for {
		n, err := pipe.Read(buf[:])
		said = said || n > 0 && buf[0] == bye
		if err != nil {
			return said
		}
	}
}
