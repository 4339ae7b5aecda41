// Package command runs commands, one process an item: how an argument vector
// is made of a template and an item, and the worker that runs it.
package command

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/poolwise/poolwise/internal/batch"
	"github.com/poolwise/poolwise/internal/jsontext"
)

// Config says what command is to be run for each item.
type Config struct {
	// Args is the command with its placeholders.
	Args []string
	// Shell makes one line of Args, for /bin/sh; inserted items are quoted.
	Shell bool
	// Stdin gives the item to the command on its standard input. It is then
	// inserted only where a placeholder asks for it.
	Stdin bool
	// Env and Dir are where the command is looked for.
	Env []string
	Dir string
}

// shell runs the lines of --shell. The quoting is that of POSIX shells.
const shell = "/bin/sh"

// A Template makes the argument vector for an item.
type Template struct {
	args   [][]part
	path   string // of the program; "" when it depends on the item
	cfg    Config
	insert bool // some placeholder is used
	room   int  // for the arguments, in bytes as the system counts them
}

// part is literal text, or a placeholder when of is not nil.
type part struct {
	text string
	of   func(item []byte, index uint64) []byte
}

// placeholders are those of GNU parallel.
var placeholders = map[string]func(item []byte, index uint64) []byte{
	"{}":   func(item []byte, _ uint64) []byte { return item },
	"{.}":  func(item []byte, _ uint64) []byte { return withoutExtension(item) },
	"{/}":  func(item []byte, _ uint64) []byte { return base(item) },
	"{//}": func(item []byte, _ uint64) []byte { return dir(item) },
	"{/.}": func(item []byte, _ uint64) []byte { return withoutExtension(base(item)) },
	"{#}":  func(_ []byte, index uint64) []byte { return strconv.AppendUint(nil, index+1, 10) },
}

func base(item []byte) []byte { return item[bytes.LastIndexByte(item, '/')+1:] }

// dir is what dirname(1) prints.
func dir(item []byte) []byte {
	trimmed := trimSlashes(item)
	at := bytes.LastIndexByte(trimmed, '/')
	if at < 0 {
		if len(trimmed) == 0 && len(item) > 0 {
			return item[:1] // nothing but slashes
		}
		return []byte(".")
	}
	if parent := trimSlashes(trimmed[:at]); len(parent) > 0 {
		return parent
	}
	return item[:1]
}

func trimSlashes(path []byte) []byte { return bytes.TrimRight(path, "/") }

// withoutExtension cuts the last extension; a name that begins with a dot has
// none for that.
func withoutExtension(item []byte) []byte {
	name := base(item)
	if at := bytes.LastIndexByte(name, '.'); at > 0 {
		return item[:len(item)-len(name)+at]
	}
	return item
}

// Parse checks a command and makes its template. The errors are for the user.
func Parse(cfg Config) (*Template, error) {
	if len(cfg.Args) == 0 || cfg.Args[0] == "" {
		return nil, errors.New("there is no command after --")
	}
	t := &Template{cfg: cfg, room: argRoom(cfg.Env)}
	args := cfg.Args
	if cfg.Shell {
		line := strings.Join(args, " ")
		_, inserts := parse(line)
		if err := checkQuoting(line, !inserts && !cfg.Stdin); err != nil {
			return nil, err
		}
		args = []string{line}
	}
	for _, arg := range args {
		parts, has := parse(arg)
		t.args = append(t.args, parts)
		t.insert = t.insert || has
	}
	if !t.insert && !cfg.Stdin {
		t.append()
	}
	if cfg.Shell {
		t.path = shell
		return t, nil
	}
	if len(t.args[0]) == 1 && t.args[0][0].of == nil {
		path, err := look(cfg.Args[0], cfg.Env, cfg.Dir)
		if err != nil {
			return nil, err
		}
		t.path = path
	}
	return t, nil
}

// append adds the item where the command has no placeholder: as an argument of
// its own, or at the end of a shell's line.
func (t *Template) append() {
	item := part{of: placeholders["{}"]}
	if t.cfg.Shell {
		t.args[0] = append(t.args[0], part{text: " "}, item)
		return
	}
	t.args = append(t.args, []part{item})
}

