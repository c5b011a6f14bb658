package merchant

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
)

// This file notes which files are exported. Reports read them (internal/postgres/report/export.go).

func exportArgs(e *commerce.Export) pgx.NamedArgs {
	return pgx.NamedArgs{"company_id": e.CompanyID, "export_id": e.ExportID, "kind": e.Kind}
}

// wholeRuns is how many runs after a whole one the next one is whole at the latest.
const wholeRuns = 7

// BeginExport notes that a run of an export begins, and sets its Run and Former, and Whole where no run was for long, or where an
// erasure waits for it. Snapshots that are taken from now on show all that
// erasures have removed which do not wait for this run.
func (s *Store) BeginExport(ctx context.Context, e *commerce.Export) error {
	args := exportArgs(e)
	args["place"], args["format"], args["most"] = e.Place, e.Format, wholeRuns
	err := s.db.InTx(ctx, func(tx pgx.Tx) error {
		var former string
		var waiting, whole bool
		err := tx.QueryRow(ctx, `
			select place, exists (select 1 from erasure_export x
				where x.company_id = @company_id and x.export_id = @export_id::uuid and x.kind = @kind)
			from export where company_id = @company_id and export_id = @export_id::uuid and kind = @kind`, exportArgs(e)).Scan(&former, &waiting)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		if e.Former = former; former == e.Place {
			e.Former = ""
		}
		// Citus takes no subquery here.
		err = tx.QueryRow(ctx, `
			insert into export as e (company_id, export_id, kind, format, place, begun, begun_at)
			values (@company_id, @export_id::uuid, @kind, @format, @place, 1, now())
			on conflict (company_id, export_id, kind) do update
			set format = excluded.format, place = excluded.place, begun = e.begun + 1, begun_at = excluded.begun_at, forgotten_at = null
			returning begun, done = 0 or begun - done >= @most`, args).Scan(&e.Run, &whole)
		e.Whole = e.Whole || whole || waiting
		return err
	})
	return postgres.Wrapf(err, "postgres: begin an export")
}

// ExportedDays returns the days of an export that have, or may have, a file, by YYYY-MM-DD.
func (s *Store) ExportedDays(ctx context.Context, e commerce.Export) (map[string]commerce.ExportedDay, error) {
	days := map[string]commerce.ExportedDay{}
	var day string
	var d commerce.ExportedDay
	err := postgres.Each(ctx, s.db.Pool(), []any{&day, &d.Digest, &d.Rows, &d.Bytes, &d.Modified}, func() error {
		days[day], d.Digest = d, nil
		return nil
	}, `
		select to_char(day, 'YYYY-MM-DD'), digest, coalesce(rows, 0), coalesce(bytes, 0), coalesce(modified, 0) from export_day
		where company_id = @company_id and export_id = @export_id::uuid and kind = @kind`, exportArgs(&e))
	return days, postgres.Wrapf(postgres.Translate(err), "postgres: exported days")
}

// NoteExportedDay notes what the file of a day was made of. It is called without a digest before anything of a file is there. It is
// commerce.ErrConflict where e.Run is not the run that began last, or the export was forgotten since.
func (s *Store) NoteExportedDay(ctx context.Context, e commerce.Export, day string, d commerce.ExportedDay) error {
	args := exportArgs(&e)
	args["day"], args["digest"], args["rows"], args["bytes"], args["modified"] = day, d.Digest, d.Rows, d.Bytes, d.Modified
	return s.inRun(ctx, &e, func(tx pgx.Tx) error {
		return postgres.Exec(ctx, tx, "note an exported day", `
			insert into export_day (company_id, export_id, kind, day, digest, rows, bytes, modified)
			values (@company_id, @export_id::uuid, @kind, @day::date, @digest::bytea, @rows, @bytes, @modified)
			on conflict (company_id, export_id, kind, day) do update
			set digest = excluded.digest, rows = excluded.rows, bytes = excluded.bytes, modified = excluded.modified`, args)
	})
}

// ForgetExportedDay notes that a day has no file any more. Errors are as of NoteExportedDay.
func (s *Store) ForgetExportedDay(ctx context.Context, e commerce.Export, day string) error {
	args := exportArgs(&e)
	args["day"] = day
	return s.inRun(ctx, &e, func(tx pgx.Tx) error {
		return postgres.Exec(ctx, tx, "forget an exported day", `
			delete from export_day where company_id = @company_id and export_id = @export_id::uuid and kind = @kind and day = @day::date`, args)
	})
}

// inRun runs f in a transaction in which the export's run is the one that began last, and nobody forgets the export.
func (s *Store) inRun(ctx context.Context, e *commerce.Export, f func(tx pgx.Tx) error) error {
	err := s.db.InTx(ctx, func(tx pgx.Tx) error {
		args := exportArgs(e)
		args["run"] = e.Run
		last, err := postgres.Collect(ctx, tx, pgx.RowTo[bool], `
			select true from export
			where company_id = @company_id and export_id = @export_id::uuid and kind = @kind and begun = @run and forgotten_at is null
			for update`, args)
		if err == nil && len(last) == 0 {
			err = fmt.Errorf("%w: another run has begun since, or the export was forgotten", commerce.ErrConflict)
		}
		if err != nil {
			return err
		}
		return f(tx)
	})
	return postgres.Wrapf(err, "postgres: run %d of an export", e.Run)
}

