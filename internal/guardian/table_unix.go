//go:build linux || darwin

package guardian

import (
	"os"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// tableSize is how many commands can be noted at a time: as many as a plan may
// have processes.
const tableSize = 4096

// lastFault is the last of the signals that a fault gives.
const lastFault = unix.SIGSYS

// table is memory shared with the guardian: the process ids of the commands
// that are running, each the leader of a session. Noting one costs a store; a
// message for each would wake the guardian thousands of times a second.
type table struct {
	file *os.File
	ids  []int32

	mu   sync.Mutex
	free []int // places given back
	next int   // the first place never used
}

func newTable() (*table, error) {
	file, err := tableFile()
	if err != nil {
		return nil, err
	}
	t := &table{file: file}
	if err = file.Truncate(tableSize * 4); err == nil {
		err = t.open(int(file.Fd()))
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return t, nil
}

// openTable is how the guardian comes by the table; it is empty on failure.
func openTable(fd int) *table {
	t := &table{}
	if t.open(fd) == nil {
		unix.Close(fd)
	}
	return t
}

func (t *table) open(fd int) error {
	mem, err := unix.Mmap(fd, 0, tableSize*4, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return os.NewSyscallError("mmap", err)
	}
	t.ids = unsafe.Slice((*int32)(unsafe.Pointer(&mem[0])), tableSize)
	return nil
}

// pids returns the commands that are running.
func (t *table) pids() []int {
	var pids []int
	for i := range t.ids {
		if id := atomic.LoadInt32(&t.ids[i]); id > 1 { // never 0 or 1: kill(-1) is everything
			pids = append(pids, int(id))
		}
	}
	return pids
}

// close keeps the memory: a place may still be written to by a worker's end.
func (t *table) close() { t.file.Close() }

// A Place is where one worker notes the command that it is running. A nil
// Place notes nothing.
type Place struct {
	table *table
	at    int
}

// Place returns a place in the table that the guardian reads; nil, when there
// are more workers than places: their commands are found by the cookie alone.
func (g *Guardian) Place() *Place {
	t := g.table
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.free); n > 0 {
		at := t.free[n-1]
		t.free = t.free[:n-1]
		return &Place{t, at}
	}
	if t.next == tableSize {
		return nil
	}
	t.next++
	return &Place{t, t.next - 1}
}

// Note says that this process, the leader of a session, is running; 0: none
// is. It must be taken back before the process is waited for: after that the
// number may be another's.
func (p *Place) Note(pid int) {
	if p != nil {
		atomic.StoreInt32(&p.table.ids[p.at], int32(pid))
	}
}

// Release gives the place back. It must not be used any more.
func (p *Place) Release() {
	if p == nil {
		return
	}
	p.Note(0)
	p.table.mu.Lock()
	defer p.table.mu.Unlock()
	p.table.free = append(p.table.free, p.at)
}

// ownSession is the session of this process.
func ownSession() int {
	sid, err := unix.Getsid(0)
	if err != nil {
		return 0
	}
	return sid
}

// closeInherited closes what poolwise had been given by whoever started it: a
// pipe or a lock must not be held for longer than poolwise is there. What this
// process opened by itself is marked to be closed on exec.
func closeInherited() {
	// As far as descriptors usually go; one beyond is held for a moment longer.
	const limit = 1024
	for fd := 3; fd < limit; fd++ {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err == nil && flags&unix.FD_CLOEXEC == 0 {
			unix.Close(fd)
		}
	}
}
