//go:build linux || darwin

package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// appendValue appends the value of a command: how it ended and what it wrote.
func (c *child) appendValue(dst []byte, status unix.WaitStatus) []byte {
	if status.Signaled() {
		dst = append(dst, `{"signal":`...)
		dst = strconv.AppendInt(dst, int64(status.Signal()), 10)
	} else {
		dst = append(dst, `{"exit":`...)
		dst = strconv.AppendInt(dst, int64(status.ExitStatus()), 10)
	}
	dst = append(dst, `,"stdout":`...)
	dst = c.stdout.appendJSON(dst)
	dst = append(dst, `,"stderr":`...)
	text, cut := c.stderr.text()
	dst = appendBytes(dst, text)
	if cut > 0 {
		dst = append(dst, `,"stderr_cut":`...)
		dst = strconv.AppendInt(dst, cut, 10)
	}
	return append(dst, '}')
}

// spillFile makes the file for output that is too large for memory.
func (w *Worker) spillFile(c *child) (*os.File, string, error) {
	name := filepath.Join("out", fmt.Sprintf("%d-%d", c.item.Index, c.item.Attempt))
	path := filepath.Join(w.cfg.RunDir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, "", err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	return f, name, err
}
