package edgefault

import (
	"errors"
	"fmt"
	"syscall"
)

// smallDiskBytes is enough for some seconds of events.
const smallDiskBytes = 4 << 20

// smallDisk puts a small file system in memory over a directory. end takes it
// away. ErrNoRights if we may not.
func smallDisk(dir string) (end func() error, err error) {
	err = syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", smallDiskBytes))
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		return nil, ErrNoRights
	}
	if err != nil {
		return nil, fmt.Errorf("mount a small disk: %w", err)
	}
	return func() error { return syscall.Unmount(dir, 0) }, nil
}
