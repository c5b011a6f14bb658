package export

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
)

// opened is the directory, as a run has it.
func (f *files) opened() (*Dir, commerce.Export) {
	f.t.Helper()
	dir, err := Open(f.dir, f.format)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { dir.Close() })
	return dir, commerce.Export{CompanyID: f.company, ExportID: dir.ID, Kind: "orders", Format: f.format, Place: dir.Place}
}

// begin begins a run.
func (f *files) begin(x *commerce.Export) {
	f.t.Helper()
	if err := f.DB.BeginExport(f.t.Context(), x); err != nil {
		f.t.Fatal(err)
	}
}

// A file that a backup brought back has the size of the one that an erasure made: digests are all equally long.
func TestARestoredFileOfTheSameSizeIsWrittenAnew(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	f.format = "csv"
	f.export("orders")
	path := f.path("orders", "2024-11-06")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	// One person's digest takes the place of another's.
	f.sql(`update payout set commission_minor = 1111 where order_id = '2'`)
	f.is("orders", 0, 1, 2, 0)
	after, err := os.ReadFile(path)
	if err != nil || len(after) != len(before) || bytes.Equal(after, before) {
		t.Fatalf("%v: the files have %d and %d bytes", err, len(before), len(after))
	}
	if err := errors.Join(os.WriteFile(path, before, 0o600), os.Chtimes(path, time.Time{}, info.ModTime())); err != nil {
		t.Fatal(err)
	}
	f.is("orders", 0, 1, 2, 0)
	if is, err := os.ReadFile(path); err != nil || !bytes.Equal(is, after) {
		t.Errorf("%v: the restored file stays:\n%s", err, is)
	}
	f.is("orders", 0, 0, 3, 0)
}

// Who has a copy of a directory on another machine is told.
func TestARunTellsOfAnotherPlace(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	f.export("orders")
	if r := f.export("orders"); r.Former != "" {
		t.Errorf("%+v", r)
	}
	f.sql(`update export set place = 'elsewhere:/srv/files'`)
	if r := f.export("orders"); r.Former != "elsewhere:/srv/files" {
		t.Errorf("%+v", r)
	}
}

// An export that is forgotten while a run writes files: the run notes no file any more, and does not end well.
func TestARunDoesNotOutliveItsExport(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	f.export("orders")
	dir, x := f.opened()
	f.begin(&x)
	if _, err := f.DB.ForgetExport(t.Context(), f.company, dir.ID); err != nil {
		t.Fatal(err)
	}
	f.state(f.ended(), commerce.Erased, 0) // nothing waits for it
	fenced := func(when string) {
		t.Helper()
		_, end := f.DB.EndExport(t.Context(), x)
		for what, err := range map[string]error{"note": f.DB.NoteExportedDay(t.Context(), x, "2024-11-05", commerce.ExportedDay{}),
			"forget": f.DB.ForgetExportedDay(t.Context(), x, "2024-11-05"), "end": end} {
			if !errors.Is(err, commerce.ErrConflict) {
				t.Errorf("%s %s: %v", what, when, err)
			}
		}
	}
	fenced("after it was forgotten")
	if list, err := f.DB.Exports(t.Context(), f.company); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	// Runs are counted on: one of before is never taken for one that began after an erasure.
	again := x
	f.begin(&again)
	if again.Run != x.Run+1 {
		t.Errorf("run %d after run %d", again.Run, x.Run)
	}
	fenced("beside another run")
	id := f.ended()
	f.state(id, commerce.ErasingFiles, 1)
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	if r := f.export("orders"); !slices.Equal(r.Erasures, []string{id}) {
		t.Errorf("%+v", r)
	}
}

// An export whose erasure ended together with its being forgotten can be forgotten again.
func TestWhatWaitsForAForgottenExportIsSeen(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	f.export("orders")
	id := f.ended()
	f.sql(`update export set forgotten_at = now()`)
	list, err := f.DB.Exports(t.Context(), f.company)
	if err != nil || len(list) != 1 || list[0].Erasures != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	if done, err := f.DB.ForgetExport(t.Context(), f.company, list[0].ExportID); err != nil || !slices.Equal(done, []string{id}) {
		t.Errorf("%v, %v", done, err)
	}
	if _, err := f.DB.ForgetExport(t.Context(), f.company, list[0].ExportID); !errors.Is(err, commerce.ErrNotFound) {
		t.Errorf("forgotten twice: %v", err)
	}
}

// Of two directories' runs that end together one ends the erasure.
func TestRunsThatEndTogetherEndAnErasure(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	const runs = 8
	var all [runs]commerce.Export
	for round := range 5 {
		for i := range all {
			all[i] = commerce.Export{CompanyID: f.company, ExportID: "019cd7a4-2e00-7000-8000-00000000001" + string(rune('0'+i)), Kind: "orders",
				Format: "csv", Place: "here"}
			f.begin(&all[i])
		}
		id := f.ended()
		f.sql(`update erasure set done_at = '2026-01-01' where erasure_id = $1`, id)
		for i := range all {
			f.begin(&all[i])
		}
		var wait sync.WaitGroup
		var done [runs][]string
		for i := range all {
			wait.Go(func() {
				var err error
				if done[i], err = f.DB.EndExport(t.Context(), all[i]); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		if ended := slices.Concat(done[:]...); !slices.Equal(ended, []string{id}) {
			t.Fatalf("round %d: %q ended %s", round, ended, id)
		}
	}
}

// A directory's files are looked for before it is forgotten, whoever made them.
func TestFilesThatAreLeftAreFound(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	f.export("orders")
	left, err := Left(f.dir, f.company)
	if err != nil || !strings.HasPrefix(left, f.path("orders", "2024-11-05")) {
		t.Errorf("%q, %v", left, err)
	}
	if err := os.RemoveAll(filepath.Join(f.dir, "orders")); err != nil {
		t.Fatal(err)
	}
	if left, err := Left(f.dir, f.company); err != nil || left != "" {
		t.Errorf("%q, %v", left, err)
	}
}
