package cases

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/packed"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/explained"
	"github.com/tributary-io/tributary/internal/wire"
)

// Tx reads cases within a transaction.
type Tx struct {
	tx     pgx.Tx
	orders map[string]wire.Order // see UnpackOrder
}

// In returns a Tx that reads within the caller's transaction.
func In(tx pgx.Tx) Tx { return Tx{tx, map[string]wire.Order{}} }

// mostUnpacked is how many orders a transaction remembers.
const mostUnpacked = 2000

// UnpackOrder is facts.UnpackOrder; of equal bytes one order is unpacked, since a
// transaction reads the same orders several times. The caller must not change its items.
func (t Tx) UnpackOrder(stored []byte) (wire.Order, error) {
	if o, known := t.orders[string(stored)]; known {
		return o, nil
	}
	o, err := facts.UnpackOrder(stored)
	if err != nil {
		return o, err
	}
	if len(t.orders) >= mostUnpacked {
		clear(t.orders)
	}
	t.orders[string(stored)] = o
	return o, nil
}

// Cases reads orders and the visitors to whom each of their keys leads, ordered by
// order id. An unknown order is left out. Case.Visitors stays empty: see Visitors.
func (t Tx) Cases(ctx context.Context, companyID string, limits facts.Limits, orderIDs []string) ([]*facts.Case, error) {
	var list []*facts.Case
	byID := map[string]*facts.Case{}
	var id string
	var body []byte
	var approved, snapshotAt time.Time
	var path []byte
	var self []string
	var open []*facts.Case // without a snapshot
	into := []any{&id, &body, postgres.ZeroIfNull(&approved), postgres.ZeroIfNull(&snapshotAt), &path, &self}
	if err := postgres.Each(ctx, t.tx, into, func() (err error) {
		c := &facts.Case{ApprovedSince: approved, SelfPurchases: self}
		if c.Order, err = t.UnpackOrder(body); err != nil {
			return fmt.Errorf("order %s: %w", id, err)
		}
		if path == nil {
			open = append(open, c)
		} else if err := readSnapshot(c, id, snapshotAt, path); err != nil {
			return err
		}
		list, byID[id] = append(list, c), c
		return nil
	}, `
		select o.order_id, o.body, o.approved_since, s.snapshot_at, s.body,
			(select array_agg(p.influencer_id::text) from self_purchase p where p.company_id = @company_id and p.order_id = o.order_id)
		from orders o left join evidence_snapshot s on s.company_id = o.company_id and s.order_id = o.order_id
		where o.company_id = @company_id and o.order_id = any(@order_ids) order by o.order_id`,
		pgx.NamedArgs{"company_id": companyID, "order_ids": orderIDs}); err != nil {
		return nil, fmt.Errorf("read orders: %w", err)
	}
	if err := t.keys(ctx, companyID, limits, open); err != nil {
		return nil, fmt.Errorf("read keys of orders: %w", err)
	}
	err := t.decisions(ctx, companyID, orderIDs, byID)
	return list, postgres.Wrapf(err, "read decisions about orders")
}

// readSnapshot reads an order's snapshot, as it is stored, into its case.
func readSnapshot(c *facts.Case, orderID string, at time.Time, stored []byte) error {
	text, err := explained.Unpack(stored)
	c.Snapshot = &facts.EvidenceSnapshot{OrderID: orderID, SnapshotAt: at.UTC()}
	if err == nil {
		err = json.Unmarshal(text, &c.Snapshot.Path)
	}
	return postgres.Wrapf(err, "snapshot of order %s", orderID)
}

