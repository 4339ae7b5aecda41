//go:build unix

package sink

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

func TestAFIFOIsWrittenDirectly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	var got []byte
	var reading sync.WaitGroup
	reading.Go(func() { got, _ = os.ReadFile(path) })
	put(t, path, "text")
	reading.Wait()
	if info, err := os.Stat(path); string(got) != "text" || err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		t.Errorf("%q, %v, %v", got, info.Mode(), err)
	}
}
