package upkeep

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/upkeep/delivery"
)

// Delivery keeps the delivery ledger within a transaction. It is a delivery.Store.
type Delivery struct{ tx pgx.Tx }

// DeliveryIn returns one that works within the caller's transaction.
func DeliveryIn(tx pgx.Tx) Delivery { return Delivery{tx} }

var countRows = postgres.Rows[delivery.Count]{
	postgres.Col("day", "date", func(c *delivery.Count) time.Time { return c.Day }),
	postgres.Col("outcome", "text", func(c *delivery.Count) string { return c.Outcome }),
	postgres.Col("events", "bigint", func(c *delivery.Count) int64 { return c.Events }),
}

var countDelivery = `
	insert into delivery as d (company_id, day, outcome, events)
	select @company_id, day, outcome, events from ` + countRows.Unnest("n") + `
	on conflict (company_id, day, outcome) do update set events = d.events + excluded.events`

// Count adds counts to the table delivery.
func (t Delivery) Count(ctx context.Context, companyID string, counts []delivery.Count) error {
	return countRows.Exec(ctx, t.tx, "count delivery", countDelivery, counts, pgx.NamedArgs{"company_id": companyID})
}

var sourceRows = postgres.Rows[delivery.SourceCount]{
	postgres.Col("day", "date", func(c *delivery.SourceCount) time.Time { return c.Day }),
	postgres.Col("origin", "text", func(c *delivery.SourceCount) string { return c.Origin }),
	postgres.Col("agent", "text", func(c *delivery.SourceCount) string { return c.Agent }),
	postgres.Col("outcome", "text", func(c *delivery.SourceCount) string { return c.Outcome }),
	postgres.Col("events", "bigint", func(c *delivery.SourceCount) int64 { return c.Events }),
}

var countSources = `
	insert into delivery_source as d (company_id, day, origin, agent, outcome, events)
	select @company_id, day, origin, agent, outcome, events from ` + sourceRows.Unnest("n") + `
	on conflict (company_id, day, origin, agent, outcome) do update set events = d.events + excluded.events`

// CountSources adds counts to the table delivery_source.
func (t Delivery) CountSources(ctx context.Context, companyID string, counts []delivery.SourceCount) error {
	return sourceRows.Exec(ctx, t.tx, "count sources", countSources, counts, pgx.NamedArgs{"company_id": companyID})
}

var deliveryDayRows = postgres.Rows[delivery.StoredDay]{
	postgres.Col("day", "date", func(d *delivery.StoredDay) time.Time { return d.Day }),
	postgres.Col("streams", "int", func(d *delivery.StoredDay) int64 { return d.Streams }),
	postgres.Col("seen", "int", func(d *delivery.StoredDay) int64 { return d.Seen }),
	postgres.Col("unfollowed", "bytea", func(d *delivery.StoredDay) []byte { return d.Unfollowed }),
}

var deliveryDays = `
	select d.day, d.streams, d.seen, d.unfollowed from ` + deliveryDayRows[:1].Unnest("n") + `
	join delivery_day d on d.company_id = @company_id and d.day = n.day`

var putDeliveryDays = `
	insert into delivery_day as d (company_id, day, streams, seen, unfollowed)
	select @company_id, day, streams, seen, unfollowed from ` + deliveryDayRows.Unnest("n") + `
	on conflict (company_id, day) do update set streams = excluded.streams, seen = excluded.seen, unfollowed = excluded.unfollowed`

// Days returns how much is remembered of days. Those of which nothing is are left out.
func (t Delivery) Days(ctx context.Context, companyID string, days []delivery.StoredDay) ([]delivery.StoredDay, error) {
	list, err := postgres.Collect(ctx, t.tx, func(row pgx.CollectableRow) (d delivery.StoredDay, err error) {
		return d, row.Scan(&d.Day, &d.Streams, &d.Seen, &d.Unfollowed)
	}, deliveryDays, deliveryDayRows[:1].Args(days, pgx.NamedArgs{"company_id": companyID}))
	return list, postgres.Wrapf(err, "read days of the delivery ledger")
}

