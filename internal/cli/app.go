// Package cli is the command line: one file a command, each with its flags,
// their validation and the run. It is the only room that touches arguments,
// environment, signals and the exit status.
package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/poolwise/poolwise/internal/machine"
)

// App is the outside world as the commands see it. Nothing else in this
// package uses os.Args, os.Stdout and the like, so that a test can run a whole
// command line in its own process.
type App struct {
	Args   []string // without the program's name
	Env    []string // as os.Environ gives it
	Dir    string   // the working directory
	Stdin  *os.File
	Stdout *os.File
	Stderr *os.File

	items  []string // what follows ":::" in Args
	listed bool     // there was a ":::"
}

// Main runs the program in the world of this process and returns its exit
// status.
func Main() int {
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(os.Stderr, "poolwise: the working directory cannot be told:", err)
		return int(ExitUsage)
	}
	app := &App{
		Args: os.Args[1:], Env: os.Environ(), Dir: dir,
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	}
	return app.Run(context.Background())
}

// Run runs one command line and returns its exit status. A message for
// the user has been printed to Stderr when the status is not 0.
func (a *App) Run(ctx context.Context) int {
	root := a.root()
	args, items, listed := cutItems(a.Args)
	a.items, a.listed = items, listed
	root.SetArgs(args)
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return int(ExitOK)
	}
	var exit *ExitError
	if !errors.As(err, &exit) {
		exit = &ExitError{Status: ExitUsage, Err: err}
	}
	if exit.Err != nil {
		printError(a.Stderr, exit.Err)
	}
	return int(exit.Status)
}

// commands are all commands, in the order of --help.
func (a *App) commands() []*cobra.Command {
	return []*cobra.Command{a.runCommand(), a.planCommand(), a.runsCommand(), a.showCommand(), a.doctorCommand()}
}

// cacheDir is where poolwise may keep what can be made again; "" for nowhere.
func (a *App) cacheDir() string {
	env := machine.Here(a.Env)
	if dir, ok := env.Getenv("XDG_CACHE_HOME"); ok && filepath.IsAbs(dir) {
		return filepath.Join(dir, "poolwise")
	}
	cacheFolder := ".cache"
	if runtime.GOOS == "darwin" {
		cacheFolder = "Library/Caches"
	}
	if home, ok := env.Getenv("HOME"); ok && filepath.IsAbs(home) {
		return filepath.Join(home, cacheFolder, "poolwise")
	}
	return ""
}

// print writes what a command tells to standard output. That it could not be
// written is told by the exit status, as a reader who gets half of it must know.
func (a *App) print(write func(w io.Writer) error) error {
	w := bufio.NewWriter(a.Stdout)
	err := write(w)
	if lost := w.Flush(); lost != nil {
		return &ExitError{ExitStopped, fmt.Errorf("standard output: %w", lost)}
	}
	return err
}

func printError(w io.Writer, err error) { fmt.Fprintf(w, "poolwise: %v\n", err) }

// version is set when the program is built by make.
var version = "unknown"

func (a *App) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "poolwise",
		Short: "run a function or a command over many inputs, in parallel, losing nothing",
		Long: `poolwise runs a Python function or a command over many inputs, in bounded
memory, and accounts for every one of them.

` + exitHelp(),
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return usagef("there is no command %q; poolwise --help lists them (to run a task: poolwise run %s ...)", args[0], args[0])
		},
	}
	root.CompletionOptions.HiddenDefaultCmd = false
	root.AddCommand(a.commands()...)
	return root
}
