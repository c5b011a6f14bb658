package devstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-io/tributary/internal/background"
)

// releaseDataDir waits until no process of an earlier server uses the data
// directory, and removes a postmaster.pid of a process that has ended.
// PostgreSQL refuses to start in two cases in which no server is running: the
// server of a killed parent is still shutting down, or a killed server is a
// zombie process that nobody has waited for.
func releaseDataDir(ctx context.Context, data string) error {
	pidFile := filepath.Join(data, "postmaster.pid")
	text, err := os.ReadFile(pidFile)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("postgres lock file: %w", err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil {
		return nil // PostgreSQL's own message about a broken file is better
	}
	deadline := time.Now().Add(orphanPatience)
	for processesIn(data, pid) {
		if time.Now().After(deadline) {
			return fmt.Errorf("another PostgreSQL server (process %d) is using %s", pid, data)
		}
		if !background.Sleep(ctx, 20*time.Millisecond) {
			return fmt.Errorf("wait for the former postgres: %w", ctx.Err())
		}
	}
	if err := os.Remove(pidFile); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("postgres lock file: %w", err)
	}
	return nil
}
