// Package guardian sees to it that nothing outlives poolwise: a small process
// of its own that, when poolwise goes without a word, ends all that it started.
//
// Whatever poolwise starts carries a cookie in its environment, and so do the
// children of these, whichever session or process group they move to. On Linux
// the guardian finds them by it in /proc. A program that starts another with an
// empty environment (env -i) escapes; it is found only while it is in the
// process group of one that carries the cookie.
package guardian

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
)

const (
	// word is the first argument of a process that is to be a guardian.
	word = "__poolwise_guardian__"
	// cookiePrefix is followed by a random token and "=1".
	cookiePrefix = "POOLWISE_CHILD_"
	bye          = 'b'
)

// A Guardian watches over what one run starts.
type Guardian struct {
	cookie string
	pipe   io.WriteCloser // its end tells the guardian that poolwise has gone
	done   chan error     // receives when the guardian has started and ended
	once   sync.Once
}

// A Process is one that carries the cookie.
type Process struct {
	PID  int
	Name string // of the program, cut by the system
}

// MaybeRun turns this process into a guardian when it was started as one, and
// returns otherwise. It belongs at the very beginning of main.
func MaybeRun() {
	if len(os.Args) == 3 && os.Args[1] == word {
		watch(os.Args[2])
		os.Exit(0)
	}
}

// Start starts a guardian and returns without waiting for it to be up: a pipe
// holds what happens until then.
func Start() (*Guardian, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	token := make([]byte, 8)
	if _, err := rand.Read(token); err != nil {
		return nil, err
	}
	g := &Guardian{cookie: cookiePrefix + hex.EncodeToString(token) + "=1", done: make(chan error, 1)}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	g.pipe = write
	cmd := exec.Command(self, word, g.cookie)
	cmd.Stdin = read
	cmd.Env = []string{} // it must not find itself
	cmd.Dir = "/"
	detach(cmd)
	go func() {
		// Starting a process takes some milliseconds, in which the first worker
		// can be started too.
		err := cmd.Start()
		read.Close()
		if err == nil {
			err = cmd.Wait()
		}
		g.done <- err
	}()
	return g, nil
}

// Cookie returns the entry for the environment of everything that is started.
func (g *Guardian) Cookie() string { return g.cookie }

// Close ends what still carries the cookie, and then the guardian. It returns
// what it had to end.
func (g *Guardian) Close() ([]Process, error) {
	var left []Process
	var err error
	g.once.Do(func() {
		left = sweep(g.cookie)
		_, werr := g.pipe.Write([]byte{bye})
		err = errors.Join(werr, g.pipe.Close())
		if werr := <-g.done; werr != nil {
			err = errors.Join(err, fmt.Errorf("guardian: %w", werr))
		}
	})
	return left, err
}

// Release leaves the ending to the guardian, for a process that is about to
// exit: looking through all processes takes some milliseconds.
func (g *Guardian) Release() {
	g.once.Do(func() { g.pipe.Close() })
}

// Find returns the processes that carry the cookie at this moment.
func (g *Guardian) Find() []Process { return find(g.cookie) }

// FindItem returns those of them that also have this entry in their
// environment, such as POOLWISE_ITEM_INDEX=3.
func (g *Guardian) FindItem(entry string) []Process { return find(g.cookie, entry) }

// watch is the guardian's life: it waits for the pipe to end and, unless
// poolwise said bye, ends everything.
func watch(cookie string) {
	ignoreSignals()
	var last [1]byte
	said := false
	for {
		n, err := os.Stdin.Read(last[:])
		if n > 0 && last[0] == bye {
			said = true
		}
		if err != nil {
			break
		}
	}
	if !said {
		sweep(cookie)
	}
}
