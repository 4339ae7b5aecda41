package source

import (
	"fmt"
	"path"
	"strings"
)

// Format says how inputs are cut into items.
type Format uint8

const (
	// Auto takes the format of each input from its extension: .jsonl and
	// .ndjson, .json, .csv, .tsv and .tab; anything else, and standard input,
	// is Lines.
	Auto Format = iota
	// Lines are separated by a newline. Empty lines are skipped unless
	// Config.KeepEmpty says otherwise.
	Lines
	// NUL separates items by a zero byte and leaves all else alone.
	NUL
	// JSONLines has one JSON value on each line; blank lines are skipped.
	JSONLines
	// JSON is one array, whose elements are the items, or values one after
	// the other, each of them an item.
	JSON
	// CSV is comma-separated with a header row. Each row becomes a JSON object
	// of strings with the header's keys in the header's order. A field that
	// starts with a quote is quoted, and a quote anywhere else is an error.
	// Bytes in a quoted field are kept as they are, line ends included.
	CSV
	// TSV is tab-separated with a header row. A field that starts with a quote
	// is quoted as in CSV, which is what spreadsheets write, and must close
	// properly; a quote within an unquoted field is an ordinary character,
	// since it cannot be mistaken there.
	TSV
	// Paths makes the inputs themselves the items: names of files, with
	// wildcards expanded.
	Paths
)

var formatNames = []string{"auto", "lines", "nul", "jsonl", "json", "csv", "tsv", "paths"}

// String returns the format's name as ParseFormat reads it.
func (f Format) String() string {
	if int(f) < len(formatNames) {
		return formatNames[f]
	}
	return fmt.Sprintf("Format(%d)", uint8(f))
}

// ParseFormat reads the name of a format: auto, lines, nul, jsonl, json, csv,
// tsv or paths.
func ParseFormat(name string) (Format, error) {
	for i, n := range formatNames {
		if n == name {
			return Format(i), nil
		}
	}
	return Auto, fmt.Errorf("%q is no input format; use one of %s", name, strings.Join(formatNames, ", "))
}

var formatOfExtension = map[string]Format{
	".jsonl": JSONLines, ".ndjson": JSONLines,
	".json": JSON,
	".csv":  CSV,
	".tsv":  TSV, ".tab": TSV,
}

// formatOf returns the format that the extension of a file's name stands for.
func formatOf(name string) Format {
	if f, ok := formatOfExtension[strings.ToLower(path.Ext(name))]; ok {
		return f
	}
	return Lines
}

// CRMode says what becomes of a carriage return at the end of a line in format
// Lines. The other formats need no such rule: NUL touches nothing, white space
// around a JSON value means nothing, and a CSV row may end either way.
type CRMode uint8

const (
	// CRAuto looks at the complete lines that the first read of each input
	// gives. When all of them end in a carriage return, it is a file of another
	// system: one carriage return is taken off each of its lines, and a note
	// says so. Otherwise nothing is taken off.
	CRAuto CRMode = iota
	// CRStrip takes one carriage return off the end of each line.
	CRStrip
	// CRKeep leaves lines as they are.
	CRKeep
)

var crNames = []string{"auto", "strip", "keep"}

// String returns the mode's name as ParseCRMode reads it.
func (m CRMode) String() string {
	if int(m) < len(crNames) {
		return crNames[m]
	}
	return fmt.Sprintf("CRMode(%d)", uint8(m))
}

// ParseCRMode reads the name of a mode: auto, strip or keep.
func ParseCRMode(name string) (CRMode, error) {
	for i, n := range crNames {
		if n == name {
			return CRMode(i), nil
		}
	}
	return CRAuto, fmt.Errorf("%q says nothing about carriage returns; use one of %s", name, strings.Join(crNames, ", "))
}
