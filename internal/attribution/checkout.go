package attribution

import (
	"slices"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/sdk/core"
)

// The functions of this file are docs/attribution.md, "Proof": a browser
// extension opens an influencer's link while a sale is being made, to claim it.

// markCheckouts sets inCheckout of touches, which are ordered, oldest first, and returns
// into which each is merged. A click and its landing are one touch, the first: it came
// after the checkout where one of the browsers that know it was in a checkout at the time
// of the first. What a browser does later changes nothing about it. Nobody but a proven
// browser says so of a proven one's touch.
func markCheckouts(touches []Touch, visits []visit, proven visit) (into []int) {
	into = mergedInto(touches)
	begins := func(v visit) bool {
		return slices.ContainsFunc(v.events, func(e *facts.Event) bool { return e.Event.Event == core.InitiateCheckout })
	}
	if !begins(proven) && !slices.ContainsFunc(visits, begins) {
		return into // as most have
	}
	c := checkouts{buyer: activityOf(proven), visits: visits, own: map[string]activity{}}
	for i := range touches {
		by, first := &touches[i], &touches[into[i]]
		if !first.InCheckout && (by.Proven || !first.Proven) {
			first.InCheckout = c.begunBefore(first, by.Visitor)
		}
	}
	return into
}

// checkouts tells when checkouts had begun.
type checkouts struct {
	buyer  activity // of all browsers that are proven to be the buyer's, together
	visits []visit
	own    map[string]activity // by visitor, made when it is asked for
}

// begunBefore reports whether a touch came after a visitor, or the buyer, began the
// checkout, in the same run of activity. A visitor's has its own events and those with its
// id as cookie.
func (c *checkouts) begunBefore(t *Touch, visitor string) bool {
	if c.buyer.inCheckoutAt(t) {
		return true
	}
	own, made := c.own[visitor]
	if !made {
		var v visit
		for _, other := range c.visits {
			for _, e := range other.events {
				if other.visitor == visitor || e.CookieID == visitor {
					v.events = append(v.events, e)
				}
			}
		}
		own = activityOf(v)
		c.own[visitor] = own
	}
	return own.inCheckoutAt(t)
}

// provenVisits returns the proven events of all of an order's visitors that count, as one visit.
func provenVisits(o *Order, j joined, counts func(e *facts.Event) bool) (all visit) {
	keys := proofKeys(j)
	for _, v := range j.visitors {
		if v.proof != "" {
			all.events = append(all.events, visitOf(v.ID, provenEvents(o, v, keys), counts).events...)
		}
	}
	return all
}

// activity is what a browser did, oldest first.
type activity struct {
	events     []*facts.Event
	inCheckout []bool // of each event: its run of activity has an INITIATE_CHECKOUT up to it
}

// activityOf returns the activity that a visit's events are, which may be in any order.
func activityOf(v visit) activity {
	a := activity{events: slices.DeleteFunc(v.events, func(e *facts.Event) bool { return !e.Human() || e.Withdraws() })}
	slices.SortFunc(a.events, func(x, y *facts.Event) int { return compareEvents(x, y.At, y.EventID) })
	a.inCheckout = make([]bool, len(a.events))
	for i := range a.events {
		before := i > 0 && a.inCheckout[i-1] && a.events[i].At.Sub(a.events[i-1].At) <= sessionIdle
		a.inCheckout[i] = before || a.events[i].Event.Event == core.InitiateCheckout
	}
	return a
}

// inCheckoutAt reports whether a touch comes after an INITIATE_CHECKOUT in the same
// run of activity.
func (a activity) inCheckoutAt(t *Touch) bool {
	before, _ := slices.BinarySearchFunc(a.events, t, func(e *facts.Event, t *Touch) int { return compareEvents(e, t.At, t.ID) })
	return before > 0 && a.inCheckout[before-1] && t.At.Sub(a.events[before-1].At) <= sessionIdle
}
