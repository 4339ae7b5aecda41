package sink

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
)

// spill keeps entries in a file, each at its index times entrySize. The file
// has no name, so that nothing is left of it, whatever happens. Where nothing
// was written it is a hole, and reads as entries of unfinished items.
type spill struct {
	dir  string
	file *os.File
	end  uint64 // after the highest index in the file

	// Entries of consecutive indices, to be written together.
	run   []byte
	first uint64

	room []byte // for reading
}

// spillRun is the size of the largest write: large enough to make the system
// call cheap for each entry.
const spillRun = 64 << 10

// put adds an entry; flush must follow.
func (s *spill) put(index uint64, e entry) error {
	if len(s.run) > 0 && (index != s.first+uint64(len(s.run)/entrySize) || len(s.run) >= spillRun) {
		if err := s.flush(); err != nil {
			return err
		}
	}
	if len(s.run) == 0 {
		s.first = index
	}
	s.run = binary.LittleEndian.AppendUint64(s.run, uint64(e.off))
	s.run = binary.LittleEndian.AppendUint64(s.run, uint64(e.size))
	return nil
}

// flush writes what put has collected.
func (s *spill) flush() error {
	if len(s.run) == 0 {
		return nil
	}
	if s.file == nil {
		if err := s.open(); err != nil {
			return err
		}
	}
	if _, err := s.file.WriteAt(s.run, int64(s.first)*entrySize); err != nil {
		return fmt.Errorf("finished items that wait for an earlier one cannot be noted in %s: %w", s.dir, err)
	}
	s.end = max(s.end, s.first+uint64(len(s.run)/entrySize))
	s.run = s.run[:0]
	return nil
}

func (s *spill) open() error {
	file, err := os.CreateTemp(s.dir, "waiting-*")
	if err != nil {
		return fmt.Errorf("finished items that wait for an earlier one cannot be noted: %w", err)
	}
	os.Remove(file.Name()) // where an open file cannot be removed, close does it
	s.file = file
	return nil
}

// get calls each for the finished items among n indices.
func (s *spill) get(from, n uint64, each func(uint64, entry)) error {
	if from >= s.end {
		return nil
	}
	n = min(n, s.end-from)
	for n > 0 {
		part := min(n, spillRun/entrySize)
		if err := s.read(from, part, each); err != nil {
			return err
		}
		from, n = from+part, n-part
	}
	return nil
}

func (s *spill) read(from, n uint64, each func(uint64, entry)) error {
	if s.room == nil {
		s.room = make([]byte, spillRun)
	}
	got := s.room[:n*entrySize]
	if _, err := s.file.ReadAt(got, int64(from)*entrySize); err != nil && err != io.EOF {
		return fmt.Errorf("finished items that waited cannot be read back from %s: %w", s.dir, err)
	}
	for i := range n {
		e := entry{
			off:  int64(binary.LittleEndian.Uint64(got[i*entrySize:])),
			size: int64(binary.LittleEndian.Uint64(got[i*entrySize+8:])),
		}
		if e.size != unfinished {
			each(from+i, e)
		}
	}
	return nil
}

func (s *spill) close() {
	if s.file != nil {
		s.file.Close()
		os.Remove(s.file.Name())
	}
}
