package cases

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/packed"
)

// maxSources bounds the cookies and the networks by which the proven events of one
// visitor are read, each kind apart.
const maxSources = 20

// readBy returns the SQL that reads the newest events of a visitor whose id may be
// guessed, for each of several values that their record has.
func readBy(source string) string {
	return `
	select (v.n - 1)::int as n, e.*
	from unnest(@values::bytea[]) with ordinality as v (value, n)
	cross join lateral (
		select ` + StoredColumns + ` from event_fact f
		where f.company_id = @company_id and f.visitor = @visitor and ` + source + ` = v.value
			and f.at between @events_from and @events_until and f.class > 0
		order by f.at desc limit @most_events + 1) e`
}

// The places are those of facts.Event.Sources; an array's first is 1.
var (
	readByCart    = readBy("f.sources[1]")
	readByCookie  = readBy("f.sources[2]")
	readByNetwork = readBy("f.sources[3]")
)

const readKeyed = `
	select 0 as n, ` + StoredColumns + ` from event_fact f
	where f.company_id = @company_id and f.visitor = @visitor and f.sources[4] is not null
		and f.at between @events_from and @events_until and f.class > 0
	order by f.at desc limit @most_events + 1`

// Proven adds to the visitors of a case whose id may be guessed, to whom a proof key leads and
// of whom not all events were read, those that may be proven to be the buyer's: that have the
// order's cart, its cookie or its network, that have the cookie or the network of such an
// event, or that a backend sent. These are the newest; Limits.Events of each kind of source are
// shared by the visitors and by the carts, cookies or networks. A stranger can send any number
// of others. It returns how many it has read.
func (t Tx) Proven(ctx context.Context, companyID string, limits facts.Limits, c *facts.Case) (read int, err error) {
	var list []*facts.Visitor
	for i := range c.Visitors {
		if v := &c.Visitors[i]; v.Cut && v.Proof && !facts.IsSecretID(v.ID) {
			list = append(list, v)
		}
	}
	for _, v := range list {
		n, err := t.provenEvents(ctx, companyID, max(1, limits.Events/len(list)), c, requestVisitor(c, v, limits), v)
		if err != nil {
			return 0, fmt.Errorf("read proven events of a visitor: %w", err)
		}
		read += n
	}
	return read, nil
}

// provenEvents does so for one visitor; most is how many events each kind of source has.
func (t Tx) provenEvents(ctx context.Context, companyID string, most int, c *facts.Case, r visitorRequest,
	v *facts.Visitor) (read int, err error) {
	known := map[string]bool{}
	for _, e := range v.Events {
		known[e.EventID] = true
	}
	var carts, cookies, networks []string
	add := func(to *[]string, value string) {
		if value != "" && len(*to) < maxSources && !slices.Contains(*to, value) {
			*to = append(*to, value)
		}
	}
	share := func(values int) int { return max(1, most/max(1, values)) }
	args := func(values []string) pgx.NamedArgs {
		return pgx.NamedArgs{
			"company_id": companyID, "visitor": packed.ID(v.ID), "events_from": r.eventsFrom, "events_until": r.eventsUntil,
			"values": packedSources(values), "most_events": share(len(values)),
		}
	}
	collect := func(values int, rows pgx.Rows, err error) error {
		if err != nil {
			return err
		}
		found := make([][]facts.Event, max(1, values))
		if err := eachEvent(rows, func(n int, e facts.Event) error {
			read, found[n] = read+1, append(found[n], e)
			return nil
		}); err != nil {
			return err
		}
		for _, events := range found {
			events, _ = newest(events, share(values))
			for _, e := range events {
				add(&cookies, e.CookieID)
				for _, net := range e.Networks() {
					add(&networks, net)
				}
				if !known[e.EventID] {
					known[e.EventID], v.Events = true, append(v.Events, e)
				}
			}
		}
		return nil
	}
	for _, k := range c.Keys {
		switch k.Kind {
		case facts.KeyCart:
			add(&carts, k.Value)
		case facts.KeyCookie:
			add(&cookies, k.Value)
		}
	}
	add(&networks, c.Order.NetKey.Or(""))
	for _, f := range c.Order.Former {
		add(&networks, f.NetKey)
	}
	// First what may hold a proof key itself, then what shares its cookie or network.
	ofBackend := args(nil)
	delete(ofBackend, "values")
	rows, err := t.tx.Query(ctx, readKeyed, ofBackend)
	if err := collect(0, rows, err); err != nil {
		return read, err
	}
	rows, err = t.tx.Query(ctx, readByCart, args(carts))
	if err := collect(len(carts), rows, err); err != nil {
		return read, err
	}
	for range 2 {
		sources := len(cookies) + len(networks)
		rows, err = t.tx.Query(ctx, readByCookie, args(cookies))
		if err := collect(len(cookies), rows, err); err != nil {
			return read, err
		}
		rows, err = t.tx.Query(ctx, readByNetwork, args(networks))
		if err := collect(len(networks), rows, err); err != nil {
			return read, err
		}
		if len(cookies)+len(networks) == sources { // the same would be read again
			break
		}
	}
	return read, nil
}

// packedSources are carts, cookies or networks as facts.Event.Sources has them.
func packedSources(ids []string) [][]byte {
	list := make([][]byte, len(ids))
	for i, id := range ids {
		list[i] = facts.PackSource(id)
	}
	return list
}
