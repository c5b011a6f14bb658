package fraud

// The bounds of signs about completed checkouts that became no order.
const (
	checkoutOrders = 10 // such checkouts, at least
	checkoutPoints = 25 // of a hundred: above what is usual by that much at least
	// checkoutNetworkPoints is of NoOrderNetwork: who tries a shop out, as its own people
	// do, makes a few from one network.
	checkoutNetworkPoints = 40
)

// Checkout is a checkout that a browser says was completed.
type Checkout struct {
	Day         string   // in the store's time zone, YYYY-MM-DD
	Ordered     bool     // there is an order with one of its keys
	Influencers []string // ids of those by whose links its visitor came on that day, each once
	Network     string   // digest; "": a backend sent it
}

// noOrders finds influencers by whose links visitors come who complete checkouts of which
// no order is known, and networks of such checkouts. A few orders never come: a platform
// loses one, or somebody tries the shop out.
func noOrders(checkouts []Checkout) []Signal {
	return append(
		without(checkouts, NoOrder, checkoutPoints, func(c *Checkout) []string { return c.Influencers }),
		without(checkouts, NoOrderNetwork, checkoutNetworkPoints, func(c *Checkout) []string {
			if c.Network == "" {
				return nil
			}
			return []string{c.Network}
		})...)
}

// without compares groups of checkouts: how many of each became no order.
func without(checkouts []Checkout, kind Kind, points int, groups func(*Checkout) []string) []Signal {
	rates, since := map[string]Rate{}, map[string]string{}
	for i := range checkouts {
		c := &checkouts[i]
		for _, group := range groups(c) {
			r := rates[group]
			r.Of++
			if !c.Ordered {
				r.Count++
				if since[group] == "" || c.Day < since[group] {
					since[group] = c.Day
				}
			}
			rates[group] = r
		}
	}
	var found []Signal
	names, usual := outstanding(rates, points, func(r Rate) bool { return r.Count >= checkoutOrders })
	for _, name := range names {
		s := Signal{Kind: kind, Since: since[name], Observed: rates[name], Usual: usual}
		if kind == NoOrder {
			s.Influencer = name
		}
		found = append(found, s)
	}
	return found
}
