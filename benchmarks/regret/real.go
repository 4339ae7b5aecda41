package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/poolwise/poolwise/benchmarks/internal/host"
)

// Sizes of the real workloads, so that a plain loop over each takes between one
// and ten seconds on a usual machine.
const (
	textFiles   = 400
	textSize    = 100_000 // bytes
	jsonFiles   = 300
	jsonRows    = 3000
	binaryFiles = 200
	binarySize  = 1_000_000 // bytes
	imageFiles  = 80
	orderRows   = 300_000
	requests    = 200 // queries and pages
	sourceFiles = 150
	latencyMS   = 40
	asyncMS     = 20
	pageSize    = 2000 // bytes
)

// real makes the inputs of the real workloads, below .cache for the next time,
// and returns these.
func (s *Setup) real(ctx context.Context) ([]*Workload, error) {
	// A change of what is made takes another name.
	data := filepath.Join(s.Cache, "data-1")
	texts, err := s.folder(ctx, data, "texts", textFiles, "txt", writeText)
	if err != nil {
		return nil, err
	}
	documents, err := s.folder(ctx, data, "json", jsonFiles, "json", writeDocument)
	if err != nil {
		return nil, err
	}
	blobs, err := s.folder(ctx, data, "blobs", binaryFiles, "bin", writeBlob)
	if err != nil {
		return nil, err
	}
	database := filepath.Join(data, "orders.db")
	if err := once(database, func(path string) error { return s.prepare(ctx, "database", path, orderRows) }); err != nil {
		return nil, err
	}
	stdlib := host.FirstLine(ctx, s.Python, "-c", "import sysconfig; print(sysconfig.get_path('stdlib'))")
	sources, err := filepath.Glob(filepath.Join(stdlib, "[a-z]*.py"))
	if err != nil {
		return nil, err
	}
	sources = sources[:min(len(sources), sourceFiles)]

	numbers := make([]int, requests)
	for i := range numbers {
		numbers[i] = i
	}

	return []*Workload{
		overPaths("json parsing", "real.py:parse_json", documents, 1.5),
		overPaths("regex", "real.py:search", texts, 3).quick(),
		overPaths("gzip", "real.py:compress", texts, 1.5),
		overPaths("SHA-256 of files", "real.py:digest", blobs, 0.8).quick(),
		overPaths("parsing of Python sources", "real.py:names", sources, 3),
		s.images(ctx, data),
		s.overServer("HTTP by urllib", "real.py:fetch", numbers, latencyMS).quick(),
		s.overServer("HTTP by asyncio", "real.py:fetch_async", slices.Concat(numbers, numbers), asyncMS),
		overNumbers("sqlite", "real.py:query", numbers, 4, "REGRET_DATABASE="+database),
		overCommand("wc per file", []string{"wc", "-lwm"}, texts, 1.2).quick(),
		overCommand("gzip per file", []string{"gzip", "-kf"}, texts, 3),
	}, nil
}

func (w *Workload) quick() *Workload { w.Quick = true; return w }

func overPaths(name, task string, paths []string, serial float64) *Workload {
	return &Workload{Name: name, Task: task, Items: len(paths), Serial: serial, Write: jsonLines(paths)}
}

func overNumbers(name, task string, numbers []int, serial float64, env ...string) *Workload {
	return &Workload{Name: name, Task: task, Items: len(numbers), Serial: serial, Env: env, Write: jsonLines(numbers)}
}

func overCommand(name string, command, paths []string, serial float64) *Workload {
	return &Workload{Name: name, Command: command, Items: len(paths), Serial: serial, Write: func(out io.Writer) error {
		_, err := io.WriteString(out, strings.Join(paths, "\n")+"\n")
		return err
	}}
}

func jsonLines[T any](items []T) func(io.Writer) error {
	return func(out io.Writer) error {
		lines := json.NewEncoder(out)
		for _, item := range items {
			if err := lines.Encode(item); err != nil {
				return err
			}
		}
		return nil
	}
}

// images is the workload that needs Pillow.
func (s *Setup) images(ctx context.Context, data string) *Workload {
	const name, task = "Pillow resize", "images.py:thumbnail"
	missing := func(reason string) *Workload { return &Workload{Name: name, Task: task, Missing: reason} }
	if s.NoPillow != "" {
		return missing(s.NoPillow)
	}
	folder := filepath.Join(data, "images")
	err := once(folder, func(path string) error {
		return errors.Join(os.MkdirAll(path, 0o755), s.prepare(ctx, "images", path, imageFiles))
	})
	if err != nil {
		return missing(err.Error())
	}
	paths, err := filepath.Glob(filepath.Join(folder, "*.jpg"))
	if err != nil {
		return missing(err.Error())
	}
	return overPaths(name, task, paths, 3)
}

