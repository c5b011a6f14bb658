package cases

import (
	"context"
	"maps"
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
	select 0 as n, e.*
	from unnest(@values::bytea[]) as v (value)
	cross join lateral (
		select ` + StoredColumns + ` from event_fact f
		where f.company_id = @company_id and f.visitor = @visitor and ` + source + ` = v.value
			and f.at between @events_from and @events_until and f.class > 0
		order by f.at desc, f.event_id desc limit @most_events) e`
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
	order by f.at desc, f.event_id desc limit @most_events`

// provenEvents adds to a visitor whose id may be guessed, and of whom not all events
// were read, those that may be proven to be the buyer's of an order: that have its cart,
// its cookie or its network, that have the cookie or the network of such an event, or
// that a backend sent. Of each cart, cookie or network these are the newest
// Limits.Events. A stranger can send any number of others.
func (t Tx) provenEvents(ctx context.Context, companyID string, limits facts.Limits, c *facts.Case, r visitorRequest, v *facts.Visitor) error {
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
	collect := func(rows pgx.Rows, err error) error {
		if err != nil {
			return err
		}
		read := &facts.Visitor{ID: v.ID}
		if err := addEvents(rows, []*facts.Visitor{read}); err != nil {
			return err
		}
		for _, e := range read.Events {
			add(&cookies, e.CookieID)
			add(&networks, e.Network())
			if !known[e.EventID] {
				known[e.EventID], v.Events = true, append(v.Events, e)
			}
		}
		return nil
	}
	args := func(more pgx.NamedArgs) pgx.NamedArgs {
		all := pgx.NamedArgs{"company_id": companyID, "visitor": packed.ID(v.ID), "events_from": r.eventsFrom, "events_until": r.eventsUntil, "most_events": limits.Events}
		maps.Copy(all, more)
		return all
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
	// First what may hold a proof key itself, then what shares its cookie or network.
	if err := collect(t.tx.Query(ctx, readKeyed, args(nil))); err != nil {
		return err
	}
	if err := collect(t.tx.Query(ctx, readByCart, args(pgx.NamedArgs{"values": packedSources(carts)}))); err != nil {
		return err
	}
	for range 2 {
		ofCookies, ofNetworks := pgx.NamedArgs{"values": packedSources(cookies)}, pgx.NamedArgs{"values": packedSources(networks)}
		if err := collect(t.tx.Query(ctx, readByCookie, args(ofCookies))); err != nil {
			return err
		}
		if err := collect(t.tx.Query(ctx, readByNetwork, args(ofNetworks))); err != nil {
			return err
		}
	}
	return nil
}

// packedSources are carts, cookies or networks as facts.Event.Sources has them.
func packedSources(ids []string) [][]byte {
	list := make([][]byte, len(ids))
	for i, id := range ids {
		list[i] = facts.PackSource(id)
	}
	return list
}
