// Package atomicfile replaces files: after a crash a file has its old or its new
// content, never a part of one.
//
// What may enter: writing a file as a whole. Not files that grow.
package atomicfile

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Write replaces a file, or makes it, with mode 0600 and what write gives. It
// returns once content and name are on the disk. After an error the file is as
// it was, unless the name alone could not be made durable.
func Write(path string, write func(io.Writer) error) error {
	return WriteFrom(filepath.Dir(path), path, write)
}

// WriteFrom is Write, but the file is in another directory of the same file system until it is whole. A program that is
// killed leaves it there.
func WriteFrom(dir, path string, write func(io.Writer) error) error {
	if err := replace(dir, path, write); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func replace(from, path string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(from, "."+filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // there is none after the rename
	buffered := bufio.NewWriter(f)
	err = write(buffered)
	if err == nil {
		err = buffered.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}
