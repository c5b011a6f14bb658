package edgefault

import (
	"errors"
	"fmt"
	"syscall"
)

// SmallDisk puts a file system of so many bytes, in memory, over a directory. end takes it
// away. ErrNoRights if we may not.
func SmallDisk(dir string, bytes int) (end func() error, err error) {
	err = syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", bytes))
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		return nil, ErrNoRights
	}
	if err != nil {
		return nil, fmt.Errorf("mount a small disk: %w", err)
	}
	return func() error { return syscall.Unmount(dir, 0) }, nil
}
