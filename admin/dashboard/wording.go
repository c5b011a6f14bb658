package dashboard

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/commerce"
)

// keyWords says what a join key is to a merchant.
func keyWords(kind string) (name, about string) {
	switch kind {
	case "cart":
		return "Cart", "the same shopping cart"
	case "visitor":
		return "Device", "the visitor id that the shop sent with the order"
	case "customer":
		return "Customer", "the shop's own customer id"
	case "email":
		return "E-mail", "the customer's e-mail, kept as a hash"
	case "phone":
		return "Phone", "the customer's phone, kept as a hash"
	case "order_utm":
		return "Order's own UTM", "the campaign that the shop sent with the order"
	}
	return kind, ""
}

// levelWord is the specification's level of a cost, in English.
func levelWord(level string) string {
	switch level {
	case "campanha", "campaign":
		return "Campaign"
	case "influenciador", "influencer":
		return "Influencer"
	}
	return level
}

// modelOrder is the order in which models are shown; unknown ones are not.
var modelOrder = []string{"last", "first", "last_non_direct", "linear", "position", "time_decay"}

var modelWords = map[string][2]string{
	"last":            {"Last touch", "all to the last"},
	"first":           {"First touch", "all to the first"},
	"last_non_direct": {"Last non-direct", "all to the last that was not a direct visit"},
	"linear":          {"Linear", "the same to each"},
	"position":        {"Position", "most to the first and the last"},
	"time_decay":      {"Time decay", "more to the later"},
}

// whatIf tells how the payout would have been on less evidence.
// Only evidence that the order has can be taken away: it has a coupon where
// somebody wins without the link, and a link where somebody wins without the coupon.
func whatIf(x explained) []string {
	withoutCoupon, withoutLink := x.Counterfactual.WithoutCoupon, x.Counterfactual.WithoutLink
	wins := func(p *explainedPayout) bool { return p != nil && p.Winner != nil }
	var list []string
	tell := func(without string, p *explainedPayout) {
		if !wins(p) {
			list = append(list, without+", nobody would be credited.")
			return
		}
		text := without + ", " + p.Winner.Influencer + " would be credited by " + p.Winner.Evidence
		switch {
		case p.State == "reversed":
			text += "; the order being cancelled, nothing would be owed."
		case len(p.Commissions) == 0:
			text += ", and nothing would be owed."
		default:
			text += ", with " + strings.Join(amounts(p.Commissions, ""), " and ") + "."
		}
		list = append(list, text)
	}
	if wins(withoutLink) {
		tell("Without the coupon", withoutCoupon)
	}
	if wins(withoutCoupon) {
		tell("Without the link", withoutLink)
	}
	return list
}

// unpaidWords says why nothing is owed, as a sentence.
func unpaidWords(reason string, sale commerce.Sale) string {
	switch reason {
	case "no_winner":
		return "Nobody is credited, so nothing is owed."
	case "base_not_positive":
		return "Nothing is owed: without shipping, nothing is left of the order's total to earn on."
	case "recurring_excluded":
		return "Nothing is owed: this is a recurring order of a subscription, and the store does not pay for those."
	case "no_agreement":
		text := "Nothing is owed: no agreement with " + sale.Influencer + " that pays for an order was in force when it was made."
		if sale.Evidence == commerce.EvidenceLink {
			text = strings.TrimSuffix(text, ".") + ", or it pays by coupon only."
		}
		return text
	case "below_minor_unit":
		return "Nothing is owed: the share comes to less than the smallest coin."
	}
	return ""
}

// stateWords says what a commission is, and by which class it is shown.
func stateWords(state string, posted bool) (text, class string) {
	switch state {
	case "earned":
		return "Earned", "approved"
	case "expected":
		return "Expected", "pending"
	case "reversed":
		if posted {
			return "Taken back", "cancelled"
		}
		return "Not owed: cancelled", "cancelled"
	}
	return "", ""
}

// agreement names what a ledger entry rests on: "10% agreement". On an order
// in another currency than the fee's, the entry is of one part of it alone.
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

// causeWords says why an entry was posted: the processor's cause, in the
// store's time zone.
func causeWords(cause string, zone *time.Location) string {
	kind, rest, _ := strings.Cut(cause, " ")
	switch kind {
	case "order":
		if at, err := time.Parse(time.RFC3339, rest); err == nil {
			return "order as of " + at.In(zone).Format("2 Jan 2006, 15:04")
		}
		return "order"
	case "event":
		return "a visit became known"
	case "rule":
		rev, what, _ := strings.Cut(rest, " ")
		word := map[string]string{"cost": "agreement", "settings": "settings", "": "rules"}[what]
		if word == "" {
			word = what
		}
		return word + " changed (revision " + rev + ")"
	}
	return cause
}

// amounts writes each currency's amount; nothing at all is zero of home, where
// there is a home.
func amounts(list []explainedSum, home string) (out []string) {
	for _, a := range list {
		out = append(out, amount(a.Amount, a.Currency))
	}
	if out == nil && home != "" {
		out = []string{amount("0", home)}
	}
	return out
}

// amount writes a number of the explanation as money; never through a float.
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

// reasonWords says a reason of the processor without the names of settings.
func reasonWords(reason string) string {
	return strings.NewReplacer(
		"coupon_first", "“coupon first”", "last_touch", "“last touch”",
		"direct: only the model last counts it", "a direct visit counts in the last-touch model alone",
	).Replace(reason)
}

// present drops what is empty.
func present(words ...string) (list []string) {
	for _, word := range words {
		if word != "" && word != "(none)" {
			list = append(list, word)
		}
	}
	return list
}
