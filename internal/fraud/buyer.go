package fraud

import (
	"cmp"
	"slices"
	"time"
)

// The bounds of SameBuyer.
const (
	buyerOrders = 5  // of one buyer by one influencer, at least
	buyerPoints = 15 // of a hundred: above the usual by that much at least

	// buyerMany orders of one buyer by one influencer within buyerWithin are a sign whatever the rates are: in a shop of a few
	// orders for each influencer, the usual rate is itself a quarter to all of them. An order every third day, each by the same
	// influencer, is more than a customer who comes back makes in most shops. Both are chosen, not measured.
	buyerMany   = 10
	buyerWithin = 30 * 24 * time.Hour
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

// sameBuyer finds influencers of whose orders one buyer made a large part, or very many within a month. Of an influencer
// without details it cannot be known whether the buyer is the influencer.
func sameBuyer(sales []Sale, buyers []string) []Signal {
	by := groupSales(sales, func(i int) (string, bool) { return buyers[i], true })
	found := by.most(SameBuyer, buyerOrders, buyerPoints)
	for _, influencer := range sortedKeys(by.groups) {
		isOf := func(s Signal) bool { return s.Influencer == influencer }
		bought := by.manyAtOnce(influencer)
		if bought == nil || slices.ContainsFunc(found, isOf) {
			continue
		}
		var usual Rate // of all others
		for other, of := range by.orders {
			if other != influencer {
				usual = usual.plus(Rate{len(by.largest(other)), of})
			}
		}
		found = append(found, sign(SameBuyer, influencer, Rate{len(bought), by.orders[influencer]}, usual, bought))
	}
	slices.SortFunc(found, func(a, b Signal) int { return cmp.Compare(a.Influencer, b.Influencer) })
	return found
}

// grouped are the sales that count, by influencer and group.
type grouped struct {
	orders map[string]int                // by influencer, also those of no group
	groups map[string]map[string][]*Sale // by influencer and group, ordered by time
}

// groupSales groups the sales of influencers. groupOf returns the group of a sale, "" for none, and whether the sale counts.
func groupSales(sales []Sale, groupOf func(i int) (group string, counts bool)) grouped {
	by := grouped{map[string]int{}, map[string]map[string][]*Sale{}}
	for i := range sales {
		s := &sales[i]
		group, counts := groupOf(i)
		if s.Influencer == "" || !counts {
			continue
		}
		by.orders[s.Influencer]++
		if by.groups[s.Influencer] == nil {
			by.groups[s.Influencer] = map[string][]*Sale{}
		}
		if group != "" {
			by.groups[s.Influencer][group] = append(by.groups[s.Influencer][group], s)
		}
	}
	return by
}

// largest returns the influencer's largest group; of equal ones the first by name.
func (by grouped) largest(influencer string) (sales []*Sale) {
	for _, group := range sortedKeys(by.groups[influencer]) {
		if of := by.groups[influencer][group]; len(of) > len(sales) {
			sales = of
		}
	}
	return sales
}

// manyAtOnce returns the influencer's largest group of which buyerMany sales are within buyerWithin; nil: there is none.
func (by grouped) manyAtOnce(influencer string) (sales []*Sale) {
	for _, group := range sortedKeys(by.groups[influencer]) {
		of := by.groups[influencer][group]
		for last := buyerMany - 1; last < len(of) && len(of) > len(sales); last++ {
			if of[last].At.Sub(of[last-buyerMany+1].At) <= buyerWithin {
				sales = of
			}
		}
	}
	return sales
}

// most finds influencers of whose orders a large part is of one group, compared with
// the largest groups of others.
func (by grouped) most(kind Kind, atLeast, points int) []Signal {
	rates, largest := map[string]Rate{}, map[string][]*Sale{}
	for influencer, orders := range by.orders {
		largest[influencer] = by.largest(influencer)
		rates[influencer] = Rate{len(largest[influencer]), orders}
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
