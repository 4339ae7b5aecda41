//go:build linux || darwin

package supervisor_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/internal/wire"
	"github.com/poolwise/poolwise/workers/python"
)

// peer is the far end of the protocol, as a worker sees it.
type peer struct {
	*os.File
}

// beBad makes this process the bad worker of that name, and ends it.
func beBad(name string) {
	p := peer{os.NewFile(3, "socket")}
	be, ok := badWorkers[name]
	if !ok {
		panic("no bad worker " + name)
	}
	be(p)
	os.Exit(0)
}

// badWorkers are what the test binary can be in the place of a worker.
var badWorkers = map[string]func(peer){
	"is too old": func(peer) {
		fmt.Fprintln(os.Stderr, "poolwise needs Python 3.8 or later; /opt/python is 2.7.18")
		os.Exit(python.TooOld)
	},
	"speaks another version": func(p peer) { p.sendJSON(wire.Hello, wire.HelloBody{Protocol: 2}); stay() },
	"sends garbage":          func(p peer) { p.WriteString("this is no frame, nor are these"); stay() },
	"says nothing":           func(peer) { stay() },
	"is ready too soon":      func(p peer) { p.sendJSON(wire.Ready, wire.ReadyBody{}); stay() },
	"answers too soon":       func(p peer) { p.hello(); p.answer(0); stay() },
	"breaks its hello":       func(p peer) { p.send(wire.Hello, []byte("{")); stay() },
	"breaks its ready":       func(p peer) { p.hello(); p.send(wire.Ready, []byte("[]")); stay() },
	"cannot, and stays": func(p peer) {
		p.hello()
		p.sendJSON(wire.Cannot, wire.CannotBody{Code: "import", Reason: "it will not"})
		stay()
	},

	"echoes":                  func(p peer) { p.start(); p.serve() },
	"sends unknown frames":    func(p peer) { p.start(); p.unknown(); p.serve() },
	"sends too large a frame": func(p peer) { p.chunk(); p.Write(wire.AppendHeader(nil, wire.Result, 2<<20)); stay() },
	"sends a bad result":      func(p peer) { p.chunk(); p.send(wire.Result, make([]byte, 40)); stay() },
	"sends a bad output":      func(p peer) { p.chunk(); p.send(wire.Output, make([]byte, 40)); stay() },
	"answers, then garbage":   func(p peer) { p.chunk(); p.answer(0); p.WriteString("garbage garbage"); stay() },
	"answers others' items":   func(p peer) { p.chunk(); p.answer(77); stay() },
	"dies amid a frame":       func(p peer) { p.chunk(); p.Write(wire.AppendHeader(nil, wire.Result, 99)); p.WriteString("half") },
	"answers and dies":        func(p peer) { p.chunk(); p.answer(0) },
	"closes its socket":       func(p peer) { p.chunk(); p.Close(); stay() },
	"is ready twice":          func(p peer) { p.chunk(); p.sendJSON(wire.Ready, wire.ReadyBody{}); p.serve() },
	"leaves unasked":          func(p peer) { p.chunk(); p.send(wire.Bye, nil) },
	"cannot after all":        func(p peer) { p.chunk(); p.sendJSON(wire.Cannot, wire.CannotBody{}); stay() },
	"reads nothing":           func(p peer) { p.start(); stay() },
	"ignores drain":           func(p peer) { p.start(); io.Copy(io.Discard, p) },
	"says bye and stays":      func(p peer) { p.start(); p.serve(); stay() },
	"prints without end":      func(p peer) { p.start(); p.printForEver() },
	"scribbles on its page":   func(p peer) { p.scribble(); p.start(); p.serve() },
}

// stay goes on for longer than any test.
func stay() { time.Sleep(time.Hour) }

func (p peer) send(kind wire.Type, body []byte) { p.Write(wire.AppendFrame(nil, kind, body)) }

func (p peer) sendJSON(kind wire.Type, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	p.send(kind, text)
}

func (p peer) hello() { p.sendJSON(wire.Hello, wire.HelloBody{Protocol: wire.Protocol}) }

func (p peer) start() {
	p.hello()
	p.receive()
	p.sendJSON(wire.Ready, wire.ReadyBody{})
}

// chunk starts, and returns once a chunk has come.
func (p peer) chunk() {
	p.start()
	p.receive()
}

func (p peer) receive() (wire.Type, []byte) {
	var head [wire.HeaderSize]byte
	if _, err := io.ReadFull(p, head[:]); err != nil {
		os.Exit(1)
	}
	body := make([]byte, binary.LittleEndian.Uint64(head[1:]))
	if _, err := io.ReadFull(p, body); err != nil {
		os.Exit(1)
	}
	return wire.Type(head[0]), body
}

func (p peer) answer(index uint64) {
	p.Write(wire.AppendResults(nil, []batch.Result{{Index: index, Attempt: 1, Start: 1, End: 2, Value: []byte(`"x"`)}}))
}

// serve echoes until it is drained, and says goodbye.
func (p peer) serve() {
	for {
		kind, body := p.receive()
		if kind == wire.Drain {
			p.send(wire.Bye, nil)
			return
		}
		items, err := wire.ParseChunk(body)
		if err != nil {
			panic(err)
		}
		for _, it := range items {
			p.answer(it.Index)
		}
	}
}

func (p peer) unknown() {
	for _, size := range []int{0, 1, 9, 1 << 19} {
		p.send(200, make([]byte, size))
		p.send(0, []byte(strings.Repeat("?", size)))
	}
}

// printForEver floods every way there is.
func (p peer) printForEver() {
	text := strings.Repeat("tick\n", 10000)
	body := append([]byte{1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}, text...)
	go func() {
		for {
			os.Stdout.WriteString(text)
		}
	}()
	for {
		p.send(wire.Output, body)
	}
}

// scribble fills the page with ones.
func (p peer) scribble() {
	var stat unix.Stat_t
	if err := unix.Fstat(4, &stat); err != nil {
		panic(err)
	}
	page, err := unix.Mmap(4, 0, int(stat.Size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		panic(err)
	}
	for i := range page {
		page[i] = 0xFF
	}
}
