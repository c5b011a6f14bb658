package attribution

import (
	"slices"

	"github.com/tributary-io/tributary/internal/facts"
)

// reach is one key after the hub limits.
type reach struct {
	facts.KeyReach
	hub bool
}

// join follows an order's keys to its visitors and their touches. A hub key
// and a hub visitor join nothing. matchedBy is each visitor's strongest key.
func (x *Index) join(c *facts.Case) (keys []reach, touches []Touch) {
	hubVisitor := map[string]bool{}
	for _, v := range c.Visitors {
		hubVisitor[v.ID] = v.Customers > facts.HubIdentities || v.Emails > facts.HubIdentities
	}
	matchedBy := map[string]string{}
	for _, kind := range facts.JoinKinds { // strongest first
		for _, k := range c.Keys {
			if k.Kind != kind {
				continue
			}
			r := reach{k, len(k.Visitors) > facts.HubVisitors || k.Orders > facts.HubOrders}
			keys = append(keys, r)
			if r.hub {
				continue
			}
			for _, v := range k.Visitors {
				if matchedBy[v] == "" && !hubVisitor[v] {
					matchedBy[v] = kind
				}
			}
		}
	}
	from, to := c.Order.CreatedAt.Add(-x.rules.Window), c.Order.CreatedAt.Add(facts.Simultaneous)
	for _, v := range c.Visitors {
		if matchedBy[v.ID] == "" {
			continue
		}
		// Causality: what came after the order cuts none of its sessions either.
		v.Events = slices.DeleteFunc(slices.Clone(v.Events), func(e facts.Event) bool { return e.At.After(to) })
		for _, t := range x.touchesOf(v) {
			if t.At.Before(from) {
				continue
			}
			t.MatchedBy = matchedBy[v.ID]
			touches = append(touches, t)
		}
	}
	return keys, merge(touches)
}

// orderTouch is the order's own UTMs as a touch, which counts only where no
// other touch but direct ones matched.
func orderTouch(c *facts.Case) (Touch, bool) {
	o := &c.Order
	t := Touch{
		ID: "order", At: o.CreatedAt, Kind: ByOrderUTM, MatchedBy: string(ByOrderUTM),
		Source: o.UTMSource.Or(""), Medium: o.UTMMedium.Or(""), Campaign: o.UTMCampaign.Or(""), Content: o.UTMContent.Or(""),
	}
	return t, t.Source != "" || t.Medium != "" || t.Campaign != ""
}
