package jsontext

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestAppendQuoted(t *testing.T) {
	cases := []struct{ name, data, want string }{
		{"empty", "", `""`},
		{"plain", "hello", `"hello"`},
		{"longer than a word", "hello, wide world", `"hello, wide world"`},
		{"quote and backslash", `a"b\c`, `"a\"b\\c"`},
		{"short escapes", "\b\f\n\r\t", `"\b\f\n\r\t"`},
		{"other control characters", "\x00\x1f", `"\u0000\u001f"`},
		{"delete stays", "\x7f", "\"\x7f\""},
		{"two, three and four bytes", "é€😀", `"é€😀"`},
		{"line separator stays", "\u2028", "\"\u2028\""},
		{"replacement character itself", "\ufffd", "\"\ufffd\""},
		{"lone high byte", "a\xffb", `"a\udcffb"`},
		{"lone continuation", "\x80", `"\udc80"`},
		{"cut sequence", "\xe2\x82A", `"\udce2\udc82A"`},
		{"encoded surrogate", "\xed\xa0\x80", `"\udced\udca0\udc80"`},
		{"overlong slash", "\xc0\xaf", `"\udcc0\udcaf"`},
		{"beyond Unicode", "\xf4\x90\x80\x80", `"\udcf4\udc90\udc80\udc80"`},
		{"escape at each place of a word", `1234567"12345"`, `"1234567\"12345\""`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := string(AppendQuoted([]byte("x"), []byte(c.data)))
			if got != "x"+c.want {
				t.Errorf("got %s, want x%s", got, c.want)
			}
		})
	}
}

func TestAppendUnquoted(t *testing.T) {
	cases := []struct{ name, literal, want string }{
		{"empty", `""`, ""},
		{"plain", `"hello, wide world"`, "hello, wide world"},
		{"short escapes", `"\"\\\/\b\f\n\r\t"`, "\"\\/\b\f\n\r\t"},
		{"hex in both cases", `"\u00E9\u00e9"`, "éé"},
		{"pair", `"\ud83d\ude00"`, "😀"},
		{"pair whose low half could be a byte", `"\ud83d\udc80"`, "💀"},
		{"byte", `"a\udcffb"`, "a\xffb"},
		{"two bytes", `"\udcff\udcfe"`, "\xff\xfe"},
		{"byte, then pair", `"\udcff\ud83d\ude00"`, "\xff😀"},
		{"zero", `"\u0000"`, "\x00"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := AppendUnquoted([]byte("x"), []byte(c.literal))
			if err != nil || string(got) != "x"+c.want {
				t.Errorf("got %q, %v, want %q", got, err, "x"+c.want)
			}
		})
	}
}

func TestAppendUnquotedRefuses(t *testing.T) {
	cases := []struct{ name, literal, reason string }{
		{"nothing", ``, "quote"},
		{"one quote", `"`, "quote"},
		{"a number", `12`, "quote"},
		{"space around", ` "a"`, "quote"},
		{"quote within", `"a"b"`, "raw"},
		{"newline within", "\"a\nb\"", "raw"},
		{"high surrogate alone", `"\ud800"`, "surrogate"},
		{"low surrogate of no byte", `"\udc7f"`, "surrogate"},
		{"low surrogate above bytes", `"\udd00"`, "surrogate"},
		{"two high surrogates", `"\ud800\ud800"`, "surrogate"},
		{"unknown escape", `"\x"`, "escape"},
		{"bad hex", `"\u00g0"`, "escape"},
		{"short hex", `"\u00"`, "escape"},
		{"escaped end", `"a\"`, "escape"},
		{"not UTF-8", "\"\xff\"", "UTF-8"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := AppendUnquoted([]byte("x"), []byte(c.literal))
			var syntax *SyntaxError
			if !errors.As(err, &syntax) || !strings.Contains(err.Error(), c.reason) {
				t.Errorf("error %v, want one about %q", err, c.reason)
			}
			if string(got) != "x" {
				t.Errorf("dst came back as %q", got)
			}
		})
	}
}

// checkRound asserts what holds for every data: the literal is JSON, reads
// back, and agrees with the standard encoder wherever that loses nothing.
func checkRound(t interface{ Fatalf(string, ...any) }, data []byte) {
	literal := AppendQuoted(nil, data)
	if !json.Valid(literal) || !utf8.Valid(literal) {
		t.Fatalf("%q became %q, which is not JSON", data, literal)
	}
	back, err := AppendUnquoted(nil, literal)
	if err != nil || !bytes.Equal(back, data) {
		t.Fatalf("%q became %s and came back as %q, %v", data, literal, back, err)
	}
	if !utf8.Valid(data) {
		return
	}
	var decoded string
	if err := json.Unmarshal(literal, &decoded); err != nil || decoded != string(data) {
		t.Fatalf("encoding/json reads %s as %q, %v", literal, decoded, err)
	}
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.OneOf(
			rapid.SliceOf(rapid.Byte()),
			rapid.Map(rapid.String(), func(s string) []byte { return []byte(s) }),
		)).Draw(t, "parts")
		checkRound(t, bytes.Join(parts, nil))
	})
}

func FuzzQuote(f *testing.F) {
	f.Add([]byte("a\xff\"\\\n€"))
	f.Fuzz(func(t *testing.T, data []byte) { checkRound(t, data) })
}

// FuzzUnquote gives any text: where both decoders accept it and no byte
// escape is in it, they agree.
func FuzzUnquote(f *testing.F) {
	f.Add([]byte(`"\ud83d\ude00\udcff\u0000"`))
	f.Fuzz(func(t *testing.T, literal []byte) {
		got, err := AppendUnquoted(nil, literal)
		if err != nil {
			return
		}
		var want string
		if json.Unmarshal(literal, &want) != nil {
			t.Fatalf("%q was accepted and is not JSON", literal)
		}
		if utf8.Valid(got) && !bytes.Contains(bytes.ToLower(literal), []byte(`\udc`)) && want != string(got) {
			t.Fatalf("%s gave %q, want %q", literal, got, want)
		}
	})
}

func BenchmarkAppendQuoted(b *testing.B) {
	for name, text := range map[string]string{
		"short":   "image-000123.jpg",
		"long":    strings.Repeat("plain text without anything ", 40),
		"quotes":  strings.Repeat(`{"a":"b"},`, 20),
		"umlauts": strings.Repeat("zwölf Boxkämpfer ", 20),
	} {
		b.Run(name, func(b *testing.B) {
			data, buf := []byte(text), make([]byte, 0, 4096)
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				buf = AppendQuoted(buf[:0], data)
			}
		})
	}
}
