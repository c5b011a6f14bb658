package attribution

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/sdk/core"
)

// The instants at which a rule begins and ends (docs/attribution.md and docs/payouts.md).

// moved returns an event at another time, with another id where one is given.
func moved(e facts.Event, at time.Time, id string) facts.Event {
	e.At, e.ReceivedAt = at, at
	if id != "" {
		e.EventID = id
	}
	return e
}

// link is who is paid by link, and "" for nobody.
func link(x *Index, c facts.Case) string {
	o := x.Decide(c)
	if o.Payout.State == facts.PayoutReview || o.Payout.Evidence != facts.EvidenceLink {
		return ""
	}
	return o.Payout.InfluencerID
}

func TestATouchCountsFromAWindowBeforeTheOrderToASecondAfterIt(t *testing.T) {
	x := shop(nil)
	created := start.Add(time.Hour)
	f := func(came time.Time, want string) {
		t.Helper()
		if got := link(x, sale(nil, moved(at(0, "/?utm_campaign=ana"), came, "e1"))); got != want {
			t.Errorf("a touch %s after the order: %q, want %q", came.Sub(created), got, want)
		}
	}
	window := 30 * day
	f(created.Add(-window), "ana")
	f(created.Add(-window-time.Millisecond), "")
	f(created.Add(time.Second), "ana")
	f(created.Add(time.Second+time.Millisecond), "")
}

// Of events of one instant the one with the greater id is the later one, however they are
// stored: here the page after the landing, which is no touch of its own.
func TestEventsOfOneInstantAreOrderedByID(t *testing.T) {
	x := shop(nil)
	landing, page := moved(at(0, "/?utm_campaign=ana"), start, "e1"), moved(at(0, "/p/2"), start, "e2")
	for _, events := range [][]facts.Event{{landing, page}, {page, landing}} {
		touches := x.Decide(sale(nil, events...)).Explanation.Touches
		if len(touches) != 1 || touches[0].ID != "e1" {
			t.Errorf("stored as %s, %s: touches %+v, want the landing alone", events[0].EventID, events[1].EventID, touches)
		}
	}
}

func TestACouponOfAnArchivedInfluencerCountsUntilThen(t *testing.T) {
	created := start.Add(time.Hour)
	f := func(archived time.Time, want string) {
		t.Helper()
		o := shop(func(r *facts.Rules) { r.Influencers[1].ArchivedAt = archived }).Decide(sale(code("BETO")))
		if o.Payout.InfluencerID != want {
			t.Errorf("archived %s after the order: %q, want %q", archived.Sub(created), o.Payout.InfluencerID, want)
		}
	}
	f(created.Add(time.Second), "beto")
	f(created, "")
	f(created.Add(-time.Second), "")
}

// A checkout that is left alone for more than half an hour is over.
func TestARunOfActivityLastsThroughAPauseOfHalfAnHour(t *testing.T) {
	x := shop(nil)
	f := func(want string, pauses ...time.Duration) {
		t.Helper()
		begun := at(1, "/checkout")
		begun.Event.Event = core.InitiateCheckout
		events, now := []facts.Event{begun}, begun.At
		for i, pause := range pauses {
			now = now.Add(pause)
			page := "/checkout/2"
			if i == len(pauses)-1 {
				page = "/?utm_campaign=ana"
			}
			events = append(events, moved(at(0, page), now, fmt.Sprint("f", i)))
		}
		if got := link(x, sale(func(o *wire.Order) { o.CreatedAt = start.Add(3 * time.Hour) }, events...)); got != want {
			t.Errorf("a link %s after the checkout began: %q, want %q", pauses, got, want)
		}
	}
	f("", 30*time.Minute) // it waits for a decision
	f("ana", 30*time.Minute+time.Millisecond)
	f("", 30*time.Minute, time.Minute)
	f("ana", 30*time.Minute+time.Millisecond, time.Minute)
}

