package sink

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/poolwise/poolwise/internal/jsontext"
)

// ending is the value of a command: how it ended, and what it wrote. A stream
// is a JSON string, in which bytes that are not UTF-8 stand as jsontext writes
// them, or a stored object.
type ending struct {
	Exit   json.RawMessage `json:"exit"`
	Signal json.RawMessage `json:"signal"`
	Stdout json.RawMessage `json:"stdout"`
	Stderr json.RawMessage `json:"stderr"`
}

// stored is a stream that is no JSON string.
type stored struct {
	Base64 *string `json:"$bytes"`
	File   *string `json:"$file"` // its path in the run directory
	Bytes  int64   `json:"bytes"` // the length of the file
}

// stdout writes what a command wrote to its standard output, byte for byte.
func (v *view) stdout(value []byte) error {
	var end ending
	if err := json.Unmarshal(value, &end); err != nil {
		return fmt.Errorf("the end of a command cannot be read back from the journal: %w", err)
	}
	if len(end.Stdout) == 0 {
		return nil
	}
	if end.Stdout[0] == '"' {
		raw, err := jsontext.AppendUnquoted(v.scratch[:0], end.Stdout)
		if err != nil {
			return fmt.Errorf("the output of a command cannot be read back from the journal: %w", err)
		}
		v.scratch = raw
		return v.out.write(raw)
	}
	var s stored
	if err := json.Unmarshal(end.Stdout, &s); err != nil {
		return fmt.Errorf("the output of a command cannot be read back from the journal: %w", err)
	}
	switch {
	case s.File != nil:
		return v.file(&s, v.out.write)
	case s.Base64 != nil:
		raw, err := base64.StdEncoding.DecodeString(*s.Base64)
		if err != nil {
			return fmt.Errorf("the output of a command cannot be read back from the journal: %w", err)
		}
		return v.out.write(raw)
	}
	return nil
}

// file passes the contents of a stored stream to write, piece by piece.
func (v *view) file(s *stored, write func([]byte) error) error {
	if !filepath.IsLocal(*s.File) {
		return fmt.Errorf("the journal names the file %q as the output of a command, which is not in the run directory", *s.File)
	}
	f, err := os.Open(filepath.Join(v.opts.Dir, *s.File))
	if err != nil {
		return fmt.Errorf("the output of a command cannot be read back: %w", err)
	}
	defer f.Close()
	if v.piece == nil {
		v.piece = make([]byte, windowSize)
	}
	left := s.Bytes
	for left > 0 {
		n, err := io.ReadFull(f, v.piece[:min(left, windowSize)])
		if err != nil {
			return fmt.Errorf("the output of a command cannot be read back: %s has %d bytes less than were written: %w", f.Name(), left-int64(n), err)
		}
		if err := write(v.piece[:n]); err != nil {
			return err
		}
		left -= int64(n)
	}
	return nil
}

// commandMembers writes the end of a command as members of its record.
func (v *view) commandMembers(index uint64, value []byte) error {
	var end ending
	if err := json.Unmarshal(value, &end); err != nil {
		return fmt.Errorf("the end of the command for item %d cannot be read back from the journal: %w", index, err)
	}
	b := appendMember(v.scratch[:0], "exit", end.Exit)
	v.scratch = appendMember(b, "signal", end.Signal)
	if err := v.out.write(v.scratch); err != nil {
		return err
	}
	if err := v.streamMember("stdout", end.Stdout); err != nil {
		return err
	}
	return v.streamMember("stderr", end.Stderr)
}

// streamMember writes what a command wrote as a member of its record. The
// contents of a file are written as a JSON string: the file will be gone.
func (v *view) streamMember(key string, value []byte) error {
	var s stored
	if len(value) > 0 && value[0] == '{' {
		if err := json.Unmarshal(value, &s); err != nil {
			return fmt.Errorf("the output of a command cannot be read back from the journal: %w", err)
		}
	}
	if s.File == nil {
		v.scratch = appendMember(v.scratch[:0], key, value)
		return v.out.write(v.scratch)
	}
	if err := v.out.write([]byte(`,"` + key + `":"`)); err != nil {
		return err
	}
	q := quoter{out: v.out}
	if err := v.file(&s, q.write); err != nil {
		return err
	}
	return q.end()
}

// quoter writes pieces of text as one JSON string.
type quoter struct {
	out  *output
	rest []byte // the beginning of a character that the next piece ends
	room []byte
}

func (q *quoter) write(piece []byte) error {
	if len(q.rest) > 0 {
		// At most three bytes are carried over, once for each piece.
		piece = append(q.rest, piece...)
	}
	cut := len(piece) - partial(piece)
	q.rest = append([]byte(nil), piece[cut:]...)
	return q.quote(piece[:cut])
}

func (q *quoter) quote(text []byte) error {
	q.room = jsontext.AppendQuoted(q.room[:0], text)
	return q.out.write(q.room[1 : len(q.room)-1])
}

// end writes what is left, and the closing quote.
func (q *quoter) end() error {
	if err := q.quote(q.rest); err != nil {
		return err
	}
	return q.out.write([]byte{'"'})
}

// partial returns how many bytes at the end of b may be the beginning of a
// character.
func partial(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if utf8.FullRune(b[len(b)-n:]) {
				return 0
			}
			return n
		}
	}
	return 0
}
