package journal

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"slices"
)

// headRoom is more than a line can take beside its three JSON values: the keys,
// 32 digits of hash and six numbers of up to 20 digits.
const headRoom = 256

// AppendLine appends the line of e to dst, newline included, and returns the
// extended slice and the index in it where the value begins, -1 when there is
// none. Raw newlines in the values, which JSON allows between tokens, become
// spaces; their lengths stay as they are. It does not allocate when dst has room.
func AppendLine(dst []byte, e *Entry) (line []byte, valueOffset int) {
	dst = slices.Grow(dst, headRoom+len(e.Value)+len(e.Error)+len(e.Input))
	start := len(dst)
	dst = append(dst, `{"i":`...)
	dst = appendUint(dst, e.Index)
	dst = append(dst, `,"h":"`...)
	dst = appendHash(dst, &e.Hash)
	dst = append(dst, `","a":`...)
	dst = appendUint(dst, uint64(e.Attempt))
	dst = append(dst, `,"w":`...)
	dst = appendInt(dst, int64(e.Worker))
	dst = append(dst, `,"t":`...)
	dst = appendInt(dst, e.Start)
	dst = append(dst, `,"d":`...)
	dst = appendInt(dst, e.Wall)
	dst = append(dst, `,"s":"`...)
	dst = append(dst, e.Status.String()...)
	dst = append(dst, '"')
	valueOffset = -1
	if len(e.Value) > 0 {
		dst = append(dst, `,"v":`...)
		valueOffset = len(dst)
		dst = appendFlat(dst, e.Value)
	}
	if len(e.Error) > 0 {
		dst = append(dst, `,"e":`...)
		dst = appendFlat(dst, e.Error)
	}
	if len(e.Input) > 0 {
		dst = append(dst, `,"in":`...)
		dst = appendFlat(dst, e.Input)
	}
	return appendSum(dst, start), valueOffset
}

// appendFlat appends a JSON value with raw newlines replaced by spaces.
func appendFlat(dst, value []byte) []byte {
	start := len(dst)
	dst = append(dst, value...)
	for rest := dst[start:]; ; {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			return dst
		}
		rest[i] = ' '
		rest = rest[i+1:]
	}
}

// The end of a line: sumKey, 8 digits, sumEnd.
const (
	sumKey  = `,"crc":"`
	sumEnd  = `"}`
	sumSize = len(sumKey) + 8 + len(sumEnd)
)

// appendSum ends the line that begins at start with the CRC-32C of its bytes.
func appendSum(dst []byte, start int) []byte {
	sum := crc32.Checksum(dst[start:], castagnoli)
	dst = append(dst, sumKey...)
	dst = binary.BigEndian.AppendUint64(dst, hexDigits(sum))
	return append(dst, sumEnd+"\n"...)
}
