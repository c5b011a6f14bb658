// Package export writes a company's rows to files for analysis: one file a kind and day, Parquet or CSV (docs/analysis.md). At any
// moment there are whole files only; a run that is killed goes on with the next.
//
// What may enter: directories, files, their layouts. Which rows there are, the database knows (internal/postgres/report), and it notes
// which files are there (internal/postgres/merchant), so that an erasure can wait for them. What names a person enters a file as a
// digest under the export key alone (identity.Digests).
package export

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"github.com/tributary-io/tributary/internal/atomicfile"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/seglog"
)

// Formats are those of files.
var Formats = []string{"parquet", "csv"}

// Dir is a directory of exported files, which no other process exports to until Close.
type Dir struct {
	ID     string // UUID, by which the database knows the directory
	Format string // of its files, one of Formats
	Place  string // the machine and the path, for people

	path string
	lock io.Closer
}

// ownDir is the directory of what is no exported file. Programs that read Parquet pass by names that begin with "_".
const ownDir = "_tributary"

// about is the file that says what a directory is.
type about struct {
	ExportID string `json:"export_id"`
	Format   string `json:"format"`
}

// Open opens a directory for files of a format, or makes it. It is an error where another process exports to it, and
// where it has files of another format. What a killed run left unfinished is removed.
func Open(path, format string) (*Dir, error) {
	path, place, err := Place(path)
	if err != nil {
		return nil, err
	}
	own := filepath.Join(path, ownDir)
	if err := os.MkdirAll(own, 0o700); err != nil {
		return nil, err
	}
	d := &Dir{Format: format, Place: place, path: path}
	if d.lock, err = (seglog.OS{}).Lock(filepath.Join(own, "lock")); err != nil {
		if errors.Is(err, seglog.ErrLocked) {
			err = fmt.Errorf("another export writes to %s", path)
		}
		return nil, err
	}
	if err := d.prepare(own); err != nil {
		return nil, errors.Join(err, d.lock.Close())
	}
	return d, nil
}

// Place returns the absolute path of a directory of this machine, which may be gone, and its Dir.Place. It takes either of them.
func Place(name string) (path, place string, err error) {
	host, err := os.Hostname()
	if err == nil {
		path, err = filepath.Abs(strings.TrimPrefix(name, host+":"))
	}
	return path, host + ":" + path, err
}

// prepare reads what the directory is, and removes unfinished files.
func (d *Dir) prepare(own string) error {
	left, err := filepath.Glob(filepath.Join(own, ".*"))
	if err != nil {
		return err
	}
	for _, name := range left {
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	id, format, err := Read(d.path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		made, err := uuid.NewRandom()
		if err != nil {
			return err
		}
		d.ID = made.String()
		return atomicfile.Write(filepath.Join(own, "export.json"), func(w io.Writer) error {
			return json.NewEncoder(w).Encode(about{d.ID, d.Format})
		})
	case err != nil:
		return err
	case format != d.Format:
		return fmt.Errorf("%s has files of the format %s: take another directory for %s", d.path, format, d.Format)
	}
	d.ID = id
	return nil
}

// Read reads by which id the database knows a directory, and the format of its files; os.ErrNotExist: nothing was exported to it.
func Read(path string) (id, format string, err error) {
	name := filepath.Join(path, ownDir, "export.json")
	text, err := os.ReadFile(filepath.Clean(name))
	if err != nil {
		return "", "", err
	}
	var is about
	if err = json.Unmarshal(text, &is); err == nil {
		err = uuid.Validate(is.ExportID)
	}
	if err != nil {
		return "", "", fmt.Errorf("%s: %w", name, err)
	}
	return is.ExportID, is.Format, nil
}

// Close lets others export to the directory.
func (d *Dir) Close() error {
	if d.lock == nil { // it is gone
		return nil
	}
	return d.lock.Close()
}

// company is the directory of a company's files of a kind.
func (d *Dir) company(companyID, kind string) string {
	return filepath.Join(d.path, kind, "company="+companyID)
}

// fileName is the path of a day's file.
func (d *Dir) fileName(companyID, kind, day string) string {
	return filepath.Join(d.company(companyID, kind), dayPrefix+day, kind+"."+d.Format)
}

const dayPrefix = "day="

// days lists the days that have a directory, whoever made it.
func (d *Dir) days(companyID, kind string) (days []string, err error) {
	entries, err := os.ReadDir(d.company(companyID, kind))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if day, found := strings.CutPrefix(e.Name(), dayPrefix); found && e.IsDir() {
			days = append(days, day)
		}
	}
	return days, nil
}

// file is what tells a day's file from the ones before.
type file struct{ bytes, modified int64 }

// fileOf looks at a file; its size is -1 where there is none.
func fileOf(path string) (file, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return file{bytes: -1}, nil
	case err != nil:
		return file{}, err
	}
	return file{info.Size(), info.ModTime().UnixNano()}, nil
}

// Left finds a path below the days of a company's files in a directory, "" where there is none any more.
func Left(dir, companyID string) (path string, err error) {
	d := &Dir{path: dir}
	for _, kind := range commerce.ExportKinds {
		days, err := d.days(companyID, kind)
		if err != nil {
			return "", err
		}
		for _, day := range days {
			name := filepath.Join(d.company(companyID, kind), dayPrefix+day)
			entries, err := os.ReadDir(name)
			if err != nil {
				return "", err
			}
			if len(entries) > 0 {
				return filepath.Join(name, entries[0].Name()), nil
			}
		}
	}
	return "", nil
}

// remove removes a day's file and its directory, if that has nothing else. removed tells whether the file was there.
func remove(path string) (removed bool, err error) {
	err = os.Remove(path)
	if removed = err == nil; err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, err
	}
	day := filepath.Dir(path)
	_ = os.Remove(day) // fails where somebody put other files there: they stay
	company, err := os.Open(filepath.Dir(day))
	if errors.Is(err, os.ErrNotExist) {
		return removed, nil
	}
	if err != nil {
		return removed, err
	}
	return removed, errors.Join(company.Sync(), company.Close())
}