// An acceptance is of what had been received by then.
func TestAnAcceptanceCoversWhatWasReceivedByThen(t *testing.T) {
	x := shop(func(r *facts.Rules) { r.Unproven = "review" })
	f := func(received time.Duration, want string) {
		t.Helper()
		accepted := start.Add(3 * time.Hour)
		e := at(0, "/?utm_campaign=ana")
		e.ReceivedAt = accepted.Add(received)
		c := sale(nil, e)
		c.Keys[0].Kind = facts.KeyEmail // proves nothing
		c.Decisions = facts.Decisions{{InfluencerID: "ana", Decision: "accept", AcceptedAt: accepted}}
		if got := link(x, c); got != want {
			t.Errorf("received %s after the decision: %q, want %q", received, got, want)
		}
		// The same where it is known by the decision alone.
		c.Keys[0].Visitors, c.Visitors, c.Decisions[0].Events = nil, nil, []facts.Event{e}
		if got := link(x, c); got != want {
			t.Errorf("named, and received %s after the decision: %q, want %q", received, got, want)
		}
	}
	f(0, "ana")
	f(time.Millisecond, "")
}

// The same visitors, in the same order, for the same case: strongest keys are first in it.
func TestVisitorsOfACaseAreInTheOrderOfItsKeys(t *testing.T) {
	c := facts.Case{Keys: []facts.KeyReach{
		{Key: facts.Key{Kind: facts.KeyCart, Value: "a"}, Visitors: []string{"v3", "v1"}},
		{Key: facts.Key{Kind: facts.KeyEmail, Value: "b"}, Visitors: []string{"v9", "v1", "v2", "v8", "v7", "v6", "v5", "v4"}},
	}}
	var ids []string
	for _, v := range ReachedVisitors(&c) {
		ids = append(ids, v.ID)
	}
	if want := []string{"v3", "v1", "v9", "v2", "v8", "v7", "v6", "v5", "v4"}; !slices.Equal(ids, want) {
		t.Errorf("%v, want %v", ids, want)
	}
}

