package processor

import (
	"context"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
)

// tell writes the events of changed outcomes for the company's other systems (docs/adr/0039).
func (a *application) tell(ctx context.Context, changed []facts.StoredOutcome) error {
	if a.replayed {
		return nil // nothing happened
	}
	var events []commerce.Event
	for i := range changed {
		events = append(events, eventsOf(&changed[i], a.now)...)
		if e, told := conversionOf(&changed[i], a.now); told {
			events = append(events, e)
		}
	}
	if len(events) == 0 {
		return nil
	}
	return a.tx.Outcomes.Tell(ctx, a.company, func() ([]commerce.Event, error) { return events, nil })
}

// eventsOf are the events of an outcome that differs from the stored one. Most orders are nobody's, and tell nothing.
func eventsOf(o *facts.StoredOutcome, now time.Time) (events []commerce.Event) {
	was, is := facts.Payout{State: facts.PayoutNone}, o.Payout
	if o.Before != nil {
		was = o.Before.Payout
	}
	if was.InfluencerID == "" && is.InfluencerID == "" {
		return nil
	}
	told := toldOf(&o.Outcome)
	add := func(t commerce.EventType) {
		events = append(events, commerce.Event{Type: t, Key: told.Key(), At: now.UTC().Truncate(time.Microsecond), Data: told})
	}
	if was.InfluencerID != is.InfluencerID || was.CampaignID != is.CampaignID || was.CouponID != is.CouponID || was.Evidence != is.Evidence {
		add(commerce.OrderAttributed)
	}
	sameAmounts := was.CommissionMinor == is.CommissionMinor && was.FixedBRLMinor == is.FixedBRLMinor
	if was.State != is.State || was.Reason != is.Reason || was.InfluencerID != is.InfluencerID || was.PayableOn != is.PayableOn ||
		!sameAmounts {
		add(commerce.PayoutChanged)
	}
	if is.State == facts.PayoutReview && was.State != facts.PayoutReview {
		add(commerce.PayoutReview)
	}
	return events
}

// conversionOf is the event by which networks look at an order: it was sold, or not any more, or for another amount, or it is now proven
// to be an influencer's. One that is older than any network takes is none.
func conversionOf(o *facts.StoredOutcome, now time.Time) (e commerce.Event, told bool) {
	was, is := facts.Outcome{Status: commerce.OrderPending}, &o.Outcome
	if o.Before != nil {
		was = *o.Before
	}
	sold := func(o *facts.Outcome) bool { return o.Status == commerce.OrderApproved }
	earned := func(o *facts.Outcome) bool { return o.Payout.State == facts.PayoutEarned }
	days, less := commerce.ConversionDays, sold(&was) && (!sold(is) || is.TotalMinor < was.TotalMinor)
	if less {
		days = commerce.RefundDays
	}
	if sold(&was) == sold(is) && (!sold(is) || was.TotalMinor == is.TotalMinor && (earned(&was) || !earned(is))) ||
		is.Day < now.AddDate(0, 0, -days).UTC().Format(time.DateOnly) {
		return e, false
	}
	data := commerce.ConversionTold{OrderID: is.OrderID}
	e = commerce.Event{Type: commerce.ConversionOther, Key: data.Key(), At: now.UTC().Truncate(time.Microsecond), Data: data}
	switch {
	case was.Payout.InfluencerID != "" || is.Payout.InfluencerID != "":
		e.Type = commerce.ConversionProven
	case less:
		e.Type = commerce.ConversionLess
	}
	return e, true
}

// toldOf is what events say of an order.
func toldOf(o *facts.Outcome) commerce.OrderTold {
	p := o.Payout
	told := commerce.OrderTold{
		OrderID: o.OrderID, Status: o.Status, Currency: o.Currency, Total: commerce.Amount{Minor: o.TotalMinor, Currency: o.Currency},
		InfluencerID: p.InfluencerID, CampaignID: p.CampaignID, CouponID: p.CouponID, Evidence: commerce.Evidence(p.Evidence),
		State: string(p.State), Reason: string(p.Reason), PayableOn: p.PayableOn,
		Commission: commerce.Amount{Minor: p.CommissionMinor, Currency: o.Currency},
	}
	if p.FixedBRLMinor != 0 {
		told.FixedBRL = &commerce.Amount{Minor: p.FixedBRLMinor, Currency: commerce.BRL}
	}
	return told
}
