package dashboard

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

// keyWords returns words for what joins an order to a touch: a kind of key, or
// the order's own UTM values.
func keyWords(matchedBy string) (name, about string) {
	switch matchedBy {
	case string(facts.KeyCart):
		return "Cart", "the same shopping cart"
	case string(facts.KeyCartNo):
		return "Cart number", "the same number of a cart, which may be guessed"
	case string(facts.KeyCookie):
		return "Signed cookie", "the signed cookie that the shop sent with the order"
	case string(facts.KeyVisitor):
		return "Device", "the visitor id that the shop sent with the order"
	case string(facts.KeyUser):
		return "Visitor's name", "an id of the shop's own, which may be guessed"
	case string(facts.KeyNetwork):
		return "Network", "the customer, in the network that the order came from"
	case string(facts.KeyVerified):
		return "Log-in", "the customer, logged in as the shop's backend said"
	case string(facts.KeyCustomer):
		return "Customer", "the shop's own customer id"
	case string(facts.KeyEmail):
		return "E-mail", "the customer's e-mail, kept as a hash"
	case string(facts.KeyPhone):
		return "Phone", "the customer's phone, kept as a hash"
	case string(facts.ByOrderUTM):
		return "Order's own UTM", "the campaign that the shop sent with the order"
	}
	return matchedBy, ""
}

// proofWords says by what an influencer's touch is known to be the buyer's.
func proofWords(proof facts.Proof) string {
	switch proof {
	case "":
		return "" // an explanation of before
	case facts.ProofClaimed:
		return "not proven"
	case facts.ProofAccepted:
		return "accepted by you"
	case facts.ProofRefused:
		return "refused by you"
	case facts.ProofOrder:
		return "proven by the order itself"
	}
	name, _ := keyWords(string(proof))
	return "proven by " + strings.ToLower(name)
}

// levelWord returns the word for what a cost is agreed for.
func levelWord(level facts.CostLevel) string {
	switch level {
	case facts.LevelCampaign:
		return "Campaign"
	case facts.LevelInfluencer:
		return "Influencer"
	}
	return string(level)
}

// modelOrder is the order in which models are shown. Others are not shown.
var modelOrder = []string{"last", "first", "last_non_direct", "linear", "position", "time_decay"}

var modelWords = map[string][2]string{
	"last":            {"Last touch", "all to the last"},
	"first":           {"First touch", "all to the first"},
	"last_non_direct": {"Last non-direct", "all to the last that was not a direct visit"},
	"linear":          {"Linear", "the same to each"},
	"position":        {"Position", "most to the first and the last"},
	"time_decay":      {"Time decay", "more to the later"},
}

// whatIf says who would have been paid with less evidence. It leaves out evidence
// that the order does not have: there is a coupon where somebody wins without the
// link, and a link where somebody wins without the coupon.
func whatIf(x facts.Explanation) []string {
	withoutCoupon, withoutLink := x.Counterfactual.WithoutCoupon, x.Counterfactual.WithoutLink
	var list []string
	tell := func(without string, p facts.ExplainedPayout) {
		if p.Winner == nil {
			list = append(list, without+", nobody would be credited.")
			return
		}
		text := without + ", " + p.Winner.Influencer + " would be credited by " + string(p.Winner.Evidence)
		switch {
		case p.State == facts.PayoutReview:
			text = without + ", the link of " + p.Winner.Influencer + " would wait for your decision."
		case p.State == facts.PayoutReversed:
			text += "; the order being cancelled, nothing would be owed."
		case len(p.Commissions) == 0:
			text += ", and nothing would be owed."
		default:
			text += ", with " + strings.Join(amounts(p.Commissions, ""), " and ") + "."
		}
		list = append(list, text)
	}
	if withoutLink.Winner != nil {
		tell("Without the coupon", withoutCoupon)
	}
	if withoutCoupon.Winner != nil {
		tell("Without the link", withoutLink)
	}
	return list
}

// unpaidWords says why nothing is owed, as a sentence; empty where something is.
func unpaidWords(reason facts.Reason) string {
	if words := reason.Words(); words != "" {
		return "Nothing is owed: " + words + "."
	}
	return ""
}

// stateWords says what a commission is, and by which class it is shown.
func stateWords(state facts.PayoutState, posted bool) (text, class string) {
	switch state {
	case facts.PayoutEarned:
		return "Earned", "approved"
	case facts.PayoutExpected:
		return "Expected", "pending"
	case facts.PayoutReview:
		return "In review", "pending"
	case facts.PayoutReversed:
		if posted {
			return "Taken back", "cancelled"
		}
		return "Not owed: cancelled", "cancelled"
	}
	return "", ""
}

// agreement names the cost for which a ledger entry was posted: "10% agreement".
// Where the order is not in BRL, an entry is for the fee or for the percentage.
func agreement(l commerce.LedgerEntry, orderCurrency string) string {
	fixed, share := "", ""
	if l.FixedFeeMinor > 0 {
		fixed = money(l.FixedFeeMinor, commerce.BRL) + " an order"
	}
	if l.VarFee.IsPositive() {
		share = l.VarFee.String() + "%"
	}
	switch {
	case l.Currency != commerce.BRL:
		fixed = ""
	case orderCurrency != commerce.BRL:
		share = ""
	}
	list := present(fixed, share)
	if list == nil {
		return "agreement"
	}
	return strings.Join(list, " + ") + " agreement"
}

// causeWords says why an entry was posted, in the store's time zone. A text
// that is no cause is returned as it is.
func causeWords(text string, zone *time.Location) string {
	cause, err := facts.ParseCause(text)
	if err != nil {
		return text
	}
	switch cause.Kind {
	case facts.CauseOrder:
		return "order as of " + cause.At.In(zone).Format("2 Jan 2006, 15:04")
	case facts.CauseEvent, facts.CauseCopy:
		return "a visit became known"
	case facts.CauseRule:
		return ruleWords(cause.Rule) + " changed (revision " + strconv.FormatInt(cause.Rev, 10) + ")"
	case facts.CauseEvidence:
		return "decision about the link (revision " + strconv.FormatInt(cause.Rev, 10) + ")"
	case facts.CauseUpgrade:
		return "computed again by a newer version"
	}
	return text
}

// ruleWords says which rule changed.
func ruleWords(rule wire.RuleType) string {
	if rule == wire.RuleCost {
		return "agreement"
	}
	return string(rule)
}

// amounts writes an amount for each currency. Without any it writes zero of the
// currency home, unless home is empty.
func amounts(list []facts.ExplainedSum, home string) (out []string) {
	for _, a := range list {
		out = append(out, amount(a.Amount, a.Currency))
	}
	if out == nil && home != "" {
		out = []string{amount("0", home)}
	}
	return out
}

// amount writes a number of the explanation as money, with its exact digits.
func amount(number json.Number, code string) string {
	if number == "" {
		number = "0"
	}
	minor, err := commerce.ParseMinor(number.String(), code)
	if err != nil {
		return code + "\u00a0" + number.String()
	}
	return money(minor, code)
}

// sharePercent writes a share of one as a percentage: 0.4 is "40%".
func sharePercent(share json.Number) string {
	d, err := commerce.ParseDecimal(share.String())
	if err != nil {
		return share.String()
	}
	return d.Mul(decimal.NewFromInt(100)).Round(1).String() + "%"
}

// present returns the words that are not empty and not "(none)".
func present(words ...string) (list []string) {
	for _, word := range words {
		if word != "" && word != "(none)" {
			list = append(list, word)
		}
	}
	return list
}
