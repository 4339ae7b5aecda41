package journal

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// A LogRecord is something that a task wrote, or the note that some of what it
// wrote was not kept.
type LogRecord struct {
	Worker int
	Stream string // "stdout" or "stderr"
	// Items are those that may have written it: at most 64, the ones that had
	// run longest; none when it was written outside of any item.
	Items   []uint64
	Attempt uint32 // which attempt they were in; 0 when that differs
	Time    int64  // ns since the start of the run
	Cut     int64  // bytes that were not kept; Data is empty then
	Data    []byte // valid only during the call it is passed in
}

// ErrLogTorn reports that a log ends in the middle of a record, as a crash
// leaves it. All records before it were read.
var ErrLogTorn = errors.New("the log ends in the middle of a record")

// maxRecord bounds the memory that a damaged header can ask for. A record has
// at most what a pipe gives at a time, far less than this.
const maxRecord = 1 << 28

// ReadLog calls each for every record of a log, in the order of the file. The
// error is that of each, which ends reading; ErrLogTorn; or what the system
// says.
func ReadLog(path string, each func(LogRecord) error) error {
	_, err := readLog(path, each)
	return err
}

// readLog also returns where the last whole record ends.
func readLog(path string, each func(LogRecord) error) (end int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, fmt.Errorf("the log of what tasks print cannot be read: %w", err)
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 64<<10)
	var buf []byte
	for {
		rec, size, err := readRecord(r, buf[:0])
		if err == io.EOF {
			return end, nil
		}
		if err != nil {
			return end, fmt.Errorf("%s, byte %d: %w", path, end, err)
		}
		if err := each(rec); err != nil {
			return end, err
		}
		buf = rec.Data
		end += size
	}
}

// readRecord reads one record, its data into buf if there is room.
func readRecord(r *bufio.Reader, buf []byte) (rec LogRecord, size int64, err error) {
	header, err := r.ReadBytes('\n')
	if err == io.EOF && len(header) > 0 {
		err = ErrLogTorn
	}
	if err != nil {
		return rec, 0, err
	}
	var h struct {
		Worker  int      `json:"worker"`
		Stream  string   `json:"stream"`
		Items   []uint64 `json:"items"`
		Attempt uint32   `json:"attempt"`
		Time    int64    `json:"t"`
		Cut     int64    `json:"cut"`
		Bytes   *int64   `json:"bytes"`
	}
	if err := json.Unmarshal(header, &h); err != nil || h.Bytes == nil || *h.Bytes < 0 || *h.Bytes > maxRecord {
		return rec, 0, fmt.Errorf("%w: a header is damaged", ErrLogTorn)
	}
	n := int(*h.Bytes)
	if cap(buf) < n+1 {
		buf = make([]byte, n+1)
	}
	buf = buf[:n+1]
	if _, err := io.ReadFull(r, buf); err == io.EOF || err == io.ErrUnexpectedEOF {
		return rec, 0, ErrLogTorn
	} else if err != nil {
		return rec, 0, err
	}
	if buf[n] != '\n' {
		return rec, 0, fmt.Errorf("%w: its length is wrong", ErrLogTorn)
	}
	rec = LogRecord{
		Worker: h.Worker, Stream: h.Stream, Items: h.Items, Attempt: h.Attempt, Time: h.Time, Cut: h.Cut, Data: buf[:n],
	}
	return rec, int64(len(header) + n + 1), nil
}
