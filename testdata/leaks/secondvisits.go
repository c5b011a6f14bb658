package leaks

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/signs"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
)

// A second store's influencers are of unlike sizes: who is the nth gets about 1/n of what the first
// gets.
func unlike(r *rand.Rand, n int) int { return int(math.Pow(float64(n), r.Float64())) - 1 }

// SecondJourneys makes journeys as Journeys does, for a second store. Of a hundred, about
// five were hijacked, by two influencers. Six leave the checkout to look for a link, half
// of them at once; so does now and then who comes by a link of the two.
func SecondJourneys(seed uint64, journeys int) (cases []facts.Case, hijacked map[string]bool) {
	r := rand.New(rand.NewPCG(seed, 1041))
	hijacked = map[string]bool{}
	others := r.Perm(influencers)
	bad, good := others[:2], others[2:]
	for i := range journeys {
		j := journey{r: r, visitor: fmt.Sprintf("0195b2c0-0000-4000-9000-%012d", i), at: first.Add(time.Duration(r.IntN(60*24*60*60)) * time.Second)}
		link := func(who int) string {
			return "/?utm_source=influencer&utm_medium=link&utm_campaign=" + influencer(who)
		}
		honest := good[unlike(r, len(good))]
		for range r.IntN(3) { // some come twice
			j.page(link(honest), []string{"", "https://www.instagram.com/", "https://www.youtube.com/"}[r.IntN(3)])
			j.browse()
			j.at = j.at.Add(time.Duration(math.Pow(r.Float64(), 2)*9*24*60) * time.Minute)
		}
		if r.IntN(3) > 0 {
			j.page([]string{"/", "/?utm_source=newsletter&utm_medium=email", "/?gclid=1"}[r.IntN(3)], "")
			j.browse()
		}
		id := fmt.Sprintf("s%06d", i)
		checkout := r.IntN(100) >= 4 // else it is lost, or an express payment has none
		if checkout {
			j.event(core.InitiateCheckout, "/checkout", "")
		}
		switch chance := r.IntN(1000); {
		case chance < 50 && checkout:
			hijacked[id] = true
			j.wait(1, 300)
			j.page("/checkout?utm_source=extension&utm_medium=affiliate&utm_campaign="+influencer(bad[r.IntN(2)]), "")
		case chance >= 50 && chance < 80: // at once
			j.wait(20, 1_500)
			j.page(link(honest), "https://www.google.com/")
		case chance >= 80 && chance < 110: // later, and begins anew
			j.wait(2_000, 90_000)
			j.page(link(honest), "")
			j.browse()
			j.event(core.InitiateCheckout, "/checkout", "")
		case chance >= 110 && chance < 111: // the two are looked for as well
			j.wait(20, 1_500)
			j.page(link(bad[r.IntN(2)]), "https://www.google.com/")
		case chance >= 111 && chance < 130: // and come by
			j.wait(3_000, 90_000)
			j.page(link(bad[r.IntN(2)]), "")
			j.browse()
		}
		j.wait(20, 900)
		cases = append(cases, j.order(id))
	}
	return cases, hijacked
}