// PutDays stores how much is remembered of days.
func (t Delivery) PutDays(ctx context.Context, companyID string, days []delivery.StoredDay) error {
	return deliveryDayRows.Exec(ctx, t.tx, "store days of the delivery ledger", putDeliveryDays, days, pgx.NamedArgs{"company_id": companyID})
}

var seenRows = postgres.Rows[delivery.Seen]{
	postgres.Col("id", "bytea", func(s *delivery.Seen) []byte { return s.ID }),
	postgres.Col("day", "date", func(s *delivery.Seen) time.Time { return s.Day }),
}

var knownSeen = `
	select s.id from ` + seenRows[:1].Unnest("n") + `
	join delivery_seen s on s.company_id = @company_id and s.id = n.id`

var insertSeen = `
	insert into delivery_seen (company_id, id, day)
	select @company_id, id, day from ` + seenRows.Unnest("n") + `
	on conflict (company_id, id) do nothing`

// KnownSeen returns which of the ids are remembered.
func (t Delivery) KnownSeen(ctx context.Context, companyID string, seen []delivery.Seen) (map[string]bool, error) {
	list, err := postgres.Collect(ctx, t.tx, pgx.RowTo[[]byte], knownSeen, seenRows[:1].Args(seen, pgx.NamedArgs{"company_id": companyID}))
	if err != nil {
		return nil, fmt.Errorf("read what was counted: %w", err)
	}
	known := make(map[string]bool, len(list))
	for _, id := range list {
		known[string(id)] = true
	}
	return known, nil
}

// InsertSeen remembers ids.
func (t Delivery) InsertSeen(ctx context.Context, companyID string, seen []delivery.Seen) error {
	return seenRows.Exec(ctx, t.tx, "remember what was counted", insertSeen, seen, pgx.NamedArgs{"company_id": companyID})
}

var streamRows = postgres.Rows[delivery.StoredStream]{
	postgres.Col("stream", "bytea", func(s *delivery.StoredStream) []byte { return s.ID }),
	postgres.Col("day", "date", func(s *delivery.StoredStream) time.Time { return s.Day }),
	postgres.Col("top", "bigint", func(s *delivery.StoredStream) int64 { return s.Top }),
	postgres.Col("gaps", "jsonb", func(s *delivery.StoredStream) *string { return postgres.JSON(s.Gaps) }),
	postgres.Col("origin", "text", func(s *delivery.StoredStream) *string { return known(s, s.Origin) }),
	postgres.Col("agent", "text", func(s *delivery.StoredStream) *string { return known(s, s.Agent) }),
}

// known is a part of where a stream's events come from; nil where that is not known.
func known(s *delivery.StoredStream, part string) *string {
	if s.Agent == "" {
		return nil
	}
	return &part
}

// storedStreams looks up each stream: joined with the table, all rows of the company would be read.
var storedStreams = `
	select s.stream, s.day, s.top, s.gaps, coalesce(s.origin, ''), coalesce(s.agent, '') from ` + streamRows[:1].Unnest("n") + `
	cross join lateral (select stream, day, top, gaps, origin, agent from stream where company_id = @company_id
		and stream = n.stream offset 0) s`

var putStreams = `
	insert into stream as s (company_id, stream, day, top, gaps, origin, agent)
	select @company_id, stream, day, top, gaps, origin, agent from ` + streamRows.Unnest("n") + `
	on conflict (company_id, stream) do update set day = greatest(s.day, excluded.day), top = excluded.top, gaps = excluded.gaps`

// Streams returns the stored ones of streams. Of streams only the ID is read.
func (t Delivery) Streams(ctx context.Context, companyID string, streams []delivery.StoredStream) ([]delivery.StoredStream, error) {
	list, err := postgres.Collect(ctx, t.tx, func(row pgx.CollectableRow) (s delivery.StoredStream, err error) {
		return s, row.Scan(&s.ID, &s.Day, &s.Top, &s.Gaps, &s.Origin, &s.Agent)
	}, storedStreams, streamRows[:1].Args(streams, pgx.NamedArgs{"company_id": companyID}))
	return list, postgres.Wrapf(err, "read streams")
}

