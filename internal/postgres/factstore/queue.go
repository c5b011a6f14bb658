package factstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres"
)

// queue queues the orders that a query selects (company_id, order_id, cause), to be
// computed again, and returns how many were not queued already. An order that is
// queued keeps its cause. One that was set aside is tried again.
func (t *Tx) queue(ctx context.Context, companyID, query string, args pgx.NamedArgs) (queued int, err error) {
	rows, err := postgres.Collect(ctx, t.tx, pgx.RowTo[int], `
		with queued as (
			insert into recompute as r (company_id, order_id, cause) `+query+`
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

// Queue queues orders to be computed again, and returns how many were not queued
// already.
func (t *Tx) Queue(ctx context.Context, companyID string, orders []facts.Concerned) (int, error) {
	if len(orders) == 0 {
		return 0, nil
	}
	return t.queue(ctx, companyID, `select @company_id, order_id, cause from `+queuedRows.Unnest("q"), queuedRows.Args(orders, pgx.NamedArgs{"company_id": companyID}))
}

// TakeQueued removes the first orders behind an id from a company's queue, at most limit, and
// returns them; where there is none behind it, the first of all. The queue is ordered by order
// id: who goes on behind the last one that was returned lets no order wait for ever, however
// often others are queued again. Orders set aside stay. Where none is behind the id, it queues
// the next ones that QueueCreated has left, too.
func (t *Tx) TakeQueued(ctx context.Context, companyID, after string, limit int) ([]facts.Concerned, error) {
	list, err := t.takeQueued(ctx, companyID, after, limit)
	if err != nil || len(list) > 0 {
		return list, err
	}
	more, err := t.queueNextPart(ctx, companyID, limit)
	if err != nil {
		return nil, err
	}
	if more || after != "" {
		if list, err = t.takeQueued(ctx, companyID, "", limit); err != nil || len(list) > 0 {
			return list, err
		}
	}
	return nil, t.exec(ctx, "remove a company from the queue", `delete from recompute_company where company_id = @company_id`, pgx.NamedArgs{"company_id": companyID})
}

func (t *Tx) takeQueued(ctx context.Context, companyID, after string, limit int) ([]facts.Concerned, error) {
	list, err := postgres.Collect(ctx, t.tx, func(row pgx.CollectableRow) (c facts.Concerned, err error) {
		var cause string
		if err := row.Scan(&c.OrderID, &cause); err != nil {
			return c, err
		}
		if c.Cause, err = facts.ParseCause(cause); err != nil { // written by another version of the program
			c.Cause = facts.Cause{Kind: facts.CauseUpgrade}
		}
		return c, nil
	}, `
		delete from recompute where company_id = @company_id and order_id in (
			select order_id from recompute where company_id = @company_id and order_id > @after and failure is null order by order_id limit @most)
		returning order_id, cause`, pgx.NamedArgs{"company_id": companyID, "after": after, "most": limit})
	if err != nil {
		return nil, fmt.Errorf("take queued orders: %w", err)
	}
	return list, nil
}

// Unqueue removes those of the orders from a company's queue that are in it, and returns
// their ids.
func (t *Tx) Unqueue(ctx context.Context, companyID string, orderIDs []string) (removed []string, err error) {
	return t.texts(ctx, "remove orders from the queue", `delete from recompute where company_id = @company_id and order_id = any(@order_ids) returning order_id`,
		pgx.NamedArgs{"company_id": companyID, "order_ids": orderIDs})
}

// SetAside marks a queued order as failed. It stays in the table, and TakeQueued does
// not return it, until a fact or a rule queues it again.
func (t *Tx) SetAside(ctx context.Context, companyID, orderID, failure string) error {
	return t.exec(ctx, "set a queued order aside", `
		update recompute set failure = @failure where company_id = @company_id and order_id = @order_id`,
		pgx.NamedArgs{"company_id": companyID, "order_id": orderID, "failure": failure})
}

// QueuedCompanies returns the companies that have orders queued, at most 10,000, by
// id.
func (s *Store) QueuedCompanies(ctx context.Context) ([]string, error) {
	list, err := postgres.Collect(ctx, s.db.Pool(), pgx.RowTo[string], `
		select q.company_id from recompute_company q join company c using (company_id) order by q.company_id limit 10000`)
	if err != nil {
		return nil, fmt.Errorf("postgres: companies with queued orders: %w", postgres.Translate(err))
	}
	return list, nil
}
