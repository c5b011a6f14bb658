package attribution

import (
	"slices"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

// The functions of this file are docs/attribution.md, "Proof": which touches the
// payout may see.

// modelTouches returns the touches that the channel models see: of visitors to whom a proof key
// leads all, and of the others the newest claimedTouches. Each touch is a row of several
// models, and anybody can make touches in a customer's name. It tells whether it has left any
// out: what a stranger has sent is matched to nobody then.
func (x *Index) modelTouches(o *Order, j joined) (touches []Touch, cut bool) {
	if j.snapshot != nil {
		touches = touchesOf(j.snapshot.Models)
	} else {
		touches = x.arrivals(o, j, allEvents)
	}
	touches, cut = newest(touches, claimedTouches, nil)
	return x.matched(o, touches), cut
}

// newest returns the touches of proven visitors, and of the others the newest most of them; and
// the newest most of those that counts reports, where it is not nil. touches is ordered, oldest
// first. It tells whether it has left any out.
func newest(touches []Touch, most int, counts func(t Touch) bool) (kept []Touch, cut bool) {
	claimed, counted := 0, 0
	for _, t := range slices.Backward(touches) {
		keep := t.Proven
		if !keep {
			claimed++
			keep = claimed <= most
		}
		if counts != nil && counts(t) {
			counted++
			keep = keep || counted <= most
		}
		if keep {
			kept = append(kept, t)
		}
	}
	slices.Reverse(kept)
	return kept, len(kept) < len(touches)
}

// provenTouches returns the touches that the payout sees: their own sessions, their
// own merging, as if no other event existed. ofModels are those of modelTouches, and cut says
// that these are not all.
func (x *Index) provenTouches(o *Order, j joined, ofModels []Touch, cut bool) []Touch {
	switch {
	case j.snapshot != nil && !j.snapshot.PaidAsModels:
		return x.matched(o, touchesOf(j.snapshot.Paid))
	case j.snapshot != nil && cut:
		return x.matched(o, touchesOf(j.snapshot.Models))
	case !cut && allProven(o, j):
		return slices.Clone(ofModels)
	}
	return x.touchesOfOrder(o, j, eventsProvenBy(o, j))
}

// eventsProvenBy are the events that the payout sees.
func eventsProvenBy(o *Order, j joined) counting {
	keys := proofKeys(j)
	return func(v reached) ([]facts.Event, facts.KeyKind) {
		if v.proof == "" { // of a stranger there may be very many
			return nil, ""
		}
		return provenEvents(o, v, keys), v.proof
	}
}

// allProven reports whether a proof key is the strongest that leads to each visitor who
// counts, and all events of them are proven: then the payout sees what the models see.
func allProven(o *Order, j joined) bool {
	keys := proofKeys(j)
	return !slices.ContainsFunc(j.visitors, func(v reached) bool {
		return v.by != v.proof || v.by != "" && (!facts.IsSecretID(v.ID) || len(provenEvents(o, v, keys)) < len(v.Events))
	})
}

// withoutPictures returns those of the events that did not come by the pixel: whoever can show
// a picture to the buyer makes such an event in the buyer's own browser, with any address in it.
func withoutPictures(events []facts.Event) []facts.Event {
	isPicture := func(e facts.Event) bool { return e.Via == wire.ViaPixel }
	if !slices.ContainsFunc(events, isPicture) {
		return events
	}
	return slices.DeleteFunc(slices.Clone(events), isPicture)
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

// provenEvents returns the events of a visitor that are proven to be the buyer's. Pictures
// never are. Where its id is a secret, they are all those that were received in time: until
// timelyAfter after the order. Who learns the id later can still send events that say that
// they were before the order. Of these, and of a visitor whose id a stranger may guess, those
// are proven that hold another proof key, that have the cookie or the network of such an
// event (or of one in time, whose stream they may have instead), or that a backend sent with
// this id.
func provenEvents(o *Order, v reached, keys map[facts.Key]bool) []facts.Event {
	seen := withoutPictures(v.Events)
	secret, until := facts.IsSecretID(v.ID), o.CreatedAt.Add(timelyAfter)
	inTime := func(e *facts.Event) bool { return secret && !e.ReceivedAt.After(until) }
	if !slices.ContainsFunc(seen, func(e facts.Event) bool { return !inTime(&e) }) {
		return seen
	}
	own := facts.VisitorKey(v.ID)
	holds := func(e *facts.Event) bool {
		return inTime(e) || slices.ContainsFunc(e.Keys(), func(k facts.Key) bool { return k != own && keys[k] })
	}
	cookies, networks, streams := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i := range seen {
		if e := &seen[i]; holds(e) {
			cookies[e.CookieID] = true
			for _, net := range e.Networks() {
				networks[net] = true
			}
			for _, stream := range e.Streams() {
				streams[stream] = secret
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(seen), func(e facts.Event) bool {
		shares := e.CookieID != "" && cookies[e.CookieID] ||
			slices.ContainsFunc(e.Networks(), func(net string) bool { return networks[net] }) ||
			slices.ContainsFunc(e.Streams(), func(stream string) bool { return streams[stream] })
		return !holds(&e) && !shares && !(e.ByAPIKey() && e.VisitorID != "")
	})
}
