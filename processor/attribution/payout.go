package attribution

import (
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

// Kinds of payout evidence.
const (
	EvidenceCoupon = "coupon"
	EvidenceLink   = "link"
)

// Order is what the payout reads of an order.
type Order struct {
	*wire.Order
	Day   string   // of createdAt in the store's time zone, YYYY-MM-DD
	Codes []string // folded, in the order they are tried
}

// base is what commission is earned on: total without shipping.
func (o *Order) base() int64 { return o.TotalMinor - o.ShippingMinor.Or(0) }

// claim is one influencer's evidence for an order.
type claim struct {
	influencerID, campaignID, evidence string
	at                                 time.Time // of the touch, for link evidence
}

// payout is who is paid what, before status is looked at.
type payout struct {
	winner     *claim
	losers     []loser
	level      string
	costs      []commission
	commission int64  // in the order's currency
	note       string // why nothing is earned although somebody won
}

type loser struct {
	claim
	reason string
}

// commission is what one cost record earns on an order. In an order of another
// currency the fixed fee, which is in BRL, stands for itself.
type commission struct {
	cost     *facts.Cost
	amount   int64 // in the order's currency
	fixedBRL int64 // apart from amount; 0 on orders in BRL
}

// couponClaim is the coupon's evidence; nil where no coupon holds.
func (x *Index) couponClaim(o *Order) *claim {
	c := x.coupon(o.Codes, o.Day, o.CreatedAt)
	if c == nil {
		return nil
	}
	return &claim{influencerID: c.InfluencerID, campaignID: c.CampaignID, evidence: EvidenceCoupon}
}

// linkClaim is the last touch that belongs to an influencer. Marketplace
// orders take none.
func linkClaim(o *Order, touches []Touch) *claim {
	if o.Source.Or(commerce.SourceWeb) == commerce.SourceMarketplace {
		return nil
	}
	for i := len(touches) - 1; i >= 0; i-- {
		if t := touches[i]; t.InfluencerID != "" {
			return &claim{influencerID: t.InfluencerID, campaignID: t.CampaignID, evidence: EvidenceLink, at: t.At}
		}
	}
	return nil
}

// pay decides between the two claims, either of which may be nil.
func (x *Index) pay(o *Order, coupon, link *claim) payout {
	var p payout
	switch {
	case coupon == nil:
		p.winner = link
	case link == nil || coupon.influencerID == link.influencerID:
		p.winner = coupon // the coupon's campaign wins
	case x.rules.PayoutRule == facts.LastTouch:
		p.winner = link
		p.losers = []loser{{*coupon, "the store's rule is last_touch: a link beats a coupon"}}
	default:
		p.winner = coupon
		p.losers = []loser{{*link, "the store's rule is coupon_first: a coupon beats a link"}}
	}
	if p.winner == nil {
		return p
	}
	switch {
	case o.base() <= 0:
		p.note = "the base is not above zero"
		return p
	case o.IsRecurring.Or(false) && !x.rules.PayRecurring:
		p.note = "recurring subscription orders are not paid"
		return p
	}
	level, costs := x.costsFor(p.winner.influencerID, p.winner.campaignID, p.winner.evidence, o.Day, o.CreatedAt)
	p.level = level
	for _, c := range costs {
		line := commission{cost: c, amount: percent(o.base(), c.VarFee)}
		if o.Currency == commerce.BRL {
			line.amount += c.FixedFeeMinor
		} else {
			line.fixedBRL = c.FixedFeeMinor
		}
		p.costs = append(p.costs, line)
		p.commission += line.amount
	}
	if len(costs) == 0 {
		p.note = "no cost was in force for this evidence when the order was made"
	}
	return p
}

// percent is fee % of minor units, rounded half-even to a minor unit.
func percent(minor int64, fee decimal.Decimal) int64 {
	return decimal.NewFromInt(minor).Mul(fee).Shift(-2).RoundBank(0).IntPart()
}

// lines are what the ledger must say: none unless the order is approved.
func (p *payout) lines(o *Order) []facts.Line {
	if o.Status != commerce.OrderApproved {
		return nil
	}
	var lines []facts.Line
	for _, c := range p.costs {
		line := facts.Line{InfluencerID: p.winner.influencerID, CampaignID: p.winner.campaignID, CostID: c.cost.ID}
		if c.amount != 0 {
			line.AmountMinor, line.Currency = c.amount, o.Currency
			lines = append(lines, line)
		}
		if c.fixedBRL != 0 {
			line.AmountMinor, line.Currency = c.fixedBRL, commerce.BRL
			lines = append(lines, line)
		}
	}
	return lines
}

// state names what the commission is, by the order's status.
func (o *Order) state() string {
	switch o.Status {
	case commerce.OrderApproved:
		return "earned"
	case commerce.OrderPending:
		return "expected"
	}
	return "reversed"
}
