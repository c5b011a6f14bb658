package signs

// The bounds of SameBuyer.
const (
	buyerOrders = 5  // of one buyer by one influencer, at least
	buyerPoints = 15 // of a hundred: above the usual by that much at least
)

// sameBuyer finds influencers of whose orders one buyer made a large part. A store
// knows influencers by name only, so it cannot be known whether the buyer is the
// influencer.
func sameBuyer(sales []Sale, buyers []string) []Sign {
	orders := map[string]int{}                // by influencer
	bought := map[string]map[string][]*Sale{} // by influencer and buyer
	for i := range sales {
		s := &sales[i]
		if s.Influencer == "" {
			continue
		}
		orders[s.Influencer]++
		if bought[s.Influencer] == nil {
			bought[s.Influencer] = map[string][]*Sale{}
		}
		if buyers[i] != "" {
			bought[s.Influencer][buyers[i]] = append(bought[s.Influencer][buyers[i]], s)
		}
	}
	rates, most := map[string]Rate{}, map[string][]*Sale{}
	for influencer, byBuyer := range bought {
		for _, buyer := range sortedKeys(byBuyer) {
			if len(byBuyer[buyer]) > len(most[influencer]) {
				most[influencer] = byBuyer[buyer]
			}
		}
		rates[influencer] = Rate{len(most[influencer]), orders[influencer]}
	}
	var found []Sign
	names, usual := outstanding(rates, buyerPoints, func(r Rate) bool { return r.Count >= buyerOrders })
	for _, name := range names {
		found = append(found, sign(SameBuyer, name, rates[name], usual, most[name]))
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
