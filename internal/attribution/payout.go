package attribution

import (
	"cmp"
	"math"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

// Order is what the payout reads of an order.
type Order struct {
	*wire.Order
	Day   string   // of createdAt in the store's time zone, YYYY-MM-DD
	Codes []string // facts.OrderCodes: in the order in which they are tried

	settings facts.Settings // in force when the order was created
	own      []string       // the influencers who are its customer, sorted
	denied   []string       // those of them who get nothing for it
}

// orderOf returns what the payout reads of a case's order.
func (x *Index) orderOf(c *facts.Case) *Order {
	o := &c.Order
	settings := x.rules.SettingsAt(o.CreatedAt)
	settings.Unproven = cmp.Or(settings.Unproven, commerce.UnprovenReview)
	settings.SelfPurchase = cmp.Or(settings.SelfPurchase, commerce.SelfPurchaseReview)
	order := &Order{Order: o, Day: x.DayOf(o.CreatedAt), Codes: facts.OrderCodes(o), settings: settings, own: x.customersOf(c)}
	order.denied = order.deniedOf(c.Decisions)
	return order
}

// base returns what commission is earned on, in minor units: the total without
// shipping, and without tax where the store's setting says so.
func (o *Order) base() int64 {
	base := o.TotalMinor - o.ShippingMinor.Or(0)
	if o.settings.WithoutTax {
		base -= facts.TaxOf(o.Order)
	}
	return base
}

// isTest reports whether the order is a test, which counts nowhere.
func (o *Order) isTest() bool { return o.Test.Or(false) }

// payout is who is paid how much if the order is approved. Amounts are in minor units.
type payout struct {
	winner     *claim
	losers     []loser
	level      facts.CostLevel
	costs      []commission
	commission int64        // in the order's currency
	fixedBRL   int64        // in BRL, not in commission; 0 on orders in BRL
	reason     facts.Reason // why nothing is earned; empty where something is
	payableOn  string       // see payableOn
}

// loser is a claim that is not paid, and why.
type loser struct {
	claim
	reason facts.Reason
}

// commission is what one cost earns on an order, in minor units. On an order in
// another currency the fixed fee, which is in BRL, is an amount of its own.
type commission struct {
	cost     *facts.Cost
	amount   int64 // in the order's currency
	fixedBRL int64 // in BRL, not in amount; 0 on orders in BRL
}

// decidePayout decides who is paid, and how much, by an order's claims. What waits
// for a decision is computed as if it were paid, and named only where it would be.
func (x *Index) decidePayout(o *Order, c *facts.Case, coupon, link, review *claim) payout {
	p := chooseWinner(o, coupon, link, review)
	if given := x.assignedClaim(o, c.Decisions.Assigned(), p); given != nil {
		p = givenTo(given, coupon, link)
	}
	p = x.commissionFor(o, p)
	if p.winner != nil && p.winner.reason != "" && p.reason != "" && p.reason != facts.ReasonTest {
		p = payout{reason: facts.ReasonNoWinner}
	}
	p.payableOn = x.payableOn(o, c, p.winner)
	return p
}

// chooseWinner chooses whose claim counts. Any claim may be nil.
func chooseWinner(o *Order, coupon, link, review *claim) (p payout) {
	switch {
	case coupon == nil && link == nil:
		p.winner = review
	case coupon == nil:
		p.winner = link
	case link == nil || coupon.influencerID == link.influencerID:
		p.winner = coupon // the coupon's campaign wins
	case o.settings.PayoutRule == facts.LastTouch:
		p.winner = link
		p.losers = []loser{{*coupon, facts.ReasonLinkBeatsCoupon}}
	default:
		p.winner = coupon
		p.losers = []loser{{*link, facts.ReasonCouponBeatsLink}}
	}
	return p
}

// commissionFor adds what the winner earns.
func (x *Index) commissionFor(o *Order, p payout) payout {
	switch {
	case o.isTest():
		p.reason = facts.ReasonTest
		return p
	case p.winner == nil:
		p.reason = facts.ReasonNoWinner
		return p
	case o.NoCommission.Or(false):
		p.reason = facts.ReasonPaidByHand
		return p
	case o.base() <= 0:
		p.reason = facts.ReasonBase
		return p
	case o.IsRecurring.Or(false) && !o.settings.PayRecurring:
		p.reason = facts.ReasonRecurring
		return p
	}
	level, costs := x.costsFor(p.winner.influencerID, p.winner.campaignID, p.winner.evidence, o.Day, o.CreatedAt)
	p.level = level
	for _, c := range costs {
		line, ok := commissionOf(o, c)
		if ok {
			p.commission, ok = addMinor(p.commission, line.amount)
		}
		if ok {
			p.fixedBRL, ok = addMinor(p.fixedBRL, line.fixedBRL)
		}
		if !ok {
			return payout{winner: p.winner, losers: p.losers, level: level, reason: facts.ReasonOutOfRange}
		}
		p.costs = append(p.costs, line)
	}
	switch {
	case len(costs) == 0:
		p.reason = facts.ReasonNoCost
	case p.commission == 0 && p.fixedBRL == 0:
		p.reason = facts.ReasonTooLittle
	}
	return p
}

// commissionOf returns what one cost earns on an order, and false where that is more
// than maxMinor.
func commissionOf(o *Order, c *facts.Cost) (line commission, ok bool) {
	line.cost = c
	if line.amount, ok = percent(o.base(), c.VarFee); !ok {
		return line, false
	}
	if o.Currency != commerce.BRL {
		line.fixedBRL = c.FixedFeeMinor
		return line, true
	}
	line.amount, ok = addMinor(line.amount, c.FixedFeeMinor)
	return line, ok
}

// maxMinor is the largest amount that is posted, in minor units. The sum of a
// thousand such amounts still fits a 64-bit integer.
const maxMinor = math.MaxInt64 / 1000

// percent returns fee % of minor units, rounded half to even to a minor unit, and
// false where that is more than maxMinor.
func percent(minor int64, fee decimal.Decimal) (int64, bool) {
	part := decimal.NewFromInt(minor).Mul(fee).Shift(-2).RoundBank(0)
	if part.Abs().GreaterThan(decimal.NewFromInt(maxMinor)) {
		return 0, false
	}
	return part.IntPart(), true
}

// addMinor returns the sum of minor units, and false where it is more than maxMinor.
func addMinor(a, b int64) (int64, bool) {
	sum := a + b // a is at most maxMinor; a sum that overflows is negative, below −maxMinor
	return sum, sum <= maxMinor && sum >= -maxMinor
}

// lines returns what is owed: nothing unless the order is approved, and nothing that
// waits for a decision.
func (p *payout) lines(o *Order) []facts.Line {
	if p.state(o) != facts.PayoutEarned {
		return nil
	}
	var lines []facts.Line
	for _, c := range p.costs {
		for _, m := range amounts(c.amount, o.Currency, c.fixedBRL) {
			lines = append(lines, facts.Line{
				InfluencerID: p.winner.influencerID, CampaignID: p.winner.campaignID, CostID: c.cost.ID,
				AmountMinor: m.Minor, Currency: m.Currency, PayableOn: p.payableOn,
			})
		}
	}
	return lines
}

// amounts returns the two amounts that are not zero, the order's currency first.
// Amounts of different currencies are never added.
func amounts(minor int64, currency string, fixedBRL int64) []commerce.Amount {
	list := []commerce.Amount{}
	if minor != 0 {
		list = append(list, commerce.Amount{Minor: minor, Currency: currency})
	}
	if fixedBRL != 0 {
		list = append(list, commerce.Amount{Minor: fixedBRL, Currency: commerce.BRL})
	}
	return list
}

// state returns whether the commission is owed: PayoutNone where nothing is earned
// whatever the status, PayoutReview where it waits for a decision, else by the order's
// status.
func (p *payout) state(o *Order) facts.PayoutState {
	switch {
	case p.reason != "":
		return facts.PayoutNone
	case p.winner.waitsFor() != "":
		return facts.PayoutReview
	case o.Status == commerce.OrderApproved:
		return facts.PayoutEarned
	case o.Status == commerce.OrderPending:
		return facts.PayoutExpected
	}
	return facts.PayoutReversed
}
