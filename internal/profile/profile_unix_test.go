//go:build unix

package profile_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/poolwise/poolwise/internal/profile"
)

// In the place of a profile may be anything: what is no plain file is not read.
func TestOnlyPlainFilesAreRead(t *testing.T) {
	for what, put := range map[string]func(name, elsewhere string) error{
		"a pipe, which would be waited for": func(name, _ string) error { return unix.Mkfifo(name, 0o600) },
		"a folder":                          func(name, _ string) error { return os.Mkdir(name, 0o700) },
		"a link":                            func(name, elsewhere string) error { return os.Symlink(elsewhere, name) },
	} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			if err := profile.Save(dir, key, &profile.Profile{Plan: "serial"}); err != nil {
				t.Fatal(err)
			}
			name, elsewhere := only(t, dir), filepath.Join(dir, "elsewhere")
			if err := os.Rename(name, elsewhere); err != nil {
				t.Fatal(err)
			}
			if err := put(name, elsewhere); err != nil {
				t.Fatal(err)
			}
			type loaded struct {
				p   *profile.Profile
				err error
			}
			done := make(chan loaded, 1)
			go func() {
				p, err := profile.Load(dir, key)
				done <- loaded{p, err}
			}()
			select {
			case got := <-done:
				if got.p != nil || got.err != nil {
					t.Errorf("it is loaded as %v, %v", got.p, got.err)
				}
			case <-time.After(5 * time.Second):
				t.Error("Load waits")
			}
		})
	}
}
