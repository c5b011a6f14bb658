package attribution

import (
	"cmp"
	"slices"

	"github.com/tributary-io/tributary/internal/facts"
)

// orderKey is one key of the order, and whether it is a hub.
type orderKey struct {
	facts.KeyReach
	hub      facts.Hub
	visitors int  // to whom it leads; of the same key by two secrets, to whom either does
	again    bool // the same key by another hashing secret stands before it
}

// reached is a visitor to whom a key that is no hub leads.
type reached struct {
	facts.Visitor
	by    facts.KeyKind // of the strongest key that leads to it; empty: the visitor is a hub
	proof facts.KeyKind // of the strongest proof key that leads to it; empty: none does, or the visitor is a hub
	hub   facts.Hub     // why it joins nothing at all
	ids   []string      // all of its ids, where several hashing secrets have named it; else nil
}

// joined is what an order's keys lead to.
type joined struct {
	keys     []orderKey // strongest first
	visitors []reached  // also those that are hubs, in the order in which keys lead to them
	cuts     []facts.Cut
	hidden   bool                // a limit left out what visitors claim, which anybody reaches who knows how the buyer is called
	snapshot *facts.SnapshotPath // of a snapshotted order: then there are no visitors
}

// join follows an order's keys to visitors, or returns what they led to when it was snapshotted. A hub joins nothing. Claims cut claims
// only: a visitor with too many claimed identities is still reached by a proof key.
func (x *Index) join(c *facts.Case) joined {
	if c.Snapshot != nil {
		return joinedOf(c.Snapshot)
	}
	var out joined
	index := map[string]int{} // into out.visitors
	known := map[string]facts.Visitor{}
	for _, v := range c.Visitors {
		known[v.ID] = v
	}
	hubs := hubsOf(c.Keys)
	for _, kind := range facts.JoinKinds { // strongest first
		for n, k := range c.Keys {
			if k.Kind != kind {
				continue
			}
			added := out.addKey(c, k, hubs[n])
			if added.hub != facts.NoHub {
				if !added.again {
					out.cuts = append(out.cuts, facts.Cut{What: facts.CutKey, Kind: kind, Limit: added.hub})
				}
				out.hidden = out.hidden || added.hub == facts.HubOfVisitors && !slices.Contains(facts.ProofKinds, kind)
				continue
			}
			for _, id := range k.Visitors {
				i, found := index[id]
				if !found {
					i = len(out.visitors)
					v := reachedOf(c, known, id)
					for _, is := range v.ids {
						index[is] = i
					}
					index[id] = i
					out.visitors = append(out.visitors, v)
				}
				out.visitors[i].reachBy(kind)
			}
		}
	}
	for i := range out.visitors {
		v := &out.visitors[i]
		switch {
		case v.by == "":
			v.hub = hubOfClaims(v.Visitor)
			out.cuts = append(out.cuts, facts.Cut{What: facts.CutVisitor, Limit: v.hub})
			out.hidden = out.hidden || !facts.IsSecretID(v.ID)
		case v.Cut:
			out.cuts = append(out.cuts, facts.Cut{What: facts.CutEvents, Limit: facts.HubOfEvents})
		}
	}
	return out
}

// reachedOf returns the visitor that has an id, with all that was read of it by each of its ids.
func reachedOf(c *facts.Case, known map[string]facts.Visitor, id string) reached {
	out := reached{Visitor: facts.Visitor{ID: id}}
	if v, read := known[id]; read {
		out.Visitor = v
	}
	if c.Same == nil {
		return out
	}
	ids := c.IDs(id)
	if len(ids) == 1 {
		return out
	}
	out.ids, out.ID, out.Events = ids, ids[0], nil
	for _, is := range ids {
		v := known[is]
		out.Events = append(out.Events, v.Events...)
		out.Cut, out.Proof = out.Cut || v.Cut, out.Proof || v.Proof
		out.Customers, out.Emails, out.Phones = max(out.Customers, v.Customers), max(out.Emails, v.Emails), max(out.Phones, v.Phones)
		out.Carts, out.CartNos, out.Verified = max(out.Carts, v.Carts), max(out.CartNos, v.CartNos), max(out.Verified, v.Verified)
	}
	slices.SortFunc(out.Events, func(a, b facts.Event) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(b.EventID, a.EventID)) })
	return out
}

