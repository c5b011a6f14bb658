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

// Reasons why an order, whatever its status, earns nobody anything.
const (
	reasonNoWinner  = "no_winner"
	reasonBase      = "base_not_positive"
	reasonRecurring = "recurring_excluded"
	reasonNoCost    = "no_agreement"
	reasonTooLittle = "below_minor_unit"
)

// reasonNotes are the reasons for people.
var reasonNotes = map[string]string{
	reasonNoWinner:  "no coupon and no link of an influencer led to the order",
	reasonBase:      "the base is not above zero",
	reasonRecurring: "recurring subscription orders are not paid",
	reasonNoCost:    "no cost was in force for this evidence when the order was made",
	reasonTooLittle: "the share rounds to less than the currency's smallest unit",
}

// payout is who is paid what, before status is looked at.
type payout struct {
	winner     *claim
	losers     []loser
	level      string
	costs      []commission
	commission int64  // in the order's currency
	fixedBRL   int64  // apart from commission; 0 on orders in BRL
	reason     string // why nothing is earned; empty where something is
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
	switch {
	case p.winner == nil:
		p.reason = reasonNoWinner
		return p
	case o.base() <= 0:
		p.reason = reasonBase
		return p
	case o.IsRecurring.Or(false) && !x.rules.PayRecurring:
		p.reason = reasonRecurring
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
		p.fixedBRL += line.fixedBRL
	}
	switch {
	case len(costs) == 0:
		p.reason = reasonNoCost
	case p.commission == 0 && p.fixedBRL == 0:
		p.reason = reasonTooLittle
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
		for _, m := range amounts(c.amount, o.Currency, c.fixedBRL) {
			lines = append(lines, facts.Line{
				InfluencerID: p.winner.influencerID, CampaignID: p.winner.campaignID, CostID: c.cost.ID,
				AmountMinor: m.Minor, Currency: m.Currency,
			})
		}
	}
	return lines
}

// amounts lists what is not zero, the order's currency first. Currencies are
// never added to each other.
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

// state names what the commission is: none where nothing is earned whatever
// the order's status, else by that status.
func (p *payout) state(o *Order) string {
	switch {
	case p.reason != "":
		return "none"
	case o.Status == commerce.OrderApproved:
		return "earned"
	case o.Status == commerce.OrderPending:
		return "expected"
	}
	return "reversed"
}
