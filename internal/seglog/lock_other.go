//go:build !unix || solaris || illumos || aix

package seglog

import (
	"errors"
	"io"
)

// Lock returns an error: two processes could not be kept apart here.
func (OS) Lock(string) (io.Closer, error) {
	return nil, errors.New("seglog: files cannot be locked on this system")
}
