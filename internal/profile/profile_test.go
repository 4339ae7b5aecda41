package profile_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/poolwise/poolwise/internal/profile"
	"github.com/poolwise/poolwise/measure"
)

var key = profile.Key{Task: "t", Interpreter: "/usr/bin/python3", Machine: "2 CPUs"}

func sample(t *rapid.T) *profile.Profile {
	duration := rapid.Map(rapid.Int64Range(-1, 1e12), func(n int64) time.Duration { return time.Duration(n) })
	share := rapid.Float64Range(0, 1)
	p := &profile.Profile{
		Plan:  rapid.SampledFrom([]string{"serial", "processes:8", "2x8:threads"}).Draw(t, "plan"),
		Slots: rapid.IntRange(0, 4096).Draw(t, "slots"), Saved: time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "saved"), 0).UTC(),
		Task: measure.Task{
			Held:  measure.Share{Value: share.Draw(t, "held"), N: rapid.IntRange(0, 1000).Draw(t, "knocks")},
			Async: rapid.Bool().Draw(t, "async"), Codec: duration.Draw(t, "codec"), Queued: share.Draw(t, "queued"),
			Startup:    measure.Startup{Spawn: duration.Draw(t, "spawn"), CPU: duration.Draw(t, "cpu")},
			BaseMemory: rapid.Int64().Draw(t, "memory"), TwoSlots: share.Draw(t, "two"),
		},
	}
	if rapid.Bool().Draw(t, "warns") {
		p.Task.Warnings = []string{"chdir"}
	}
	for range rapid.IntRange(0, 64).Draw(t, "items") {
		p.Task.Items = append(p.Task.Items, measure.Item{
			Wall: duration.Draw(t, "wall"), CPU: -1, Process: -1, In: rapid.IntRange(0, 1e9).Draw(t, "in"),
		})
	}
	return p
}

func TestWhatIsSavedIsLoaded(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		want := sample(t)
		if err := profile.Save(dir, key, want); err != nil {
			t.Fatal(err)
		}
		got, err := profile.Load(dir, key)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestNoneIsNoError(t *testing.T) {
	for _, dir := range []string{t.TempDir(), ""} {
		if p, err := profile.Load(dir, key); p != nil || err != nil {
			t.Errorf("of nothing in %q there is %v, %v", dir, p, err)
		}
	}
}

// The fields of a key do not run into each other, and a file says whose it is.
func TestKeysAreKeptApart(t *testing.T) {
	dir := t.TempDir()
	one, two := profile.Key{Task: "ab", Interpreter: "c"}, profile.Key{Task: "a", Interpreter: "bc"}
	if err := profile.Save(dir, one, &profile.Profile{Plan: "serial"}); err != nil {
		t.Fatal(err)
	}
	if p, _ := profile.Load(dir, two); p != nil {
		t.Error("another key has the profile too")
	}
	data, err := os.ReadFile(only(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	if err := profile.Save(dir, key, &profile.Profile{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range files(t, dir) { // as if the hashes were the same
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if p, _ := profile.Load(dir, key); p != nil {
		t.Error("the profile of another task is taken for this one's")
	}
}

func files(t testing.TB, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "profiles", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func only(t testing.TB, dir string) string {
	t.Helper()
	found := files(t, dir)
	if len(found) != 1 {
		t.Fatalf("there are the files %q, want one", found)
	}
	return found[0]
}

// A file in which any byte was changed or lost is none, or says the same.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	want := &profile.Profile{Plan: "processes:2", Slots: 3, Task: measure.Task{Items: []measure.Item{{Wall: 5, CPU: 4}}}}
	if err := profile.Save(dir, key, want); err != nil {
		t.Fatal(err)
	}
	name := only(t, dir)
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	try := func(what string, data []byte) {
		t.Helper()
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := profile.Load(dir, key)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if got != nil && !cmp.Equal(want, got) {
			t.Fatalf("%s: it is taken for %+v", what, got)
		}
	}
	for i := range whole {
		damaged := []byte(string(whole))
		damaged[i] ^= 1 << (i % 7)
		try("byte "+strconv.Itoa(i), damaged)
		try("cut at "+strconv.Itoa(i), whole[:i])
	}
	try("of another version", []byte(strings.Replace(string(whole), `"version":1`, `"version":2`, 1)))
}

func TestSeveralSaveAtATime(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			for range 20 {
				if err := profile.Save(dir, key, &profile.Profile{Slots: n + 1}); err != nil {
					t.Error(err)
				}
				if p, err := profile.Load(dir, key); err != nil || p == nil || p.Slots == 0 {
					t.Errorf("while others save there is %v, %v", p, err)
				}
			}
		})
	}
	all.Wait()
	only(t, dir)
}

func TestWhereNothingCanBeKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := profile.Save(file, key, &profile.Profile{}); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("the error is %v; want one that names %s", err, file)
	}
}

func TestTheOldestGo(t *testing.T) {
	dir := t.TempDir()
	old := time.Now().Add(-time.Hour)
	for i := range 510 {
		k := profile.Key{Task: strconv.Itoa(i)}
		if err := profile.Save(dir, k, &profile.Profile{}); err != nil {
			t.Fatal(err)
		}
		if i < 400 {
			for _, name := range files(t, dir) {
				if info, err := os.Stat(name); err == nil && info.ModTime().After(old) {
					_ = os.Chtimes(name, old, old)
				}
			}
		}
	}
	if n := len(files(t, dir)); n != 500 {
		t.Errorf("%d profiles are kept, want 500", n)
	}
	for i := 400; i < 510; i++ {
		if p, _ := profile.Load(dir, profile.Key{Task: strconv.Itoa(i)}); p == nil {
			t.Fatalf("profile %d, one of the youngest, has gone", i)
		}
	}
}
