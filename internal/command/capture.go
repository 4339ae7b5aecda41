package command

import (
	"bytes"
	"encoding/base64"
	"errors"
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

// close makes sure that the file is on the disk: the journal will say that it
// is.
func (c *capture) close() error {
	if c.file == nil {
		return nil
	}
	return errors.Join(c.file.Sync(), c.file.Close())
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

// text is what was kept, and how many bytes between its halves were not. A
// character at the cut is left out whole: half of one would turn text into
// bytes.
func (e *excerpt) text() (kept []byte, cut int64) {
	head, tail := e.head, e.tail
	if e.cut > 0 {
		head, tail = trimEnd(head), trimStart(tail)
	}
	cut = e.cut + int64(len(e.head)-len(head)+len(e.tail)-len(tail))
	return append(head[:len(head):len(head)], tail...), cut
}

// trimEnd cuts a character of which only the beginning is there.
func trimEnd(text []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		at := len(text) - n
		if utf8.RuneStart(text[at]) {
			if !utf8.FullRune(text[at:]) {
				return text[:at]
			}
			break
		}
	}
	return text
}

// trimStart cuts a character of which only the end is there.
func trimStart(text []byte) []byte {
	n := 0
	for n < utf8.UTFMax-1 && n < len(text) && !utf8.RuneStart(text[n]) {
		n++
	}
	return text[n:]
}

// lineLimit is how much of a command's last line a message needs, in bytes.
const lineLimit = 300

// lastLine is the last line that is not blank.
func (e *excerpt) lastLine() string {
	kept, _ := e.text()
	kept = bytes.TrimSpace(kept)
	line := kept[bytes.LastIndexByte(kept, '\n')+1:]
	if len(line) > lineLimit {
		line = trimEnd(line[:lineLimit])
	}
	return strings.ToValidUTF8(string(line), "\uFFFD")
}
