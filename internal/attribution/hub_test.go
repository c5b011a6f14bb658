package attribution

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

// names are n distinct visitors.
func names(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprint("v", i)
	}
	return list
}

// docs/attribution.md, "Two hops": more than 200 orders, or more than 20 visitors.
func TestKeysAreHubsAboveTheirLimits(t *testing.T) {
	f := func(name string, k facts.KeyReach, want facts.Hub) {
		t.Helper()
		if got := hubOfKey(k); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	f("nobody's", facts.KeyReach{}, facts.NoHub)
	f("at each limit", facts.KeyReach{Orders: 200, DayVisitors: 20, Visitors: names(20)}, facts.NoHub)
	f("201 orders", facts.KeyReach{Orders: 201}, facts.HubOfOrders)
	f("21 visitors on its days", facts.KeyReach{DayVisitors: 21}, facts.HubOfVisitors)
	f("21 visitors in its interval", facts.KeyReach{Visitors: names(21)}, facts.HubOfVisitors)
	f("both", facts.KeyReach{Orders: 201, DayVisitors: 21}, facts.HubOfOrders)
}

// docs/attribution.md, "Two hops": more than 20 customers, e-mails or phones (each
// kind apart), or more than 200 carts, cart numbers or verified keys; and claims cut
// claims alone.
func TestVisitorsAreHubsAboveTheirLimits(t *testing.T) {
	f := func(name string, v facts.Visitor, ofClaims, ofProofs facts.Hub) {
		t.Helper()
		if got := hubOfClaims(v); got != ofClaims {
			t.Errorf("%s, claimed keys: %q, want %q", name, got, ofClaims)
		}
		if got := hubOfVisitor(v); got != ofProofs {
			t.Errorf("%s, proofs: %q, want %q", name, got, ofProofs)
		}
	}
	f("nobody's", facts.Visitor{}, facts.NoHub, facts.NoHub)
	f("at each limit", facts.Visitor{Customers: 20, Emails: 20, Phones: 20, Carts: 200, CartNos: 200, Verified: 200}, facts.NoHub, facts.NoHub)
	f("21 customers", facts.Visitor{Customers: 21}, facts.HubOfKeys, facts.NoHub)
	f("21 e-mails", facts.Visitor{Emails: 21}, facts.HubOfKeys, facts.NoHub)
	f("21 phones", facts.Visitor{Phones: 21}, facts.HubOfKeys, facts.NoHub)
	f("201 cart numbers", facts.Visitor{CartNos: 201}, facts.HubOfKeys, facts.NoHub)
	const secret = "0b0a4c1e-9e0f-4d58-8a0e-3a1f2f6f7f01"
	f("201 carts", facts.Visitor{ID: secret, Carts: 201}, facts.HubOfKeys, facts.HubOfKeys)
	f("201 verified", facts.Visitor{ID: secret, Verified: 201}, facts.HubOfKeys, facts.HubOfKeys)
	f("201 carts of an id that may be guessed", facts.Visitor{ID: "42", Carts: 201}, facts.HubOfKeys, facts.NoHub)
	f("201 verified of an id that may be guessed", facts.Visitor{ID: "42", Verified: 201}, facts.HubOfKeys, facts.NoHub)
}

// Around an order, a key became a hub of orders, or ceased to be one, only where
// its count is within the crossing; and each end of the crossing is reached.
func TestTheCrossingHoldsWhateverBecameAHubOrCeasedToBeOne(t *testing.T) {
	hub := func(orders int) bool { return hubOfKey(facts.KeyReach{Orders: orders}) == facts.HubOfOrders }
	for changed := 1; changed <= 30; changed++ {
		least, most := HubCrossing(changed)
		for now := range 260 {
			crossed := hub(now) != hub(now-changed) || hub(now) != hub(now+changed)
			if within := least <= now && now <= most; within != crossed {
				t.Errorf("%d changed, %d now: within %t, crossed %t", changed, now, within, crossed)
			}
		}
	}
}

func TestReadsAreBoundedByTheHubLimits(t *testing.T) {
	want := facts.Limits{
		Window: 30 * day, ObservationsAfter: day, NetworkBefore: 2 * time.Hour, NetworkAfter: time.Hour, EventsBefore: day,
		EventsAfter: time.Second,
		Visitors:    20, Orders: 200, Identities: 20, Carts: 200, Events: 2000,
	}
	got := testIndex(nil).Limits()
	if window := got.WindowAt(start); window != want.Window {
		t.Errorf("the window of an order is %s", window)
	}
	if got.WindowAt = nil; !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestReachedAreTheVisitorsOfKeysThatAreNoHubs(t *testing.T) {
	f := func(name, want string, keys ...facts.KeyReach) {
		t.Helper()
		var got []string
		for _, v := range ReachedVisitors(&facts.Case{Keys: keys}) {
			got = append(got, v.ID)
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s: %q, want %q", name, text, want)
		}
	}
	of := func(kind facts.KeyKind, k facts.KeyReach) facts.KeyReach { k.Kind = kind; return k }
	f("no key", "")
	f("two keys", "a b c", facts.KeyReach{Visitors: []string{"a", "b"}}, facts.KeyReach{Visitors: []string{"b", "c", "a"}})
	f("hubs lead to nobody", "b", of(facts.KeyEmail, facts.KeyReach{Visitors: []string{"a"}, Orders: 201}),
		facts.KeyReach{Visitors: []string{"b"}},
		of(facts.KeyPhone, facts.KeyReach{Visitors: []string{"c"}, DayVisitors: 21}), of(facts.KeyCustomer, facts.KeyReach{Visitors: names(21)}))
	// By two hashing secrets: each sees a part of the orders and visitors.
	f("a hub by one of two secrets is one by both", "d", facts.KeyReach{Visitors: []string{"b"}},
		facts.KeyReach{Visitors: []string{"a"}, DayVisitors: 21},
		of(facts.KeyPhone, facts.KeyReach{Visitors: []string{"d"}}))
	held := facts.KeyReach{Holds: facts.KeyPhone, Visitors: []string{"b"}}
	f("a network with another key is another", "b", of(facts.KeyNetwork, held),
		of(facts.KeyNetwork, facts.KeyReach{Holds: facts.KeyEmail, Orders: 201}))
}

func TestHubCandidatesAreAskedForOnceAKey(t *testing.T) {
	x := testIndex(nil)
	moved := func(kind facts.KeyKind, value string, hour int) facts.OrderKey {
		return facts.OrderKey{Key: facts.Key{Kind: kind, Value: value}, OrderID: "o", CreatedAt: start.Add(time.Duration(hour) * time.Hour)}
	}
	f := func(name, want string, keys ...facts.OrderKey) {
		t.Helper()
		var got []string
		for _, c := range x.HubCandidates(nil, keys) {
			if c.Lost {
				t.Errorf("%s: %s was lost by no order", name, c.Value)
			}
			got = append(got, fmt.Sprintf("%s=%s %gh to %gh, %d to %d", c.Kind, c.Value, c.From.Sub(start).Hours(),
				c.To.Sub(start).Hours(), c.Least, c.Most))
		}
		expect(t, name, strings.Join(got, "\n"), want)
	}
	f("nothing", "")
	f("one order", "phone=p -24h to 720h, 200 to 201", moved(facts.KeyPhone, "p", 0))
	f("three orders of a key and one of another", "phone=p -29h to 727h, 198 to 203\ncart=c -23h to 721h, 200 to 201",
		moved(facts.KeyPhone, "p", 0), moved(facts.KeyCart, "c", 1), moved(facts.KeyPhone, "p", -5), moved(facts.KeyPhone, "p", 7))
	f("codes and names join nothing", "", moved(facts.KeyCode, "x", 0), moved(facts.KeyUTM, "x", 0), moved(facts.KeyLink, "x", 0),
		moved(facts.KeyInfluencer, "x", 0), moved(facts.KeyReached, "x", 0))
}

// An order that is sent again with the keys that it had changes no hub.
func TestHubCandidatesAreKeysThatOrdersGotOrLost(t *testing.T) {
	x := testIndex(nil)
	key := func(value string, minute int) facts.OrderKey {
		return facts.OrderKey{Key: facts.Key{Kind: facts.KeyEmail, Value: value}, OrderID: "o",
			CreatedAt: start.Add(time.Duration(minute) * time.Minute)}
	}
	f := func(name, want string, was, now []facts.OrderKey) {
		t.Helper()
		var got []string
		for _, c := range x.HubCandidates(was, now) {
			got = append(got, fmt.Sprintf("%s lost %t", c.Value, c.Lost))
		}
		expect(t, name, strings.Join(got, ", "), want)
	}
	same := key("a", 0)
	same.CreatedAt, same.Hub = same.CreatedAt.Local(), facts.HubOfOrders
	f("the same keys", "", []facts.OrderKey{same}, []facts.OrderKey{key("a", 0)})
	f("another key", "b lost false", []facts.OrderKey{same}, []facts.OrderKey{key("a", 0), key("b", 0)})
	f("a key less", "b lost true", []facts.OrderKey{key("a", 0), key("b", 0)}, []facts.OrderKey{key("a", 0)})
	f("another time", "a lost true", []facts.OrderKey{key("a", 0)}, []facts.OrderKey{key("a", 1)})
}

func TestHubsJoinNothing(t *testing.T) {
	touch := at(0, "/?utm_campaign=ana")
	f := func(name string, want string, change func(*facts.Case)) {
		t.Helper()
		c := sale(nil, touch)
		change(&c)
		if o := shop(nil).Decide(c); o.Payout.InfluencerID != want {
			t.Errorf("%s: %q, want %q", name, o.Payout.InfluencerID, want)
		}
	}
	f("no hub", "ana", func(*facts.Case) {})
	f("a key of 20 visitors", "ana", func(c *facts.Case) { c.Keys[0].Visitors = append(names(hubVisitors-1), shopper) })
	f("a key of 21 visitors", "", func(c *facts.Case) { c.Keys[0].Visitors = append(names(hubVisitors), shopper) })
	f("a key of 200 orders", "ana", func(c *facts.Case) { c.Keys[0].Orders = hubOrders })
	f("a key of 201 orders", "", func(c *facts.Case) { c.Keys[0].Orders = hubOrders + 1 })
	f("a key of 21 visitors on its days", "", func(c *facts.Case) { c.Keys[0].DayVisitors = hubVisitors + 1 })
	f("a visitor of 21 claimed customers, reached by a secret", "ana", func(c *facts.Case) { c.Visitors[0].Customers = hubIdentities + 1 })
	f("a visitor of 201 carts", "", func(c *facts.Case) { c.Visitors[0].Carts = hubCarts + 1 })
	f("a visitor at each limit", "ana", func(c *facts.Case) {
		v := &c.Visitors[0]
		v.Customers, v.Emails, v.Phones, v.Carts = hubIdentities, hubIdentities, hubIdentities, hubCarts
	})
	f("another key beside the hub", "ana", func(c *facts.Case) {
		c.Keys[0].Visitors = names(hubVisitors + 1)
		c.Keys = append(c.Keys, facts.KeyReach{Key: facts.Key{Kind: facts.KeyEmail, Value: "k1:e"}, Visitors: []string{shopper}, Orders: 1})
	})
}

// hidden is a case whose claimed keys have too many visitors.
func hidden(c facts.Case) facts.Case {
	for i := range c.Keys {
		c.Keys[i].Visitors, c.Keys[i].DayVisitors = nil, hubVisitors+1
	}
	return c
}

// The shop sees that a limit which anybody can reach has left claims out.
func TestClaimsThatALimitHidesAreTold(t *testing.T) {
	touch := at(0, "/?utm_campaign=ana")
	f := func(name string, x *Index, c facts.Case, state facts.PayoutState, reason facts.Reason) {
		t.Helper()
		if got := x.Decide(c).Payout; got.State != state || got.Reason != reason {
			t.Errorf("%s: %s %s, want %s %s", name, got.State, got.Reason, state, reason)
		}
	}
	f("nobody hides it", shop(nil), claimed(sale(nil, touch)), facts.PayoutReview, facts.ReasonUnproven)
	f("hidden", shop(nil), hidden(claimed(sale(nil, touch))), facts.PayoutNone, facts.ReasonHidden)
	ofMany := func(visitor string) facts.Case {
		c := claimed(sale(nil, touch))
		c.Visitors[0].ID, c.Visitors[0].Emails, c.Keys[0].Visitors = visitor, hubIdentities+1, []string{visitor}
		return c
	}
	f("of a visitor with too many e-mails, as whom anybody may send", shop(nil), ofMany("42"), facts.PayoutNone, facts.ReasonHidden)
	f("the till's own browser", shop(nil), ofMany(shopper), facts.PayoutNone, facts.ReasonNoWinner)
	f("the till's e-mail, of many orders", shop(nil), func() facts.Case {
		c := claimed(sale(nil, touch))
		c.Keys[0].Orders = hubOrders + 1
		return c
	}(), facts.PayoutNone, facts.ReasonNoWinner)
	f("a cart of many visitors, which no stranger knows", shop(nil), hidden(sale(nil, touch)), facts.PayoutNone, facts.ReasonNoWinner)
	f("the store looks at no claims", shop(func(r *facts.Rules) { r.Unproven = commerce.UnprovenIgnore }), hidden(claimed(sale(nil, touch))),
		facts.PayoutNone, facts.ReasonNoWinner)
	f("a coupon", shop(nil), hidden(claimed(sale(code("ANA10"), touch))), facts.PayoutEarned, "")
	f("cancelled", shop(nil), hidden(claimed(sale(status(commerce.OrderCancelled), touch))), facts.PayoutNone, facts.ReasonNoWinner)
	f("a marketplace's", shop(nil), hidden(claimed(sale(func(o *wire.Order) { o.Source = wire.Some(commerce.SourceMarketplace) }, touch))),
		facts.PayoutNone, facts.ReasonNoWinner)
	f("a test", shop(nil), hidden(claimed(sale(func(o *wire.Order) { o.Test = wire.Some(true) }, touch))), facts.PayoutNone, facts.ReasonTest)
	c := hidden(claimed(sale(nil, touch)))
	snapshot := shop(nil).Snapshot(c, start)
	c.Snapshot = &snapshot
	f("snapshotted", shop(nil), c, facts.PayoutNone, facts.ReasonHidden)
}

// A later change must find the order again by its hubs (docs/attribution.md,
// "Two hops").
func TestOutcomesNameTheOrdersHubs(t *testing.T) {
	c := sale(func(o *wire.Order) { o.CreatedAt = start })
	c.Keys = []facts.KeyReach{
		{Key: facts.Key{Kind: facts.KeyCart, Value: "c"}, Visitors: []string{shopper}},
		{Key: facts.Key{Kind: facts.KeyEmail, Value: "m"}, Orders: hubOrders + 1},
		{Key: facts.Key{Kind: facts.KeyPhone, Value: "p"}, DayVisitors: hubVisitors + 1},
	}
	var got []string
	for _, k := range shop(nil).Decide(c).Hubs {
		got = append(got, fmt.Sprintf("%s=%s %s of %s at %s", k.Kind, k.Value, k.Hub, k.OrderID, k.CreatedAt.Format(time.TimeOnly)))
	}
	expect(t, "hubs", strings.Join(got, "\n"), "email=m orders of o1 at 12:00:00\nphone=p visitors of o1 at 12:00:00")
}