// decisions reads the merchant's decisions about orders, into the cases.
func (t Tx) decisions(ctx context.Context, companyID string, orderIDs []string, byID map[string]*facts.Case) error {
	all, err := postgres.Collect(ctx, t.tx, func(row pgx.CollectableRow) (d facts.Decision, err error) {
		return d, row.Scan(&d.OrderID, &d.InfluencerID, &d.Decision, &d.Rev, &d.AcceptedAt, &d.Touches, &d.Actor, &d.Reason,
			&d.ConfirmedBy)
	}, `
		select order_id, influencer_id::text, decision, rev, accepted_at, touches, actor, reason, confirmed_by from evidence_decision
		where company_id = @company_id and order_id = any(@order_ids)`,
		pgx.NamedArgs{"company_id": companyID, "order_ids": orderIDs})
	if err != nil {
		return err
	}
	of := map[string][]facts.Decision{}
	for _, d := range all {
		of[d.OrderID] = append(of[d.OrderID], d)
	}
	for id, list := range of {
		c := byID[id]
		if c == nil {
			continue
		}
		c.Decisions = facts.FoldDecisions(list)
		for i := range c.Decisions {
			if c.Snapshot != nil {
				break // it has what they accepted
			}
			if err := t.acceptedEvents(ctx, companyID, &c.Decisions[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// acceptedEvents reads the events of the touches that a decision accepted.
func (t Tx) acceptedEvents(ctx context.Context, companyID string, d *facts.Decision) error {
	ids, _ := d.TouchIDs()
	if d.Decision != commerce.EvidenceAccept || len(ids) == 0 {
		return nil
	}
	var s facts.StoredEvent
	return postgres.Each(ctx, t.tx, Into(&s), func() error {
		e, err := s.Read()
		if err != nil {
			return fmt.Errorf("an accepted event: %w", err)
		}
		d.Events = append(d.Events, e)
		return nil
	}, `
		select `+StoredColumns+` from unnest(@ids::uuid[]) as i (id)
		join event_fact f on f.company_id = @company_id and f.event_id = i.id and f.visitor is not null and f.class > 0`,
		pgx.NamedArgs{"company_id": companyID, "ids": ids})
}

// StoredColumns are the columns of event_fact f of which a decision reads an event.
const StoredColumns = "f.company_id, f.event_id, f.name, f.visitor, f.at, f.record"

// Into is where StoredColumns are read into.
func Into(s *facts.StoredEvent) []any {
	return []any{&s.CompanyID, (*[16]byte)(&s.EventID), &s.Name, &s.Visitor, &s.At, &s.Record}
}

// ScanEvent reads StoredColumns, and parses the event's record again.
func ScanEvent(row pgx.CollectableRow) (facts.Event, error) {
	var s facts.StoredEvent
	if err := row.Scan(Into(&s)...); err != nil {
		return facts.Event{}, err
	}
	return s.Parse()
}

// ScanKey reads the columns kind and key.
func ScanKey(row pgx.CollectableRow) (facts.Key, error) {
	var kind int16
	var key []byte
	if err := row.Scan(&kind, &key); err != nil {
		return facts.Key{}, err
	}
	return facts.UnpackKey(kind, key)
}

// keyRequest asks where one key of one case leads.
type keyRequest struct {
	n      int32     // index of the request
	digest int64     // facts.KeyDigest of the key
	key    facts.Key // as visitors were seen with it
	holds  facts.KeyKind
	stored facts.Key // by which the orders that have it are found; they are counted where it is the key itself
	from   time.Time // orders count that were created from here
	to     time.Time // … to here

	firstSlot, lastSlot int32 // of observations
	fromMS, toMS        int64 // of instants of observations, Unix milliseconds
}

var keyRows = postgres.Rows[keyRequest]{
	postgres.Col("n", "int", func(k *keyRequest) int32 { return k.n }),
	postgres.Col("digest", "bigint", func(k *keyRequest) int64 { return k.digest }),
	postgres.Col("kind", "smallint", func(k *keyRequest) int16 { return k.key.Kind.Code() }),
	postgres.Col("key", "bytea", func(k *keyRequest) []byte { return k.key.Pack() }),
	postgres.Col("counts", "boolean", func(k *keyRequest) bool { return k.key == k.stored }),
	postgres.Col("lo", "timestamptz", func(k *keyRequest) time.Time { return k.from }),
	postgres.Col("hi", "timestamptz", func(k *keyRequest) time.Time { return k.to }),
	postgres.Col("first_slot", "int", func(k *keyRequest) int32 { return k.firstSlot }),
	postgres.Col("last_slot", "int", func(k *keyRequest) int32 { return k.lastSlot }),
	postgres.Col("lo_ms", "bigint", func(k *keyRequest) int64 { return k.fromMS }),
	postgres.Col("hi_ms", "bigint", func(k *keyRequest) int64 { return k.toMS }),
}

// requestOf makes the request for a key of an order: observations and orders count in the
// order's interval. Observations of kind network are by hour of receipt, and all of an hour's
// count. An observation has milliseconds: those of the request are the first and the last of
// the interval.
func requestOf(k facts.OrderJoin, created time.Time, limits facts.Limits) keyRequest {
	from, to := created.Add(-limits.WindowAt(created)), created.Add(limits.ObservationsAfter)
	r := keyRequest{key: k.Key, stored: k.Stored, holds: k.Holds, from: from, to: to}
	if k.Kind == facts.KeyNetwork {
		r.firstSlot, r.lastSlot = facts.SlotOf(facts.HourOf(created.Add(-limits.NetworkBefore))),
			facts.SlotOf(facts.HourOf(created.Add(limits.NetworkAfter)))
		r.fromMS, r.toMS = math.MinInt64, math.MaxInt64
		return r
	}
	r.firstSlot, r.lastSlot = facts.SlotOf(facts.DayOf(from)), facts.SlotOf(facts.DayOf(to))
	r.fromMS, r.toMS = from.Add(time.Millisecond-1).UnixMilli(), to.UnixMilli()
	return r
}

// readKeys reads no more rows than a hub limit needs. A visitor has one observation for
// each key and day. So the first (limit + 1) × days rows of a key have more visitors
// than the limit, or they are all of its rows. The visitors of a key with too many
// orders are not read at all.
var readKeys = `
	select k.n, c.orders, v.seen, v.visitors
	from ` + keyRows.Unnest("k") + `
	cross join lateral (
		select count(*) as orders from (
			select 1 from order_key x
			where k.counts and ` + postgres.OfKey("x", "k.digest", "k.kind", "k.key") + ` and x.created_at between k.lo and k.hi
			limit @most_orders) n) c
	cross join lateral (
		select count(distinct visitor) as seen,
			coalesce(array_agg(distinct visitor) filter (where first_at between k.lo_ms and k.hi_ms or last_at between k.lo_ms and k.hi_ms),
				'{}') as visitors
		from (
			select visitor, slot::bigint * 3600000 + first_ms as first_at, slot::bigint * 3600000 + last_ms as last_at from observation s
			where s.company_id = @company_id and s.kind = k.kind and s.key = k.key and s.slot between k.first_slot and k.last_slot
				and c.orders < @most_orders
			order by s.slot, s.visitor limit @most_observations) d) v`

// keys reads where the orders' keys lead, into the cases.
func (t Tx) keys(ctx context.Context, companyID string, limits facts.Limits, list []*facts.Case) error {
	var requests []keyRequest
	for _, c := range list {
		joins := facts.OrderJoins(&c.Order)
		slices.SortFunc(joins, func(a, b facts.OrderJoin) int {
			return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Value, b.Value))
		})
		c.Keys = make([]facts.KeyReach, len(joins))
		for i, k := range joins {
			c.Keys[i].Key, c.Keys[i].Holds = k.Key, k.Holds
			r := requestOf(k, c.Order.CreatedAt, limits)
			r.n, r.digest = int32(len(requests)), facts.KeyDigest(companyID, k.Key)
			requests = append(requests, r)
		}
	}
	reached := make([]facts.KeyReach, len(requests))
	var n int32
	var k facts.KeyReach
	var visitors [][]byte
	if err := postgres.Each(ctx, t.tx, []any{&n, &k.Orders, &k.DayVisitors, &visitors}, func() (err error) {
		k.Key, k.Holds, k.Visitors = requests[n].key, requests[n].holds, make([]string, len(visitors))
		for i, v := range visitors {
			if k.Visitors[i], err = packed.Text(v); err != nil {
				return err
			}
		}
		slices.Sort(k.Visitors)
		reached[n] = k
		return nil
	}, readKeys, keyRows.Args(requests, pgx.NamedArgs{
		"company_id": companyID, "most_orders": limits.Orders + 1, "most_observations": (limits.Visitors + 1) * days(limits),
	})); err != nil {
		return err
	}
	for _, c := range list {
		of := requests[:len(c.Keys)]
		copy(c.Keys, reached)
		requests, reached = requests[len(of):], reached[len(of):]
		for i, r := range of {
			if r.key == r.stored {
				continue
			}
			j := slices.IndexFunc(c.Keys, func(k facts.KeyReach) bool { return k.Key == r.stored })
			if c.Keys[i].Orders = c.Keys[j].Orders; c.Keys[i].Orders > limits.Orders { // its visitors are left out, as those of every such key
				c.Keys[i].DayVisitors, c.Keys[i].Visitors = 0, []string{}
			}
		}
	}
	return t.same(ctx, companyID, limits, list)
}

// days returns on how many UTC days an order's interval lies at most: its length,
// and a part of the first and the last day.
func days(limits facts.Limits) int {
	return int((limits.Window+limits.ObservationsAfter)/(24*time.Hour)) + 2
}
