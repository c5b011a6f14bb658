package attribution

import (
	"slices"

	"github.com/tributary-io/tributary/internal/facts"
)

// orderKey is one key after the hub limits.
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
	visitors []reachedVisitor // also those that join nothing, since they are hubs
	touches  []Touch          // oldest first
}

// join follows an order's keys to its visitors and their touches. A hub key
// and a hub visitor join nothing. matchedBy is each visitor's strongest key.
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
		// Causality: what came after the order cuts none of its sessions either.
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

// orderTouch is the order's own UTMs as a touch, which counts only where no
// other touch but direct ones matched.
func orderTouch(c *facts.Case) (Touch, bool) {
	o := &c.Order
	t := Touch{
		ID: "order", At: o.CreatedAt, Kind: facts.ByOrderUTM, MatchedBy: string(facts.ByOrderUTM),
		Source: o.UTMSource.Or(""), Medium: o.UTMMedium.Or(""), Campaign: o.UTMCampaign.Or(""), Content: o.UTMContent.Or(""),
	}
	return t, t.Source != "" || t.Medium != "" || t.Campaign != ""
}
