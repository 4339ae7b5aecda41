// Package journal is the durable record of a run: a file to which every result
// is appended before anything else hears of it, the directory that the file
// stands in, and the log of what tasks print. docs/journal.md describes the
// formats; later versions of poolwise read what this one writes.
package journal

import (
	"hash/crc32"
	"strconv"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/zeebo/xxh3"
)

// Version is the version of the journal's format that this package writes, and
// the only one that it reads.
const Version = 1

// An Entry is what one line of the journal says: how one attempt ended.
type Entry struct {
	Index   uint64   // the item's position in the input of the run that wrote the line, from 0
	Hash    [16]byte // HashItem of the item
	Attempt uint32   // from 1; 0 for an item that was never tried
	Worker  int      // the worker's number
	Start   int64    // ns since the start of the run
	Wall    int64    // ns
	Status  batch.Status

	// Value, Error and Input are each one JSON value; empty where there is
	// none. A value that is not valid JSON makes its line unreadable.
	Value []byte // what the task returned; for a command, what it ended with and printed
	Error []byte // a batch.Failure
	Input []byte // the item, or a preview of it

	// LineLen and ValueAt are told by ParseLine and not looked at by
	// AppendLine: the length of the line without its newline, and where in it
	// the value begins (-1 when there is none).
	LineLen, ValueAt int
}

// castagnoli is the polynomial that processors compute in hardware.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// HashItem identifies an item by its content, so that a resumed run finds it
// again wherever it stands in the input. It is XXH3-128 of the data with the
// form as the seed: the text 1 and the JSON value 1 are different items.
func HashItem(form batch.Form, data []byte) [16]byte {
	return xxh3.Hash128Seed(data, uint64(form)).Bytes()
}

// versionLine is the first line of a journal, newline included.
func versionLine(version int) []byte {
	line := append([]byte(versionPrefix), strconv.Itoa(version)...)
	return appendSum(line, 0)
}

const versionPrefix = `{"journal":"poolwise","version":`
