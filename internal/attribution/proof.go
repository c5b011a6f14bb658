package attribution

import (
	"cmp"
	"slices"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/sdk/core"
)

// The functions of this file are docs/attribution.md, "Proof": which touches the
// payout may see.

// modelTouches returns the touches that the channel models see: those of all
// visitors to whom a key leads.
func (x *Index) modelTouches(o *Order, j joined) []Touch {
	if j.seal != nil {
		touches, inCheckout := unsealed(j.seal.Models)
		return x.matched(o, touches, inCheckout)
	}
	return x.touchesOfOrder(o, j.visitors, allEvents)
}

// withoutTooMany returns the touches of visitors to whom a proof key leads, and of the
// others the newest claimedTouches. Each touch is a row of several models, and anybody can
// make touches in a customer's name. It tells whether it has left any out.
func withoutTooMany(touches []Touch) (kept []Touch, cut bool) {
	return newest(touches, claimedTouches)
}

// newest returns the touches of proven visitors, and of the others the newest most of them.
// touches is ordered, oldest first. It tells whether it has left any out.
func newest(touches []Touch, most int) (kept []Touch, cut bool) {
	claimed := 0
	for _, t := range slices.Backward(touches) {
		if !t.proven {
			claimed++
		}
		if t.proven || claimed <= most {
			kept = append(kept, t)
		}
	}
	slices.Reverse(kept)
	return kept, len(kept) < len(touches)
}

// provenTouches returns the touches that the payout sees: their own sessions, their
// own merging, as if no other event existed. ofModels are those of modelTouches.
func (x *Index) provenTouches(o *Order, j joined, ofModels []Touch) []Touch {
	if j.seal != nil && !j.seal.PaidAsModels {
		touches, inCheckout := unsealed(j.seal.Paid)
		return x.matched(o, touches, inCheckout)
	}
	if allProven(j.visitors) {
		return slices.Clone(ofModels)
	}
	return x.touchesOfOrder(o, j.visitors, eventsProvenBy(j))
}

// eventsProvenBy are the events that the payout sees.
func eventsProvenBy(j joined) counting {
	keys := proofKeys(j)
	return func(v reached) ([]facts.Event, facts.KeyKind) { return provenEvents(v, keys), v.proof }
}

// allProven reports whether a proof key is the strongest that leads to each visitor who
// counts, and all events of them are proven: then the payout sees what the models see.
func allProven(visitors []reached) bool {
	return !slices.ContainsFunc(visitors, func(v reached) bool {
		return v.by != v.proof || v.by != "" && !facts.IsSecretID(v.ID)
	})
}

// proofKeys returns the order's proof keys that are no hubs.
func proofKeys(j joined) map[facts.Key]bool {
	keys := map[facts.Key]bool{}
	for _, k := range j.keys {
		if k.hub == facts.NoHub && slices.Contains(facts.ProofKinds, k.Kind) {
			keys[k.Key] = true
		}
	}
	return keys
}

// provenEvents returns the events of a visitor that are proven to be the buyer's.
// They are all of them where the visitor's id is a secret. An id that a stranger may
// guess leads to those that hold a proof key themselves, that have the cookie or the
// network of such an event, or that a backend sent with this id.
func provenEvents(v reached, keys map[facts.Key]bool) []facts.Event {
	if facts.IsSecretID(v.ID) {
		return v.Events
	}
	holds := func(e *facts.Event) bool {
		return slices.ContainsFunc(e.Keys(), func(k facts.Key) bool { return keys[k] })
	}
	cookies, networks := map[string]bool{}, map[string]bool{}
	for i := range v.Events {
		if e := &v.Events[i]; holds(e) {
			cookies[e.CookieID], networks[e.Network()] = true, true
		}
	}
	return slices.DeleteFunc(slices.Clone(v.Events), func(e facts.Event) bool {
		shares := e.CookieID != "" && cookies[e.CookieID] || e.Network() != "" && networks[e.Network()]
		return !holds(&e) && !shares && !(e.ByAPIKey() && e.VisitorID != "")
	})
}

// markAfterCheckout marks the touches of influencers that came after their visitor
// began the checkout, in the same run of activity: a browser extension makes such
// touches to claim a sale that is being made.
func markAfterCheckout(touches []Touch, inCheckout func(t *Touch) bool) {
	marked := map[string][]time.Time{} // by click
	for i := range touches {
		t := &touches[i]
		if t.InfluencerID == "" {
			continue
		}
		t.AfterCheckout = inCheckout(t)
		if t.AfterCheckout && t.Click != "" {
			marked[t.Click] = append(marked[t.Click], t.At)
		}
	}
	for _, times := range marked {
		slices.SortFunc(times, time.Time.Compare)
	}
	// A click and its landing become one touch, the first: it is after the checkout
	// where one of the two is.
	for i := range touches {
		t := &touches[i]
		times := marked[t.Click]
		next, _ := slices.BinarySearchFunc(times, t.At, time.Time.Compare)
		if t.Click != "" && next < len(times) && times[next].Sub(t.At) <= sessionIdle {
			t.AfterCheckout = true
		}
	}
}

// checkoutsIn returns what tells whether a touch came after its visitor began the
// checkout. A visitor's run of activity has its own events and those with its id as
// cookie.
func checkoutsIn(visits []visit) func(t *Touch) bool {
	runs := map[string]activity{} // by visitor id
	return func(t *Touch) bool {
		if _, made := runs[t.Visitor]; !made {
			runs[t.Visitor] = activityOf(t.Visitor, visits)
		}
		return runs[t.Visitor].inCheckoutAt(t)
	}
}

// activity is what a browser did, oldest first.
type activity struct {
	events     []*facts.Event
	inCheckout []bool // of each event: its run of activity has an INITIATE_CHECKOUT up to it
}

// activityOf returns the activity of a browser: the events of a visitor, and those
// with the visitor's id as cookie.
func activityOf(id string, visits []visit) activity {
	var a activity
	for _, v := range visits {
		for _, e := range v.events {
			if (v.visitor == id || e.CookieID == id) && e.Human() {
				a.events = append(a.events, e)
			}
		}
	}
	slices.SortFunc(a.events, func(x, y *facts.Event) int { return compareEvents(x, y.At, y.EventID) })
	a.inCheckout = make([]bool, len(a.events))
	for i := range a.events {
		before := i > 0 && a.inCheckout[i-1] && a.events[i].At.Sub(a.events[i-1].At) <= sessionIdle
		a.inCheckout[i] = before || a.events[i].Event.Event == core.InitiateCheckout
	}
	return a
}

// compareEvents orders events by time, then by id.
func compareEvents(e *facts.Event, at time.Time, id string) int {
	return cmp.Or(e.At.Compare(at), cmp.Compare(e.EventID, id))
}

// inCheckoutAt reports whether a touch comes after an INITIATE_CHECKOUT in the same
// run of activity.
func (a activity) inCheckoutAt(t *Touch) bool {
	before, _ := slices.BinarySearchFunc(a.events, t, func(e *facts.Event, t *Touch) int { return compareEvents(e, t.At, t.ID) })
	return before > 0 && a.inCheckout[before-1] && t.At.Sub(a.events[before-1].At) <= sessionIdle
}
