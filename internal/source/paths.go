package source

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// args gives the items of the command line.
type args struct {
	r    *Reader
	rest []string
	json bool
	done int
}

func (r *Reader) openArgs() error {
	switch r.cfg.Format {
	case CSV, TSV:
		return fmt.Errorf("items behind ::: are no %s rows; use --from lines, or a file", r.cfg.Format)
	}
	r.total, r.totalKnown = uint64(len(r.cfg.Args)), true
	r.cur = &args{r: r, rest: r.cfg.Args, json: r.cfg.Format == JSON || r.cfg.Format == JSONLines}
	return nil
}

func (a *args) fill(o *out) error {
	for len(a.rest) > 0 && !o.full(len(a.rest[0])) {
		arg := a.rest[0]
		a.rest = a.rest[1:]
		a.done++
		a.add(o, arg)
	}
	if len(o.items) == 0 {
		return io.EOF
	}
	return nil
}

func (a *args) add(o *out, arg string) {
	switch {
	case int64(len(arg)) > a.r.cfg.MaxItem:
		o.invalid(nil, tooLong(fmt.Sprintf("argument %d", a.done), a.r.cfg.MaxItem))
	case a.json:
		value := bytes.Trim([]byte(arg), jsonSpace)
		if newlines(value) > 0 && json.Valid(value) {
			value = compact(value)
		}
		addJSON(o, value, func(column int) string { return fmt.Sprintf("argument %d: byte %d", a.done, column) })
	default:
		o.addText(arg)
	}
}

// paths gives names as they are and what wildcards match.
type paths struct {
	r     *Reader
	rest  []string
	globs map[string]*glob // the inputs that are wildcards
	walk  *walk            // of the wildcard at hand
	found bool             // it has matched something
	ahead string           // with held: a path that did not fit the last batch
	held  bool
}

func (r *Reader) openPaths() error {
	p := &paths{r: r, rest: r.cfg.Inputs, globs: make(map[string]*glob)}
	for _, name := range p.rest {
		if name == "-" {
			return &InputError{Input: name, Reason: "is no path", Advice: "to read paths from standard input, use --from lines -; for a file of this name, write ./-"}
		}
		if !r.isGlob(name) {
			continue
		}
		g, err := parseGlob(name)
		if err != nil {
			return &InputError{
				Input: name, Reason: "is neither a file nor a wildcard that can be understood: " + err.Error(), Err: err,
				Advice: `check its brackets and braces; a \ before one makes it an ordinary character`,
			}
		}
		p.globs[name] = g
	}
	if len(p.globs) == 0 {
		r.total, r.totalKnown = uint64(len(p.rest)), true
	}
	r.cur = p
	return nil
}

// isGlob reports a name with wildcards that is not the name of a file.
func (r *Reader) isGlob(name string) bool {
	if !hasMeta(name) {
		return false
	}
	_, err := os.Lstat(resolve(r.cfg.Dir, name))
	return err != nil
}

func (p *paths) fill(o *out) error {
	// A batch ends where a directory has to be read, which may take long.
	for len(o.items) == 0 || p.walk == nil || p.walk.ready() {
		name, ok := p.next()
		if !ok {
			break
		}
		if o.full(len(name)) {
			p.ahead, p.held = name, true
			break
		}
		p.add(o, name)
	}
	if len(o.items) == 0 {
		return io.EOF
	}
	return nil
}

func (p *paths) add(o *out, name string) {
	if int64(len(name)) > p.r.cfg.MaxItem {
		o.invalid(nil, tooLong("a path", p.r.cfg.MaxItem))
		return
	}
	o.addText(name)
}

// next returns the next path.
func (p *paths) next() (string, bool) {
	if p.held {
		p.held = false
		return p.ahead, true
	}
	for {
		if p.walk != nil {
			if name, ok := p.walk.next(); ok {
				p.found = true
				return name, true
			}
			p.endWalk()
		}
		if len(p.rest) == 0 {
			return "", false
		}
		name := p.rest[0]
		p.rest = p.rest[1:]
		g := p.globs[name]
		if g == nil {
			return name, true
		}
		p.walk, p.found = newWalk(p.r, g), false
	}
}

func (p *paths) endWalk() {
	if !p.found {
		p.r.notes.add("no match", "%s: matches no file", shown(p.walk.glob.pattern))
	}
	p.walk = nil
}