// parse cuts an argument into literals and placeholders, and tells whether
// there was a placeholder.
func parse(arg string) (parts []part, has bool) {
	literal := 0
	for i := 0; i < len(arg); i++ {
		name := placeholderAt(arg[i:])
		if name == "" {
			continue
		}
		if literal < i {
			parts = append(parts, part{text: arg[literal:i]})
		}
		parts = append(parts, part{of: placeholders[name]})
		i += len(name) - 1
		literal, has = i+1, true
	}
	if literal < len(arg) || len(parts) == 0 {
		parts = append(parts, part{text: arg[literal:]})
	}
	return parts, has
}

// placeholderAt returns the placeholder with which text begins, or "".
func placeholderAt(text string) string {
	if !strings.HasPrefix(text, "{") {
		return ""
	}
	end := strings.IndexByte(text, '}')
	if end < 0 {
		return ""
	}
	if _, ok := placeholders[text[:end+1]]; ok {
		return text[:end+1]
	}
	return ""
}

// Expand returns the path of the program and the argument vector for an item,
// and what goes to its standard input. The error is a *batch.Failure.
func (t *Template) Expand(it *batch.Item) (path string, argv []string, stdin []byte, err error) {
	text, err := itemText(it)
	if err != nil {
		return "", nil, nil, err
	}
	total := 0
	for _, parts := range t.args {
		arg, err := t.expandArg(parts, text, it.Index)
		if err != nil {
			return "", nil, nil, err
		}
		total += argCost(arg)
		argv = append(argv, arg)
	}
	if total > t.room {
		return "", nil, nil, invalid("the command line would have %d bytes and the system takes %d beside this environment; use --stdin, which has no such limit", total, t.room)
	}
	if t.cfg.Stdin {
		stdin = text
	}
	if t.cfg.Shell {
		return shell, []string{shell, "-c", argv[0]}, stdin, nil
	}
	if path = t.path; path == "" {
		if path, err = look(argv[0], t.cfg.Env, t.cfg.Dir); err != nil {
			return "", nil, nil, &batch.Failure{Type: "CommandNotFound", Message: err.Error()}
		}
	}
	return path, argv, stdin, nil
}

// expandArg puts one argument together. What is inserted is not looked at
// again.
func (t *Template) expandArg(parts []part, item []byte, index uint64) (string, error) {
	var b strings.Builder
	for _, p := range parts {
		if p.of == nil {
			b.WriteString(p.text)
			continue
		}
		text := p.of(item, index)
		if bytes.IndexByte(text, 0) >= 0 {
			return "", invalid("the item has a zero byte, which no argument can hold; use --stdin")
		}
		if t.cfg.Shell {
			quote(&b, text)
		} else {
			b.Write(text)
		}
	}
	if b.Len() > maxArg {
		return "", invalid("an argument would have %d bytes and the system takes %d; use --stdin, which has no such limit", b.Len(), maxArg)
	}
	return b.String(), nil
}

func invalid(format string, args ...any) error {
	return &batch.Failure{Type: "InvalidInput", Message: fmt.Sprintf(format, args...)}
}

// itemText is what stands for an item: text as it is, a JSON string without its
// quotes, any other JSON value as JSON.
func itemText(it *batch.Item) ([]byte, error) {
	if it.Form != batch.JSON {
		return it.Data, nil
	}
	value := bytes.TrimSpace(it.Data)
	if len(value) == 0 || value[0] != '"' {
		return value, nil
	}
	text, err := jsontext.AppendUnquoted(nil, value)
	if err != nil {
		return nil, invalid("the item has no form as bytes: %v", err)
	}
	return text, nil
}

// Line returns the command for an item as one would type it, for --dry-run.
func (t *Template) Line(it *batch.Item) (string, error) {
	_, argv, _, err := t.Expand(it)
	if err != nil {
		return "", err
	}
	if t.cfg.Shell {
		return argv[2], nil
	}
	var b strings.Builder
	for i, arg := range argv {
		if i > 0 {
			b.WriteByte(' ')
		}
		if isPlainWord(arg) {
			b.WriteString(arg)
		} else {
			quote(&b, []byte(arg))
		}
	}
	return b.String(), nil
}
