package attribution

import (
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

// docs/attribution.md, "Hold". The store is three hours behind UTC.
func TestCommissionIsHeld(t *testing.T) {
	f := func(name, want string, change func(r *facts.Rules), of func(c *facts.Case)) {
		t.Helper()
		c := sale(code("ANA10"))
		c.ApprovedSince = time.Date(2026, 3, 1, 13, 0, 0, 0, time.UTC)
		if of != nil {
			of(&c)
		}
		o := shop(change).Decide(c)
		if o.Payout.PayableOn != want || o.Explanation.Payout.PayableOn != want {
			t.Errorf("%s: %q, want %q", name, o.Payout.PayableOn, want)
		}
		for _, l := range o.Lines {
			if l.PayableOn != want {
				t.Errorf("%s: a line of %q, want %q", name, l.PayableOn, want)
			}
		}
		if (len(o.Lines) > 0) != (want != "") {
			t.Errorf("%s: %d lines", name, len(o.Lines))
		}
	}
	delivered := func(text string) func(c *facts.Case) {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return func(c *facts.Case) { c.Order.DeliveredAt = wire.Some(at) }
	}
	f("30 days after the approval", "2026-03-31", nil, nil)
	f("the store's days", "2026-03-30", nil, func(c *facts.Case) { c.ApprovedSince = time.Date(2026, 3, 1, 2, 59, 59, 0, time.UTC) })
	f("as the store has set it", "2026-03-08", func(r *facts.Rules) { r.HoldDays = 7 }, nil)
	f("at once", "2026-03-01", func(r *facts.Rules) { r.HoldDays = 0 }, nil)
	f("over the end of February", "2028-03-01", nil, func(c *facts.Case) { c.ApprovedSince = time.Date(2028, 1, 31, 13, 0, 0, 0, time.UTC) })
	f("15 days after delivery, sooner", "2026-03-20", nil, delivered("2026-03-05T12:00:00Z"))
	f("… or later", "2026-05-16", nil, delivered("2026-05-01T12:00:00Z"))
	f("… in the store's days", "2026-03-19", nil, delivered("2026-03-05T02:59:59Z"))
	f("… a year after the order", "2027-03-16", nil, delivered("2027-03-01T12:00:00Z"))
	f("… or long after it, as of what is made to order", "2027-09-16", nil, delivered("2027-09-01T12:00:00Z"))
	f("… as the store has set it", "2026-03-13", func(r *facts.Rules) { r.DeliveredHoldDays = 8 }, delivered("2026-03-05T12:00:00Z"))
	f("by the settings of when the order was made", "2026-03-11", func(r *facts.Rules) {
		r.Past = []facts.PastSettings{{Settings: facts.Settings{Window: day, HoldDays: 99}, Until: start},
			{Settings: facts.Settings{Window: day, HoldDays: 10}, Until: start.Add(2 * time.Hour)}}
	}, nil)
	f("nothing is owed for a pending order", "", nil, func(c *facts.Case) { c.Order.Status = commerce.OrderPending })
	f("nor for a cancelled one", "", nil, func(c *facts.Case) { c.Order.Status = commerce.OrderCancelled })
}

// docs/attribution.md, "Hold": never before the decision that released it.
func TestWhatADecisionReleasesIsNotPayableBefore(t *testing.T) {
	f := func(name, want string, kind facts.KeyKind, decided time.Time) {
		t.Helper()
		c := sale(nil, at(0, "/?utm_campaign=ana"))
		c.Keys[0].Kind = kind
		c.ApprovedSince = time.Date(2026, 3, 1, 13, 0, 0, 0, time.UTC)
		c.Decisions = facts.Decisions{{InfluencerID: "ana", Decision: commerce.EvidenceAccept, AcceptedAt: decided}}
		if o := shop(nil).Decide(c); o.Payout.PayableOn != want || o.Payout.State != facts.PayoutEarned {
			t.Errorf("%s: %s %q, want %q", name, o.Payout.State, o.Payout.PayableOn, want)
		}
	}
	f("decided soon", "2026-03-31", facts.KeyEmail, start.Add(2*day))
	f("decided late", "2026-05-30", facts.KeyEmail, start.Add(90*day))
	f("decided though it was proven", "2026-03-31", facts.KeyCart, start.Add(90*day))
}