const (
	// A run that began later than what an erasure waits for has written all files without the person.
	reachErasures = `
		delete from erasure_export where company_id = @company_id and export_id = @export_id::uuid and kind = @kind and begun < @run
		returning erasure_id::text`
	// Of two runs that end together the later one sees in endErasures what the other has done.
	lockErasures = `
		select e.erasure_id::text from erasure e where e.company_id = @company_id and e.erasure_id = any(@erasure_ids::uuid[])
		order by e.erasure_id for update`
	endErasures = `
		update erasure e set done_at = now()
		where e.company_id = @company_id and e.done_at is not null and e.erasure_id = any(@erasure_ids::uuid[])
			and not exists (select 1 from erasure_export x where x.company_id = @company_id and x.erasure_id = e.erasure_id)
		returning e.erasure_id::text`
)

// EndExport notes that a run came to its end: every day that it compares was written where it differed. It returns the ids of the
// erasures that are done by it, if it is whole. Errors are as of NoteExportedDay.
func (s *Store) EndExport(ctx context.Context, e commerce.Export) (erasures []string, err error) {
	err = s.inRun(ctx, &e, func(tx pgx.Tx) error {
		if !e.Whole {
			return postgres.Exec(ctx, tx, "end a run", `
				update export set done_at = now() where company_id = @company_id and export_id = @export_id::uuid and kind = @kind`,
				exportArgs(&e))
		}
		args := exportArgs(&e)
		args["run"] = e.Run
		if err := postgres.Exec(ctx, tx, "end a whole run", `
			update export set done = @run, done_at = now()
			where company_id = @company_id and export_id = @export_id::uuid and kind = @kind`, args); err != nil {
			return err
		}
		reached, err := postgres.Collect(ctx, tx, pgx.RowTo[string], reachErasures, args)
		if err != nil {
			return err
		}
		erasures, err = doneErasures(ctx, tx, e.CompanyID, reached)
		return err
	})
	return erasures, err
}

// doneErasures notes of erasures that they are done which wait for no export any more, and returns these.
func doneErasures(ctx context.Context, tx pgx.Tx, companyID string, ids []string) ([]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	args := pgx.NamedArgs{"company_id": companyID, "erasure_ids": ids}
	if _, err := postgres.Collect(ctx, tx, pgx.RowTo[string], lockErasures, args); err != nil {
		return nil, err
	}
	return postgres.Collect(ctx, tx, pgx.RowTo[string], endErasures, args)
}

// Exports lists a company's exports.
func (s *Store) Exports(ctx context.Context, companyID string) ([]commerce.Export, error) {
	list, err := postgres.Collect(ctx, s.db.Pool(), func(row pgx.CollectableRow) (e commerce.Export, err error) {
		e.CompanyID = companyID
		err = row.Scan(&e.ExportID, &e.Kind, &e.Format, &e.Place, &e.BegunAt, postgres.ZeroIfNull(&e.DoneAt), &e.Days, &e.Rows, &e.Bytes,
			&e.Erasures)
		return e, err
	}, `
		select e.export_id::text, e.kind, e.format, e.place, e.begun_at, e.done_at, d.days, d.rows, d.bytes, x.erasures
		from export e
		cross join lateral (
			select count(*) as days, coalesce(sum(rows), 0)::bigint as rows, coalesce(sum(bytes), 0)::bigint as bytes from export_day d
			where d.company_id = @company_id and d.export_id = e.export_id and d.kind = e.kind) d
		cross join lateral (
			select count(*) as erasures from erasure_export x
			where x.company_id = @company_id and x.export_id = e.export_id and x.kind = e.kind) x
		where e.company_id = @company_id and (e.forgotten_at is null or x.erasures > 0) order by e.place, e.export_id, e.kind`,
		pgx.NamedArgs{"company_id": companyID})
	return list, postgres.Wrapf(postgres.Translate(err), "postgres: exports of %s", companyID)
}

// ForgetExport notes that the files of a directory are gone, for good: erasures wait for them no longer. It returns the erasures
// that are done by it. Where nothing was exported there, it is commerce.ErrNotFound.
func (s *Store) ForgetExport(ctx context.Context, companyID, exportID string) (erasures []string, err error) {
	err = s.db.InTx(ctx, func(tx pgx.Tx) error {
		args := pgx.NamedArgs{"company_id": companyID, "export_id": exportID}
		// The row stays: its count of runs must never begin anew.
		gone, err := postgres.Collect(ctx, tx, pgx.RowTo[string], `
			update export set forgotten_at = now()
			where company_id = @company_id and export_id = @export_id::uuid and forgotten_at is null returning kind`, args)
		if err != nil {
			return err
		}
		if err := postgres.Exec(ctx, tx, "forget exported days", `
			delete from export_day where company_id = @company_id and export_id = @export_id::uuid`, args); err != nil {
			return err
		}
		// An erasure may have ended together with a former call.
		reached, err := postgres.Collect(ctx, tx, pgx.RowTo[string], `
			delete from erasure_export where company_id = @company_id and export_id = @export_id::uuid returning erasure_id::text`, args)
		if err != nil {
			return err
		}
		if len(gone)+len(reached) == 0 {
			return commerce.ErrNotFound
		}
		erasures, err = doneErasures(ctx, tx, companyID, reached)
		return err
	})
	return erasures, postgres.Wrapf(err, "postgres: forget an export")
}
