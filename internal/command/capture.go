package command

import (
	"bytes"
	"encoding/base64"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/poolwise/poolwise/internal/jsontext"
)

const (
	// holdStdout is how much of a command's standard output is kept in memory;
	// more goes to a file, so that no output is too large.
	holdStdout = 1 << 20
	// Of standard error, the record has the beginning and the end; the run's
	// log has more of it.
	stderrHead, stderrTail = 32 << 10, 32 << 10
)

// capture holds standard output.
type capture struct {
	held []byte
	file *os.File
	name string // of the file, relative to the run directory
	size int64
}

// write adds to what is held; open makes the file once that is too much.
func (c *capture) write(data []byte, open func() (*os.File, string, error)) error {
	c.size += int64(len(data))
	if c.file == nil && len(c.held)+len(data) <= holdStdout {
		c.held = append(c.held, data...)
		return nil
	}
	if c.file == nil {
		var err error
		if c.file, c.name, err = open(); err != nil {
			return err
		}
		if _, err := c.file.Write(c.held); err != nil {
			return err
		}
		c.held = nil
	}
	_, err := c.file.Write(data)
	return err
}

func (c *capture) close() {
	if c.file != nil {
		c.file.Close()
	}
}

// appendJSON appends the output as JSON: a string, bytes that are no text as
// base64, a file by its name.
func (c *capture) appendJSON(dst []byte) []byte {
	if c.file != nil {
		dst = append(dst, `{"$file":`...)
		dst = jsontext.AppendQuoted(dst, []byte(c.name))
		dst = append(dst, `,"bytes":`...)
		return append(strconv.AppendInt(dst, c.size, 10), '}')
	}
	return appendBytes(dst, c.held)
}

// appendBytes appends text as a string, and other bytes as {"$bytes":base64}.
func appendBytes(dst, data []byte) []byte {
	if utf8.Valid(data) {
		return jsontext.AppendQuoted(dst, data)
	}
	dst = append(dst, `{"$bytes":"`...)
	dst = base64.StdEncoding.AppendEncode(dst, data)
	return append(dst, `"}`...)
}

// excerpt keeps the beginning and the end of standard error.
type excerpt struct {
	head, tail []byte
	cut        int64 // bytes between them
}

func (e *excerpt) write(data []byte) {
	if room := stderrHead - len(e.head); room > 0 {
		n := min(room, len(data))
		e.head = append(e.head, data[:n]...)
		data = data[n:]
	}
	e.tail = append(e.tail, data...)
	if over := len(e.tail) - stderrTail; over > 0 {
		e.cut += int64(over)
		e.tail = append(e.tail[:0], e.tail[over:]...)
	}
}

// text is what was kept.
func (e *excerpt) text() []byte { return append(e.head[:len(e.head):len(e.head)], e.tail...) }

// lastLine is the last line that is not blank, as far as a message needs it.
func (e *excerpt) lastLine() string {
	data := bytes.TrimSpace(e.text())
	line := data[bytes.LastIndexByte(data, '\n')+1:]
	return strings.ToValidUTF8(string(line[:min(len(line), 300)]), "\uFFFD")
}
