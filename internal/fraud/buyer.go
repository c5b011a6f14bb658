package fraud

import "slices"

// The bounds of SameBuyer.
const (
	buyerOrders = 5  // of one buyer by one influencer, at least
	buyerPoints = 15 // of a hundred: above the usual by that much at least
)

// selfPurchaseOrders is how many orders make a sign: an e-mail may be typed by mistake, or by somebody else, once or twice.
const selfPurchaseOrders = 3

// selfPurchases finds influencers who are the customer of several orders that their own evidence names. It is known who the
// customer is, so the rate need not stand out.
func selfPurchases(sales []Sale) (found []Signal) {
	rates, concerned := map[string]Rate{}, map[string][]*Sale{}
	var all Rate
	for i := range sales {
		s := &sales[i]
		for _, customer := range s.Customers {
			rates[customer] = rates[customer].plus(Rate{Count: 1})
			concerned[customer] = append(concerned[customer], s)
		}
		of := s.Customers
		if s.Influencer != "" && !slices.Contains(of, s.Influencer) {
			of = append(slices.Clone(of), s.Influencer)
		}
		for _, influencer := range of {
			rates[influencer] = rates[influencer].plus(Rate{Of: 1})
		}
		all = all.plus(Rate{len(s.Customers), len(of)})
	}
	for _, name := range sortedKeys(rates) {
		r := rates[name]
		if r.Count < selfPurchaseOrders {
			continue
		}
		s := sign(SelfPurchase, name, r, Rate{all.Count - r.Count, all.Of - r.Of}, concerned[name])
		s.Costs = costs(paidTo(name, concerned[name]))
		found = append(found, s)
	}
	return found
}

// sameBuyer finds influencers of whose orders one buyer made a large part. Of an influencer without details it cannot be
// known whether the buyer is the influencer.
func sameBuyer(sales []Sale, buyers []string) []Signal {
	return most(sales, SameBuyer, buyerOrders, buyerPoints, func(i int) (string, bool) { return buyers[i], true })
}

// most finds influencers of whose orders a large part is of one group, compared with
// the largest groups of others. groupOf returns the group of a sale, "" for none, and
// whether the sale counts.
func most(sales []Sale, kind Kind, atLeast, points int, groupOf func(i int) (group string, counts bool)) []Signal {
	orders := map[string]int{}                // by influencer
	groups := map[string]map[string][]*Sale{} // by influencer and group
	for i := range sales {
		s := &sales[i]
		group, counts := groupOf(i)
		if s.Influencer == "" || !counts {
			continue
		}
		orders[s.Influencer]++
		if groups[s.Influencer] == nil {
			groups[s.Influencer] = map[string][]*Sale{}
		}
		if group != "" {
			groups[s.Influencer][group] = append(groups[s.Influencer][group], s)
		}
	}
	rates, largest := map[string]Rate{}, map[string][]*Sale{}
	for influencer, of := range groups {
		for _, group := range sortedKeys(of) {
			if len(of[group]) > len(largest[influencer]) {
				largest[influencer] = of[group]
			}
		}
		rates[influencer] = Rate{len(largest[influencer]), orders[influencer]}
	}
	var found []Signal
	names, usual := outstanding(rates, points, func(r Rate) bool { return r.Count >= atLeast })
	for _, name := range names {
		found = append(found, sign(kind, name, rates[name], usual, largest[name]))
	}
	return found
}

// buyersOf names the buyer of each sale: sales with a common key have one buyer. A
// sale without keys has none, "".
func buyersOf(sales []Sale) []string {
	parent := map[string]string{} // of each key but the first of its group
	first := func(key string) string {
		for parent[key] != "" {
			if above := parent[parent[key]]; above != "" {
				parent[key] = above
			}
			key = parent[key]
		}
		return key
	}
	for i := range sales {
		for _, key := range sales[i].Buyers {
			if a, b := first(sales[i].Buyers[0]), first(key); a != b {
				parent[max(a, b)] = min(a, b)
			}
		}
	}
	buyers := make([]string, len(sales))
	for i := range sales {
		if keys := sales[i].Buyers; len(keys) > 0 {
			buyers[i] = first(keys[0])
		}
	}
	return buyers
}
