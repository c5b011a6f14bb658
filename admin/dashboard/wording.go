package dashboard

import (
	"encoding/json"
	"strings"

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
	case "campanha":
		return "Campaign"
	case "influenciador":
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
func whatIf(x explained, code string) []string {
	var list []string
	tell := func(without string, p *explainedPayout) {
		if p == nil {
			return
		}
		if p.Winner == nil {
			list = append(list, without+", nobody would be credited.")
			return
		}
		list = append(list, without+", "+p.Winner.Influencer+" would be credited by "+p.Winner.Evidence+", with "+amount(p.Commission, code)+".")
	}
	tell("Without the coupon", x.Counterfactual.WithoutCoupon)
	tell("Without the link", x.Counterfactual.WithoutLink)
	return list
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
