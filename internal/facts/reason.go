package facts

import (
	"maps"
	"slices"
)

// Reason says why somebody is not paid, or why a touch does not count.
type Reason string

// Reasons why nobody earns anything on an order, whatever its status
// (docs/attribution.md, "Explanation").
const (
	ReasonTest       Reason = "test_order"
	ReasonPaidByHand Reason = "paid_by_hand" // the order says so: noCommission
	ReasonNoWinner   Reason = "no_winner"
	ReasonHidden     Reason = "claims_hidden"
	ReasonBase       Reason = "base_not_positive"
	ReasonRecurring  Reason = "recurring_excluded"
	ReasonNoCost     Reason = "no_agreement"
	ReasonTooLittle  Reason = "below_minor_unit"
	ReasonOutOfRange Reason = "amount_out_of_range"
)

// Reasons why a commission waits for the merchant's decision.
const (
	ReasonUnproven      Reason = "unproven"
	ReasonAfterCheckout Reason = "after_checkout"
)

// ReasonSelfPurchase says that an influencer bought by the own coupon or link: the commission waits for the
// merchant's decision, or nothing is earned.
const ReasonSelfPurchase Reason = "self_purchase"

// Reasons why a claim or a touch does not count.
const (
	ReasonLinkBeatsCoupon Reason = "link_beats_coupon"
	ReasonAssigned        Reason = "assigned_to_another"
	ReasonCouponBeatsLink Reason = "coupon_beats_link"
	ReasonMarketplace     Reason = "marketplace"
	ReasonDirect          Reason = "direct"
	ReasonRefused         Reason = "refused"
	ReasonPayoutAlone     Reason = "payout_alone"
	ReasonCodeNothing     Reason = "code_took_nothing_off"
	ReasonCodeNobodys     Reason = "code_of_nobody"
	ReasonCodeLess        Reason = "code_took_less_off"
	ReasonCodeLater       Reason = "code_comes_later"
)

// reasonWords has the sentence for each reason. The API and the pages show it.
var reasonWords = map[Reason]string{
	ReasonTest:            "the order is a test: it counts nowhere",
	ReasonPaidByHand:      "its commission was paid by hand: the order says so",
	ReasonNoWinner:        "no coupon of an influencer led to the order, and no link that counts for the payout",
	ReasonHidden:          "no coupon and no proven link of an influencer led to the order; too many visitors claim to be the buyer",
	ReasonBase:            "without shipping, the order's total is not above zero",
	ReasonRecurring:       "recurring subscription orders are not paid",
	ReasonNoCost:          "no cost was in force for this evidence when the order was made",
	ReasonTooLittle:       "the share rounds to less than the currency's smallest unit",
	ReasonOutOfRange:      "the commission is too large to be recorded",
	ReasonAssigned:        "the store gave the order to another influencer",
	ReasonLinkBeatsCoupon: "a link beats a coupon: the store's rule is “last touch”",
	ReasonCouponBeatsLink: "a coupon beats a link: the store's rule is “coupon first”",
	ReasonMarketplace:     "marketplace orders take no link evidence",
	ReasonUnproven:        "nothing proves that the buyer is who came by this link; the store decides",
	ReasonAfterCheckout:   "the link was opened after the checkout had begun; the store decides",
	ReasonSelfPurchase:    "the customer of this order is the influencer",
	ReasonRefused:         "the store refused this influencer's link for the order",
	ReasonPayoutAlone:     "counts for the payout alone; in the models other touches stand for it",
	ReasonCodeNothing:     "it took nothing off",
	ReasonCodeNobodys:     "it is no influencer's coupon that was in force when the order was made",
	ReasonCodeLess:        "another coupon took more off",
	ReasonCodeLater:       "another coupon that took as much off comes before it",
	ReasonDirect:          "a direct visit counts in the model “last touch” alone",
}

// Reasons lists every reason, in alphabetical order.
func Reasons() []Reason { return slices.Sorted(maps.Keys(reasonWords)) }

// Words returns the reason's sentence, and "" for an unknown reason.
func (r Reason) Words() string { return reasonWords[r] }
