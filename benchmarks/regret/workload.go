package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// A Workload is one batch: a task and its items.
type Workload struct {
	Name string
	// Task is file.py:function below tasks/; empty for a command.
	Task  string
	Async bool // the function is a coroutine
	// Command is what is run for each item, which is appended.
	Command []string
	Waits   bool // what items do most is wait
	Env     []string
	Items   int
	// Serial is how long a plain loop takes, in seconds: roughly, since it depends
	// on the machine. It serves to divide the time there is.
	Serial float64
	Quick  bool // part of the short suite
	// Write writes the items: JSON lines for a function, lines for a command.
	Write func(io.Writer) error
	// Start starts what the task needs beside its items, and returns the variables
	// that lead to it and how to end it. It may be nil.
	Start func(context.Context) (env []string, stop func() error, err error)
	// Missing says why it cannot be run here, if it cannot.
	Missing string
}

// kind is what tasks have in common where it comes to plans.
func (w *Workload) kind() string {
	switch {
	case w.Task == "":
		return "command"
	case w.Async:
		return "async def"
	}
	return "def"
}

// input writes the items to a file below dir and returns its path.
func (w *Workload) input(dir string) (string, error) {
	name := filepath.Join(dir, "items.jsonl")
	if w.Task == "" {
		name = filepath.Join(dir, "items.txt")
	}
	return name, writeFile(name, w.Write)
}

// writeFile writes a file by way of another, so that it is complete if it is there.
func writeFile(name string, write func(io.Writer) error) error {
	f, err := os.Create(name + ".new")
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(f, 1<<20)
	if err := errors.Join(write(out), out.Flush(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
