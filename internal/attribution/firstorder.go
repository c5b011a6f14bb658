package attribution

import (
	"slices"

	"github.com/tributary-io/tributary/internal/facts"
)

// IsFirstOrder returns whether an order is its customer's first: what the merchant
// sent, else whether no earlier approved order, by (createdAt, order id), shares a
// key of facts.BuyerKinds with it. It returns nil where the order has no such key, or
// only keys that are hubs in its own interval: these say nothing about one customer
// (docs/attribution.md, "Payout"); nor is a test anybody's first order. How many orders a key ever had does not matter.
func IsFirstOrder(c facts.FirstOrderCandidate) *bool {
	if c.Test {
		return nil
	}
	if c.Sent != nil {
		return c.Sent
	}
	known, first := false, true
	for _, k := range c.Keys {
		// A customer may have a key of the kind by each of two hashing secrets, of which one is enough.
		if slices.ContainsFunc(c.Keys, func(same facts.CustomerKey) bool { return same.Kind == k.Kind && same.Orders > hubOrders }) {
			continue
		}
		known = true
		if k.FirstID != "" && (k.FirstAt.Before(c.CreatedAt) || k.FirstAt.Equal(c.CreatedAt) && k.FirstID < c.OrderID) {
			first = false
		}
	}
	if !known {
		return nil
	}
	return &first
}
