//go:build !unix

package journal

import (
	"errors"
	"os"
)

func flock(*os.File) error {
	return errors.New("locking a run directory is not supported on this system; use Linux or macOS")
}