// SecondVisits makes journeys as Visits does, for a second store: of 30 influencers one makes up visits for
// orders that it has seen, one visitors who say to be buyers, and one sends all visits from two
// networks; 35 to 75 of a hundred of its orders, the rest is honest.
//
// Of a hundred honest visitors three are without a network for up to two days, so that all that they did
// until then comes later, often after the order; of three only the log-in arrives; a
// backend sends the events of three at night; one evening all came late. Half come by
// telephone networks, few of which have most of them.
func SecondVisits(seed uint64, journeys int) (cases []facts.Case, planted map[signs.Kind]map[string]bool) {
	r := rand.New(rand.NewPCG(seed, 1043))
	planted = map[signs.Kind]map[string]bool{signs.AfterOrder: {}, signs.NoPageViews: {}, signs.OneNetwork: {}}
	kinds := []signs.Kind{signs.AfterOrder, signs.NoPageViews, signs.OneNetwork}
	forgers, part := r.Perm(12)[:3], make([]int, 3)
	for i := range part {
		part[i] = 35 + r.IntN(41)
	}
	for i := range journeys {
		j := journey{r: r, visitor: fmt.Sprintf("0195b2c0-0000-4000-9000-%012d", i), at: first.Add(time.Duration(r.IntN(60*24*60*60)) * time.Second)}
		who, id := unlike(r, influencers), fmt.Sprintf("s%06d", i)
		forged := signs.Kind("")
		if n := slices.Index(forgers, who); n >= 0 && r.IntN(100) < part[n] {
			forged = kinds[n]
			planted[forged][id] = true
		}
		cases = append(cases, j.second(id, who, forged))
	}
	return cases, planted
}

// second makes one journey of a second store by an influencer's link. forged is how it was
// made up; "": it is honest.
func (j *journey) second(id string, who int, forged signs.Kind) facts.Case {
	r := j.r
	link := "/?utm_source=influencer&utm_medium=link&utm_campaign=" + influencer(who)
	network, identity, lost := fmt.Sprint("n", j.visitor), r.IntN(5) < 2, false
	if r.IntN(2) == 0 {
		network = fmt.Sprint("phones", unlike(r, 12))
	}
	switch forged {
	case signs.AfterOrder:
		j.page("/", "https://www.google.com/")
		j.browse()
	case signs.NoPageViews:
		identity = true
		j.event("LOG_IN", link, "")
		j.wait(30, 90_000)
	case signs.OneNetwork:
		network = fmt.Sprint("farm", r.IntN(5)/4) // most from one of two
		j.page(link, "")
	default:
		if lost = r.IntN(100) < 3; lost {
			j.event("LOG_IN", link, "")
		} else {
			j.page(link, "https://www.instagram.com/")
			j.browse()
		}
	}
	j.wait(20, int(60+math.Pow(r.Float64(), 3)*300_000))
	c := j.order(id)
	offline := time.Time{} // when what came before is received
	if forged == "" && r.IntN(100) < 3 {
		offline = j.at.Add(time.Duration(r.IntN(48*60)-6*60) * time.Minute)
	}
	outage := first.AddDate(0, 0, 17)
	for n := range c.Visitors[0].Events {
		e := &c.Visitors[0].Events[n]
		e.NetKey, e.Trust = network, wire.TrustOpen
		e.ReceivedAt = e.At.Add(time.Duration(100+r.IntN(3_000)) * time.Millisecond)
		if e.At.After(outage) && e.At.Before(outage.Add(5*time.Hour)) {
			e.ReceivedAt = outage.Add(9 * time.Hour)
		}
		if e.ReceivedAt.Before(offline) {
			e.ReceivedAt = offline
		}
	}
	if forged == signs.AfterOrder {
		made := facts.Event{At: c.Order.CreatedAt.Add(-time.Duration(10+r.IntN(70*60)) * time.Minute), Visitor: j.visitor}
		made.EventID, made.VisitorID, made.Event.Event = j.visitor[24:]+"-99", j.visitor, core.PageView
		made.ReceivedAt = c.Order.CreatedAt.Add(time.Duration(2+math.Pow(r.Float64(), 2)*1_800) * time.Second)
		made.Context.Page.URL, made.NetKey, made.Trust = "https://shop.example.com"+link, network, wire.TrustOpen
		c.Visitors[0].Events = append(c.Visitors[0].Events, made)
	}
	if identity {
		c.Keys[0].Key = facts.Key{Kind: []facts.KeyKind{facts.KeyEmail, facts.KeyPhone, facts.KeyCustomer}[r.IntN(3)], Value: "k1:" + id}
	}
	if forged == "" && r.IntN(100) < 3 {
		j.backend(&c)
	}
	return c
}
