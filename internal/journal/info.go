package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/poolwise/poolwise/internal/jsontext"
)

// A State is how far a run has come.
type State string

// The states of a run.
const (
	Running     State = "running"
	Done        State = "done"        // every item has an outcome
	Stopped     State = "stopped"     // it ended early: failure limit, full disk, broken input
	Interrupted State = "interrupted" // by a signal
	Failed      State = "failed"      // it could not start
	Planned     State = "planned"     // its sample was run, and no more was asked for
	// Died is told by List of a run that is said to be running and is not:
	// poolwise itself was killed. It never stands in a file.
	Died State = "died"
)

// InfoVersion is the version of run.json.
const InfoVersion = 1

// Info is what run.json says of a run. Strings that came from the system, such
// as arguments and paths, need not be UTF-8 and are kept byte for byte.
type Info struct {
	Version int      `json:"version"`
	ID      string   `json:"id"`
	Command []string `json:"command"` // the command line, the program's name not included
	Dir     string   `json:"dir"`     // the working directory
	Task    Task     `json:"task"`
	Inputs  []string `json:"inputs"`
	From    string   `json:"from,omitempty"` // the format of the inputs
	// Machine is the machine as it was found.
	Machine json.RawMessage `json:"machine,omitempty"`
	Plan    string          `json:"plan"` // in plan notation
	Why     string          `json:"why,omitempty"`
	// Prediction is what was predicted when the plan was chosen; nil where it
	// was given, or the run was over before.
	Prediction *Prediction `json:"prediction,omitempty"`
	Output     Output      `json:"output"`

	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended,omitzero"`
	State   State     `json:"state"`
	// Counts are the items by the name of their status.
	Counts map[string]uint64 `json:"counts,omitempty"`
	// Exit is the exit status, nil before the end.
	Exit    *int     `json:"exit,omitempty"`
	Summary *Summary `json:"summary,omitempty"`

	// Path is the run directory. It does not stand in the file.
	Path string `json:"-"`
}

// Task says what was run.
type Task struct {
	Kind string `json:"kind"` // "python" or "command"
	Name string `json:"name"` // as on the command line
	// Digest is the SHA-256 of the source in hexadecimal, "" when it is unknown.
	Digest string `json:"digest,omitempty"`
	// Interpreter is the path of the interpreter, Runtime its name and version.
	Interpreter string `json:"interpreter,omitempty"`
	Runtime     string `json:"runtime,omitempty"`
}

// Output says what becomes of the results.
type Output struct {
	Path      string `json:"path,omitempty"` // "" for standard output
	Format    string `json:"format"`         // "values" or "records"
	OnError   string `json:"on_error,omitempty"`
	Unordered bool   `json:"unordered,omitempty"`
	Delivered bool   `json:"delivered"` // all of it was written, and stands under its name
}

// Prediction is what was predicted for the items that were left at a moment.
type Prediction struct {
	Plan string `json:"plan"` // in plan notation
	// After is when it was made, since the start of the run, Items how many were left.
	After int64 `json:"after_ns"`
	Items int   `json:"items"`
	// Time is how long these would take, within Low and High in 8 of 10 cases.
	Time int64 `json:"time_ns"`
	Low  int64 `json:"low_ns"`
	High int64 `json:"high_ns"`
	// Serial is how long they would take one after another.
	Serial int64 `json:"serial_ns"`
}

// Summary has the figures of a run that ended. Times are in nanoseconds.
type Summary struct {
	Wall       int64   `json:"wall_ns"`
	ItemMedian int64   `json:"item_median_ns"`
	ItemP95    int64   `json:"item_p95_ns"`
	ItemMax    int64   `json:"item_max_ns"`
	Speedup    float64 `json:"speedup"` // the sum of the items' times over Wall
}

// text is a string as JSON that need not be UTF-8. The standard encoder would
// replace the bytes that are not.
type text string

func (t text) MarshalJSON() ([]byte, error) { return jsontext.AppendQuoted(nil, []byte(t)), nil }

