package attribution

import (
	"slices"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
)

// The functions of this file are docs/attribution.md, "Snapshots".

// Snapshot returns the evidence of an order that its events show now. Decide has the same
// outcome by it as by the events, but for what finds the order by them.
func (x *Index) Snapshot(c facts.Case, now time.Time) facts.EvidenceSnapshot {
	if c.Snapshot != nil {
		return *c.Snapshot
	}
	order := x.orderOf(&c)
	j := x.join(&c)
	path := facts.SnapshotPath{Cuts: j.cuts, Hidden: j.hidden, PaidAsModels: allProven(order, j)}
	for _, k := range j.keys {
		if !k.again {
			path.Keys = append(path.Keys, facts.SnapshotKey{Kind: k.Kind, Hub: k.hub, Visitors: k.visitors})
		}
	}
	path.Models = kept(withoutFlood(x.arrivals(order, j, allEvents), nil))
	if !path.PaidAsModels {
		path.Paid = kept(x.arrivals(order, j, eventsProvenBy(order, j)))
	}
	for _, d := range c.Decisions {
		if d.Decision != commerce.EvidenceAccept {
			continue
		}
		path.Accepted = append(path.Accepted, facts.SnapshotDecision{
			InfluencerID: d.InfluencerID, Rev: d.Rev,
			Found: kept(withoutFlood(x.arrivals(order, j, eventsAcceptedBy(d)), func(t Touch) bool {
				x.match(&t, order.Order)
				return t.InfluencerID == d.InfluencerID
			})),
			Alone: kept(x.arrivals(order, acceptedAlone(d), namedEvents)),
		})
	}
	return facts.EvidenceSnapshot{OrderID: order.OrderID, SnapshotAt: now.UTC(), Path: path}
}

// withoutFlood leaves out of arrivals those that no outcome can count: anybody can make any
// number of touches in a customer's name. It keeps those of proven visitors and, of the
// others, one more than claimedTouches: so it is seen that there are more. It keeps as many
// of those that counts reports, where it is not nil.
func withoutFlood(list []Touch, counts func(t Touch) bool) []Touch {
	list, _ = newest(list, claimedTouches+1, counts)
	return list
}

// kept returns touches as a snapshot keeps them.
func kept(touches []Touch) []facts.SnapshotTouch {
	list := make([]facts.SnapshotTouch, len(touches))
	for i, t := range touches {
		list[i] = t.SnapshotTouch
		list[i].At = t.At.UTC()
	}
	return list
}

// touchesOf returns the touches of a snapshot, before they are matched.
func touchesOf(list []facts.SnapshotTouch) []Touch {
	touches := make([]Touch, len(list))
	for i, s := range list {
		touches[i].SnapshotTouch = s
	}
	return touches
}

// joinedOf returns what an order's keys led to when it was snapshotted.
func joinedOf(s *facts.EvidenceSnapshot) joined {
	j := joined{snapshot: &s.Path, cuts: slices.Clone(s.Path.Cuts), hidden: s.Path.Hidden}
	for _, k := range s.Path.Keys {
		j.keys = append(j.keys, orderKey{KeyReach: facts.KeyReach{Key: facts.Key{Kind: k.Kind}}, hub: k.Hub, visitors: k.Visitors})
	}
	return j
}

// acceptedOfSnapshot returns the touches that a decision accepted of a snapshotted order.
func (x *Index) acceptedOfSnapshot(o *Order, s *facts.SnapshotPath, d facts.Decision) []Touch {
	of := facts.SnapshotDecision{Found: s.Models}
	place := slices.IndexFunc(s.Accepted, func(a facts.SnapshotDecision) bool { return a.InfluencerID == d.InfluencerID && a.Rev == d.Rev })
	if place >= 0 {
		of = s.Accepted[place]
	} else {
		ids, _ := d.TouchIDs()
		for _, t := range s.Paid {
			if slices.Contains(ids, t.ID) {
				t.InCheckout, t.MatchedBy, t.Proof = false, string(facts.ProofAccepted), facts.ProofAccepted
				of.Alone = append(of.Alone, t)
			}
		}
	}
	return append(x.matched(o, touchesOf(of.Found)), x.matched(o, touchesOf(of.Alone))...)
}

// RetainFrom returns the instant before which the company's events may be removed: a UTC
// day's beginning; zero where they are kept for ever. It is earlier than the setting says
// where orders that are too young to be snapshotted still read what is before: those under a
// past setting of a longer window.
func (x *Index) RetainFrom(now time.Time) time.Time {
	if x.rules.RetentionDays == 0 {
		return time.Time{}
	}
	const day = 24 * time.Hour
	from := now.Add(-time.Duration(x.rules.RetentionDays) * day)
	youngest := now.Add(-commerce.RetentionMargin * day) // that may be snapshotted
	keep := func(window time.Duration) {
		if least := youngest.Add(-window); least.Before(from) {
			from = least
		}
	}
	keep(x.rules.Window)
	for _, past := range x.rules.Past {
		if past.Until.After(youngest) {
			keep(past.Window)
		}
	}
	return facts.DayOf(from)
}

// Expired reports whether an event is so old that it would be removed at once: its time and
// the time in its id are before what RetainFrom returned.
func Expired(e *facts.Event, from time.Time) bool {
	return e.At.Before(from) && e.IDTime.Before(from)
}

// Reading returns when the orders were created that read events from before an instant: one
// span for each setting of the window. These have to be snapshotted before the events are removed.
func (x *Index) Reading(before time.Time) []facts.Span {
	var spans []facts.Span
	var since time.Time
	add := func(window time.Duration, until time.Time) {
		to := before.Add(window + eventsBefore)
		if !until.IsZero() && until.Before(to) {
			to = until
		}
		if to.After(since) {
			spans = append(spans, facts.Span{From: since, To: to})
		}
	}
	for _, past := range x.rules.Past {
		add(past.Window, past.Until)
		since = past.Until
	}
	add(x.rules.Window, time.Time{})
	return spans
}

// AllReading returns an instant before which every order reads events from before an
// instant.
func (x *Index) AllReading(before time.Time) time.Time {
	windows := x.rules.Windows()
	return before.Add(windows[len(windows)-1] + eventsBefore)
}

// HasErasures reports whether persons of the company were erased.
func (x *Index) HasErasures() bool { return x.rules.HasErasures }

// IsOnePerson reports whether a visitor that was seen with a person's key is that person:
// its id cannot be guessed, and it has not more identities than one shopper may have.
func IsOnePerson(visitor string, identities int) bool {
	return facts.IsSecretID(visitor) && identities <= hubIdentities
}
