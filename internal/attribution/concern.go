package attribution

import (
	"fmt"
	"slices"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

// What a new fact concerns: the orders whose outcome it may change, found by
// index. Never fewer than there are, sometimes more: an order too many costs
// time only, since an equal outcome writes nothing.

// wholeDay widens spans to the UTC days on which hubs are counted.
const wholeDay = 24 * time.Hour

// OrdersAround is the span in which orders were created that an event at an
// instant may concern: as a touch or a cut of its session, a window and a
// session's reach later; as a sighting, a day before.
func (x *Index) OrdersAround(first, last time.Time) (from, to time.Time) {
	return first.Add(-sightingsAfter - wholeDay), last.Add(x.rules.Window + eventsBefore)
}

// OrdersSharing is the span in which orders were created whose hubs an order
// created between first and last is counted for.
func (x *Index) OrdersSharing(first, last time.Time) (from, to time.Time) {
	return first.Add(-sightingsAfter), last.Add(x.rules.Window)
}

// ConcernedByEvents gives the keys whose orders new events may concern: each
// visitor's own, since its touches and its count of identities may change, and
// the keys that the events were sent with.
func (x *Index) ConcernedByEvents(events []facts.Event) []facts.KeySpan {
	spans := newSpans()
	for i := range events {
		e := &events[i]
		if e.Visitor == "" || !e.Human() {
			continue
		}
		from, to := x.OrdersAround(e.At, e.At)
		spans.add(facts.Key{Kind: facts.KeyReached, Value: e.Visitor}, from, to)
		for _, k := range e.Keys() {
			spans.add(k, from, to)
		}
	}
	return spans.list
}

// ConcernedByReplacedCopies gives the keys whose orders may change when events are
// replaced by other copies: what was a hub may not be one any more.
func (x *Index) ConcernedByReplacedCopies(days []facts.VisitorDay, lost []facts.Key) []facts.KeySpan {
	if len(days) == 0 {
		return nil
	}
	first, last := days[0].Day, days[0].Day
	spans := newSpans()
	for _, d := range days {
		if d.Day.Before(first) {
			first = d.Day
		}
		if d.Day.After(last) {
			last = d.Day
		}
		from, to := x.OrdersAround(d.Day, d.Day.Add(wholeDay))
		spans.add(facts.Key{Kind: facts.KeyReached, Value: d.Visitor}, from, to)
	}
	from, to := x.OrdersAround(first, last.Add(wholeDay))
	for _, k := range lost {
		spans.add(k, from, to)
	}
	return spans.list
}

// spans collects spans of keys, one a key.
type spans struct {
	list []facts.KeySpan
	at   map[facts.Key]int
}

func newSpans() *spans { return &spans{at: map[facts.Key]int{}} }

func (s *spans) add(k facts.Key, from, to time.Time) {
	i, known := s.at[k]
	if !known {
		s.at[k] = len(s.list)
		s.list = append(s.list, facts.KeySpan{Key: k, From: from, To: to})
		return
	}
	if from.Before(s.list[i].From) {
		s.list[i].From = from
	}
	if to.After(s.list[i].To) {
		s.list[i].To = to
	}
}

// Concern is what a change of rules may touch: all orders created in a span,
// or those of some keys.
type Concern struct {
	All      bool
	From, To time.Time
	Keys     []facts.KeySpan
}

// All orders that can be stored were created between these.
var (
	ever    = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	forEver = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
)

// ConcernedByChange tells which orders a change of rules may touch: of a
// coupon those with its code on its days; of a cost those whose evidence names
// its influencer; of an influencer, a campaign or a link those whose touches
// carry its name or code; of a setting all. A type that is not known is an
// error: the caller rejects the change.
func (x *Index) ConcernedByChange(c facts.Change) (Concern, error) {
	from, to := spanOfDays(c.From, c.To)
	concern := Concern{From: from, To: to}
	var keys []facts.Key
	switch c.Type {
	case wire.RuleSettings:
		concern.All = true
	case wire.RuleCoupon:
		keys = []facts.Key{facts.RuleKey(facts.KeyCode, commerce.FoldCode(c.Code))}
	case wire.RuleCost:
		keys = []facts.Key{{Kind: facts.KeyInfluencer, Value: c.InfluencerID}}
	case wire.RuleInfluencer, wire.RuleCampaign, wire.RuleLink:
		// What closes or opens an influencer does so to all of its rules, on any day.
		concern.From, concern.To = ever, forEver
		keys = x.keysOf(c.InfluencerID)
	default:
		return Concern{}, fmt.Errorf("change of %q: %w", c.Type, facts.ErrUnknownKind)
	}
	for _, k := range keys {
		concern.Keys = append(concern.Keys, facts.KeySpan{Key: k, From: concern.From, To: concern.To})
	}
	return concern, nil
}

// spanOfDays holds the instants of days in any time zone, which lie within a
// day around the same days in UTC. An empty day is unbounded.
func spanOfDays(first, last string) (from, to time.Time) {
	from, to = ever, forEver
	if day, err := time.Parse(time.DateOnly, first); err == nil {
		from = day.Add(-wholeDay)
	}
	if day, err := time.Parse(time.DateOnly, last); err == nil {
		to = day.Add(2 * wholeDay)
	}
	return from, to
}

// keysOf is all by which an order's evidence may name an influencer.
func (x *Index) keysOf(influencerID string) []facts.Key {
	keys := []facts.Key{{Kind: facts.KeyInfluencer, Value: influencerID}}
	if f := x.byID[influencerID]; f != nil {
		keys = append(keys, facts.RuleKey(facts.KeyUTM, f.Folded))
	}
	for _, l := range x.rules.Links {
		if l.InfluencerID == influencerID {
			keys = append(keys, facts.RuleKey(facts.KeyLink, l.Code))
		}
	}
	for _, c := range x.rules.Coupons {
		if c.InfluencerID == influencerID {
			keys = append(keys, facts.RuleKey(facts.KeyCode, c.Code))
		}
	}
	return keys
}

// OrderKinds are the kinds of KeysOfOrder.
var OrderKinds = append(slices.Clone(facts.JoinKinds), facts.KeyCode)

// KeysOfOrder are all keys that follow from the order alone: those that join
// it to visitors, and its codes.
func KeysOfOrder(o *wire.Order) []facts.OrderKey {
	var keys []facts.OrderKey
	for _, k := range facts.OrderKeys(o) {
		keys = append(keys, facts.OrderKey{Key: k, OrderID: o.OrderID, CreatedAt: o.CreatedAt})
	}
	for _, code := range facts.OrderCodes(o) {
		keys = append(keys, facts.OrderKey{Key: facts.RuleKey(facts.KeyCode, code), OrderID: o.OrderID, CreatedAt: o.CreatedAt})
	}
	return keys
}
