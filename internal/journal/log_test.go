package journal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/poolwise/poolwise/internal/batch"
)

func running(items ...uint64) []batch.Running {
	var list []batch.Running
	for _, i := range items {
		list = append(list, batch.Running{Index: i, Attempt: 1, Since: int64(i)})
	}
	return list
}

// readBack returns all records of the log in dir.
func readBack(t *testing.T, dir string) []LogRecord {
	t.Helper()
	var got []LogRecord
	err := ReadLog(filepath.Join(dir, LogName), func(r LogRecord) error {
		r.Data = bytes.Clone(r.Data)
		got = append(got, r)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

var sameRecord = cmp.Options{cmpopts.IgnoreFields(LogRecord{}, "Time"), cmpopts.EquateEmpty()}

func write(t *testing.T, l *Log, o batch.Output) {
	t.Helper()
	if err := l.Write(o); err != nil {
		t.Fatal(err)
	}
}

func TestTheLogKeepsBytesAsTheyAre(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	l := NewLog(dir, LogOptions{Start: time.Now()})
	if _, err := os.Stat(dir); err == nil {
		t.Error("the log was made before it was needed")
	}
	data := []byte("{\"worker\":1}\n\x00\xff\r\n\n")
	write(t, l, batch.Output{Worker: 1, Stream: "stdout", Items: running(2), Data: data})
	write(t, l, batch.Output{Worker: 2, Stream: "stderr", Items: running(3, 4), Data: []byte("x")})
	write(t, l, batch.Output{Worker: 2, Stream: "stderr", Data: []byte("import")})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.Write(batch.Output{}); err == nil {
		t.Error("a closed log takes more")
	}
	want := []LogRecord{
		{Worker: 1, Stream: "stdout", Items: []uint64{2}, Attempt: 1, Data: data},
		{Worker: 2, Stream: "stderr", Items: []uint64{3, 4}, Attempt: 1, Data: []byte("x")},
		{Worker: 2, Stream: "stderr", Data: []byte("import")},
	}
	if d := cmp.Diff(want, readBack(t, dir), sameRecord); d != "" {
		t.Error(d)
	}
}

func TestTheLogIsCappedForEachItem(t *testing.T) {
	dir := t.TempDir()
	l := NewLog(dir, LogOptions{KeepBytes: 10})
	out := func(stream, data string, items ...uint64) {
		t.Helper()
		write(t, l, batch.Output{Worker: 1, Stream: stream, Items: running(items...), Data: []byte(data)})
	}
	out("stdout", "1234567", 5)
	out("stdout", "89abcd", 5)
	out("stdout", "efg", 5)
	out("stderr", "another stream", 5)
	out("stdout", "next", 6) // 5 is over
	out("stdout", "loose end beyond the limit")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	rec := func(stream, data string, cut int64, items ...uint64) LogRecord {
		r := LogRecord{Worker: 1, Stream: stream, Items: items, Cut: cut, Data: []byte(data)}
		if cut == 0 && len(items) > 0 {
			r.Attempt = 1
		}
		return r
	}
	want := []LogRecord{
		rec("stdout", "1234567", 0, 5), rec("stdout", "89a", 0, 5), rec("stderr", "another st", 0, 5),
		rec("stdout", "", 6, 5), rec("stdout", "next", 0, 6), rec("stdout", "loose end ", 0),
	}
	got := readBack(t, dir)
	if d := cmp.Diff(want, got[:min(len(got), len(want))], sameRecord); d != "" {
		t.Error(d)
	}
	// Close goes through the streams in any order.
	var cut int64
	for _, r := range got[len(want):] {
		cut += r.Cut
	}
	if len(got) != len(want)+2 || cut != int64(len("ream")+len("beyond the limit")) {
		t.Errorf("at the end: %+v", got[len(want):])
	}
}

func TestTheTableOfItemsIsBounded(t *testing.T) {
	l := NewLog(t.TempDir(), LogOptions{})
	defer l.Close()
	var many []uint64
	for i := range uint64(1000) {
		many = append(many, 999-i)
	}
	write(t, l, batch.Output{Stream: "stdout", Items: running(many...), Data: []byte("x")})
	for i := range uint64(1000) {
		write(t, l, batch.Output{Stream: "stdout", Items: running(i, i+1), Data: []byte("x")})
	}
	if n := len(l.streams[streamKey{0, "stdout"}].items); n != 2 {
		t.Errorf("%d items are remembered", n)
	}
	got := readBack(t, l.dir)[0].Items
	if len(got) != maxItems || slices.Max(got) != maxItems-1 {
		t.Errorf("of 1,000 items these are named: %v", got)
	}
}

func TestALogGoesOnAfterACrash(t *testing.T) {
	dir := t.TempDir()
	l := NewLog(dir, LogOptions{})
	write(t, l, batch.Output{Stream: "stdout", Data: []byte("first")})
	write(t, l, batch.Output{Stream: "stdout", Data: []byte("second")})
	l.Close()
	whole, err := os.ReadFile(l.path())
	if err != nil {
		t.Fatal(err)
	}
	half := bytes.Index(whole[1:], []byte(`{"worker"`)) + 1
	for cut := range whole {
		if err := os.WriteFile(l.path(), whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		err := ReadLog(l.path(), func(LogRecord) error { return nil })
		if torn := cut != 0 && cut != half; errors.Is(err, ErrLogTorn) != torn {
			t.Fatalf("cut to %d: %v", cut, err)
		}
		l := NewLog(dir, LogOptions{})
		write(t, l, batch.Output{Stream: "stdout", Data: []byte("third")})
		l.Close()
		got := readBack(t, dir)
		if want := map[bool]int{true: 2, false: 1}[cut >= half]; len(got) != want || string(got[want-1].Data) != "third" {
			t.Fatalf("cut to %d: %+v", cut, got)
		}
	}
}

func TestALogThatCannotBeMade(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	os.WriteFile(path, nil, 0o600)
	l := NewLog(filepath.Join(path, "log"), LogOptions{})
	if err := l.Write(batch.Output{Stream: "stdout", Data: []byte("x")}); err == nil {
		t.Error("no error")
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func TestManyGoroutinesLog(t *testing.T) {
	dir := t.TempDir()
	l := NewLog(dir, LogOptions{})
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := range uint64(100) {
				text := strings.Repeat(fmt.Sprint(worker), int(i))
				if err := l.Write(batch.Output{Worker: worker, Stream: "stdout", Items: running(i), Data: []byte(text)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for _, r := range readBack(t, dir) {
		if want := strings.Repeat(fmt.Sprint(r.Worker), int(r.Items[0])); string(r.Data) != want {
			t.Fatalf("%+v", r)
		}
	}
}
