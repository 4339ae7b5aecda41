package guardian

import (
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Commands are not supported here yet, and Python workers end by themselves
// when poolwise does: there is nothing to hunt.

// lastFault is the last of the signals that a fault gives.
const lastFault = syscall.SIGSEGV

type table struct{ file *os.File }

func newTable() (*table, error) { return &table{}, nil }
func openTable(int) *table      { return &table{} }
func (t *table) pids() []int    { return nil }
func (t *table) close()         {}

// A Place notes nothing here.
type Place struct{}

// Place returns nil.
func (g *Guardian) Place() *Place { return nil }

// Note does nothing.
func (p *Place) Note(int) {}

// Release does nothing.
func (p *Place) Release() {}

type hunt struct {
	entries []string
	groups  []int
	spare   int
}

func (h *hunt) sweep(int, time.Duration) []Process { return nil }
func (h *hunt) find() []Process                    { return nil }

func detach(*exec.Cmd) {}
func ownSession() int  { return 0 }
func closeInherited()  {}
