package report

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/uuidtext"
)

// This file and those of export* read what `tributary export` writes to files, one day of a company at a time. The days of orders
// and credits are the store's; those of events (by the time in their ids), of the ledger and of statements are UTC's.

// ExportSnapshot reads a kind of a company's rows in one snapshot: each row is in one day, whatever moves meanwhile. Not safe for
// concurrent use.
type ExportSnapshot struct {
	tx              pgx.Tx
	companyID, kind string
	ahead           time.Time // events by whose ids it is later are of OtherEvents
}

// OtherEvents is the day of events whose ids have a time before 2000, or more than two days ahead. Who sends events chooses their
// ids: each such id would be one more day.
const OtherEvents = "1970-01-01"

// earliest is where the days of events begin.
var earliest = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// ExportSnapshot calls f with a snapshot of a kind of a company's rows; kind is one of commerce.ExportKinds. The snapshot is valid
// until f returns. It keeps PostgreSQL from removing what others delete meanwhile.
func (r *Reader) ExportSnapshot(ctx context.Context, companyID, kind string, f func(x *ExportSnapshot) error) error {
	return r.snapshot(ctx, func(tx pgx.Tx) error {
		return f(&ExportSnapshot{tx, companyID, kind, time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 3)})
	})
}

// ExportState is what a file of a day is made of: how many rows of the database, and a digest of them, which has nothing of the file's
// layout.
type ExportState struct {
	Rows   int64
	Digest uint64
}

// stateOf is the SQL of an ExportState: of the columns that a file is made of.
func stateOf(columns, from string) string {
	return `select count(*), coalesce(bit_xor(hash_record_extended(row(` + columns + `), 0)), 0) ` + from
}

// Days returns the days of which there may be rows, YYYY-MM-DD, in order.
func (x *ExportSnapshot) Days(ctx context.Context) (days []string, err error) {
	args := pgx.NamedArgs{"company_id": x.companyID}
	switch x.kind {
	case "events":
		days, err = x.daysOfEvents(ctx)
	case "orders", "credits":
		days, err = postgres.Collect(ctx, x.tx, pgx.RowTo[string],
			`select to_char(day, 'YYYY-MM-DD') from orders where company_id = @company_id group by day order by day`, args)
	case "ledger":
		days, err = postgres.Collect(ctx, x.tx, pgx.RowTo[string], `
			select to_char(day, 'YYYY-MM-DD') from (
				select distinct date_trunc('day', at at time zone 'UTC') as day from ledger_entry where company_id = @company_id) d
			order by day`, args)
	case "statements":
		days, err = postgres.Collect(ctx, x.tx, pgx.RowTo[string], `
			select to_char(day, 'YYYY-MM-DD') from (
				select distinct date_trunc('day', closed_at at time zone 'UTC') as day from statement
				where company_id = @company_id and closed_at is not null) d
			order by day`, args)
	default:
		err = fmt.Errorf("%q is no kind of export", x.kind)
	}
	return days, postgres.Wrapf(postgres.Translate(err), "postgres: days of %s", x.kind)
}

// daysOfEvents looks for the first event of each day: there are few days, and may be very many events.
func (x *ExportSnapshot) daysOfEvents(ctx context.Context) (days []string, err error) {
	from, others := uuid.UUID{}, false
	for {
		found, err := postgres.Collect(ctx, x.tx, pgx.RowTo[[16]byte], `
			select event_id from event_fact where company_id = @company_id and event_id >= @from order by event_id limit 1`,
			pgx.NamedArgs{"company_id": x.companyID, "from": [16]byte(from)})
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			break
		}
		day := time.UnixMilli(uuidtext.Time(found[0][:])).UTC().Truncate(24 * time.Hour)
		if !day.Before(x.ahead) {
			others = true
			break
		}
		if day.Before(earliest) {
			others, from = true, facts.FirstID(earliest)
			continue
		}
		days, from = append(days, day.Format(time.DateOnly)), facts.FirstID(day.AddDate(0, 0, 1))
	}
	if others {
		days = append([]string{OtherEvents}, days...)
	}
	return days, nil
}

// args are the arguments of a day's statements, one for each time that they are asked: OtherEvents lie on both sides of all days.
func (x *ExportSnapshot) args(day string) (list []pgx.NamedArgs, err error) {
	first, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return nil, err
	}
	end := first.AddDate(0, 0, 1)
	switch x.kind {
	case "orders", "credits":
		return []pgx.NamedArgs{{"company_id": x.companyID, "day": day}}, nil
	case "ledger", "statements":
		return []pgx.NamedArgs{{"company_id": x.companyID, "from": first, "before": end}}, nil
	}
	ids := func(first, end uuid.UUID) pgx.NamedArgs {
		return pgx.NamedArgs{"company_id": x.companyID, "first_id": [16]byte(first), "end_id": [16]byte(end)}
	}
	switch {
	case day == OtherEvents:
		return []pgx.NamedArgs{ids(uuid.Nil, facts.FirstID(earliest)), ids(facts.FirstID(x.ahead), uuid.Max)}, nil
	case first.Before(earliest) || end.After(x.ahead):
		return nil, nil
	}
	return []pgx.NamedArgs{ids(facts.FirstID(first), facts.FirstID(end))}, nil
}

// State returns what a day's file would be made of.
func (x *ExportSnapshot) State(ctx context.Context, day string) (s ExportState, err error) {
	err = x.ofDay(day, func(args pgx.NamedArgs) error {
		var rows, digest int64
		var row pgx.Row
		switch x.kind {
		case "events":
			row = x.tx.QueryRow(ctx, stateOfEvents, args)
		case "orders":
			row = x.tx.QueryRow(ctx, stateOfOrders, args)
		case "credits":
			row = x.tx.QueryRow(ctx, stateOfCredits, args)
		case "ledger":
			row = x.tx.QueryRow(ctx, stateOfLedger, args)
		default:
			row = x.tx.QueryRow(ctx, stateOfStatements, args)
		}
		err := row.Scan(&rows, &digest)
		s.Rows += rows
		s.Digest ^= uint64(digest)
		return err
	})
	return s, err
}

// each calls f for each row of a day. into are the places of a row's columns.
func (x *ExportSnapshot) each(ctx context.Context, day, query string, into []any, f func() error) error {
	return x.ofDay(day, func(args pgx.NamedArgs) error {
		return postgres.Each(ctx, x.tx, into, f, query, args)
	})
}

// ofDay calls ask with the arguments of a day.
func (x *ExportSnapshot) ofDay(day string, ask func(args pgx.NamedArgs) error) error {
	list, err := x.args(day)
	for i := 0; i < len(list) && err == nil; i++ {
		err = ask(list[i])
	}
	if err != nil {
		err = fmt.Errorf("postgres: %s of %s: %w", x.kind, day, postgres.Translate(err))
	}
	return err
}
