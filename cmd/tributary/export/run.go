package export

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tributary-io/tributary/internal/atomicfile"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/postgres/report"
)

// Store is the database. internal/postgres/merchant.Store and internal/postgres/report.Reader together are one, and describe
// each method.
type Store interface {
	BeginExport(ctx context.Context, e *commerce.Export) error
	ExportedDays(ctx context.Context, e commerce.Export) (map[string]commerce.ExportedDay, error)
	NoteExportedDay(ctx context.Context, e commerce.Export, day string, d commerce.ExportedDay) error
	ForgetExportedDay(ctx context.Context, e commerce.Export, day string) error
	EndExport(ctx context.Context, e commerce.Export) (erasures []string, err error)

	ExportSnapshot(ctx context.Context, companyID, kind string, f func(x *report.ExportSnapshot) error) error
}

const (
	// layout is the number of the files' layout. Another one makes every file be written anew.
	layout = 2
	// mostTime is how long a run and its snapshot last. The next run goes on.
	mostTime = 6 * time.Hour
	// recentDays is how many days of events every run compares with their files; those of before, a whole run does. Events never move
	// to another day, and few come or go so late. All other rows may move, and are few: each run of them is whole.
	recentDays = 30
)

// Result is what a run did.
type Result struct {
	New       int      `json:"new"`           // files of days that had none
	Anew      []string `json:"written_anew"`  // files whose rows had changed, by their paths
	Unchanged int      `json:"unchanged"`     // files
	Old       int      `json:"not_compared"`  // files of days of events that were not compared: the run was not whole (commerce.Export)
	Removed   []string `json:"removed"`       // files of days that have no rows any more
	Rows      int64    `json:"rows"`          // written
	Bytes     int64    `json:"bytes"`         // likewise
	Erasures  []string `json:"erasures_done"` // since no file has their persons any more
	Former    string   `json:"former_place"`  // where the run before wrote its files, if to another machine or directory than this one
}

// run is the export of one kind of a company's rows.
type run struct {
	store   Store
	rows    *report.ExportSnapshot
	dir     *Dir
	export  commerce.Export
	digests *identity.Digests // nil: the kind has no digests
	made    []byte            // begins what is noted of files: of their layout, format and key of digests
	recent  string            // days of events before it are compared by whole runs
	was     map[string]commerce.ExportedDay
	done    Result
}

// Export writes a kind of a company's rows to a directory: the file of each day whose rows have changed since it was written. All is
// read in one snapshot: no row is in two files, or in none. Digests are needed for commerce.PersonalExports. Whole makes it compare all
// days. After an error the result is of what was done, and another run goes on from there; the error names each day that has failed.
func Export(ctx context.Context, store Store, dir *Dir, companyID, kind string, digests *identity.Digests, whole bool) (Result, error) {
	errTime := fmt.Errorf("a run lasts at most %s; the next one goes on", mostTime)
	ctx, cancel := context.WithTimeoutCause(ctx, mostTime, errTime)
	defer cancel()
	check := ""
	if digests != nil {
		check = digests.Check()
	}
	made := sha256.Sum256(fmt.Appendf(nil, "%d %s %s", layout, dir.Format, check))
	r := &run{store: store, dir: dir, digests: digests, made: made[:8],
		recent: time.Now().UTC().AddDate(0, 0, -recentDays).Format(time.DateOnly),
		export: commerce.Export{CompanyID: companyID, ExportID: dir.ID, Kind: kind, Format: dir.Format, Place: dir.Place,
			Whole: whole || kind != "events"}}
	if err := store.BeginExport(ctx, &r.export); err != nil {
		return r.done, err
	}
	r.done.Former = r.export.Former
	err := store.ExportSnapshot(ctx, companyID, kind, func(x *report.ExportSnapshot) error {
		r.rows = x
		days, err := r.days(ctx)
		if err != nil {
			return err
		}
		return r.each(ctx, days)
	})
	if errors.Is(context.Cause(ctx), errTime) {
		err = errors.Join(errTime, err)
	}
	if err != nil {
		return r.done, err // not ended: erasures go on waiting
	}
	r.done.Erasures, err = store.EndExport(ctx, r.export)
	return r.done, err
}

// mostFailures is how many days that fail one after another end a run: what fails is more than their rows then.
const mostFailures = 20

// each writes the days. One that fails keeps no other from being written.
func (r *run) each(ctx context.Context, days []string) error {
	var failed []error
	inARow := 0
	for _, day := range days {
		err := r.day(ctx, day)
		if err == nil {
			inARow = 0
			continue
		}
		failed = append(failed, fmt.Errorf("%s of %s of %s: %w", r.export.Kind, r.export.CompanyID, day, err))
		if inARow++; ctx.Err() != nil || errors.Is(err, commerce.ErrConflict) || inARow == mostFailures {
			break
		}
	}
	return errors.Join(failed...)
}