// overServer is a workload that asks a server on loopback, which answers after
// so many milliseconds.
func (s *Setup) overServer(name, task string, numbers []int, ms int) *Workload {
	w := overNumbers(fmt.Sprintf("%s, %d ms", name, ms), task, numbers, float64(len(numbers)*ms)/1000)
	w.Waits, w.Async = true, strings.HasSuffix(task, "_async")
	w.Start = func(ctx context.Context) ([]string, func() error, error) {
		server := exec.CommandContext(ctx, s.Python, s.task("server.py"), strconv.Itoa(ms), strconv.Itoa(pageSize))
		in, err := server.StdinPipe()
		if err != nil {
			return nil, nil, err
		}
		out, err := server.StdoutPipe()
		if err != nil {
			return nil, nil, err
		}
		if err := server.Start(); err != nil {
			return nil, nil, err
		}
		stop := func() error { return errors.Join(in.Close(), server.Wait()) }
		port, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			return nil, nil, errors.Join(err, stop())
		}
		return []string{"REGRET_PORT=" + strings.TrimSpace(port)}, stop, nil
	}
	return w
}

// prepare runs tasks/prepare.py.
func (s *Setup) prepare(ctx context.Context, what, path string, count int) error {
	return host.Run(ctx, s.Python, s.task("prepare.py"), what, path, strconv.Itoa(count))
}

// folder makes a folder of files, unless it is there, and returns their paths.
func (s *Setup) folder(ctx context.Context, data, name string, count int, ending string, write func(*rand.Rand, io.Writer) error) ([]string, error) {
	paths := make([]string, count)
	at := func(folder string, i int) string { return filepath.Join(folder, fmt.Sprintf("%03d.%s", i, ending)) }
	for i := range paths {
		paths[i] = at(filepath.Join(data, name), i)
	}
	return paths, once(filepath.Join(data, name), func(folder string) error {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		for i := range count {
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			if err := writeFile(at(folder, i), func(out io.Writer) error { return write(random, out) }); err != nil {
				return err
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
		return nil
	})
}

// once makes a file or folder under another name and gives it its own at the
// end, unless it is there.
func once(path string, write func(path string) error) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	part := path + ".part"
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.RemoveAll(part)); err != nil {
		return err
	}
	if err := write(part); err != nil {
		return err
	}
	return os.Rename(part, path)
}

// letter is the alphabet of word, common ones more often.
const letter = "eeeetttaaaooinnsshrdlcumwfgypb"

func word(random *rand.Rand) string {
	letters := make([]byte, 2+random.IntN(9))
	for i := range letters {
		letters[i] = letter[random.IntN(len(letter))]
	}
	return string(letters)
}

// writeText writes lines of words with an address or a date here and there.
func writeText(random *rand.Rand, out io.Writer) error {
	for written := 0; written < textSize; {
		var text string
		switch random.IntN(20) {
		case 0:
			text = word(random) + "@" + word(random) + ".example.org"
		case 1:
			text = fmt.Sprintf("%04d-%02d-%02d", 1900+random.IntN(200), 1+random.IntN(12), 1+random.IntN(28))
		case 2:
			text = word(random) + ".\n"
		default:
			text = word(random)
		}
		n, err := io.WriteString(out, text+" ")
		if err != nil {
			return err
		}
		written += n
	}
	_, err := io.WriteString(out, "\n")
	return err
}

// writeDocument writes an array of objects.
func writeDocument(random *rand.Rand, out io.Writer) error {
	type row struct {
		ID     int      `json:"id"`
		Name   string   `json:"name"`
		Amount int      `json:"amount"`
		Tags   []string `json:"tags"`
	}
	rows := make([]row, jsonRows)
	for i := range rows {
		rows[i] = row{i, word(random) + " " + word(random), random.IntN(100_000), []string{word(random), word(random)}}
	}
	return json.NewEncoder(out).Encode(rows)
}

// writeBlob writes bytes without a pattern.
func writeBlob(random *rand.Rand, out io.Writer) error {
	buffer := make([]byte, binarySize)
	for i := range buffer {
		buffer[i] = byte(random.Uint32())
	}
	_, err := out.Write(buffer)
	return err
}
