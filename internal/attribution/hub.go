package attribution

import (
	"slices"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
)

// The hub limits (docs/attribution.md, "Two hops"). So many shoppers share a hub
// that it says nothing about one of them. Counts are read up to one more than their
// limit.
const (
	hubVisitors   = 20  // visitors of one key, on the UTC days of the order's interval
	hubOrders     = 200 // orders of one key, in the order's interval
	hubIdentities = 20  // customers, e-mails or phones of one visitor, each kind apart, on those days
	hubCarts      = 200 // carts, cart numbers or verified keys of one visitor, each kind apart, on those days
)

const (
	// observationsAfter is how long after an order a visitor may be seen with one of its
	// keys and still be joined (docs/attribution.md, "Two hops").
	observationsAfter = 24 * time.Hour
	// networkBefore and networkAfter bound the hours of receipt in which a network
	// proves something about an order (docs/attribution.md, "Proof").
	networkBefore = 2 * time.Hour
	networkAfter  = time.Hour
	// timelyAfter is how long after an order the events of a secret visitor id may come that
	// nothing else proves (docs/attribution.md, "Proof").
	timelyAfter = time.Hour
	// eventsBefore is how long before the window events are read, so that the window's
	// first session is cut right (docs/attribution.md, "Two hops").
	eventsBefore = 24 * time.Hour
	// eventsAfter is how long after createdAt a touch still counts as before the order:
	// createdAt has whole seconds only (docs/attribution.md, "Two hops").
	eventsAfter = time.Second
	// visitorEvents is how many events are read for one order of all visitors whom the
	// same kind of proof key proves, and whose ids are secrets: each has an equal share, the
	// newest, and as many older ones that came by a campaign. A shopper makes a few hundred
	// in a window.
	visitorEvents = 2000
	// ClaimedEvents is how many events are read for one order of all other visitors together,
	// as whom anybody can send events: of each the newest, as many older ones that came by a
	// campaign, and one of both that shows that there are more.
	ClaimedEvents = 2000
	// claimedTouches is how many touches that no proof key leads to count for one order,
	// the newest. A shopper makes a few dozen in a window; strangers any number, and each
	// is a row of every model and of the explanation.
	claimedTouches = 100
)

// longestWindow returns the longest window of all settings, past ones included.
func (x *Index) longestWindow() time.Duration { return x.windows[0] }

// Windows returns the windows of all settings, past ones included, the longest
// first.
func (x *Index) Windows() []time.Duration { return x.windows }

// Limits returns what is read for a case under these rules.
func (x *Index) Limits() facts.Limits {
	return facts.Limits{
		Window: x.longestWindow(), WindowAt: func(createdAt time.Time) time.Duration { return x.rules.SettingsAt(createdAt).Window },
		ObservationsAfter: observationsAfter, EventsBefore: eventsBefore, EventsAfter: eventsAfter,
		NetworkBefore: networkBefore, NetworkAfter: networkAfter,
		Visitors: hubVisitors, Orders: hubOrders, Identities: hubIdentities, Carts: hubCarts, Events: visitorEvents,
	}
}

// hubOfKey returns why a key is a hub around an order, or facts.NoHub.
func hubOfKey(k facts.KeyReach) facts.Hub {
	switch {
	case k.Orders > hubOrders:
		return facts.HubOfOrders
	case k.DayVisitors > hubVisitors || len(k.Visitors) > hubVisitors:
		return facts.HubOfVisitors
	}
	return facts.NoHub
}

// hubsOf returns why each of the keys is a hub around an order. While the hashing secret is being
// rotated, an order has a key by each: of what was before the rotation and what comes after it each
// counts a part, and where one of them is a hub, all are.
func hubsOf(keys []facts.KeyReach) []facts.Hub {
	hubs := make([]facts.Hub, len(keys))
	for i, k := range keys {
		hubs[i] = hubOfKey(k)
	}
	for i := range keys {
		for j := range keys {
			if hubs[i] == facts.NoHub && sameKey(&keys[i], &keys[j]) {
				hubs[i] = hubs[j]
			}
		}
	}
	return hubs
}

// sameKey reports whether two keys of one order are of the same text.
func sameKey(a, b *facts.KeyReach) bool { return a.Kind == b.Kind && a.Holds == b.Holds }

// hubOfVisitor returns why proofs do not lead to a visitor around an order, or
// facts.NoHub: only what a stranger cannot send is counted, so that a stranger can
// cut nobody's proven evidence. For an id that may be guessed a stranger can make up
// any number of carts, so nothing is counted: of its events only those that are
// proven themselves count (provenEvents).
func hubOfVisitor(v facts.Visitor) facts.Hub {
	if facts.IsSecretID(v.ID) && max(v.Carts, v.Verified) > hubCarts {
		return facts.HubOfKeys
	}
	return facts.NoHub
}

