package leaks

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
)

// How many influencers there are, and how many of them have a program in shoppers'
// browsers that opens their link when a checkout begins.
const (
	influencers = 30
	hijackers   = 3
)

// Store returns the rules of the store whose journeys Journeys makes: every
// influencer is paid a tenth.
func Store() *facts.Rules {
	rules := &facts.Rules{
		CompanyID: "c_leaks", Rev: 1, Location: time.UTC, Hosts: []string{"shop.example.com"},
		Settings: facts.Settings{PayoutRule: facts.CouponFirst, Window: 30 * 24 * time.Hour, HalfLife: 7 * 24 * time.Hour, IgnoreDirect: true, HoldDays: 30},
	}
	for i := range influencers {
		id := influencer(i)
		rules.Influencers = append(rules.Influencers, facts.Influencer{ID: id, Name: id, Folded: id})
		rules.Costs = append(rules.Costs, facts.Cost{ID: "cost-" + id, InfluencerID: id, VarFee: decimal.NewFromInt(10), From: "2020-01-01"})
	}
	return rules
}

func influencer(i int) string { return fmt.Sprintf("influencer%02d", i) }

// Journeys makes journeys that ended in an order, of which a part (of a hundred) were
// hijacked: after the checkout had begun, a program opened an influencer's link. Each
// journey is the browser's events, and the order that its cart leads to.
//
// What only looks like it: shoppers who leave the checkout to look for an influencer's
// link, at once or hours later, and households and offices who share a network.
func Journeys(seed uint64, journeys, hundredths int) (cases []facts.Case, hijacked map[string]bool) {
	r := rand.New(rand.NewPCG(seed, 41))
	hijacked = map[string]bool{}
	for i := range journeys {
		j := journey{r: r, visitor: fmt.Sprintf("0195b2c0-0000-4000-8000-%012d", i), at: first.Add(time.Duration(r.IntN(90*24*60*60)) * time.Second)}
		honest := hijackers + r.IntN(influencers-hijackers)
		if r.IntN(3) > 0 { // by an influencer, days before
			j.page("/?utm_source=influencer&utm_medium=link&utm_campaign="+influencer(honest), "")
			j.browse()
			j.at = j.at.Add(time.Duration(r.IntN(5*24*60)) * time.Minute)
		}
		switch r.IntN(3) {
		case 0:
			j.page("/", "https://www.google.com/")
		case 1:
			j.page("/?utm_source=newsletter&utm_medium=email", "")
		default:
			j.page("/", "")
		}
		j.browse()
		if r.IntN(200) > 0 { // some shops' pages lose it
			j.event(core.InitiateCheckout, "/checkout", "")
		}
		id := fmt.Sprintf("o%06d", i)
		switch chance := r.IntN(100); {
		case r.IntN(100) < hundredths:
			hijacked[id] = true
			j.wait(2, 90)
			j.page("/checkout?utm_source=extension&utm_medium=affiliate&utm_campaign="+influencer(r.IntN(hijackers)), "")
		case chance < 2: // looks for a coupon, and comes back at once
			j.wait(60, 900)
			j.page("/?utm_source=influencer&utm_medium=link&utm_campaign="+influencer(honest), "")
		case chance < 5: // comes back in the evening
			j.wait(3_600, 40_000)
			j.page("/?utm_source=influencer&utm_medium=link&utm_campaign="+influencer(honest), "")
			j.event(core.InitiateCheckout, "/checkout", "")
		case chance < 6: // the three have links that people open as well
			j.wait(3_600, 40_000)
			j.page("/?utm_source=influencer&utm_medium=link&utm_campaign="+influencer(r.IntN(hijackers)), "")
		}
		j.wait(20, 400)
		cases = append(cases, j.order(id))
	}
	return cases, hijacked
}

// journey is one browser's, so far.
type journey struct {
	r       *rand.Rand
	visitor string
	at      time.Time
	events  []facts.Event
}

// wait lets so many seconds pass.
func (j *journey) wait(least, most int) {
	j.at = j.at.Add(time.Duration(least+j.r.IntN(most-least)) * time.Second)
}

func (j *journey) page(path, referrer string) { j.event(core.PageView, path, referrer) }

func (j *journey) event(name, path, referrer string) {
	e := facts.Event{At: j.at, Visitor: j.visitor}
	e.EventID = fmt.Sprintf("%s-%02d", j.visitor[24:], len(j.events))
	e.VisitorID, e.ReceivedAt, e.Event.Event = j.visitor, j.at, name
	e.Context.Page = wire.Page{URL: "https://shop.example.com" + path, Referrer: referrer}
	j.events = append(j.events, e)
}

// browse looks at some pages.
func (j *journey) browse() {
	for range 1 + j.r.IntN(4) {
		j.wait(5, 200)
		j.page("/products/shoe", "https://shop.example.com/")
	}
}

// order is the order that ends the journey. Its cart leads to the visitor.
func (j *journey) order(id string) facts.Case {
	return facts.Case{
		Order: wire.Order{OrderID: id, CreatedAt: j.at.Truncate(time.Second), Currency: "BRL", TotalMinor: 5_000 + j.r.Int64N(40_000)},
		Keys:  []facts.KeyReach{{Key: facts.Key{Kind: facts.KeyCart, Value: "k1:" + id}, Visitors: []string{j.visitor}, Orders: 1}},
		// Newest first, as they are read.
		Visitors:      []facts.Visitor{{ID: j.visitor, Events: reversed(j.events)}},
		ApprovedSince: j.at,
	}
}

func reversed(events []facts.Event) []facts.Event {
	list := make([]facts.Event, 0, len(events))
	for i := len(events) - 1; i >= 0; i-- {
		list = append(list, events[i])
	}
	return list
}
