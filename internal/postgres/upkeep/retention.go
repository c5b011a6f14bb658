package upkeep

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/packed"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/upkeep/retention"
)

// Companies reads how far companies' removals have come; safe for concurrent use.
type Companies struct {
	db *postgres.DB
}

// NewCompanies makes Companies of a database.
func NewCompanies(db *postgres.DB) *Companies { return &Companies{db: db} }

// Retentions returns the companies that remove old events, with how far that has come, by
// id; at most 10,000.
func (c *Companies) Retentions(ctx context.Context) ([]retention.Progress, error) {
	list, err := postgres.Collect(ctx, c.db.Pool(), pgx.RowTo[string], `
		select company_id from company where retention_days > 0 order by company_id limit 10000`)
	if err != nil {
		return nil, fmt.Errorf("postgres: companies that remove old events: %w", postgres.Translate(err))
	}
	retentions := make([]retention.Progress, len(list))
	for i, id := range list {
		if retentions[i], err = c.Retention(ctx, id); err != nil {
			return nil, err
		}
	}
	return retentions, nil
}

// Retention returns how far the removal of a company's old events has come.
func (c *Companies) Retention(ctx context.Context, companyID string) (retention.Progress, error) {
	r := retention.Progress{CompanyID: companyID}
	err := c.db.Pool().QueryRow(ctx, `select done_until, done_at from retention where company_id = $1`, companyID).
		Scan(postgres.ZeroIfNull(&r.Until), postgres.ZeroIfNull(&r.DoneAt))
	if err != nil && !errors.Is(err, pgx.ErrNoRows) { // without a row nothing was removed yet
		return r, fmt.Errorf("postgres: retention of %s: %w", companyID, postgres.Translate(err))
	}
	return r, nil
}

// Retention is the statements of a removal within a transaction. It is a retention.Store.
type Retention struct {
	tx pgx.Tx
}

// RetentionIn returns one that works within the caller's transaction.
func RetentionIn(tx pgx.Tx) *Retention { return &Retention{tx} }

// BeginRemoval stores that events before an instant may be removed from now on: what
// reports count of visitors then cannot be counted again for the days up to it, and non-converting paths
// for those before pathsFrom, YYYY-MM-DD.
func (t *Retention) BeginRemoval(ctx context.Context, companyID string, until time.Time, pathsFrom string) error {
	return postgres.Exec(ctx, t.tx, "begin a removal", `
		insert into retention as r (company_id, begun_until, nonconverting_from) values (@company_id, @until, @nonconverting_from)
		on conflict (company_id) do update
			set begun_until = greatest(r.begun_until, excluded.begun_until),
				nonconverting_from = greatest(r.nonconverting_from, excluded.nonconverting_from)`,
		pgx.NamedArgs{"company_id": companyID, "until": until, "nonconverting_from": pathsFrom})
}

// EndRemoval stores that everything before an instant is removed. since is when the removal
// began: orders that have changed since then may have to be snapshotted by the next one.
func (t *Retention) EndRemoval(ctx context.Context, companyID string, until, since time.Time) error {
	return postgres.Exec(ctx, t.tx, "end a removal", `
		update retention set done_until = @until, done_at = @since where company_id = @company_id`,
		pgx.NamedArgs{"company_id": companyID, "until": until, "since": since})
}

// removeEvents walks over the events by id. An event goes where its corrected time, too,
// is before the bound: a wrong clock makes an id of another time.
const removeEvents = `
	with page as (
		select event_id, at, visitor from event_fact
		where company_id = @company_id and event_id > @after and event_id < @end_id
		order by event_id limit @most
	), gone as (
		delete from event_fact f using page p
		where f.company_id = @company_id and f.event_id = p.event_id and p.at < @bound
		returning f.visitor)
	select (select count(*)::int from page), (select event_id from page order by event_id desc limit 1),
		(select count(*)::int from gone), (select coalesce(array_agg(distinct visitor) filter (where visitor is not null), '{}') from gone)`

