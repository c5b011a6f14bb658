package attribution

import (
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
)

// docs/attribution.md, "Payout", "First orders".
func TestFirstOrders(t *testing.T) {
	yes, no := true, false
	f := func(name string, said *bool, want *bool, keys ...facts.CustomerKey) {
		t.Helper()
		got := IsFirstOrder(facts.FirstOrderCandidate{OrderID: "m", CreatedAt: start, Sent: said, Keys: keys})
		if (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Errorf("%s: %s, want %s", name, verdict(got), verdict(want))
		}
	}
	// key is one whose earliest approved order has an id and comes some hours after this one.
	key := func(id string, hours int) facts.CustomerKey {
		return facts.CustomerKey{Kind: facts.KeyCustomer, Orders: 1, FirstID: id, FirstAt: start.Add(time.Duration(hours) * time.Hour)}
	}
	hub := func(orders int) facts.CustomerKey {
		k := key("a", -1)
		k.Kind, k.Orders = facts.KeyEmail, orders
		return k
	}
	f("the merchant says so", &yes, &yes, key("a", -1))
	f("the merchant says no", &no, &no)
	f("nobody knows whose it is", nil, nil)
	f("no approved order", nil, &yes, facts.CustomerKey{Orders: 1})
	f("itself", nil, &yes, key("m", 0))
	f("an earlier one", nil, &no, key("z", -1))
	f("a later one", nil, &yes, key("a", 1))
	f("one at the same time, before it by id", nil, &no, key("l", 0))
	f("one at the same time, after it by id", nil, &yes, key("n", 0))
	f("an earlier one of any key", nil, &no, key("m", 0), key("z", -1), key("m", 0))
	f("a key of 200 orders", nil, &no, hub(200))
	f("a key of 201 orders says nothing", nil, nil, hub(201))
	f("… and hides no other key", nil, &yes, hub(201), key("m", 0))
	f("… nor an earlier order of another key", nil, &no, hub(201), key("z", -1))
	// Of a key by two hashing secrets.
	by := func(k facts.CustomerKey) facts.CustomerKey { k.Kind = facts.KeyEmail; return k }
	f("an earlier order by the former secret", nil, &no, by(key("m", 0)), by(key("z", -1)))
	f("a hub by one of them says nothing", nil, nil, hub(201), by(key("z", -1)))
	f("… whichever it is", nil, &yes, by(key("z", -1)), hub(201), key("m", 0))
}

func verdict(first *bool) string {
	switch {
	case first == nil:
		return "nobody knows"
	case *first:
		return "first"
	}
	return "not first"
}