// PutStreams stores streams.
func (t Delivery) PutStreams(ctx context.Context, companyID string, streams []delivery.StoredStream) error {
	return streamRows.Exec(ctx, t.tx, "store streams", putStreams, streams, pgx.NamedArgs{"company_id": companyID})
}

var refusedRows = postgres.Rows[delivery.RefusedOrigin]{
	postgres.Col("origin", "text", func(r *delivery.RefusedOrigin) string { return r.Origin }),
	postgres.Col("own", "boolean", func(r *delivery.RefusedOrigin) bool { return r.Own }),
	postgres.Col("events", "bigint", func(r *delivery.RefusedOrigin) int64 { return r.Events }),
	postgres.Col("last_at", "timestamptz", func(r *delivery.RefusedOrigin) time.Time { return r.At }),
}

var addRefused = `
	insert into refused_origin as r (company_id, origin, own, events, last_at)
	select @company_id, origin, own, events, last_at from ` + refusedRows.Unnest("n") + `
	on conflict (company_id, origin) do update set own = excluded.own, last_at = greatest(r.last_at, excluded.last_at),
		events = least(r.events + excluded.events, ` + mostRefusedEvents + `)`

// What is too old is removed as well, and others than those of the company's own domain first.
const forgetRefused = `
	delete from refused_origin where company_id = @company_id and (last_at < @before or origin in (
		select origin from refused_origin where company_id = @company_id and origin <> @other
		order by own desc, last_at desc, origin offset @most))`

// mostRefusedEvents bounds what is counted of one origin. It is no parameter: Citus sends the clause of a conflict with those
// parameters alone that the clause has, and cannot tell the type of the others.
const mostRefusedEvents = "1000000000000"

// AddRefused adds to the table refused_origin, and removes what is too much or too old.
func (t Delivery) AddRefused(ctx context.Context, companyID string, origins []delivery.RefusedOrigin) error {
	var newest time.Time
	for _, r := range origins {
		if r.At.After(newest) {
			newest = r.At
		}
	}
	args := pgx.NamedArgs{"company_id": companyID}
	if err := refusedRows.Exec(ctx, t.tx, "add refused origins", addRefused, origins, args); err != nil {
		return err
	}
	return postgres.Exec(ctx, t.tx, "forget refused origins", forgetRefused, pgx.NamedArgs{"company_id": companyID,
		"before": newest.AddDate(0, 0, -delivery.KeepRefused), "other": facts.OtherOrigin, "most": delivery.MaxRefusedOrigins})
}

// What is forgotten is found by an index, a bounded number at a time.
const (
	forgetWholeStreams = `
		delete from stream where company_id = @company_id and gaps is null and day < @before and stream in (
			select stream from stream where company_id = @company_id and gaps is null and day < @before order by day limit @most)`
	forgetStreams = `
		delete from stream where company_id = @company_id and gaps is not null and day < @before and stream in (
			select stream from stream where company_id = @company_id and gaps is not null and day < @before order by day limit @most)`
	forgetSeen = `
		delete from delivery_seen where company_id = @company_id and day < @before and id in (
			select id from delivery_seen where company_id = @company_id and day < @before order by day limit @most)`
	forgetDays = `delete from delivery_day where company_id = @company_id and day < @before`
)

// Forget removes at most limit rows of each kind: streams without a gap whose last
// event was before the day whole, and all else that is before the day rest.
func (t Delivery) Forget(ctx context.Context, companyID string, whole, rest time.Time, limit int) error {
	args := func(before time.Time) pgx.NamedArgs {
		return pgx.NamedArgs{"company_id": companyID, "before": before, "most": limit}
	}
	if err := postgres.Exec(ctx, t.tx, "forget streams", forgetWholeStreams, args(whole)); err != nil {
		return err
	}
	if err := postgres.Exec(ctx, t.tx, "forget streams", forgetStreams, args(rest)); err != nil {
		return err
	}
	if err := postgres.Exec(ctx, t.tx, "forget what was counted", forgetSeen, args(rest)); err != nil {
		return err
	}
	return postgres.Exec(ctx, t.tx, "forget days of the delivery ledger", forgetDays, pgx.NamedArgs{"company_id": companyID, "before": rest})
}