// days are the days that have rows, or have or may have a file.
func (r *run) days(ctx context.Context) (days []string, err error) {
	if r.was, err = r.store.ExportedDays(ctx, r.export); err != nil {
		return nil, err
	}
	there, err := r.dir.days(r.export.CompanyID, r.export.Kind)
	if err != nil {
		return nil, err
	}
	if days, err = r.rows.Days(ctx); err != nil {
		return nil, err
	}
	for _, day := range there {
		if _, err := time.Parse(time.DateOnly, day); err == nil { // else it is not ours
			days = append(days, day)
		}
	}
	for day := range r.was {
		days = append(days, day)
	}
	slices.Sort(days)
	return slices.Compact(days), nil
}

// digest is what is noted of a file that was made of rows.
func (r *run) digest(s report.ExportState) []byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %x", s.Rows, s.Digest))
	return append(bytes.Clone(r.made), sum[:16]...)
}

// errNoRows says that a day has no rows: it gets no file.
var errNoRows = errors.New("the day has no rows")

// day writes the file of a day, if its rows have changed.
func (r *run) day(ctx context.Context, day string) error {
	path := r.dir.fileName(r.export.CompanyID, r.export.Kind, day)
	was, known := r.was[day]
	there, err := fileOf(path)
	if err != nil {
		return err
	}
	// All of a file's digests are equally long: a former file has the size of the one that replaced it, and another time.
	same := bytes.HasPrefix(was.Digest, r.made) && there == (file{was.Bytes, was.Modified})
	if same && !r.export.Whole && day < r.recent && day != report.OtherEvents {
		r.done.Old++
		return nil
	}
	state, err := r.rows.State(ctx, day)
	if err != nil {
		return err
	}
	digest := r.digest(state)
	if same && bytes.Equal(was.Digest, digest) {
		r.done.Unchanged++
		return nil
	}
	if !known || was.Digest != nil {
		// Before anything of the day is there: an erasure must know of it, and a run that is killed leaves a file that the next one
		// does not take for the former.
		if err := r.store.NoteExportedDay(ctx, r.export, day, commerce.ExportedDay{}); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // programs of other accounts read the files
		return err
	}
	var rows int64
	err = atomicfile.WriteFrom(filepath.Join(r.dir.path, ownDir), path, func(w io.Writer) (err error) {
		if rows, err = r.write(ctx, day, w); err == nil && rows == 0 {
			err = errNoRows
		}
		return err
	})
	if errors.Is(err, errNoRows) {
		return r.remove(ctx, day, path)
	}
	if err != nil {
		return err
	}
	is, err := fileOf(path)
	if err != nil {
		return err
	}
	if there.bytes < 0 {
		r.done.New++
	} else {
		r.done.Anew = append(r.done.Anew, path)
	}
	r.done.Rows += rows
	r.done.Bytes += is.bytes
	return r.store.NoteExportedDay(ctx, r.export, day,
		commerce.ExportedDay{Digest: digest, Rows: rows, Bytes: is.bytes, Modified: is.modified})
}

// remove removes the file of a day that has no rows.
func (r *run) remove(ctx context.Context, day, path string) error {
	removed, err := remove(path)
	if err != nil {
		return err
	}
	if removed {
		r.done.Removed = append(r.done.Removed, path)
	}
	return r.store.ForgetExportedDay(ctx, r.export, day)
}

// write writes the rows of a day, and returns how many there are.
func (r *run) write(ctx context.Context, day string, w io.Writer) (rows int64, err error) {
	switch r.export.Kind {
	case "events":
		return writeRows(w, r.dir.Format, func(add func(*eventRow) error) error {
			return r.rows.Events(ctx, day, func(e *report.ExportedEvent) error { return add(eventOf(e, r.digests)) })
		})
	case "orders":
		return writeRows(w, r.dir.Format, func(add func(*orderRow) error) error {
			return r.rows.Orders(ctx, day, func(o *report.ExportedOrder) error { return add(orderOf(o, r.digests)) })
		})
	case "credits":
		return writeRows(w, r.dir.Format, func(add func(*creditRow) error) error {
			return r.rows.Credits(ctx, day, func(c *report.ExportedCredit) error { return add(creditOf(c)) })
		})
	case "ledger":
		return writeRows(w, r.dir.Format, func(add func(*ledgerRow) error) error {
			return r.rows.Ledger(ctx, day, func(e *report.ExportedEntry) error { return add(entryOf(e)) })
		})
	case "statements":
		return writeRows(w, r.dir.Format, func(add func(*statementRow) error) error {
			return r.rows.Statements(ctx, day, func(s *report.ExportedStatement) error {
				row, err := statementOf(s)
				if err != nil {
					return err
				}
				return add(row)
			})
		})
	}
	return 0, fmt.Errorf("%q is none of %s", r.export.Kind, strings.Join(commerce.ExportKinds, ", "))
}
