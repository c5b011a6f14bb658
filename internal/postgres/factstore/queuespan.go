package factstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
)

// This file queues the orders of a span part by part: those of a change of settings may be
// very many, and one statement for all of them would hold up the partition.

// queuedSpan is what is left to queue of a span of orders.
type queuedSpan struct {
	lo, hi   time.Time
	cause    string
	beforeAt time.Time
	beforeID string
}

const (
	putSpan = `
		insert into recompute_span as s (company_id, lo, hi, cause, before_at, before_id)
		values (@company_id, @lo, @hi, @cause, @before_at, @before_id)
		on conflict (company_id, lo, hi) do update set cause = excluded.cause, before_at = excluded.before_at, before_id = excluded.before_id`

	// dropSpans removes spans that another one contains: their orders will be queued by it.
	dropSpans = `
		delete from recompute_span where company_id = @company_id and lo >= @lo and hi <= @hi`

	// endSpan removes a span of which nothing is left. One that it contains may be of a later
	// change, and stays.
	endSpan = `
		delete from recompute_span where company_id = @company_id and lo = @lo and hi = @hi`

	nextSpan = `
		select lo, hi, cause, before_at, before_id from recompute_span where company_id = @company_id order by lo, hi limit 1 for update`

	queueOfSpan = `
		with page as (
			select company_id, order_id, created_at from orders
			where company_id = @company_id and created_at >= @lo and (created_at, order_id) < (@before_at::timestamptz, @before_id::text)
			order by created_at desc, order_id desc limit @most),
		queued as (
			insert into recompute as r (company_id, order_id, cause)
			select company_id, order_id, @cause::text from page
			on conflict (company_id, order_id) do update set failure = null where r.failure is not null
			returning 1)
		select (select count(*)::int from page), (select count(*)::int from queued), l.created_at, l.order_id
		from page l order by l.created_at, l.order_id limit 1`

	// planForRows lets PostgreSQL plan each statement of the transaction for the rows that it is about. Of queueOfSpan: for
	// any span it would read all orders for each part.
	planForRows = `select set_config('plan_cache_mode', 'force_custom_plan', true)`
)

// QueueCreated queues all orders that were created between two instants, both
// inclusive, the newest first: at most limit now, and the others where TakeQueued finds the queue
// empty. It returns how many it has queued now that were not queued already.
func (t *Tx) QueueCreated(ctx context.Context, companyID string, from, to time.Time, cause facts.Cause, limit int) (int, error) {
	args := pgx.NamedArgs{"company_id": companyID, "lo": from, "hi": to}
	if err := t.exec(ctx, "remove spans of orders to queue", dropSpans, args); err != nil {
		return 0, err
	}
	span := queuedSpan{lo: from, hi: to, cause: cause.String(), beforeAt: to.Add(time.Microsecond)} // PostgreSQL's unit: to itself is in it
	queued, err := t.queuePart(ctx, companyID, &span, limit)
	if err != nil {
		return 0, err
	}
	return queued, t.QueueCompany(ctx, companyID)
}

// queueNextPart queues the next orders of the company's first span, at most limit. It returns
// false where no order is left to queue.
func (t *Tx) queueNextPart(ctx context.Context, companyID string, limit int) (bool, error) {
	for {
		var span queuedSpan
		err := t.tx.QueryRow(ctx, nextSpan, pgx.NamedArgs{"company_id": companyID}).Scan(&span.lo, &span.hi, &span.cause,
			&span.beforeAt, &span.beforeID)
		if errors.Is(err, pgx.ErrNoRows) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("read a span of orders to queue: %w", err)
		}
		if queued, err := t.queuePart(ctx, companyID, &span, limit); err != nil || queued > 0 {
			return err == nil, err
		}
	}
}

// queuePart queues the next orders of a span, at most limit, and stores what is left. It returns
// how many were not queued already.
func (t *Tx) queuePart(ctx context.Context, companyID string, span *queuedSpan, limit int) (queued int, err error) {
	if _, err := t.tx.Exec(ctx, planForRows); err != nil {
		return 0, fmt.Errorf("queue orders of a span: %w", err)
	}
	page := 0
	err = t.tx.QueryRow(ctx, queueOfSpan,
		pgx.NamedArgs{"company_id": companyID, "lo": span.lo, "before_at": span.beforeAt, "before_id": span.beforeID,
			"cause": span.cause, "most": limit}).
		Scan(&page, &queued, &span.beforeAt, &span.beforeID)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return 0, fmt.Errorf("queue orders of a span: %w", err)
	}
	if page < limit {
		return queued, t.exec(ctx, "end a span of orders to queue", endSpan, pgx.NamedArgs{"company_id": companyID, "lo": span.lo, "hi": span.hi})
	}
	return queued, t.exec(ctx, "store a span of orders to queue", putSpan, pgx.NamedArgs{
		"company_id": companyID, "lo": span.lo, "hi": span.hi, "cause": span.cause, "before_at": span.beforeAt, "before_id": span.beforeID})
}
