// Command skips reads what `go test -json` prints, shows it as `go test` would
// have, and fails if a test was skipped that the list does not allow: a test
// that is skipped silently is one that nobody has.
//
//	go test -json ./... | go run ./internal/house/skips LIST
//
// A line of the list is a package (its path in this module), a test in which *
// stands for anything, and the reason after " # ".
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go test -json ./... | skips LIST")
		os.Exit(2)
	}
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "skips:", err)
		os.Exit(2)
	}
	allowed, err := parseList(string(text))
	if err != nil {
		fmt.Fprintf(os.Stderr, "skips: %s: %v\n", os.Args[1], err)
		os.Exit(2)
	}
	s := newStream(os.Stdout, allowed)
	if err := s.readAll(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "skips:", err)
		os.Exit(2)
	}
	if !s.close() {
		os.Exit(1)
	}
}