// Of an id that may be guessed those events are proven that have the cookie or the network of
// one that holds a proof key: two that have none share nothing.
func TestEventsWithoutACookieShareNone(t *testing.T) {
	proven, other := at(0, "/p/1"), at(1, "/?utm_campaign=ana")
	proven.Identity.CartKey = "k1:a"
	proven.Visitor, other.Visitor = "v-1", "v-1"
	f := func(name, want string) {
		t.Helper()
		v := reached{Visitor: facts.Visitor{ID: "v-1", Events: []facts.Event{proven, other}}}
		var ids []string
		for _, e := range provenEvents(&Order{Order: &wire.Order{}}, v, map[facts.Key]bool{{Kind: facts.KeyCart, Value: "k1:a"}: true}) {
			ids = append(ids, e.EventID)
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	f("neither has a cookie nor a network", "e000")
	other.CookieID = cookie
	f("one has a cookie", "e000")
	proven.CookieID = cookie
	f("both have the cookie", "e000 e001")
	proven.CookieID, other.NetKey = "", "n1"
	f("one has a network", "e000")
	proven.NetKey = "n1"
	f("both have the network", "e000 e001")
}

// Of a visitor whose id is a secret, what comes later is proven by the stream of what came in
// time: two events without a stream share none.
func TestLateEventsWithoutAStreamShareNone(t *testing.T) {
	created := start.Add(time.Hour)
	inTime, late := moved(at(0, "/p/1"), start, ""), moved(at(1, "/?utm_campaign=ana"), start, "")
	late.ReceivedAt = created.Add(timelyAfter + time.Millisecond)
	f := func(name, want string) {
		t.Helper()
		v := reached{Visitor: facts.Visitor{ID: shopper, Events: []facts.Event{inTime, late}}}
		var ids []string
		for _, e := range provenEvents(&Order{Order: &wire.Order{CreatedAt: created}}, v, nil) {
			ids = append(ids, e.EventID)
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	f("neither has a stream", "e000")
	inTime.Stream = "s1"
	f("one has a stream", "e000")
	late.Stream = "s1"
	f("both have the stream", "e000 e001")
	inTime.Stream, late.Stream, late.ReceivedAt = "", "", created.Add(timelyAfter)
	f("both came in time", "e000 e001")
}

// Of touches of one instant the one with the greater id is the last, whoever made them.
func TestTouchesOfOneInstantAreOrderedByID(t *testing.T) {
	x := shop(nil)
	first, last := moved(at(0, "/?utm_campaign=beto"), start, "e1"), moved(at(0, "/?utm_campaign=ana"), start, "e2")
	for _, visitors := range [][]string{{shopper, cookie}, {cookie, shopper}} {
		c := sale(nil)
		c.Keys[0].Visitors = visitors
		c.Visitors = []facts.Visitor{{ID: visitors[0], Events: []facts.Event{last}}, {ID: visitors[1], Events: []facts.Event{first}}}
		if got := link(x, c); got != "ana" {
			t.Errorf("the last touch is %q's, want ana's", got)
		}
	}
}

// A checkout that began in another of the buyer's browsers came before a touch of the same
// instant with a greater id.
func TestACheckoutOfTheSameInstantComesFirstByItsID(t *testing.T) {
	x := shop(nil)
	f := func(checkout, want string) {
		t.Helper()
		begun := moved(at(0, "/checkout"), start, checkout)
		begun.Event.Event = core.InitiateCheckout
		c := sale(nil, moved(at(0, "/p/1"), start, "e1"), moved(at(0, "/?utm_campaign=ana"), start, "e3"))
		c.Keys[0].Visitors = append(c.Keys[0].Visitors, cookie)
		c.Visitors = append(c.Visitors, facts.Visitor{ID: cookie, Events: []facts.Event{begun}})
		if got := link(x, c); got != want {
			t.Errorf("the checkout is %s: %q, want %q", checkout, got, want)
		}
	}
	f("e2", "")
	f("e4", "ana")
}

// What is kept of a decision that came before the explanation are touches that had been
// received by then: later ones would take the places of these.
func TestADecisionKeepsTouchesThatHadBeenReceived(t *testing.T) {
	x := shop(func(r *facts.Rules) { r.Unproven = "review" })
	accepted := start.Add(30 * time.Minute)
	before, late := moved(at(0, "/?utm_campaign=ana"), start, "e1"), moved(at(1, "/?utm_campaign=ana&utm_term=2"), start, "e2")
	before.ReceivedAt, late.ReceivedAt = accepted, accepted.Add(time.Millisecond)
	c := sale(nil, before, late)
	c.Keys[0].Kind = facts.KeyEmail
	c.Decisions = facts.Decisions{{InfluencerID: "ana", Decision: "accept", AcceptedAt: accepted}}
	o := x.Decide(c)
	if n := len(o.Explanation.Touches); n != 2 {
		t.Fatalf("%d touches, want both", n)
	}
	if kept := AcceptedNow(&c, &o); len(kept) != 1 || kept[0].Touches != "e1" {
		t.Errorf("kept %+v, want e1 alone", kept)
	}
}

// A click that comes again and again is a new touch half an hour after the last one that stayed,
// however often it came in between.
func TestALandingThatComesAgainProlongsNoTouch(t *testing.T) {
	var touches []Touch
	for i, minute := range []int{0, 20, 40, 70, 71} {
		touches = append(touches, Touch{SnapshotTouch: facts.SnapshotTouch{ID: fmt.Sprint("e", i),
			At: start.Add(time.Duration(minute) * time.Minute), Click: "xyz.1"}})
	}
	if got, want := mergedInto(touches), []int{0, 0, 2, 2, 4}; !slices.Equal(got, want) {
		t.Errorf("touches at 0, 20, 40, 70 and 71 minutes become %v, want %v", got, want)
	}
}

// A visitor is counted on the store's day of the event, and so is a click: here three hours behind
// UTC.
func TestVisitorsAndClicksAreCountedByTheStoresDay(t *testing.T) {
	x := shop(nil)
	midnight := time.Date(2026, 3, 11, 3, 0, 0, 0, time.UTC)
	var events []facts.Event
	for i, came := range []time.Time{midnight.Add(-time.Millisecond), midnight} {
		page, click := moved(at(0, "/p/1"), came, fmt.Sprint("p", i)), moved(at(0, "click xyz.1"), came, fmt.Sprint("c", i))
		page.Visitor = shopper
		events = append(events, page, click)
	}
	shoppers, clicks := x.Traffic(events)
	var days []string
	for _, s := range shoppers {
		days = append(days, "visitor "+s.Day)
	}
	for _, c := range clicks {
		days = append(days, fmt.Sprint(c.Clicks, " click ", c.Day))
	}
	if want := []string{"visitor 2026-03-10", "visitor 2026-03-11", "1 click 2026-03-10", "1 click 2026-03-11"}; !slices.Equal(days, want) {
		t.Errorf("%q, want %q", days, want)
	}
}
