package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
)

// concern finds, by index, every order whose outcome the batch can change
// beside the batch's own: never fewer, sometimes more. An order too many costs
// time only, since an equal outcome writes nothing.
func (a *applying) concern(ctx context.Context) error {
	if err := a.concernedByVisitors(ctx); err != nil {
		return fmt.Errorf("by events: %w", err)
	}
	for _, c := range a.Changes {
		if err := a.concernedByChange(ctx, c); err != nil {
			return fmt.Errorf("by rule %s: %w", c.Type, err)
		}
	}
	return nil
}

// concernedByVisitors: whoever was active may have a new touch, a session cut
// elsewhere, a new key, or be a hub now: all reach the orders of the visitor's
// keys, from a day before (a sighting counts so long after an order) to a
// window, and the reach of its first session, after.
func (a *applying) concernedByVisitors(ctx context.Context) error {
	if len(a.visitors) == 0 {
		return nil
	}
	visitors, from, to := []string{}, []time.Time{}, []time.Time{}
	var earliest, latest time.Time
	for v, s := range a.visitors {
		lo, hi := s.from.Add(-facts.AfterOrder), s.to.Add(a.Rules.Window+facts.SessionReach)
		visitors, from, to = append(visitors, v), append(from, lo), append(to, hi)
		if earliest.IsZero() || lo.Before(earliest) {
			earliest = lo
		}
		if hi.After(latest) {
			latest = hi
		}
	}
	if len(a.lostKeys) > 0 {
		var kinds, keys []string
		for _, k := range a.lostKeys {
			kinds, keys = append(kinds, k.Kind), append(keys, k.Value)
		}
		if err := a.find(ctx, "event copy", byKeys, a.company, kinds, keys, earliest, latest); err != nil {
			return err
		}
	}
	args := []any{a.company, visitors, from, to, a.Rules.Window, facts.AfterOrder, facts.HubOrders}
	rows, err := a.tx.Query(ctx, fmt.Sprintf(`select order_id, visitor from (%s) q limit %d`, byVisitors(), maxAtOnce+1), args...)
	if err != nil {
		return err
	}
	found := map[string]string{}
	var id, visitor string
	if _, err := pgx.ForEachRow(rows, []any{&id, &visitor}, func() error { found[id] = visitor; return nil }); err != nil {
		return err
	}
	if len(found) > maxAtOnce {
		return a.queue(ctx, "event", `select order_id from (`+byVisitors()+`) q`, args...)
	}
	for id, visitor := range found {
		a.add(id, "event "+a.visitors[visitor].eventID)
	}
	return nil
}

// byKeys finds orders by keys ($2, $3) and created between $4 and $5.
const byKeys = `
	select x.order_id from unnest($2::text[], $3::text[]) as k (kind, key)
	cross join lateral (
		select order_id from order_key
		where company_id = $1 and kind = k.kind and key = k.key and created_at between $4 and $5 offset 0) x`

// byVisitors goes visitor by visitor, key by key: "offset 0" keeps the planner,
// which cannot know how few they are, from joining the tables whole. Where a
// key has too many orders around one of them it joins nothing, whatever its
// visitors did; where it crosses that threshold, crossings has noted the order.
func byVisitors() string {
	return `
	select distinct on (x.order_id) x.order_id, k.visitor
	from (
		select s.kind, s.key, min(v.visitor) as visitor, min(v.lo) as lo, max(v.hi) as hi
		from unnest($2::text[], $3::timestamptz[], $4::timestamptz[]) as v (visitor, lo, hi)
		cross join lateral (
			select distinct kind, key from sighting where company_id = $1 and visitor = v.visitor offset 0) s
		group by s.kind, s.key) k
	cross join lateral (` + ordersOfKey("$5", "$6") + `) x
	where x.orders <= $7
	order by x.order_id, k.visitor`
}

// concernedByChange: a coupon concerns orders with its code on its days; a
// cost those whose evidence names its influencer; an influencer, campaign or
// link those whose touches carry its name or code; a setting all of its days.
func (a *applying) concernedByChange(ctx context.Context, c facts.Change) error {
	cause := fmt.Sprintf("rule %d %s", c.Rev, c.Type)
	// A day of any time zone lies within a day around the same day in UTC.
	from, to := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	if day, err := time.Parse(time.DateOnly, c.From); err == nil {
		from = day.Add(-24 * time.Hour)
	}
	if day, err := time.Parse(time.DateOnly, c.To); err == nil {
		to = day.Add(48 * time.Hour)
	}
	var keys []facts.Key
	switch c.Type {
	case facts.ChangeSettings:
		return a.queue(ctx, cause, `select order_id from orders where company_id = $1 and created_at between $2 and $3`, a.company, from, to)
	case "coupon":
		keys = []facts.Key{{Kind: facts.KeyCode, Value: commerce.FoldCode(c.Code)}}
	case "cost":
		keys = []facts.Key{{Kind: facts.KeyInfluencer, Value: c.InfluencerID}}
	default:
		// What closes or opens an influencer does so to all of its rules.
		from, to = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
		keys = a.keysOf(c.InfluencerID)
	}
	kinds, values := []string{}, []string{}
	for _, k := range keys {
		kinds, values = append(kinds, k.Kind), append(values, k.Value)
	}
	return a.find(ctx, cause, byKeys,
		a.company, kinds, values, from, to)
}

// keysOf is all by which an order's evidence may name an influencer.
func (a *applying) keysOf(influencerID string) []facts.Key {
	keys := []facts.Key{{Kind: facts.KeyInfluencer, Value: influencerID}}
	for _, f := range a.Rules.Influencers {
		if f.ID == influencerID {
			keys = append(keys, facts.Key{Kind: facts.KeyUTM, Value: f.Folded})
		}
	}
	for _, l := range a.Rules.Links {
		if l.InfluencerID == influencerID {
			keys = append(keys, facts.Key{Kind: facts.KeyLink, Value: l.Code})
		}
	}
	for _, c := range a.Rules.Coupons {
		if c.InfluencerID == influencerID {
			keys = append(keys, facts.Key{Kind: facts.KeyCode, Value: c.Code})
		}
	}
	return keys
}

// find adds the orders that a query gives to those to compute again; where
// they are too many, it queues them. $1 is the company.
func (a *applying) find(ctx context.Context, cause, query string, args ...any) error {
	ids, err := Collect(ctx, a.tx, pgx.RowTo[string], fmt.Sprintf(`select distinct order_id from (%s) q limit %d`, query, maxAtOnce+1), args...)
	if err != nil {
		return err
	}
	if len(ids) > maxAtOnce {
		return a.queue(ctx, cause, query, args...)
	}
	for _, id := range ids {
		a.add(id, cause)
	}
	return nil
}

func (a *applying) add(orderID, cause string) {
	if _, ok := a.concerned[orderID]; !ok {
		a.concerned[orderID] = cause
	}
}

// queue puts the orders that a query gives off to the recompute queue.
func (a *applying) queue(ctx context.Context, cause, query string, args ...any) error {
	tag, err := a.tx.Exec(ctx, fmt.Sprintf(`
		insert into recompute (company_id, order_id, cause)
		select distinct $1, order_id, $%d::text from (%s) q on conflict do nothing`, len(args)+1, query), append(args, cause)...)
	a.applied.Queued += int(tag.RowsAffected())
	return err
}
