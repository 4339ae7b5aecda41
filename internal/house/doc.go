// Package house holds rules of the house that no linter knows, as tests. It
// has no code of its own.
package house
