package attribution

import (
	"slices"

	"github.com/tributary-io/tributary/internal/facts"
)

// orderKey is one key of the order, and whether it is a hub.
type orderKey struct {
	facts.KeyReach
	hub facts.Hub
}

// reachedVisitor is a visitor to whom a key that is no hub leads.
type reachedVisitor struct {
	id  string
	hub facts.Hub
}

// joined is what an order's keys lead to.
type joined struct {
	keys     []orderKey       // strongest first
	visitors []reachedVisitor // also those that are hubs and have no touch here
	touches  []Touch          // oldest first
}

// join follows an order's keys to its visitors, and these to their touches. A hub
// joins nothing. Touch.MatchedBy is the kind of the strongest key that leads to the
// touch's visitor.
func (x *Index) join(c *facts.Case) joined {
	var out joined
	hubs := map[string]facts.Hub{}
	for _, v := range c.Visitors {
		hubs[v.ID] = hubOfVisitor(v)
	}
	matchedBy := map[string]facts.KeyKind{}
	for _, kind := range facts.JoinKinds { // strongest first
		for _, k := range c.Keys {
			if k.Kind != kind {
				continue
			}
			r := orderKey{k, hubOfKey(k)}
			out.keys = append(out.keys, r)
			if r.hub != facts.NoHub {
				continue
			}
			for _, v := range k.Visitors {
				if matchedBy[v] == "" {
					matchedBy[v] = kind
					out.visitors = append(out.visitors, reachedVisitor{v, hubs[v]})
				}
			}
		}
	}
	var touches []Touch
	from, to := c.Order.CreatedAt.Add(-x.rules.Window), c.Order.CreatedAt.Add(eventsAfter)
	for _, v := range c.Visitors {
		if matchedBy[v.ID] == "" || hubs[v.ID] != facts.NoHub {
			continue
		}
		// Events after the order are left out, so that they cut no session of it.
		v.Events = slices.DeleteFunc(slices.Clone(v.Events), func(e facts.Event) bool { return e.At.After(to) })
		for _, t := range x.touchesOf(v) {
			if t.At.Before(from) {
				continue
			}
			t.MatchedBy = string(matchedBy[v.ID])
			touches = append(touches, t)
		}
	}
	out.touches = mergeTouches(touches)
	return out
}

// orderTouch returns the order's own UTM values as a touch at createdAt, and false
// where it has none. The touch counts only where all others are direct.
func orderTouch(c *facts.Case) (Touch, bool) {
	o := &c.Order
	t := Touch{
		ID: "order", At: o.CreatedAt, Kind: facts.ByOrderUTM, MatchedBy: string(facts.ByOrderUTM),
		Source: o.UTMSource.Or(""), Medium: o.UTMMedium.Or(""), Campaign: o.UTMCampaign.Or(""), Content: o.UTMContent.Or(""),
	}
	return t, t.Source != "" || t.Medium != "" || t.Campaign != "" || t.Content != "" || o.UTMTerm.Or("") != ""
}
