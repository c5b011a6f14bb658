package fraud

import (
	"cmp"
	"slices"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
)

// The bounds of signs about an influencer's newest visits before orders.
const (
	visitOrders   = 5  // with such a visit, at least
	visitPoints   = 15 // of a hundred: above what is usual by that much at least
	networkPoints = 25 // of OneNetwork: a school or an office has a few
)

// soonAfter is within which time after an order a made up visit for it comes, mostly: who
// makes it up has just seen the order. What a phone sends late comes hours later.
const soonAfter = time.Hour

// receivedSlack is how long after an order an event may be received that belongs
// before it: as much as attribution takes for the same instant.
const receivedSlack = time.Second

// Visit is what the stored event of an influencer's newest touch before an order tells.
type Visit struct {
	AfterOrder time.Duration // how long after the order was made it was received, though it says it is older; 0: before
	NoPages    bool          // its visitor tells the buyer's identity, and looked at no page
	Network    string        // digest of the network that it came from; "": a backend sent it
}

// NewVisit returns what the event of the sale's Last tells. pages says whether the
// event's visitor looked at a page: it counts where Last.ByIdentity.
func NewVisit(s *Sale, e *facts.Event, pages bool) *Visit {
	v := &Visit{NoPages: s.Last.ByIdentity && !pages, Network: e.Network()}
	// A backend may send its events once a day, and no stranger has its key.
	if after := e.ReceivedAt.Sub(s.At); !e.ByAPIKey() && after > receivedSlack {
		v.AfterOrder = after
	}
	return v
}

// visitSigns finds influencers of whose orders far more have a visit of one sort than
// those of others.
func visitSigns(sales []Sale) []Signal {
	visits := func(kind Kind, is func(*Visit) bool) []Signal {
		return groupSales(sales, func(i int) (string, bool) {
			v := sales[i].Visit
			if v != nil && is(v) {
				return "yes", true
			}
			return "", v != nil
		}).most(kind, visitOrders, visitPoints)
	}
	late := clearer(
		visits(AfterOrder, func(v *Visit) bool { return v.AfterOrder > 0 && v.AfterOrder <= soonAfter }),
		visits(AfterOrder, func(v *Visit) bool { return v.AfterOrder > 0 }))
	return slices.Concat(late, visits(NoPageViews, func(v *Visit) bool { return v.NoPages }), networkSigns(sales))
}

// clearer returns the signs of two lists, by influencer; of one that is in both the one that
// is further from what is usual.
func clearer(one, other []Signal) []Signal {
	for _, s := range other {
		i, found := slices.BinarySearchFunc(one, s, func(a, b Signal) int { return cmp.Compare(a.Influencer, b.Influencer) })
		switch {
		case !found:
			one = slices.Insert(one, i, s)
		case distance(s.Usual, s.Observed).Cmp(distance(one[i].Usual, one[i].Observed)) > 0:
			one[i] = s
		}
	}
	return one
}

// networkSigns finds influencers of whose orders a large part has visits from networks
// from which few visits by others come. Networks of phones have many of everybody's.
func networkSigns(sales []Sale) []Signal {
	orders, all := map[string]int{}, 0      // by influencer
	networks := map[string]map[string]int{} // by influencer and network
	everyone := map[string]int{}            // by network
	for i := range sales {
		s := &sales[i]
		if s.Influencer == "" || s.Visit == nil || s.Visit.Network == "" {
			continue
		}
		all++
		orders[s.Influencer]++
		everyone[s.Visit.Network]++
		if networks[s.Influencer] == nil {
			networks[s.Influencer] = map[string]int{}
		}
		networks[s.Influencer][s.Visit.Network]++
	}
	var found []Signal
	for _, influencer := range sortedKeys(networks) {
		own, usual := map[string]bool{}, Rate{Of: all - orders[influencer]}
		seen := Rate{Of: orders[influencer]}
		for network, n := range networks[influencer] {
			elsewhere := Rate{everyone[network] - n, usual.Of}
			if n >= visitOrders && above(Rate{n, seen.Of}, elsewhere, 1) {
				own[network] = true
				seen.Count, usual.Count = seen.Count+n, usual.Count+elsewhere.Count
			}
		}
		if len(own) == 0 || !above(seen, usual, networkPoints) {
			continue
		}
		var concerned []*Sale
		for i := range sales {
			if s := &sales[i]; s.Influencer == influencer && s.Visit != nil && own[s.Visit.Network] {
				concerned = append(concerned, s)
			}
		}
		found = append(found, sign(OneNetwork, influencer, seen, usual, concerned))
	}
	return found
}
