// Command poolwise runs a function or a command over many inputs.
package main

import (
	"os"

	"github.com/poolwise/poolwise/internal/cli"
)

func main() { os.Exit(cli.Main()) }
