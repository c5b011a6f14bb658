package attribution

import (
	"fmt"
	"time"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/fold"
	"github.com/tributary-io/tributary/internal/wire"
)

// A fact concerns the orders whose outcome it may change. The functions of this
// file return keys and spans of time that find all of these orders, and sometimes
// others: computing an order in vain costs time only, since an equal outcome writes
// nothing.

// wholeDay widens a span to the UTC days on which visitors and keys are counted for
// the hub limits.
const wholeDay = 24 * time.Hour

// OrdersAround returns the span of createdAt of the orders that events between two
// instants may concern. Such an order may be a window and eventsBefore later, since
// the event may be its touch or cut its session, or observationsAfter earlier.
func (x *Index) OrdersAround(first, last time.Time) (from, to time.Time) {
	return first.Add(-observationsAfter - wholeDay), last.Add(x.longestWindow() + eventsBefore)
}

// OrdersSharing returns the span of createdAt of the orders in whose interval orders
// created between two instants lie.
func (x *Index) OrdersSharing(first, last time.Time) (from, to time.Time) {
	return first.Add(-observationsAfter), last.Add(x.longestWindow())
}

// ConcernedByEvents returns the keys whose orders new events may concern: the
// visitors, since their touches and their count of identities may change, and the
// keys of the events.
func (x *Index) ConcernedByEvents(events []facts.Event) []facts.KeySpan {
	spans := newSpans()
	var keys []facts.Key
	for i := range events {
		e := &events[i]
		if e.Visitor == "" || !e.Human() {
			continue
		}
		from, to := x.OrdersAround(e.At, e.At)
		spans.add(facts.Key{Kind: facts.KeyReached, Value: e.Visitor}, from, to)
		if was := e.FormerVisitor(); was != "" {
			spans.add(facts.Key{Kind: facts.KeyReached, Value: was}, from, to)
		}
		if e.Class() == facts.ClassArrival {
			spans.add(facts.Key{Kind: facts.KeyTouch, Value: e.EventID}, from, to)
		}
		keys = e.AppendKeys(keys[:0])
		for _, k := range keys {
			switch k.Kind {
			case facts.KeyNetwork: // counts by when it was received
				spans.add(k, facts.HourOf(e.ReceivedAt).Add(-networkAfter), facts.HourOf(e.ReceivedAt).Add(time.Hour+networkBefore))
			case facts.KeyVerified: // below
			default:
				spans.add(k, from, to)
			}
		}
		// The orders of a verified key are those of the key that it holds, also where that one
		// was seen with too many visitors: few of them need be logged in.
		for _, k := range e.Verified() {
			spans.addHub(k, facts.HubOfVisitors, from, to)
		}
	}
	return spans.list
}

// ConcernedByReplacedCopies returns the keys whose orders may change when copies of
// events replace others: the visitors whose days changed, and the keys with which
// these were seen before. A key or a visitor may not be a hub any more. And the events
// themselves: a decision may have accepted what the copy before was.
func (x *Index) ConcernedByReplacedCopies(days []facts.VisitorDay, lost []facts.Key, replaced []facts.Event) []facts.KeySpan {
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
		spans.add(facts.VisitorKey(d.Visitor), from, to)
	}
	from, to := x.OrdersAround(first, last.Add(wholeDay))
	for _, k := range lost {
		spans.add(k, from, to)
	}
	for i := range replaced {
		spans.add(facts.Key{Kind: facts.KeyTouch, Value: replaced[i].EventID}, ever, forEver)
	}
	return spans.list
}

// spans collects one span for each key and hub, which covers all spans that were added.
type spans struct {
	list  []facts.KeySpan
	index map[spanOf]int // into list
}

// spanOf tells the spans apart.
type spanOf struct {
	facts.Key
	hub facts.Hub
}

func newSpans() *spans { return &spans{index: map[spanOf]int{}} }

func (s *spans) add(k facts.Key, from, to time.Time) { s.addHub(k, facts.NoHub, from, to) }

func (s *spans) addHub(k facts.Key, hub facts.Hub, from, to time.Time) {
	i, known := s.index[spanOf{k, hub}]
	if !known {
		s.index[spanOf{k, hub}] = len(s.list)
		s.list = append(s.list, facts.KeySpan{Key: k, Hub: hub, From: from, To: to})
		return
	}
	if from.Before(s.list[i].From) {
		s.list[i].From = from
	}
	if to.After(s.list[i].To) {
		s.list[i].To = to
	}
}

// Concern says which orders a changed rule or setting may concern: where All is
// true those created between From and To, else those of Keys.
type Concern struct {
	All      bool
	From, To time.Time // both inclusive
	Keys     []facts.KeySpan
}

// Every order that can be stored was created between these (core.Recordable is
// narrower).
var (
	ever    = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	forEver = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
)

// ConcernedByChange returns which orders a changed rule or setting may concern: for
// a coupon, the orders with its code on its days; for a cost, those whose evidence
// names its influencer, on its days; for an influencer, a campaign or a link, those
// whose touches have one of the influencer's names or codes; for a setting, all. An
// unknown type is facts.ErrUnknownKind.
func (x *Index) ConcernedByChange(c facts.Change) (Concern, error) {
	from, to := spanOfDays(c.From, c.To)
	concern := Concern{From: from, To: to}
	var keys []facts.Key
	switch c.Type {
	case wire.RuleSettings:
		concern.All = true
	case wire.RuleCoupon:
		keys = []facts.Key{facts.RuleKey(facts.KeyCode, fold.Code(c.Code))}
	case wire.RuleCost:
		keys = []facts.Key{{Kind: facts.KeyInfluencer, Value: c.InfluencerID}}
	case wire.RuleInfluencer, wire.RuleCampaign, wire.RuleLink:
		// An influencer's rules are opened and closed with it, on any day.
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

// spanOfDays returns a span that contains two days (YYYY-MM-DD) and those between
// them, whatever the time zone: it begins a day before the first day in UTC, and ends
// a day after the last. An empty day means no bound.
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

// keysOf returns every key by which an order's evidence may name an influencer.
func (x *Index) keysOf(influencerID string) []facts.Key {
	keys := []facts.Key{{Kind: facts.KeyInfluencer, Value: influencerID}}
	if f := x.byID[influencerID]; f != nil {
		for _, name := range f.Names() {
			keys = append(keys, facts.RuleKey(facts.KeyUTM, name))
		}
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

// KeysOfOrder returns the keys, of facts.OrderKinds, by which the order is found that follow from the order
// alone: those that join it to visitors, but for those that are found by another
// (facts.OrderJoin), and its discount codes.
func KeysOfOrder(o *wire.Order) []facts.OrderKey {
	var keys []facts.OrderKey
	for _, k := range facts.OrderJoins(o) {
		if k.Key == k.Stored {
			keys = append(keys, facts.OrderKey{Key: k.Key, OrderID: o.OrderID, CreatedAt: o.CreatedAt})
		}
	}
	for _, code := range facts.OrderCodes(o) {
		keys = append(keys, facts.OrderKey{Key: facts.RuleKey(facts.KeyCode, code), OrderID: o.OrderID, CreatedAt: o.CreatedAt})
	}
	return keys
}
