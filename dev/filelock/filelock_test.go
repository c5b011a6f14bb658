package filelock_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/dev/filelock"
)

func TestLockIsHeldByOneProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := filelock.Try(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := filelock.Try(path); !errors.Is(err, filelock.ErrLocked) || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
		t.Errorf("the second got %v, want the holder's name", err)
	}
	unlock()
	unlock, err = filelock.Try(path)
	if err != nil {
		t.Fatalf("after unlock: %v", err)
	}
	unlock()
}

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := filelock.Try(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := filelock.Wait(ctx, path); !errors.Is(err, filelock.ErrLocked) || !errors.Is(err, context.Canceled) {
		t.Errorf("a lock that is taken: %v", err)
	}
	unlock()
	unlock, err = filelock.Wait(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}
