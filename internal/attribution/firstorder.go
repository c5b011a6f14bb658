package attribution

import (
	"github.com/tributary-io/tributary/internal/facts"
)

// FirstOrderKinds are the keys by which a customer's earlier orders are known.
var FirstOrderKinds = []facts.KeyKind{facts.KeyCustomer, facts.KeyEmail, facts.KeyPhone}

// FirstOrderLimit is how many orders of a key are counted: a key with more is
// a hub, and says nothing about who ordered before.
const FirstOrderLimit = hubOrders

// IsFirstOrder tells whether an order is its customer's first: what the
// merchant said; else whether no earlier approved order (createdAt, orderId)
// shares a customer, e-mail or phone key that is no hub. nil where nobody knows:
// the order has no such key.
func IsFirstOrder(c facts.FirstOrderCandidate) *bool {
	if c.Sent != nil {
		return c.Sent
	}
	known, first := false, true
	for _, k := range c.Keys {
		if k.Orders > FirstOrderLimit {
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
