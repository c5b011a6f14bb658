package signs

import (
	"time"

	"github.com/tributary-io/tributary/internal/facts"
)

// The bounds of signs about an influencer's newest visits before orders.
const (
	visitOrders   = 5  // with such a visit, at least
	visitPoints   = 15 // of a hundred: above what is usual by that much at least
	networkPoints = 40 // of OneNetwork: phones of one town share a network
)

// receivedSlack is how long after an order an event may be received that belongs
// before it: as much as attribution takes for the same instant.
const receivedSlack = time.Second

// Visit is what the stored event of an influencer's newest touch before an order tells.
type Visit struct {
	AfterOrder bool   // it was received after the order was made, though it says it is older
	NoPages    bool   // its visitor tells the buyer's identity, and looked at no page
	Network    string // digest of the network that it came from; "": a backend sent it
}

// NewVisit returns what the event of the sale's Last tells. pages says whether the
// event's visitor looked at a page: it counts where Last.ByIdentity.
func NewVisit(s *Sale, e *facts.Event, pages bool) *Visit {
	return &Visit{
		// A backend may send its events once a day, and no stranger has its key.
		AfterOrder: !e.ByAPIKey() && e.ReceivedAt.After(s.At.Add(receivedSlack)),
		NoPages:    s.Last.ByIdentity && !pages,
		Network:    e.Network(),
	}
}

// visitSigns finds influencers of whose orders far more have a visit of one sort than
// those of others.
func visitSigns(sales []Sale) []Sign {
	var found []Sign
	for _, sort := range []struct {
		kind Kind
		is   func(*Visit) bool
	}{
		{AfterOrder, func(v *Visit) bool { return v.AfterOrder }},
		{NoPageViews, func(v *Visit) bool { return v.NoPages }},
	} {
		found = append(found, most(sales, sort.kind, visitOrders, visitPoints, func(i int) (string, bool) {
			v := sales[i].Visit
			if v != nil && sort.is(v) {
				return "yes", true
			}
			return "", v != nil
		})...)
	}
	return append(found, most(sales, OneNetwork, visitOrders, networkPoints, func(i int) (string, bool) {
		if v := sales[i].Visit; v != nil {
			return v.Network, v.Network != ""
		}
		return "", false
	})...)
}