func (t *text) UnmarshalJSON(literal []byte) error {
	raw, err := jsontext.AppendUnquoted(nil, literal)
	*t = text(raw)
	return err
}

func texts[To, From ~string](list []From) []To {
	to := make([]To, len(list))
	for i := range list {
		to[i] = To(list[i])
	}
	return to
}

// infoFile is Info with the fields that need not be UTF-8 in front of its own.
type infoFile struct {
	*plainInfo
	Command []text     `json:"command"`
	Dir     text       `json:"dir"`
	Task    taskFile   `json:"task"`
	Inputs  []text     `json:"inputs"`
	Output  outputFile `json:"output"`
}

type (
	plainInfo Info
	taskFile  struct {
		Task
		Name        text `json:"name"`
		Interpreter text `json:"interpreter,omitempty"`
	}
	outputFile struct {
		Output
		Path text `json:"path,omitempty"`
	}
)

// MarshalJSON returns the contents of run.json.
func (i *Info) MarshalJSON() ([]byte, error) {
	return json.Marshal(infoFile{
		plainInfo: (*plainInfo)(i), Command: texts[text](i.Command), Dir: text(i.Dir), Inputs: texts[text](i.Inputs),
		Task:   taskFile{i.Task, text(i.Task.Name), text(i.Task.Interpreter)},
		Output: outputFile{i.Output, text(i.Output.Path)},
	})
}

// UnmarshalJSON is the inverse of MarshalJSON.
func (i *Info) UnmarshalJSON(data []byte) error {
	f := infoFile{plainInfo: (*plainInfo)(i)}
	if err := json.Unmarshal(data, &f); err != nil {
		return err
	}
	i.Command, i.Dir, i.Inputs = texts[string](f.Command), string(f.Dir), texts[string](f.Inputs)
	i.Task = f.Task.Task
	i.Task.Name, i.Task.Interpreter = string(f.Task.Name), string(f.Task.Interpreter)
	i.Output = f.Output.Output
	i.Output.Path = string(f.Output.Path)
	return nil
}

// WriteInfo writes run.json; a reader finds the old or the new one whole, and
// after a power loss perhaps the old one. It fills in version and id.
func (d *Dir) WriteInfo(info *Info) error {
	info.Version, info.ID, info.Path = InfoVersion, d.ID, d.path
	compact, err := json.Marshal(info)
	if err == nil {
		err = replaceFile(d.Path(infoName), indent(compact))
	}
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w", d.Path(infoName), err)
	}
	return nil
}

// replaceFile writes a file beside its name and moves it there.
func replaceFile(path string, data []byte) error {
	temp := path + ".new"
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		os.Remove(temp)
	}
	return err
}

// ReadInfo reads the run.json of a run directory.
func ReadInfo(dir string) (*Info, error) {
	path := filepath.Join(dir, infoName)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the run cannot be read: %w", err)
	}
	var head struct{ Version int }
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", path, err)
	}
	if head.Version != InfoVersion {
		return nil, fmt.Errorf("%s has version %d, and this poolwise reads version %d; use the poolwise that wrote it", path, head.Version, InfoVersion)
	}
	info := &Info{}
	if err := json.Unmarshal(data, info); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", path, err)
	}
	info.Path = dir
	return info, nil
}

// List returns all runs, newest first, and an error for each that cannot be
// read. There being no runs is no error.
func List(base string) ([]*Info, []error) {
	ids, err := runIDs(base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, []error{fmt.Errorf("the runs cannot be listed: %w", err)}
	}
	var infos []*Info
	var errs []error
	for _, id := range ids {
		info, err := readState(filepath.Join(base, runsName, id))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		infos = append(infos, info)
	}
	return infos, errs
}

// readState is ReadInfo, and sees to it that only what lives is called running.
func readState(dir string) (*Info, error) {
	info, err := ReadInfo(dir)
	if err != nil || info.State != Running || live(dir) {
		return info, err
	}
	// It may have ended, and said so, since it was read.
	if info, err = ReadInfo(dir); err == nil && info.State == Running {
		info.State = Died
	}
	return info, err
}
