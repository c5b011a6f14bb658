package upkeep

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres"
)

var spanRows = postgres.Rows[facts.Span]{
	postgres.Col("lo", "timestamptz", func(s *facts.Span) time.Time { return s.From }),
	postgres.Col("hi", "timestamptz", func(s *facts.Span) time.Time { return s.To }),
}

// noSnapshot is the condition on orders o that were created in one of the spans w and have no snapshot.
var noSnapshot = `
	exists (select 1 from ` + spanRows.Unnest("w") + ` where o.created_at >= w.lo and o.created_at < w.hi)
	and not exists (select 1 from evidence_snapshot s where s.company_id = @company_id and s.order_id = o.order_id)`

var withoutSnapshot = `
	select o.order_id, o.created_at, o.day::text from orders o
	where o.company_id = @company_id and o.day <= @last_day::date
		and (o.day, o.created_at, o.order_id) > (@after_day::date, @after_at::timestamptz, @after_id) and ` + noSnapshot + `
	order by o.day, o.created_at, o.order_id limit @most`

// WithoutSnapshot returns orders without a snapshot that were created in one of the spans, ordered by
// day, createdAt and id; at most limit of those after a given one.
func (t *Retention) WithoutSnapshot(
	ctx context.Context, companyID string, spans []facts.Span, after facts.SnapshotCandidate, limit int,
) ([]facts.SnapshotCandidate, error) {
	var last time.Time
	for _, s := range spans {
		if s.To.After(last) {
			last = s.To
		}
	}
	list, err := postgres.Collect(ctx, t.tx, pgx.RowToStructByPos[facts.SnapshotCandidate], withoutSnapshot,
		spanRows.Args(spans, pgx.NamedArgs{
			"company_id": companyID, "last_day": last.UTC().AddDate(0, 0, 1).Format(time.DateOnly), // a store's day may begin before UTC's
			"after_day": after.DayOrFirst(), "after_at": after.CreatedAt, "after_id": after.OrderID, "most": limit,
		}))
	return list, postgres.Wrapf(err, "read orders to snapshot")
}

var withoutSnapshotSince = `
	select o.order_id, o.created_at, o.day::text from (
		select company_id, order_id from payout where company_id = @company_id and processed_at > '-infinity' and processed_at >= @since
		union
		select company_id, order_id from recompute where company_id = @company_id) c
	join orders o on o.company_id = c.company_id and o.order_id = c.order_id
	where o.company_id = @company_id and ` + noSnapshot + `
	order by o.order_id limit @most`

// WithoutSnapshotSince returns orders without a snapshot that were created in one of the spans and
// have changed since an instant, or wait to be computed; at most limit.
func (t *Retention) WithoutSnapshotSince(
	ctx context.Context, companyID string, spans []facts.Span, since time.Time, limit int,
) ([]facts.SnapshotCandidate, error) {
	list, err := postgres.Collect(ctx, t.tx, pgx.RowToStructByPos[facts.SnapshotCandidate], withoutSnapshotSince,
		spanRows.Args(spans, pgx.NamedArgs{"company_id": companyID, "since": since, "most": limit}))
	return list, postgres.Wrapf(err, "read orders to snapshot")
}

// CountWithoutSnapshot counts the orders without a snapshot that were created in one of the spans.
func (t *Retention) CountWithoutSnapshot(ctx context.Context, companyID string, spans []facts.Span) (int, error) {
	n, err := postgres.One(ctx, t.tx, pgx.RowTo[int], countWithoutSnapshot, spanRows.Args(spans, pgx.NamedArgs{"company_id": companyID}))
	return n, postgres.Wrapf(err, "count orders to snapshot")
}

var countWithoutSnapshot = `select count(*)::int from orders o where o.company_id = @company_id and ` + noSnapshot
