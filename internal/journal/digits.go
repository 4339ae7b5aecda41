package journal

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// The functions here format and read the numbers of a line. The standard
// library's are about twice as slow, and a line has ten numbers.

// hexDigits returns the 8 lower-case hexadecimal digits of x, the first in the
// most significant byte. All digits are made at once: the nibbles are spread
// to one a byte, and those above 9 moved on to the letters.
func hexDigits(x uint32) uint64 {
	v := uint64(x)
	v = (v | v<<16) & 0x0000ffff0000ffff
	v = (v | v<<8) & 0x00ff00ff00ff00ff
	v = (v | v<<4) & 0x0f0f0f0f0f0f0f0f
	letters := (v + 0x0606060606060606) >> 4 & 0x0101010101010101
	return v + 0x3030303030303030 + letters*('a'-'0'-10)
}

// hexValue is the inverse of hexDigits. It reports whether all were digits.
func hexValue(digits uint64) (uint32, bool) {
	letters := digits >> 6 & 0x0101010101010101
	v := digits&0x0f0f0f0f0f0f0f0f + letters*9
	v = (v | v>>4) & 0x00ff00ff00ff00ff
	v = (v | v>>8) & 0x0000ffff0000ffff
	x := uint32(v | v>>16)
	return x, hexDigits(x) == digits
}

// appendHash appends the 32 digits of a hash.
func appendHash(dst []byte, hash *[16]byte) []byte {
	for i := 0; i < 16; i += 4 {
		dst = binary.BigEndian.AppendUint64(dst, hexDigits(binary.BigEndian.Uint32(hash[i:])))
	}
	return dst
}

// parseHash reads 32 digits and reports whether all were digits.
func parseHash(digits []byte, hash *[16]byte) bool {
	ok := true
	for i := 0; i < 16; i += 4 {
		x, good := hexValue(binary.BigEndian.Uint64(digits[2*i:]))
		binary.BigEndian.PutUint32(hash[i:], x)
		ok = ok && good
	}
	return ok
}

const pairs = "00010203040506070809" + "10111213141516171819" + "20212223242526272829" + "30313233343536373839" +
	"40414243444546474849" + "50515253545556575859" + "60616263646566676869" + "70717273747576777879" +
	"80818283848586878889" + "90919293949596979899"

var powers = [20]uint64{1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19}

// decimalLen returns how many digits n has.
func decimalLen(n uint64) int {
	// 1233/4096 is a little more than the logarithm of 2 to the base 10.
	guess := bits.Len64(n|1) * 1233 >> 12
	if n|1 < powers[guess] {
		return guess
	}
	return guess + 1
}

// appendUint appends n in decimal.
func appendUint(dst []byte, n uint64) []byte {
	if n < 10 {
		return append(dst, byte('0'+n))
	}
	size := decimalLen(n)
	dst = slices.Grow(dst, size)[:len(dst)+size]
	for p := dst[len(dst)-size:]; ; {
		if n < 10 {
			p[0] = byte('0' + n)
			return dst
		}
		last := n % 100 * 2
		p[len(p)-1], p[len(p)-2] = pairs[last+1], pairs[last]
		p = p[:len(p)-2]
		if n /= 100; n == 0 {
			return dst
		}
	}
}

// appendInt appends n in decimal.
func appendInt(dst []byte, n int64) []byte {
	if n < 0 {
		return appendUint(append(dst, '-'), -uint64(n))
	}
	return appendUint(dst, uint64(n))
}
