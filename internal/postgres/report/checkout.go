package report

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/fraud"
	"github.com/tributary-io/tributary/internal/packed"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/cases"
)

// This file reads the completed checkouts that signs are about: the newest ones, by the
// index event_checkout.

const (
	// mostCheckouts bounds the checkouts of one report: anybody may send any number.
	mostCheckouts = 10_000
	checkoutPage  = 1_000

	// An order of a checkout is created from orderBefore before it to orderAfter after it. A
	// checkout counts once that is over.
	orderBefore = 24 * time.Hour
	orderAfter  = 24 * time.Hour
)

var readCheckouts = `
	select ` + cases.StoredColumns + ` from event_fact f
	where f.company_id = @company_id and f.event_id >= @first_id and f.event_id < @before_id and f.name = 'CHECKOUT_COMPLETED'
		and f.visitor is not null and f.class > 0
	order by f.event_id desc limit @most`

// checkoutKey is one key by which an order may be that of a checkout.
type checkoutKey struct {
	n        int32 // index of the checkout
	digest   int64 // facts.KeyDigest of the key
	key      facts.Key
	from, to time.Time
}

var checkoutKeys = postgres.Rows[checkoutKey]{
	postgres.Col("n", "int", func(k *checkoutKey) int32 { return k.n }),
	postgres.Col("digest", "bigint", func(k *checkoutKey) int64 { return k.digest }),
	postgres.Col("kind", "smallint", func(k *checkoutKey) int16 { return k.key.Kind.Code() }),
	postgres.Col("key", "bytea", func(k *checkoutKey) []byte { return k.key.Pack() }),
	postgres.Col("orders_from", "timestamptz", func(k *checkoutKey) time.Time { return k.from }),
	postgres.Col("orders_until", "timestamptz", func(k *checkoutKey) time.Time { return k.to }),
}

var orderedCheckouts = `
	select distinct k.n from ` + checkoutKeys.Unnest("k") + `
	where exists (
		select 1 from order_key o where ` + postgres.OfKey("o", "k.digest", "k.kind", "k.key") + `
			and o.created_at between k.orders_from and k.orders_until)`

// checkoutDay is the day of a checkout's visitor.
type checkoutDay struct {
	n       int32
	day     string
	visitor string
}

var checkoutDays = postgres.Rows[checkoutDay]{
	postgres.Col("n", "int", func(d *checkoutDay) int32 { return d.n }),
	postgres.Col("day", "date", func(d *checkoutDay) string { return d.day }),
	postgres.Col("visitor", "bytea", func(d *checkoutDay) []byte { return packed.ID(d.visitor) }),
}

var checkoutInfluencers = `
	select distinct d.n, substring(s.of from 3 for 36) from ` + checkoutDays.Unnest("d") + `
	join shopper_day s on s.company_id = @company_id and s.day = d.day and s.visitor = d.visitor and s.of >= 'i:' and s.of < 'i;'`

// checkouts reads the newest completed checkouts of some days, YYYY-MM-DD in a time zone,
// of which an order would have come by now.
func checkouts(ctx context.Context, tx pgx.Tx, companyID string, zone *time.Location, from, to string,
	now time.Time) (list []fraud.Checkout, err error) {
	first, err := commerce.ParseDay(from, zone)
	if err != nil {
		return nil, nil //nolint:nilerr // no day has none
	}
	last, err := commerce.ParseDay(to, zone)
	if err != nil {
		return nil, nil //nolint:nilerr // likewise
	}
	until := last.AddDate(0, 0, 1)
	if over := now.Add(-orderAfter); over.Before(until) {
		until = over
	}
	before := [16]byte(facts.FirstID(until))
	for len(list) < mostCheckouts {
		page, err := postgres.Collect(ctx, tx, func(row pgx.CollectableRow) (facts.Event, error) {
			var stored facts.StoredEvent
			if err := row.Scan(cases.Into(&stored)...); err != nil {
				return facts.Event{}, err
			}
			return stored.Read()
		}, readCheckouts, pgx.NamedArgs{"company_id": companyID, "first_id": [16]byte(facts.FirstID(first)), "before_id": before,
			"most": checkoutPage})
		if err != nil {
			return nil, fmt.Errorf("read checkouts: %w", err)
		}
		found, err := checkoutsOf(ctx, tx, companyID, zone, page)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
		if len(page) < checkoutPage {
			break
		}
		id, err := uuid.Parse(page[len(page)-1].EventID)
		if err != nil {
			return nil, fmt.Errorf("read checkouts: %w", err)
		}
		before = id
	}
	return list, nil
}

// checkoutsOf finds out of checkouts' events whether there are orders, and by whose links
// the visitors came.
func checkoutsOf(ctx context.Context, tx pgx.Tx, companyID string, zone *time.Location, events []facts.Event) ([]fraud.Checkout, error) {
	list := make([]fraud.Checkout, len(events))
	var keys []checkoutKey
	days := make([]checkoutDay, len(events))
	for i := range events {
		e, n := &events[i], int32(i)
		list[i] = fraud.Checkout{Day: e.At.In(zone).Format(time.DateOnly), Network: e.Network()}
		days[i] = checkoutDay{n, list[i].Day, e.Visitor}
		for _, key := range e.ErasureKeys() {
			keys = append(keys, checkoutKey{n, facts.KeyDigest(companyID, key), key, e.At.Add(-orderBefore), e.At.Add(orderAfter)})
		}
	}
	if len(keys) > 0 {
		ordered, err := postgres.Collect(ctx, tx, pgx.RowTo[int32], orderedCheckouts,
			checkoutKeys.Args(keys, pgx.NamedArgs{"company_id": companyID}))
		if err != nil {
			return nil, fmt.Errorf("read orders of checkouts: %w", err)
		}
		for _, n := range ordered {
			list[n].Ordered = true
		}
	}
	if len(days) == 0 {
		return nil, nil
	}
	var n int32
	var id string
	err := postgres.Each(ctx, tx, []any{&n, &id}, func() error {
		list[n].Influencers = append(list[n].Influencers, id)
		return nil
	}, checkoutInfluencers, checkoutDays.Args(days, pgx.NamedArgs{"company_id": companyID}))
	return list, postgres.Wrapf(err, "read influencers of checkouts")
}
