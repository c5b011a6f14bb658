//go:build !linux

package edgefault

// SmallDisk needs Linux.
func SmallDisk(string, int) (end func() error, err error) { return nil, ErrNoRights }