// addKey adds a key of the order.
func (j *joined) addKey(c *facts.Case, k facts.KeyReach, hub facts.Hub) orderKey {
	r := orderKey{KeyReach: k, hub: hub}
	first := slices.IndexFunc(j.keys, func(other orderKey) bool { return sameKey(&other.KeyReach, &k) })
	r.again = first >= 0
	if hub == facts.NoHub {
		r.visitors = len(k.Visitors)
	}
	j.keys = append(j.keys, r)
	if hub == facts.NoHub && (r.again || c.Same != nil) {
		reached := map[string]bool{}
		for _, other := range j.keys {
			if sameKey(&other.KeyReach, &k) {
				for _, v := range other.Visitors {
					reached[c.IDs(v)[0]] = true
				}
			}
		}
		if !r.again {
			first = len(j.keys) - 1
		}
		j.keys[first].visitors = len(reached)
	}
	return r
}

// reachBy adds that a key of a kind leads to the visitor. Kinds come strongest first.
func (v *reached) reachBy(kind facts.KeyKind) {
	isProof := slices.Contains(facts.ProofKinds, kind)
	hub := hubOfClaims
	if isProof {
		hub = hubOfVisitor
	}
	if hub(v.Visitor) != facts.NoHub {
		return
	}
	if v.by == "" {
		v.by = kind
	}
	if isProof && kind.Stronger(v.proof) {
		v.proof = kind
	}
}

// counting selects the events of a visitor that count, and what its touches were matched
// by; it returns no kind for a visitor that does not count.
type counting func(v reached) ([]facts.Event, facts.KeyKind)

// allEvents are the events that the channel models see.
func allEvents(v reached) ([]facts.Event, facts.KeyKind) { return v.Events, v.by }

// touchesOfOrder returns the touches of an order's visitors, oldest first, matched
// to influencers.
func (x *Index) touchesOfOrder(o *Order, j joined, of counting) []Touch {
	return x.matched(o, x.arrivals(o, j, of))
}

// arrivals returns the touches of an order's visitors as they came, oldest first. A click
// and its landing are one, and each has whether it came after the checkout had begun.
func (x *Index) arrivals(o *Order, j joined, of counting) []Touch {
	var touches []Touch
	var counted []visit
	from, to := o.CreatedAt.Add(-o.settings.Window), o.CreatedAt.Add(eventsAfter)
	// Events after the order are left out, so that they cut no session of it. Those
	// of a frame in another site's page make no touch.
	counts := func(e *facts.Event) bool { return !e.At.After(to) && !e.Frame }
	for _, v := range j.visitors {
		events, kind := of(v)
		if kind == "" {
			continue
		}
		did := visitOf(v.ID, events, counts)
		counted = append(counted, did)
		before := len(touches)
		touches = x.appendTouches(touches, &o.settings, did)
		found := slices.DeleteFunc(touches[before:], func(t Touch) bool { return t.At.Before(from) })
		for i := range found {
			t := &found[i]
			t.MatchedBy, t.Proof, t.Proven = string(kind), facts.Proof(kind), v.proof != "" && facts.IsSecretID(v.ID)
		}
		touches = touches[:before+len(found)]
		if before == 0 {
			touches = slices.Grow(touches, len(found)*(len(j.visitors)-1))
		}
	}
	touches = inOrder(touches)
	return merged(touches, markCheckouts(touches, counted, provenVisits(o, j, counts)))
}

// matched returns touches matched to influencers.
func (x *Index) matched(o *Order, touches []Touch) []Touch {
	for i := range touches {
		t := &touches[i]
		x.match(t, o.Order)
		t.AfterCheckout = t.InfluencerID != "" && t.InCheckout
	}
	return touches
}

// orderTouch returns the order's own UTM values as a touch at createdAt, and false
// where it has none.
func (x *Index) orderTouch(o *Order) (Touch, bool) {
	t := Touch{SnapshotTouch: facts.SnapshotTouch{
		ID: facts.OrderTouch, At: o.CreatedAt, Kind: facts.ByOrderUTM, MatchedBy: string(facts.ByOrderUTM), Proof: facts.ProofOrder,
		Source: o.UTMSource.Or(""), Medium: o.UTMMedium.Or(""), Campaign: o.UTMCampaign.Or(""), Content: o.UTMContent.Or(""),
	}}
	x.match(&t, o.Order)
	return t, t.Source != "" || t.Medium != "" || t.Campaign != "" || t.Content != "" || o.UTMTerm.Or("") != ""
}

// withOrderTouch adds the order's own UTM values to its touches where all of these
// are direct.
func (x *Index) withOrderTouch(o *Order, touches []Touch) []Touch {
	if t, ok := x.orderTouch(o); ok && allDirect(touches) {
		touches = append(touches, t)
		slices.SortFunc(touches, compareTouches) // a direct touch may be up to eventsAfter later
	}
	return touches
}
