// Package filelock lets one process at a time use a directory or a download.
//
// What may enter: locks on files. The kernel releases them when their process
// ends.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/tributary-io/tributary/internal/background"
)

// ErrLocked is returned for a lock that another process holds.
var ErrLocked = errors.New("is in use by another process")

// Try takes an exclusive lock on a file. It makes the file and writes our
// process id into it. The kernel releases the lock when this process ends.
func Try(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		holder := make([]byte, 20)
		n, _ := f.Read(holder) // only for the message
		_ = f.Close()          // it was only read
		return nil, fmt.Errorf("%s %w (process %s)", path, ErrLocked, strings.TrimSpace(string(holder[:n])))
	}
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	if err := f.Truncate(0); err == nil {
		_, _ = fmt.Fprintf(f, "%d\n", os.Getpid()) // only for the message of the other process
	}
	return func() { _ = f.Close() }, nil // the kernel unlocks in any case
}

// Wait is Try, but waits for the lock until ctx ends.
func Wait(ctx context.Context, path string) (unlock func(), err error) {
	for {
		unlock, err := Try(path)
		if err == nil || !errors.Is(err, ErrLocked) {
			return unlock, err
		}
		if !background.Sleep(ctx, 50*time.Millisecond) {
			return nil, fmt.Errorf("%w: %w", err, ctx.Err())
		}
	}
}
