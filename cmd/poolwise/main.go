// Command poolwise runs a function or a command over many inputs.
package main

import (
	"os"

	"github.com/poolwise/poolwise/internal/cli"
	"github.com/poolwise/poolwise/internal/guardian"
)

func main() {
	guardian.MaybeRun()
	os.Exit(cli.Main())
}