// RemoveEvents looks at the next events with ids after a given one and before end, at most
// limit, and removes those with a corrected time before bound. It returns the last id that
// it looked at, the visitors of removed events, and how many it looked at and removed.
func (t *Retention) RemoveEvents(
	ctx context.Context, companyID string, after uuid.UUID, end, bound time.Time, limit int,
) (last uuid.UUID, visitors []string, looked, removed int, err error) {
	var lastID *[16]byte
	var list [][]byte
	err = t.tx.QueryRow(ctx, removeEvents, pgx.NamedArgs{
		"company_id": companyID, "after": [16]byte(after), "end_id": [16]byte(facts.FirstID(end)), "bound": bound, "most": limit,
	}).Scan(&looked, &lastID, &removed, &list)
	if err != nil {
		return after, nil, 0, 0, fmt.Errorf("remove events: %w", err)
	}
	if last = after; lastID != nil {
		last = *lastID
	}
	for _, v := range list {
		id, err := packed.Text(v)
		if err != nil {
			return after, nil, 0, 0, fmt.Errorf("remove events: %w", err)
		}
		visitors = append(visitors, id)
	}
	return last, visitors, looked, removed, nil
}

// Of a visitor without any event all observations go, else those of the days before the bound.
// The two statements find them as those of DeleteObservations do.
const (
	visitorsLeft = `
		select v.visitor, exists (select 1 from event_fact f where f.company_id = @company_id and f.visitor = v.visitor) as has_events
		from unnest(@visitors::bytea[]) as v (visitor)`
	removeObservations = `
		with v as (` + visitorsLeft + `), gone as (
			delete from observation s using v
			where s.company_id = @company_id and s.visitor = v.visitor and s.kind <> 3 and s.kind <> 10 and (s.slot < @slot or not v.has_events)
			returning 1)
		select count(*)::int from gone`
	removeOwnObservations = `
		with v as (` + visitorsLeft + `), gone as (
			delete from observation s using v
			where s.company_id = @company_id and s.kind in (3, 10) and s.key = v.visitor and s.visitor = v.visitor
				and (s.slot < @slot or not v.has_events)
			returning 1)
		select count(*)::int from gone`
)

// RemoveObservations removes the observations of visitors before an instant, and all of those
// who have no event left. It returns how many.
func (t *Retention) RemoveObservations(ctx context.Context, companyID string, visitors []string, before time.Time) (int, error) {
	if len(visitors) == 0 {
		return 0, nil
	}
	ids := make([][]byte, len(visitors))
	for i, v := range visitors {
		ids[i] = packed.ID(v)
	}
	args, removed := pgx.NamedArgs{"company_id": companyID, "visitors": ids, "slot": facts.SlotOf(before)}, 0
	n, err := postgres.One(ctx, t.tx, pgx.RowTo[int], removeObservations, args)
	if err != nil {
		return 0, fmt.Errorf("remove observations: %w", err)
	}
	removed += n
	if n, err = postgres.One(ctx, t.tx, pgx.RowTo[int], removeOwnObservations, args); err != nil {
		return 0, fmt.Errorf("remove observations of visitors' own ids: %w", err)
	}
	return removed + n, nil
}

// RemoveShoppers removes visitors' days before a day, YYYY-MM-DD in the store's time zone;
// at most limit. What reports count of them stays. It returns how many.
func (t *Retention) RemoveShoppers(ctx context.Context, companyID, day string, limit int) (int, error) {
	n, err := postgres.One(ctx, t.tx, pgx.RowTo[int], `
		with page as (
			select day, visitor, of from shopper_day where company_id = @company_id and day < @day::date order by day, visitor, of limit @most
		), gone as (
			delete from shopper_day s using page p
			where s.company_id = @company_id and s.day = p.day and s.visitor = p.visitor and s.of = p.of returning 1)
		select count(*)::int from gone`, pgx.NamedArgs{"company_id": companyID, "day": day, "most": limit})
	return n, postgres.Wrapf(err, "remove visitors' days")
}

// CountOld counts what a removal would remove: events whose id is before bound, and
// visitors' days before a day.
func (t *Retention) CountOld(ctx context.Context, companyID string, bound time.Time, day string) (r retention.Removed, err error) {
	err = t.tx.QueryRow(ctx, `
		select (select count(*) from event_fact where company_id = @company_id and event_id < @end_id and at < @bound),
			(select count(*) from shopper_day where company_id = @company_id and day < @day::date)`,
		pgx.NamedArgs{"company_id": companyID, "end_id": [16]byte(facts.FirstID(bound)), "bound": bound, "day": day}).Scan(&r.Events, &r.Shoppers)
	return r, postgres.Wrapf(err, "count what is old")
}