// hubOfClaims returns why claimed keys do not lead to a visitor around an order, or
// facts.NoHub.
func hubOfClaims(v facts.Visitor) facts.Hub {
	if max(v.Customers, v.Emails, v.Phones) > hubIdentities || max(v.CartNos, v.Carts, v.Verified) > hubCarts {
		return facts.HubOfKeys
	}
	return facts.NoHub
}

// HubCrossing returns how many orders a key may have in an order's interval if,
// after so many changed orders got or lost the key, it may have become a hub there or
// ceased to be one. Both bounds are inclusive.
func HubCrossing(changed int) (least, most int) {
	return hubOrders - changed + 1, hubOrders + changed
}

// ReachedVisitors returns the visitors to whom the case's keys lead, each once, with
// their id and with how many of their events are read. A key that is a hub leads to none.
// The visitors whom the strongest proof key of one kind proves share visitorEvents, and all
// others ClaimedEvents: so no number of claims takes anything from what is proven, and no
// visitor takes another's share.
func ReachedVisitors(c *facts.Case) []facts.Visitor {
	var list []facts.Visitor
	var proofs []facts.KeyKind // of each visitor the strongest; empty: none
	places := map[string]int{}
	reach := func(v string, kind facts.KeyKind, isProof bool) {
		i, known := places[v]
		if !known {
			i = len(list)
			places[v], list, proofs = i, append(list, facts.Visitor{ID: v}), append(proofs, "")
		}
		if isProof && kind.Stronger(proofs[i]) {
			proofs[i] = kind
		}
	}
	hubs := hubsOf(c.Keys)
	for n, k := range c.Keys {
		if hubs[n] != facts.NoHub {
			continue
		}
		isProof := slices.Contains(facts.ProofKinds, k.Kind)
		for _, v := range k.Visitors {
			if c.Same == nil {
				reach(v, k.Kind, isProof)
				continue
			}
			for _, id := range c.IDs(v) {
				reach(id, k.Kind, isProof)
			}
		}
	}
	sharing := map[facts.KeyKind]int{} // visitors of each kind of proof; empty: the claimed ones
	for i := range list {
		v := &list[i]
		v.Proof = proofs[i] != ""
		if v.Claimed = !v.Proof || !facts.IsSecretID(v.ID); v.Claimed {
			proofs[i] = ""
		}
		sharing[proofs[i]]++
	}
	for i := range list {
		n := sharing[proofs[i]]
		if list[i].Most = max(1, visitorEvents/n); list[i].Claimed {
			list[i].Most = max(1, (ClaimedEvents/n-2)/2)
		}
	}
	return list
}

// HubCandidates returns the keys that may have become a hub, or ceased to be one,
// and around which orders, since orders that had the keys was have the keys now.
func (x *Index) HubCandidates(was, now []facts.OrderKey) []facts.ChangedKey {
	type span struct {
		first, last time.Time
		changed     int
		lost        bool
	}
	spans := map[facts.Key]*span{}
	var keys []facts.Key
	change := func(k facts.OrderKey, lost bool) {
		s := spans[k.Key]
		if s == nil {
			s = &span{first: k.CreatedAt, last: k.CreatedAt}
			spans[k.Key], keys = s, append(keys, k.Key)
		}
		if k.CreatedAt.Before(s.first) {
			s.first = k.CreatedAt
		}
		if k.CreatedAt.After(s.last) {
			s.last = k.CreatedAt
		}
		s.changed, s.lost = s.changed+1, s.lost || lost
	}
	for _, k := range without(was, now) {
		change(k, true)
	}
	for _, k := range without(now, was) {
		change(k, false)
	}
	list := make([]facts.ChangedKey, len(keys))
	for i, k := range keys {
		s := spans[k]
		list[i] = facts.ChangedKey{Key: k, Lost: s.lost}
		list[i].From, list[i].To = x.OrdersSharing(s.first, s.last)
		list[i].Least, list[i].Most = HubCrossing(s.changed)
	}
	return list
}

// without returns the keys that join orders to visitors and that others lack for
// the same order, created at the same time.
func without(keys, others []facts.OrderKey) []facts.OrderKey {
	identity := func(k facts.OrderKey) facts.OrderKey {
		k.CreatedAt, k.Hub = k.CreatedAt.UTC(), facts.NoHub
		return k
	}
	known := map[facts.OrderKey]bool{}
	for _, k := range others {
		known[identity(k)] = true
	}
	var list []facts.OrderKey
	for _, k := range keys {
		if slices.Contains(facts.JoinKinds, k.Kind) && !known[identity(k)] {
			list = append(list, k)
		}
	}
	return list
}
