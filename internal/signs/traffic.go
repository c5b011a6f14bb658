package signs

// Traffic is what visitors by an influencer's links did in the period, and what
// their devices told.
type Traffic struct {
	Influencer string // id
	Clicks     int    // on the influencer's short links, by people
	OneNetwork int    // of them, from the network with the most
	Identified int    // visitors who told an e-mail, a phone or a customer id
	Unseen     int    // of them, without a page view
	Checkouts  int    // visitors who began a checkout
	Unordered  int    // of them, to whom no order leads
}

// The bounds of signs about traffic.
const (
	trafficVisits = 30 // clicks, visitors or checkouts, at least
	trafficPoints = 25 // of a hundred: above the usual by that much at least
)

// trafficSigns finds influencers whose visitors are unlike those of others.
func trafficSigns(traffic []Traffic) []Sign {
	var found []Sign
	for _, sort := range []struct {
		kind Kind
		rate func(Traffic) Rate
	}{
		{OneNetwork, func(t Traffic) Rate { return Rate{t.OneNetwork, t.Clicks} }},
		{NoPageViews, func(t Traffic) Rate { return Rate{t.Unseen, t.Identified} }},
		{NoOrders, func(t Traffic) Rate { return Rate{t.Unordered, t.Checkouts} }},
	} {
		rates := map[string]Rate{}
		for _, t := range traffic {
			if r := sort.rate(t); r.Of >= trafficVisits { // of few clicks one network has most
				rates[t.Influencer] = r
			}
		}
		names, usual := outstanding(rates, trafficPoints, func(r Rate) bool { return true })
		for _, name := range names {
			found = append(found, Sign{Kind: sort.kind, Influencer: name, Observed: rates[name], Usual: usual})
		}
	}
	return found
}
