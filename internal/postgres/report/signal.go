package report

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres"
)

// Signals tells what has come from a company's pages and platform so far.
func (r *Reader) Signals(ctx context.Context, companyID string) (s commerce.Signals, err error) {
	err = r.db.Pool().QueryRow(ctx, `select name, at from event_fact where company_id = $1 order by event_id desc limit 1`, companyID).
		Scan(&s.Event, &s.EventAt)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return s, fmt.Errorf("postgres: events of %s: %w", companyID, postgres.Translate(err))
	}
	err = r.db.Pool().QueryRow(ctx, `
		select p.order_id, p.processed_at, o.body from (
			select company_id, order_id, processed_at from payout where company_id = $1 and processed_at > '-infinity'
			order by processed_at desc, order_id desc limit 1) p
		join orders o on o.company_id = $1 and o.order_id = p.order_id`, companyID).
		Scan(&s.OrderID, &s.OrderAt, bytesScanner(func(stored []byte) error {
			order, err := facts.UnpackOrder(stored)
			s.Order = order.Name.Or("")
			return err
		}))
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return s, fmt.Errorf("postgres: orders of %s: %w", companyID, postgres.Translate(err))
	}
	return s, nil
}

// RefusedOrigins returns the origins that the company does not list and that tried to send events lately, those that came last
// first, and of those that are too many the sum, last.
func (r *Reader) RefusedOrigins(ctx context.Context, companyID string, since time.Time) ([]commerce.RefusedOrigin, error) {
	list, err := postgres.Collect(ctx, r.db.Pool(), func(row pgx.CollectableRow) (o commerce.RefusedOrigin, err error) {
		return o, row.Scan(&o.Origin, &o.Events, &o.LastAt)
	}, `select case when origin = $3 then '' else origin end, events, last_at from refused_origin
		where company_id = $1 and last_at >= $2 order by origin = $3, last_at desc, origin`, companyID, since, facts.OtherOrigin)
	return list, postgres.Wrapf(postgres.Translate(err), "postgres: refused origins of %s", companyID)
}

// StoredEvents returns which of the ids are those of stored events of a company.
func (r *Reader) StoredEvents(ctx context.Context, companyID string, eventIDs []string) ([]string, error) {
	ids, err := postgres.Collect(ctx, r.db.Pool(), pgx.RowTo[string], `
		select event_id::text from event_fact where company_id = $1 and event_id = any($2::uuid[])`, companyID, eventIDs)
	return ids, postgres.Wrapf(postgres.Translate(err), "postgres: stored events of %s", companyID)
}

// ErasedUntil is postgres.ErasedUntil.
func (r *Reader) ErasedUntil(ctx context.Context, companyID string, digests [][]byte) (map[string]time.Time, error) {
	until, err := postgres.ErasedUntil(ctx, r.db.Pool(), companyID, digests)
	return until, postgres.Wrapf(postgres.Translate(err), "postgres: erased keys of %s", companyID)
}

// HasOrders reports whether a company has orders: then some settings are fixed.
func (r *Reader) HasOrders(ctx context.Context, companyID string) (ordered bool, err error) {
	err = r.db.Pool().QueryRow(ctx, `select exists (select 1 from orders where company_id = $1)`, companyID).Scan(&ordered)
	return ordered, postgres.Wrapf(postgres.Translate(err), "postgres: orders of %s", companyID)
}
