// Package guardian sees to it that nothing outlives poolwise: a small process
// of its own that, when poolwise goes without a word, ends all that it started.
//
// Whatever poolwise starts carries a cookie in its environment, and so do the
// children of these, whichever session or process group they move to. On Linux
// the guardian finds them by it in /proc, and with them all that is in a
// session of theirs, or in the session of a command that was running.
//
// What escapes: a process that has neither the cookie nor such a session,
// because it emptied its environment (env -i) and called setsid, or emptied it
// and outlived the command that started it; one that runs as another user
// (sudo), whose environment cannot be read; and what another service started
// on request (systemd-run, docker run, at).
//
// On macOS no environment can be read: there the process groups of the
// commands that were running are ended, and what left its group escapes.
package guardian

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"
)

const (
	// Arg is the first argument of a process that is to be a guardian.
	Arg = "__guardian"
	// cookiePrefix is followed by a random token and "=1".
	cookiePrefix = "POOLWISE_CHILD_"
	bye          = 'b'
)

const (
	// sweepLimit bounds a sweep: all must be gone 2 s after poolwise, so a
	// process that forks without end is given up a little before.
	sweepLimit = 1900 * time.Millisecond
	// itemLimit bounds the sweep for one item: a killed worker has to tell of
	// its end within a second.
	itemLimit = 500 * time.Millisecond
)

// A Guardian watches over what one run starts.
type Guardian struct {
	cookie string
	pipe   *os.File // its end tells the guardian that poolwise has gone
	cmd    *exec.Cmd
	table  *table
	once   sync.Once

	started  chan struct{} // closed when cmd was started, or could not be
	startErr error
}

// A Process is one that poolwise, or something that it started, has started.
type Process struct {
	PID  int
	Name string // of the program, cut by the system
}

// MaybeRun turns this process into a guardian when it was started as one, and
// returns otherwise. It belongs at the very beginning of main.
func MaybeRun() {
	if len(os.Args) == 4 && os.Args[1] == Arg {
		session, _ := strconv.Atoi(os.Args[3]) // 0, no session, if it is bad
		watch(os.Args[2], session)
		os.Exit(0)
	}
}

// Start starts a guardian and returns at once; Started waits until it is there.
// A pipe holds what happens while it comes up.
func Start() (*Guardian, error) {
	token := make([]byte, 8)
	rand.Read(token) // never fails
	g := &Guardian{
		cookie:  cookiePrefix + hex.EncodeToString(token) + "=1",
		started: make(chan struct{}),
	}
	var err error
	if g.table, err = newTable(); err != nil {
		return nil, fmt.Errorf("the guardian's table of commands: %w", err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		g.table.close()
		return nil, err
	}
	g.pipe = write
	go func() {
		// This takes a millisecond or two, in which the first worker can be
		// started too.
		defer close(g.started)
		defer read.Close()
		g.startErr = g.spawn(read)
	}()
	return g, nil
}

// Started waits until the guardian's process is there, and returns why it
// could not be started. Until then only a command's direct child is ended with
// poolwise.
func (g *Guardian) Started() error {
	<-g.started
	return g.startErr
}

// spawn starts this same program once more.
func (g *Guardian) spawn(stdin *os.File) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("guardian: %w", err)
	}
	g.cmd = exec.Command(self, Arg, g.cookie, strconv.Itoa(ownSession()))
	g.cmd.Stdin = stdin
	g.cmd.Env = []string{} // it must not find itself
	g.cmd.Dir = "/"
	if g.table.file != nil {
		g.cmd.ExtraFiles = []*os.File{g.table.file}
	}
	detach(g.cmd)
	if err := g.cmd.Start(); err != nil {
		return fmt.Errorf("guardian: %w", err)
	}
	return nil
}

// Cookie returns the entry for the environment of everything that is started.
func (g *Guardian) Cookie() string { return g.cookie }

// Close ends what is still there of all that was started, and then the
// guardian. It returns what it had to end.
func (g *Guardian) Close() ([]Process, error) {
	var left []Process
	var err error
	g.once.Do(func() {
		h := hunt{entries: []string{g.cookie}, spare: ownSession(), groups: g.table.pids()}
		left = h.sweep(1, sweepLimit)
		err = g.dismiss()
		g.table.close()
	})
	return left, err
}

// dismiss says bye to the guardian and waits for its end.
func (g *Guardian) dismiss() error {
	if err := g.Started(); err != nil {
		return errors.Join(err, g.pipe.Close())
	}
	_, err := g.pipe.Write([]byte{bye})
	err = errors.Join(err, g.pipe.Close(), g.cmd.Wait())
	if err != nil {
		return fmt.Errorf("guardian: %w", err)
	}
	return nil
}

// Release leaves the ending to the guardian, for a process that is about to
// exit: looking through all processes takes some milliseconds. The guardian
// itself is left to whoever inherits it.
func (g *Guardian) Release() {
	g.once.Do(func() {
		<-g.started // the child must have its end of the pipe
		g.pipe.Close()
		g.table.close()
	})
}

// Find returns what there is at this moment of all that was started.
func (g *Guardian) Find() []Process { return g.find(g.cookie) }

// FindItem returns those processes that also have this entry in their
// environment, such as POOLWISE_ITEM_INDEX=3, and those in their sessions.
func (g *Guardian) FindItem(entry string) []Process { return g.find(g.cookie, entry) }

func (g *Guardian) find(entries ...string) []Process {
	h := hunt{entries: entries, spare: ownSession()}
	return h.find()
}

// KillItem ends the processes that FindItem finds, and those in the session of
// this number, within half a second. The session must not have come to its end
// yet: its first process has not been waited for.
func (g *Guardian) KillItem(session int, entry string) []Process {
	h := hunt{entries: []string{g.cookie, entry}, spare: ownSession(), groups: []int{session}}
	return h.sweep(1, itemLimit)
}
