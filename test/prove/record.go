package prove

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/tributary-io/tributary/internal/atomicfile"
)

// Record is what all runs so far saw, the newest of each case.
type Record struct {
	Runs     []RunInfo                  `json:"runs"` // oldest first; those that no line came from are left out
	Sections map[string]map[string]Line `json:"sections"`
}

// Line is what one case saw.
type Line struct {
	Run int `json:"run"` // RunInfo.Number
	Result
}

// RunInfo says of a run what one must know to repeat it.
type RunInfo struct {
	Number  int    `json:"number"`
	When    string `json:"when"` // 2026-11-22 03:10 UTC
	Commit  string `json:"commit"`
	Seed    uint64 `json:"seed"`
	Kafka   string `json:"kafka"`
	Go      string `json:"go"`
	Machine string `json:"machine"`
}

// ReadRecord reads a record; a file that is not there is an empty one.
func ReadRecord(file string) (*Record, error) {
	r := &Record{Sections: map[string]map[string]Line{}}
	text, err := os.ReadFile(file) //nolint:gosec // the operator names it
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal(text, r)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return r, nil
}

// Write writes the record.
func (r *Record) Write(file string) error {
	return atomicfile.Write(file, func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", " ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(r)
	})
}

// NextRun is the number of a new run.
func (r *Record) NextRun() int {
	last := 0
	for _, run := range r.Runs {
		last = max(last, run.Number)
	}
	return last + 1
}

// put replaces a case's line.
func (r *Record) put(section, name string, result Result, run RunInfo) {
	if r.Sections[section] == nil {
		r.Sections[section] = map[string]Line{}
	}
	r.Sections[section][name] = Line{Run: run.Number, Result: result}
	used := map[int]bool{}
	for _, lines := range r.Sections {
		for _, line := range lines {
			used[line.Run] = true
		}
	}
	var kept []RunInfo
	for _, old := range r.Runs {
		if used[old.Number] && old.Number != run.Number {
			kept = append(kept, old)
		}
	}
	r.Runs = append(kept, run)
}

// Prune drops what no section knows any more.
func (r *Record) Prune(sections []Section) {
	kept := map[string]map[string]Line{}
	for _, section := range sections {
		for _, c := range section.Cases {
			line, there := r.Sections[section.Name][c.Name]
			if !there || len(line.Cells) != len(section.Columns) {
				continue
			}
			if kept[section.Name] == nil {
				kept[section.Name] = map[string]Line{}
			}
			kept[section.Name][c.Name] = line
		}
	}
	r.Sections = kept
}
