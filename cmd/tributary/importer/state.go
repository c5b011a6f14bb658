package importer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/tributary-io/tributary/internal/atomicfile"
)

// state is the content of FILE.progress: how much of which file is done.
type state struct {
	V        int    `json:"v"`        // 1
	Identity string `json:"identity"` // of the file, see identify
	Target   string `json:"target"`   // an import to another target begins at line 1
	// Lines counts from the file's beginning: each of them was accepted or rejected.
	Lines         int64 `json:"lines"`
	Accepted      int64 `json:"accepted"` // duplicates included
	Duplicates    int64 `json:"duplicates"`
	Rejected      int64 `json:"rejected"`
	RejectedBytes int64 `json:"rejectedBytes"` // of FILE.rejected.jsonl, for those lines
	// Warnings: see Summary.
	Warnings map[string]int64 `json:"warnings,omitempty"`
}

// journal keeps the state and the rejected lines on disk.
type journal struct {
	path     string   // of the progress; empty: the import cannot be continued
	rejected string   // path of the rejected lines
	file     *os.File // of the rejected lines; nil until there is one
	state    state
	// stale says that the file at rejected is of an earlier run. It is removed
	// when this run has an outcome, not before: a run with a wrong key must not
	// remove it.
	stale bool
}

// rejectedSuffix is the end of the name of the file of rejected lines.
const rejectedSuffix = ".rejected.jsonl"

// openJournal reads the progress of an earlier run of the same file to the same
// target, or begins at the first line. It fails if the state cannot be written,
// before anything is sent.
func openJournal(base, identity, target string, resumable bool) (*journal, error) {
	j := &journal{rejected: base + rejectedSuffix, state: state{V: 1, Identity: identity, Target: target}}
	dir := filepath.Dir(base)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the state directory: %w", err)
	}
	if err := tryWriting(dir); err != nil {
		return nil, fmt.Errorf("write in the state directory: %w", err)
	}
	if resumable {
		j.path = base + ".progress"
		text, err := os.ReadFile(j.path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("read progress: %w", err)
		}
		var earlier state
		if err == nil && json.Unmarshal(text, &earlier) == nil &&
			earlier.V == 1 && earlier.Identity == identity && earlier.Target == target {
			j.state = earlier
		}
	}
	// The file of the rejected lines that the state counts is gone: begin again.
	if info, err := os.Stat(j.rejected); j.state.RejectedBytes > 0 && (err != nil || info.Size() < j.state.RejectedBytes) {
		j.state = state{V: 1, Identity: identity, Target: target}
	}
	// Rejected lines after the counted ones are sent again and written again.
	if j.state.RejectedBytes == 0 {
		j.stale = resumable
		return j, nil
	}
	if err := j.openRejected(); err != nil {
		return nil, err
	}
	if err := j.file.Truncate(j.state.RejectedBytes); err != nil {
		return nil, fmt.Errorf("rejections: %w", err)
	}
	return j, nil
}

func (j *journal) openRejected() (err error) {
	if err := j.dropStale(); err != nil {
		return err
	}
	// The lines hold shoppers' personal data: only the owner may read the file.
	if j.path == "" { // two imports may begin in one second
		if j.file, err = os.CreateTemp(filepath.Dir(j.rejected),
			strings.TrimSuffix(filepath.Base(j.rejected), rejectedSuffix)+"-*"+rejectedSuffix); err != nil {
			return fmt.Errorf("rejections: %w", err)
		}
		j.rejected = j.file.Name()
		return nil
	}
	if j.file, err = os.OpenFile(j.rejected, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
		return fmt.Errorf("rejections: %w", err)
	}
	return nil
}

// dropStale removes the rejected lines of an earlier run.
func (j *journal) dropStale() error {
	if !j.stale {
		return nil
	}
	j.stale = false
	if err := os.Remove(j.rejected); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove an earlier run's rejections: %w", err)
	}
	return nil
}

// rejection is a line of FILE.rejected.jsonl.
type rejection struct {
	Line    int64           `json:"line"`
	Reasons []Reason        `json:"reasons"`
	Input   json.RawMessage `json:"input,omitempty"`     // the line, if it is JSON
	Text    string          `json:"inputText,omitempty"` // the line's beginning, if it is not
}

// maxRejectedText bounds Text, in bytes.
const maxRejectedText = 2000

func (j *journal) reject(l line, reasons []Reason) error {
	if j.file == nil {
		if err := j.openRejected(); err != nil {
			return err
		}
	}
	r := rejection{Line: l.number, Reasons: reasons}
	if json.Valid(l.text) {
		r.Input = l.text
	} else {
		r.Text = string(l.text[:min(len(l.text), maxRejectedText)])
	}
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("rejections: %w", err)
	}
	n, err := j.file.Write(append(text, '\n'))
	j.state.RejectedBytes += int64(n)
	j.state.Rejected++
	if err != nil {
		return fmt.Errorf("rejections: %w", err)
	}
	return nil
}

// maxWarned bounds the kinds of warnings that are counted; the rest counts as otherWarnings.
const (
	maxWarned     = 100
	otherWarnings = "other"
)

// index is that of an element in a JSON path.
var index = regexp.MustCompile(`\[\d+\]`)

// warn counts the kinds of warnings of one line.
func (s *state) warn(warnings []Reason) {
	if s.Warnings == nil && len(warnings) > 0 {
		s.Warnings = map[string]int64{}
	}
	for _, w := range warnings {
		kind := strings.TrimSpace(w.Code + " " + index.ReplaceAllString(w.Field, "[]"))
		if _, known := s.Warnings[kind]; !known && len(s.Warnings) >= maxWarned {
			kind = otherWarnings
		}
		s.Warnings[kind]++
	}
}

// save writes the rejected lines and then the state, which counts them, to the
// disk. A run without any outcome changes no file.
func (j *journal) save() error {
	if j.state.Lines == 0 {
		return nil
	}
	if err := j.dropStale(); err != nil {
		return err
	}
	if j.file != nil {
		if err := j.file.Sync(); err != nil {
			return fmt.Errorf("rejections: %w", err)
		}
	}
	if j.path == "" {
		return nil
	}
	if err := atomicfile.Write(j.path, func(w io.Writer) error { return json.NewEncoder(w).Encode(j.state) }); err != nil {
		return fmt.Errorf("save progress: %w", err)
	}
	return nil
}

// finish removes the progress file: every line is done.
func (j *journal) finish() error {
	if err := j.dropStale(); err != nil {
		return err
	}
	if j.path == "" {
		return nil
	}
	if err := os.Remove(j.path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove progress: %w", err)
	}
	return nil
}

func (j *journal) close() {
	if j.file != nil {
		_ = j.file.Close() // save has synced what counts
	}
}

// tryWriting makes a file in dir and removes it, to know whether that is allowed.
func tryWriting(dir string) error {
	probe, err := os.CreateTemp(dir, ".tributary-import-*")
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}
