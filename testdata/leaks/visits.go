package leaks

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/signs"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
)

// Of the influencers the first two make up visits for orders that they have seen, the
// next two visitors who say to be buyers, and the next two send all visits from one
// network. The one after them is read in a school. All of the first six have honest
// visitors as well.
const (
	lateForgers     = 2
	identityForgers = 4
	networkForgers  = 6
	school          = 6
)

// forgedOf is how many of a hundred orders of a forging influencer are forged.
const forgedOf = 60

// Visits makes journeys that ended in an order by an influencer's link, of which some are
// made up. The second result has the orders of these by the kind of sign that shows them.
//
// What only looks like it: phones without a network that send their events hours later, an
// evening on which all events came late, a backend that sends its events at night,
// visitors who log in and whose page views are lost, and networks of phones and of a school
// that many share.
func Visits(seed uint64, journeys int) (cases []facts.Case, planted map[signs.Kind]map[string]bool) {
	r := rand.New(rand.NewPCG(seed, 42))
	planted = map[signs.Kind]map[string]bool{signs.AfterOrder: {}, signs.NoPageViews: {}, signs.OneNetwork: {}}
	for i := range journeys {
		j := journey{r: r, visitor: fmt.Sprintf("0195b2c0-0000-4000-8000-%012d", i), at: first.Add(time.Duration(r.IntN(90*24*60*60)) * time.Second)}
		who, id := r.IntN(influencers), fmt.Sprintf("o%06d", i)
		forged, network := r.IntN(100) < forgedOf, fmt.Sprintf("n%d", i)
		switch {
		case r.IntN(3) == 0:
			network = fmt.Sprintf("phones%d", r.IntN(20))
		case who == school && r.IntN(4) == 0:
			network = "school"
		}
		link := "/?utm_source=influencer&utm_medium=link&utm_campaign=" + influencer(who)
		switch {
		case who < lateForgers && forged:
			j.page("/", "https://www.google.com/")
			j.browse()
			planted[signs.AfterOrder][id] = true
		case who < identityForgers && who >= lateForgers && forged:
			planted[signs.NoPageViews][id] = true
			j.event("LOG_IN", "", "")
			j.last().Context = wire.Context{Campaign: wire.Campaign{Source: "influencer", Medium: "link", Name: influencer(who)}}
			j.wait(60, 3_600)
		case who < networkForgers && who >= identityForgers && forged:
			planted[signs.OneNetwork][id] = true
			network = "farm-" + influencer(who)
			j.page(link, "")
		default:
			j.honest(link)
		}
		j.wait(20, 40_000)
		c := j.order(id)
		events := c.Visitors[0].Events
		for n := range events {
			e := &events[n]
			e.NetKey, e.Trust = network, wire.TrustOpen
			e.ReceivedAt = j.received(e.At)
		}
		if planted[signs.AfterOrder][id] {
			made := facts.Event{At: c.Order.CreatedAt.Add(-time.Duration(1+r.IntN(47)) * time.Hour), Visitor: j.visitor}
			made.EventID, made.VisitorID, made.Event.Event = j.visitor[24:]+"-99", j.visitor, core.PageView
			made.ReceivedAt = c.Order.CreatedAt.Add(time.Duration(2+r.IntN(120)) * time.Second)
			made.Context.Page.URL, made.NetKey, made.Trust = "https://shop.example.com"+link, network, wire.TrustOpen
			c.Visitors[0].Events = append(events, made)
		}
		if planted[signs.NoPageViews][id] || r.IntN(3) == 0 { // who logs in has no need of the cart
			c.Keys[0].Key = facts.Key{Kind: facts.KeyEmail, Value: "k1:" + id}
		}
		if r.IntN(100) == 0 {
			j.backend(&c)
		}
		cases = append(cases, c)
	}
	return cases, planted
}

// honest comes by a link. Of a few only the visit of the link itself is known.
func (j *journey) honest(link string) {
	if j.r.IntN(100) == 0 {
		j.event("LOG_IN", link, "")
		return
	}
	j.page(link, "")
	j.browse()
}

// last is the newest event so far.
func (j *journey) last() *facts.Event { return &j.events[len(j.events)-1] }

// received is when an event is received that was made at an instant.
func (j *journey) received(at time.Time) time.Time {
	outage := first.AddDate(0, 0, 30)
	switch {
	case at.After(outage) && at.Before(outage.Add(4*time.Hour)):
		return outage.Add(12 * time.Hour)
	case j.r.IntN(100) == 0:
		return at.Add(time.Duration(1+j.r.IntN(48)) * time.Hour)
	}
	return at.Add(time.Duration(200+j.r.IntN(2_000)) * time.Millisecond)
}

// backend makes the events of a case those of a backend, which sends them at night.
func (j *journey) backend(c *facts.Case) {
	for n := range c.Visitors[0].Events {
		e := &c.Visitors[0].Events[n]
		e.Trust, e.ReceivedAt = wire.TrustKey, e.At.Add(24*time.Hour)
	}
}
