package attribution

import (
	"slices"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
)

// A hub joins nothing (docs/attribution.md, "Two hops"): so many shoppers share
// it that it says nothing about one of them. Counts are read up to one more
// than their limit.
const (
	hubVisitors   = 20  // visitors of one key, on the UTC days of the order's interval
	hubOrders     = 200 // orders of one key, in the order's interval
	hubIdentities = 20  // customers, e-mails or phones of one visitor, each kind apart, on those days
	hubCarts      = 200 // carts of one visitor, on those days
)

const (
	// sightingsAfter: a visitor seen with an order's key this long after it counts.
	sightingsAfter = 24 * time.Hour
	// eventsBefore is how far before the window events are read to cut its first session.
	eventsBefore = 24 * time.Hour
	// eventsAfter: a touch this long after createdAt, whose stamps are whole
	// seconds, is before the order.
	eventsAfter = time.Second
	// visitorEvents are read of one visitor for one order, the newest before it.
	// A shopper makes a few hundred in a window; more is a machine that nobody
	// named a bot.
	visitorEvents = 2000
)

// Limits bounds what is read for a case under these rules.
func (x *Index) Limits() facts.Limits {
	return facts.Limits{
		Window: x.rules.Window, SightingsAfter: sightingsAfter, EventsBefore: eventsBefore, EventsAfter: eventsAfter,
		Visitors: hubVisitors, Orders: hubOrders, Identities: hubIdentities, Carts: hubCarts, Events: visitorEvents,
	}
}

// hubOfKey tells why a key joins nothing around an order.
func hubOfKey(k facts.KeyReach) facts.Hub {
	switch {
	case k.Orders > hubOrders:
		return facts.HubOfOrders
	case k.DayVisitors > hubVisitors || len(k.Visitors) > hubVisitors:
		return facts.HubOfVisitors
	}
	return facts.NoHub
}

// hubOfVisitor tells why a visitor joins nothing around an order.
func hubOfVisitor(v facts.Visitor) facts.Hub {
	if max(v.Customers, v.Emails, v.Phones) > hubIdentities || v.Carts > hubCarts {
		return facts.HubOfKeys
	}
	return facts.NoHub
}

// HubCrossing gives the range of orders of a key around which the key may have
// become a hub of orders, or ceased to be one, when changed of its orders came
// or went: least and most are inclusive.
func HubCrossing(changed int) (least, most int) {
	return hubOrders - changed + 1, hubOrders + changed
}

// ReachedVisitors are the visitors to whom the case's keys lead, each once: a hub
// leads to none.
func ReachedVisitors(c *facts.Case) []facts.Visitor {
	var list []facts.Visitor
	seen := map[string]bool{}
	for _, k := range c.Keys {
		if hubOfKey(k) != facts.NoHub {
			continue
		}
		for _, v := range k.Visitors {
			if !seen[v] {
				seen[v] = true
				list = append(list, facts.Visitor{ID: v})
			}
		}
	}
	return list
}

// HubCandidates asks for the orders around which a key may have become a hub of
// orders, or ceased to be one, since orders with it came or went.
func (x *Index) HubCandidates(moved []facts.OrderKey) []facts.ChangedKey {
	type span struct {
		first, last time.Time
		changed     int
	}
	spans := map[facts.Key]*span{}
	var keys []facts.Key
	for _, k := range moved {
		if !slices.Contains(facts.JoinKinds, k.Kind) {
			continue
		}
		s := spans[k.Key]
		if s == nil {
			s = &span{k.CreatedAt, k.CreatedAt, 0}
			spans[k.Key], keys = s, append(keys, k.Key)
		}
		if k.CreatedAt.Before(s.first) {
			s.first = k.CreatedAt
		}
		if k.CreatedAt.After(s.last) {
			s.last = k.CreatedAt
		}
		s.changed++
	}
	list := make([]facts.ChangedKey, len(keys))
	for i, k := range keys {
		s := spans[k]
		list[i] = facts.ChangedKey{Key: k}
		list[i].From, list[i].To = x.OrdersSharing(s.first, s.last)
		list[i].Least, list[i].Most = HubCrossing(s.changed)
	}
	return list
}
