package money

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/lang"
	"github.com/tributary-io/tributary/internal/wire"
)

// proofWords says by what an influencer's touch is known to be the buyer's.
func proofWords(l *lang.Printer, proof facts.Proof) string {
	switch proof {
	case "":
		return ""
	case facts.ProofClaimed, facts.ProofAccepted, facts.ProofRefused, facts.ProofOrder:
		return l.T("proof." + string(proof))
	}
	name, _ := site.KeyWords(l, string(proof))
	return l.T("proof.by", strings.ToLower(name))
}

// levelWord returns the word for what a cost is agreed for.
func levelWord(l *lang.Printer, level facts.CostLevel) string {
	return site.TextOf(l, "level."+string(level), string(level))
}

// modelOrder is the order in which models are shown. Others are not shown.
var modelOrder = []string{"last", "first", "last_non_direct", "linear", "position", "time_decay"}

// reasonWords is a stored reason of a touch or a loser in the language of the
// page: explanations have the words of the English reason.
func reasonWords(l *lang.Printer, words string) string {
	for _, reason := range facts.Reasons() {
		if reason.Words() == words {
			return l.T("reason." + string(reason))
		}
	}
	return words
}

// whatIf says who would have been paid with less evidence. It leaves out evidence
// that the order does not have: there is a coupon where somebody wins without the
// link, and a link where somebody wins without the coupon.
func whatIf(l *lang.Printer, x facts.Explanation) []string {
	withoutCoupon, withoutLink := x.Counterfactual.WithoutCoupon, x.Counterfactual.WithoutLink
	var list []string
	tell := func(without string, p facts.ExplainedPayout) {
		if p.Winner == nil {
			list = append(list, l.T("whatif.nobody", without))
			return
		}
		by := l.T("whatif.by_" + string(p.Winner.Evidence))
		switch {
		case p.State == facts.PayoutReview:
			list = append(list, l.T("whatif.review", without, p.Winner.Influencer))
		case p.State == facts.PayoutReversed:
			list = append(list, l.T("whatif.cancelled", without, p.Winner.Influencer, by))
		case len(p.Commissions) == 0:
			list = append(list, l.T("whatif.nothing", without, p.Winner.Influencer, by))
		default:
			list = append(list, l.T("whatif.paid", without, p.Winner.Influencer, by, site.JoinAnd(l, amounts(l, p.Commissions, ""))))
		}
	}
	if withoutLink.Winner != nil {
		tell(l.T("whatif.without_coupon"), withoutCoupon)
	}
	if withoutCoupon.Winner != nil {
		tell(l.T("whatif.without_link"), withoutLink)
	}
	return list
}

// unpaidWords says why nothing is owed, as a sentence; empty where something is.
func unpaidWords(l *lang.Printer, reason facts.Reason) string {
	if reason.Words() == "" {
		return ""
	}
	return l.T("order.nothing_owed", l.T("reason."+string(reason)))
}

// agreement names the cost for which a ledger entry was posted: "10% agreement".
// Where the order is not in BRL, an entry is for the fee or for the percentage.
func agreement(l *lang.Printer, e commerce.LedgerEntry, orderCurrency string) string {
	fixed, share := "", ""
	if e.FixedFeeMinor > 0 {
		fixed = l.T("cost.per_order", l.Money(e.FixedFeeMinor, commerce.BRL))
	}
	if e.VarFee.IsPositive() {
		share = l.Number(e.VarFee) + "%"
	}
	switch {
	case e.Currency != commerce.BRL:
		fixed = ""
	case orderCurrency != commerce.BRL:
		share = ""
	}
	list := site.Present(fixed, share)
	if list == nil {
		return l.T("cost.agreement")
	}
	return l.T("cost.agreement_of", strings.Join(list, " + "))
}

// causeWords says why an entry was posted, in the store's time zone. A text
// that is no cause is returned as it is.
func causeWords(l *lang.Printer, text string, zone *time.Location) string {
	cause, err := facts.ParseCause(text)
	if err != nil {
		return text
	}
	switch cause.Kind {
	case facts.CauseOrder:
		return l.T("cause.order", l.Time(cause.At.In(zone)))
	case facts.CauseEvent, facts.CauseCopy:
		return l.T("cause.event")
	case facts.CauseRule:
		return l.T("cause.rule", ruleWords(l, cause.Rule), cause.Rev)
	case facts.CauseEvidence:
		return l.T("cause.evidence")
	case facts.CauseSnapshot:
		return l.T("cause.snapshot")
	}
	return text
}

// ruleWords says which rule changed.
func ruleWords(l *lang.Printer, rule wire.RuleType) string {
	return site.TextOf(l, "rule."+string(rule), string(rule))
}

// amounts writes an amount for each currency. Without any it writes zero of the
// currency home, unless home is empty.
func amounts(l *lang.Printer, list []facts.ExplainedSum, home string) (out []string) {
	for _, a := range list {
		out = append(out, amount(l, a.Amount, a.Currency))
	}
	if out == nil && home != "" {
		out = []string{amount(l, "0", home)}
	}
	return out
}

// amount writes a number of the explanation as money, with its exact digits.
func amount(l *lang.Printer, number json.Number, code string) string {
	if number == "" {
		number = "0"
	}
	minor, err := commerce.ParseMinor(number.String(), code)
	if err != nil {
		return code + "\u00a0" + number.String()
	}
	return l.Money(minor, code)
}

// sharePercent writes a share of one as a percentage: 0.4 is "40%".
func sharePercent(l *lang.Printer, share json.Number) string {
	d, err := commerce.ParseDecimal(share.String())
	if err != nil {
		return share.String()
	}
	return l.Number(d.Mul(decimal.NewFromInt(100)).Round(1)) + "%"
}
