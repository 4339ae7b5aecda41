package journal

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// File is what a Writer needs of a file: an append-only one, of which Write
// reports how much it took.
type File interface {
	io.Writer
	io.ReaderAt
	io.Closer
	// Datasync returns when all that was written, and the file's length, are
	// on the disk.
	Datasync() error
	// Size returns the length in bytes.
	Size() (int64, error)
}

// osFile is a File of the operating system.
type osFile struct {
	read, write *os.File
	dir         string // to be synced once, so that the file's name is on the disk too; "" when done
}

func openFile(path string, create bool) (File, error) {
	flags := os.O_WRONLY | os.O_APPEND
	dir := ""
	if create {
		flags |= os.O_CREATE | os.O_EXCL
		dir = filepath.Dir(path)
	}
	write, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return nil, err
	}
	// os.File does not do positioned reads on a file opened for appending.
	read, err := os.Open(path)
	if err != nil {
		write.Close()
		return nil, err
	}
	return &osFile{read: read, write: write, dir: dir}, nil
}

func (f *osFile) Write(p []byte) (int, error)             { return f.write.Write(p) }
func (f *osFile) ReadAt(p []byte, off int64) (int, error) { return f.read.ReadAt(p, off) }
func (f *osFile) Close() error                            { return errors.Join(f.write.Close(), f.read.Close()) }

func (f *osFile) Size() (int64, error) {
	info, err := f.write.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (f *osFile) Datasync() error {
	if err := datasync(f.write); err != nil {
		return err
	}
	if f.dir != "" {
		syncDir(f.dir)
		f.dir = ""
	}
	return nil
}

// syncDir makes the names in a directory durable, where the system knows such
// a thing.
func syncDir(path string) {
	if d, err := os.Open(path); err == nil {
		_ = d.Sync() // some file systems refuse it, and then need none
		d.Close()
	}
}
