package fraud

// The bounds of signs about an influencer's links in orders.
const (
	hijackOrders = 5  // with such a touch, at least
	hijackPoints = 15 // of a hundred: above what is usual by that much at least
)

// touchSigns finds influencers of whose orders by link far more have a touch of one
// sort than those of others: after the checkout began, or unproven. Some shoppers look
// for a coupon in the middle of a checkout, so each influencer has a few.
func touchSigns(sales []Sale) []Signal {
	var found []Signal
	for _, sort := range []struct {
		kind Kind
		is   func(Touch) bool
	}{
		{AfterCheckout, func(t Touch) bool { return t.AfterCheckout }},
		{Unproven, func(t Touch) bool { return !t.Proven }},
	} {
		rates := map[string]Rate{}
		concerned := map[string][]*Sale{}
		for i := range sales {
			has := map[string]bool{} // by influencer: one of the touches is of this sort
			for _, t := range sales[i].Touches {
				has[t.Influencer] = has[t.Influencer] || sort.is(t)
			}
			for influencer, is := range has {
				r := rates[influencer]
				r.Of++
				if is {
					r.Count++
					concerned[influencer] = append(concerned[influencer], &sales[i])
				}
				rates[influencer] = r
			}
		}
		names, usual := outstanding(rates, hijackPoints, func(r Rate) bool { return r.Count >= hijackOrders })
		for _, name := range names {
			s := sign(sort.kind, name, rates[name], usual, concerned[name])
			s.Costs = costs(paidTo(name, concerned[name]))
			found = append(found, s)
		}
	}
	return found
}

// paidTo returns the sales that an influencer is paid for.
func paidTo(influencer string, sales []*Sale) []*Sale {
	var paid []*Sale
	for _, s := range sales {
		if s.Influencer == influencer {
			paid = append(paid, s)
		}
	}
	return paid
}
