package attribution

import (
	"slices"
	"strings"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

// AcceptedNow returns the decisions to accept of a case that name no touches, since they
// came before the order was explained, with those that the outcome explains now: the
// newest of the influencer's that were received no later than the decision. Decisions
// without any are left out, and all of a snapshotted order.
func AcceptedNow(c *facts.Case, o *facts.Outcome) (list []facts.Decision) {
	if c.Snapshot != nil {
		return nil
	}
	for _, d := range c.Decisions {
		if d.Decision != commerce.EvidenceAccept || d.Touches != "" {
			continue
		}
		var ids []string
		for i := range o.Explanation.Touches {
			t := &o.Explanation.Touches[i]
			if t.InfluencerID != d.InfluencerID {
				continue
			}
			if at, known := receivedAt(c, t.ID); known && !at.After(d.AcceptedAt) {
				ids = append(ids, t.ID)
			}
		}
		if len(ids) > 0 {
			d.Touches = strings.Join(ids[max(0, len(ids)-wire.MaxAccepted):], ",")
			list = append(list, d)
		}
	}
	return list
}

// receivedAt returns when an event of a case's visitors was received.
func receivedAt(c *facts.Case, eventID string) (at time.Time, known bool) {
	for i := range c.Visitors {
		events := c.Visitors[i].Events
		if n := slices.IndexFunc(events, func(e facts.Event) bool { return e.EventID == eventID }); n >= 0 {
			return events[n].ReceivedAt, true
		}
	}
	return time.Time{}, false
}
