package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Bug is a change of the source that a simulation must find.
type Bug struct {
	Name    string
	Changes []Change
	// Seed is of a world that found it when this was written. Any change of the
	// code changes what worlds go through, so those of the next seeds follow where
	// it does not.
	Seed  uint64
	Finds string // a part of the violation's text
}

// Change replaces a text that a source has once.
type Change struct {
	File     string // from the module's root
	Old, New string
}

// writeOverlay writes the changed sources, and the file that tells the go
// command of them. A text that is not there, or not once, is an error: the bug
// would not be planted.
func writeOverlay(root, work string, bugs []Bug) (path string, err error) {
	replaced := map[string]string{}
	for _, b := range bugs {
		for _, c := range b.Changes {
			name, err := filepath.Abs(filepath.Join(root, filepath.FromSlash(c.File)))
			if err != nil {
				return "", err
			}
			from := name
			if replaced[name] != "" {
				from = replaced[name]
			}
			text, err := os.ReadFile(from) //nolint:gosec // a source of this module
			if err != nil {
				return "", err
			}
			if n := strings.Count(string(text), c.Old); n != 1 {
				return "", fmt.Errorf("sim: the bug %q cannot be planted: %s has its text %d times, want once:\n%s", b.Name, c.File, n, c.Old)
			}
			changed := filepath.Join(work, fmt.Sprintf("%d.go", len(replaced)))
			if replaced[name] != "" {
				changed = replaced[name]
			}
			//nolint:gosec // in a directory that was made for it
			if err := os.WriteFile(changed, []byte(strings.Replace(string(text), c.Old, c.New, 1)), 0o600); err != nil {
				return "", err
			}
			replaced[name] = changed
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return "", err
	}
	path = filepath.Join(work, "overlay.json")
	return path, os.WriteFile(path, text, 0o600)
}

// Worlds and hours within which a planted bug must be found.
const (
	worldsOfBug = 40
	hoursOfBug  = 4
)

// Find runs worlds until one finds the bug, and returns its report and the CPU
// time. An error says that none did, or that one found something else.
func (b Bug) Find(ctx context.Context, root string) (found Report, cpu time.Duration, err error) {
	w, err := Build(ctx, root, b)
	if err != nil {
		return Report{}, 0, err
	}
	defer func() { err = errors.Join(err, w.Remove()) }()
	reports, cpu, err := w.Run(ctx, b.Seed, worldsOfBug, hoursOfBug, nil)
	if err != nil {
		return Report{}, cpu, err
	}
	found = reports[len(reports)-1]
	if !b.foundBy(found) {
		return found, cpu, fmt.Errorf("sim: %d worlds from seed %d on do not find that %s (want %q): %.500q", len(reports), b.Seed, b.Name,
			b.Finds, found.Violations)
	}
	return found, cpu, nil
}

func (b Bug) foundBy(r Report) bool {
	return len(r.Violations) > 0 && strings.Contains(strings.Join(r.Violations, "\n"), b.Finds)
}
