// Package profile keeps what a run has learnt of a task for the next one: a
// file a task, in the user's cache directory. It is advice: what is missing,
// damaged or of another version is learnt anew.
package profile

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/poolwise/poolwise/measure"
)

// A Key names what a profile is of.
type Key struct {
	Task        string `json:"task"`        // digest of its source and name
	Interpreter string `json:"interpreter"` // path of it; "" for a command
	Machine     string `json:"machine"`     // what plans have to keep to
}

// A Profile is what was learnt.
type Profile struct {
	// Plan is what the run has ended with, in plan notation.
	Plan string
	// Task is what was measured.
	Task measure.Task
	// Slots is where the search for the number of slots has settled; 0: there
	// was none.
	Slots int
	Saved time.Time
}

const (
	version = 1
	folder  = "profiles"
	// maxSize bounds what is read, maxItems the items that are kept, and
	// maxFiles the profiles: those that were saved longest ago go.
	maxSize  = 1 << 20
	maxItems = 64
	maxFiles = 500
)

// path is where the profile of a key lies. The fields are kept apart by their
// lengths.
func path(dir string, k Key) string {
	h := sha256.New()
	for _, field := range []string{k.Task, k.Interpreter, k.Machine} {
		fmt.Fprintf(h, "%d:%s", len(field), field)
	}
	return filepath.Join(dir, folder, hex.EncodeToString(h.Sum(nil))+".json")
}

// Load returns the profile of a key; nil without an error where there is none
// that can be used. The error tells of a file that is there and cannot be read.
func Load(dir string, k Key) (*Profile, error) {
	if dir == "" {
		return nil, nil
	}
	name := path(dir, k)
	// Looked at before it is opened: a pipe would be waited for, and a link may
	// lead anywhere.
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return nil, nil
	}
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("what was learnt of the task cannot be read: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSize))
	if err != nil {
		return nil, fmt.Errorf("what was learnt of the task cannot be read: %w", err)
	}
	return decode(data, k), nil
}

// Save keeps a profile; the file is there whole or not at all. Profiles beyond
// a number are removed.
func Save(dir string, k Key, p *Profile) error {
	data, err := encode(p, k)
	if err != nil {
		return err
	}
	name := path(dir, k)
	if err := write(name, data); err != nil {
		return fmt.Errorf("what was learnt of the task cannot be kept: %w", err)
	}
	prune(filepath.Dir(name))
	return nil
}

func write(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".new-")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// prune removes the oldest profiles beyond maxFiles, and what a save that was
// cut short has left. That it cannot is no reason to fail.
func prune(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) <= maxFiles {
		return
	}
	times := make(map[string]time.Time, len(entries))
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			times[e.Name()] = info.ModTime()
		}
	}
	names := make([]string, 0, len(times))
	for name := range times {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return times[b].Compare(times[a]) })
	for _, name := range names[min(maxFiles, len(names)):] {
		os.Remove(filepath.Join(dir, name))
	}
}

// file is a profile as it is written. Times are in nanoseconds.
type file struct {
	Version int       `json:"version"`
	Key     Key       `json:"key"`
	Plan    string    `json:"plan"`
	Slots   int       `json:"slots,omitempty"`
	Saved   time.Time `json:"saved"`
	Task    taskFile  `json:"task"`
	Sum     string    `json:"sum,omitempty"` // SHA-256 of the rest, with this empty
}

type taskFile struct {
	Items        []itemFile    `json:"items"`
	Held         float64       `json:"held"`
	Knocks       int           `json:"knocks"`
	Async        bool          `json:"async,omitempty"`
	Command      bool          `json:"command,omitempty"`
	FreeThreaded bool          `json:"free_threaded,omitempty"`
	Codec        time.Duration `json:"codec_ns"`
	Engine       time.Duration `json:"engine_ns"`
	Message      time.Duration `json:"message_ns"`
	Queued       float64       `json:"queued"`
	Spawn        time.Duration `json:"spawn_ns"`
	Import       time.Duration `json:"import_ns"`
	First        time.Duration `json:"first_ns"`
	StartCPU     time.Duration `json:"start_cpu_ns"`
	BaseMemory   int64         `json:"base_memory_bytes"`
	ItemMemory   int64         `json:"item_memory_bytes"`
	TwoSlots     float64       `json:"two_slots,omitempty"`
	Warnings     []string      `json:"warnings,omitempty"`
}

type itemFile struct {
	Wall    time.Duration `json:"wall_ns"`
	CPU     time.Duration `json:"cpu_ns"`
	Process time.Duration `json:"process_ns"`
	In      int           `json:"in"`
	Out     int           `json:"out"`
	First   bool          `json:"first,omitempty"`
}

func encode(p *Profile, k Key) ([]byte, error) {
	t := &p.Task
	f := file{Version: version, Key: k, Plan: p.Plan, Slots: p.Slots, Saved: p.Saved, Task: taskFile{
		Held: t.Held.Value, Knocks: t.Held.N, Async: t.Async, Command: t.Command, FreeThreaded: t.FreeThreaded,
		Codec: t.Codec, Engine: t.Engine, Message: t.Message, Queued: t.Queued,
		Spawn: t.Startup.Spawn, Import: t.Startup.Import, First: t.Startup.First, StartCPU: t.Startup.CPU,
		BaseMemory: t.BaseMemory, ItemMemory: t.ItemMemory, TwoSlots: t.TwoSlots, Warnings: t.Warnings,
	}}
	items := t.Items
	for i := range min(len(items), maxItems) {
		f.Task.Items = append(f.Task.Items, itemFile(items[i*len(items)/min(len(items), maxItems)]))
	}
	sum, err := sumOf(f)
	if err != nil {
		return nil, err
	}
	f.Sum = sum
	return json.Marshal(f)
}

// decode returns nil for what is no profile of this key and version.
func decode(data []byte, k Key) *Profile {
	var f file
	if json.Unmarshal(data, &f) != nil || f.Version != version || f.Key != k {
		return nil
	}
	if sum, err := sumOf(f); err != nil || sum != f.Sum {
		return nil
	}
	t := &f.Task
	p := &Profile{Plan: f.Plan, Slots: f.Slots, Saved: f.Saved, Task: measure.Task{
		Held: measure.Share{Value: t.Held, N: t.Knocks}, Async: t.Async, Command: t.Command, FreeThreaded: t.FreeThreaded,
		Codec: t.Codec, Engine: t.Engine, Message: t.Message, Queued: t.Queued,
		Startup:    measure.Startup{Spawn: t.Spawn, Import: t.Import, First: t.First, CPU: t.StartCPU},
		BaseMemory: t.BaseMemory, ItemMemory: t.ItemMemory, TwoSlots: t.TwoSlots, Warnings: t.Warnings,
	}}
	for _, it := range t.Items {
		p.Task.Items = append(p.Task.Items, measure.Item(it))
	}
	return p
}

// sumOf returns what tells a file that was damaged from a whole one.
func sumOf(f file) (string, error) {
	f.Sum = ""
	data, err := json.Marshal(f)
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), err
}
