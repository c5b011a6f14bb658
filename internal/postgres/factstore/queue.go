package factstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres"
)

// QueueSelected queues the orders that a query selects (company_id, order_id, cause), to be
// computed again, and returns how many were not queued already. An order that is
// queued keeps its cause. One that was quarantined is tried again.
func (t *Tx) QueueSelected(ctx context.Context, companyID, sql string, args pgx.NamedArgs) (queued int, err error) {
	rows, err := postgres.Collect(ctx, t.tx, pgx.RowTo[int], `
		with queued as (
			insert into recompute as r (company_id, order_id, cause) `+sql+`
			on conflict (company_id, order_id) do update set failure = null where r.failure is not null
			returning 1)
		select count(*)::int from queued`, args)
	if err != nil {
		return 0, fmt.Errorf("queue orders: %w", err)
	}
	return rows[0], t.QueueCompany(ctx, companyID)
}

var queuedRows = postgres.Rows[facts.Concerned]{
	postgres.Col("order_id", "text", func(c *facts.Concerned) string { return c.OrderID }),
	postgres.Col("cause", "text", func(c *facts.Concerned) string { return c.Cause.String() }),
}

// QueueOrders queues orders to be computed again, and returns how many were not queued
// already.
func (t *Tx) QueueOrders(ctx context.Context, companyID string, orders []facts.Concerned) (int, error) {
	if len(orders) == 0 {
		return 0, nil
	}
	return t.QueueSelected(ctx, companyID, `select @company_id, order_id, cause from `+queuedRows.Unnest("q"),
		queuedRows.Args(orders, pgx.NamedArgs{"company_id": companyID}))
}

// TakeQueued removes orders from a company's queue, at most limit, and returns them: of those
// that come first, else those behind an id, else the first of all. The queue is ordered by order
// id, and goes round: who goes on where it has come to lets no order wait for ever, however
// often others are queued again. Orders quarantined stay. Where none is behind the id, it queues
// the next ones that QueueCreated has left, too; round: none was left, and the queue begins
// anew.
func (t *Tx) TakeQueued(ctx context.Context, companyID string, from facts.QueuePlace,
	limit int) (list []facts.Concerned, round bool, err error) {
	if len(from.First) > 0 {
		list, err = t.takeQueued(ctx, companyID, queuedFirst, pgx.NamedArgs{"ids": from.First, "most": limit})
	}
	if err == nil && len(list) == 0 {
		list, err = t.takeQueued(ctx, companyID, queuedAfter, pgx.NamedArgs{"after": from.After, "most": limit})
	}
	if err != nil || len(list) > 0 {
		return list, false, err
	}
	more, err := t.queueNextPart(ctx, companyID, limit)
	if err != nil {
		return nil, false, err
	}
	if more || from.After != "" {
		if list, err = t.takeQueued(ctx, companyID, queuedAfter, pgx.NamedArgs{"after": "", "most": limit}); err != nil || len(list) > 0 {
			return list, !more, err
		}
	}
	return nil, true, t.exec(ctx, "remove a company from the queue", `delete from recompute_company where company_id = @company_id`,
		pgx.NamedArgs{"company_id": companyID})
}

// Which queued orders takeQueued takes.
const (
	queuedFirst = `order_id = any(@ids)`
	queuedAfter = `order_id > @after`
)

func (t *Tx) takeQueued(ctx context.Context, companyID, which string, args pgx.NamedArgs) ([]facts.Concerned, error) {
	args["company_id"] = companyID
	list, err := postgres.Collect(ctx, t.tx, func(row pgx.CollectableRow) (c facts.Concerned, err error) {
		var cause string
		if err := row.Scan(&c.OrderID, &cause); err != nil {
			return c, err
		}
		if c.Cause, err = facts.ParseCause(cause); err != nil { // a newer program wrote it: the ledger keeps its words
			c.Cause = facts.Cause{Kind: facts.CauseKind(cause)}
		}
		return c, nil
	}, `
		delete from recompute where company_id = @company_id and order_id in (
			select order_id from recompute where company_id = @company_id and `+which+` and failure is null order by order_id limit @most)
		returning order_id, cause`, args)
	return list, postgres.Wrapf(err, "take queued orders")
}

// Unqueue removes those of the orders from a company's queue that are in it, and returns
// their ids.
func (t *Tx) Unqueue(ctx context.Context, companyID string, orderIDs []string) (removed []string, err error) {
	return t.texts(ctx, "remove orders from the queue",
		`delete from recompute where company_id = @company_id and order_id = any(@order_ids) returning order_id`,
		pgx.NamedArgs{"company_id": companyID, "order_ids": orderIDs})
}

// Quarantine puts an order that TakeQueued has returned back, as failed: TakeQueued does not
// return it until a fact or a rule queues it again.
func (t *Tx) Quarantine(ctx context.Context, companyID string, order facts.Concerned, failure string) error {
	return t.exec(ctx, "quarantine a queued order", `
		insert into recompute (company_id, order_id, cause, failure) values (@company_id, @order_id, @cause, @failure)
		on conflict (company_id, order_id) do update set failure = excluded.failure`,
		pgx.NamedArgs{"company_id": companyID, "order_id": order.OrderID, "cause": order.Cause.String(), "failure": failure})
}

// QueuedCompanies returns the companies that have orders queued, at most 10,000, by
// id.
func (s *Store) QueuedCompanies(ctx context.Context) ([]string, error) {
	list, err := postgres.Collect(ctx, s.db.Pool(), pgx.RowTo[string], `
		select q.company_id from recompute_company q join company c using (company_id) order by q.company_id limit 10000`)
	return list, postgres.Wrapf(postgres.Translate(err), "postgres: companies with queued orders")
}

// QueueCompany makes the company's queue be looked at, though no order is queued: an
// erasure or a statement of it may be to go on with.
func (t *Tx) QueueCompany(ctx context.Context, companyID string) error {
	return t.exec(ctx, "queue a company",
		`insert into recompute_company (company_id) values (@company_id) on conflict (company_id) do nothing`,
		pgx.NamedArgs{"company_id": companyID})
}
