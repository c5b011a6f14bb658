package seglog

import (
	"errors"
	"io"
	"os"
)

// FS is the file system under a log. OS is the real one; tests give others
// that fail and lie.
type FS interface {
	MkdirAll(dir string) error
	// ReadDir lists the names in a directory.
	ReadDir(dir string) ([]string, error)
	// Create makes a file that must not exist.
	Create(name string) (File, error)
	// Open opens a file for reading and writing.
	Open(name string) (File, error)
	Remove(name string) error
	// SyncDir makes creations and removals in a directory durable.
	SyncDir(dir string) error
	// Lock takes a lock that ends with the process or with Close; ErrLocked
	// where another has it.
	Lock(name string) (io.Closer, error)
}

// File is one open file.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// Sync makes all that was written durable. After an error nobody knows
	// what is: the file must not be trusted any more.
	Sync() error
	Truncate(size int64) error
	Size() (int64, error)
}

// ErrLocked: another process uses the directory.
var ErrLocked = errors.New("seglog: the directory is in use by another process")

// OS is the operating system's file system.
type OS struct{}

// MkdirAll makes a directory that only its owner may enter.
func (OS) MkdirAll(dir string) error { return os.MkdirAll(dir, 0o700) }

// ReadDir lists the names in a directory.
func (OS) ReadDir(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, err
}

// Create makes a file that only its owner may read.
func (OS) Create(name string) (File, error) { return openFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL) }

// Open opens a file for reading and writing.
func (OS) Open(name string) (File, error) { return openFile(name, os.O_RDWR) }

func openFile(name string, flag int) (File, error) {
	f, err := os.OpenFile(name, flag, 0o600)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

// Remove removes a file.
func (OS) Remove(name string) error { return os.Remove(name) }

// SyncDir makes creations and removals in a directory durable.
func (OS) SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

type osFile struct{ *os.File }

func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
