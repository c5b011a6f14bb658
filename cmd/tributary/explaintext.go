package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
)

// explained is the stored explanation (docs/attribution.md, "Explanation"), as
// much of it as the text tells. Amounts stay the numbers they came as.
type explained struct {
	Keys []struct {
		Kind     shown `json:"kind"`
		Strength int   `json:"strength"`
		Hub      bool  `json:"hub"`
		Visitors int   `json:"visitors"`
	} `json:"keys"`
	Touches []struct {
		At         shown `json:"at"`
		Source     shown `json:"source"`
		Medium     shown `json:"medium"`
		Campaign   shown `json:"campaign"`
		Channel    shown `json:"channel"`
		Influencer shown `json:"influencer"`
		MatchedBy  shown `json:"matched_by"`
		Used       bool  `json:"used"`
		Reason     shown `json:"reason"`
	} `json:"touches"`
	Payout         explainedPayout `json:"payout"`
	Counterfactual struct {
		WithoutCoupon *explainedPayout `json:"without_coupon"`
		WithoutLink   *explainedPayout `json:"without_link"`
	} `json:"counterfactual"`
}

type explainedPayout struct {
	Winner *struct {
		Influencer shown `json:"influencer"`
		Campaign   shown `json:"campaign"`
		Evidence   shown `json:"evidence"`
	} `json:"winner"`
	Rule   shown `json:"rule"`
	Losers []struct {
		Influencer shown `json:"influencer"`
		Evidence   shown `json:"evidence"`
		Reason     shown `json:"reason"`
	} `json:"losers"`
	Costs []struct {
		CostID   shown             `json:"cost_id"`
		Level    shown             `json:"level"`
		FixedFee json.Number       `json:"fixed_fee"`
		VarFee   json.Number       `json:"var_fee"`
		Revision int64             `json:"revision"`
		Amount   json.Number       `json:"amount"`
		Amounts  []explainedAmount `json:"amounts"`
	} `json:"costs"`
	Base        json.Number       `json:"base"`
	Commission  json.Number       `json:"commission"`
	Commissions []explainedAmount `json:"commissions"` // a currency each
	State       shown             `json:"state"`
	Note        shown             `json:"note"`
}

type explainedAmount struct {
	Amount   json.Number `json:"amount"`
	Currency string      `json:"currency"`
}

// shown is text of other people, made printable as it is read.
type shown string

func (s *shown) UnmarshalJSON(text []byte) error {
	var raw string
	if err := json.Unmarshal(text, &raw); err != nil {
		return err
	}
	*s = shown(printable(raw))
	return nil
}

// ruleWords say what a store's payout rule means.
var ruleWords = map[shown]string{
	"coupon_first": "a coupon goes before another influencer's link",
	"last_touch":   "an influencer's link goes before another's coupon",
}

var statusWords = map[int]string{
	commerce.OrderApproved: "approved", commerce.OrderPending: "pending", commerce.OrderCancelled: "cancelled",
}

// explainInWords is an order's explanation for people. Times are UTC.
func explainInWords(sale commerce.ExplainedSale) (string, error) {
	var x explained
	if err := json.Unmarshal(sale.Explanation, &x); err != nil {
		return "", fmt.Errorf("stored explanation of %s (--json shows it as it is): %w", sale.Sale.OrderID, err)
	}
	t := explainer{currency: sale.Sale.Currency}
	t.verdict(sale.Sale, x.Payout)
	t.payout(x)
	t.evidence(x)
	t.ledger(sale.Ledger)
	t.whatIf(x)
	return t.text.String(), nil
}

// explainer writes the parts of one explanation.
type explainer struct {
	text     strings.Builder
	currency string // of the order
}

func (t *explainer) line(format string, args ...any) { fmt.Fprintf(&t.text, format+"\n", args...) }

// table writes a part: its title and aligned rows, or what to say of none.
func (t *explainer) table(title, none string, rows [][]string) {
	t.line("\n%s", title)
	if len(rows) == 0 {
		t.line("  %s", none)
		return
	}
	aligned := tabwriter.NewWriter(&t.text, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(aligned, "  "+strings.TrimRight(strings.Join(row, "\t"), "\t"))
	}
	_ = aligned.Flush() // to a strings.Builder: never fails
}

func (t *explainer) verdict(s commerce.Sale, p explainedPayout) {
	t.line("Order %s of %s: %s, %s", printable(s.OrderID), clock(s.CreatedAt), commerce.Amount{Minor: s.TotalMinor, Currency: s.Currency}, statusWords[s.Status])
	if s.DiscountCode != "" {
		t.line("Discount code %s", printable(s.DiscountCode))
	}
	t.line("")
	if p.Winner == nil {
		t.line("Credited to nobody%s.", because(p.Note))
		return
	}
	evidence := p.Winner.Evidence
	if evidence == commerce.EvidenceLink {
		evidence = "the last link opened"
	}
	t.line("Credited to %s by %s.", named(p.Winner.Influencer, p.Winner.Campaign), evidence)
	switch {
	case p.State == "reversed":
		t.line("The commission is reversed: the order is cancelled.")
	case p.State == "none" || len(t.amounts(p)) == 0:
		t.line("No commission%s.", because(p.Note))
	default:
		t.line("Commission %s, %s.", strings.Join(t.amounts(p), " and "), stateWords(p.State))
	}
}

func (t *explainer) payout(x explained) {
	rows := [][]string{
		{"rule", withMeaning(x.Payout.Rule)},
		{"base", money(x.Payout.Base, t.currency) + ", the total without shipping"},
	}
	for _, l := range x.Payout.Losers {
		rows = append(rows, []string{"not paid", fmt.Sprintf("%s by %s: %s", l.Influencer, l.Evidence, l.Reason)})
	}
	t.table("How it was decided", "", rows)

	rows = nil
	for _, c := range x.Payout.Costs {
		var terms []string
		if !isZero(c.VarFee) {
			terms = append(terms, c.VarFee.String()+"% of the base")
		}
		if !isZero(c.FixedFee) {
			terms = append(terms, money(c.FixedFee, commerce.BRL)+" an order")
		}
		amounts := t.each(c.Amounts)
		if len(amounts) == 0 {
			amounts = []string{money(c.Amount, t.currency)}
		}
		rows = append(rows, []string{strings.Join(terms, " + "), "= " + strings.Join(amounts, " and "),
			fmt.Sprintf("%s's cost %s, revision %d", c.Level, c.CostID, c.Revision)})
	}
	t.table("Costs that apply", "none", rows)
}

func (t *explainer) evidence(x explained) {
	var rows [][]string
	for _, k := range x.Keys {
		found := fmt.Sprintf("%d visitors", k.Visitors)
		if k.Visitors == 1 {
			found = "1 visitor"
		}
		if k.Hub {
			found += "; shared by too many to tell anything, not used"
		}
		rows = append(rows, []string{string(k.Kind), found})
	}
	t.table("Keys of the order, the strongest first", "none: the order carries nothing that a visit carries too", rows)

	rows = nil
	for _, touch := range x.Touches {
		used := "used"
		if !touch.Used {
			used = "not used: " + string(touch.Reason)
		}
		rows = append(rows, []string{instant(touch.At), string(touch.Channel), cameFrom(touch.Source, touch.Medium, touch.Campaign),
			"by " + string(touch.MatchedBy), used})
	}
	t.table("Touches before the order, the oldest first", "none", rows)
}

func (t *explainer) ledger(entries []commerce.LedgerEntry) {
	var rows [][]string
	for _, e := range entries {
		kind := e.Kind
		if e.Reverses != 0 {
			kind += fmt.Sprintf(" (takes back %d)", e.Reverses)
		}
		rows = append(rows, []string{fmt.Sprint(e.Entry), clock(e.At), kind, printable(e.Influencer),
			commerce.Amount{Minor: e.AmountMinor, Currency: e.Currency}.String(), printable(e.Cause)})
	}
	t.table("Ledger", "nothing was posted", rows)
}

func (t *explainer) whatIf(x explained) {
	var rows [][]string
	tell := func(without string, p *explainedPayout) {
		switch {
		case p == nil:
		case p.Winner == nil:
			rows = append(rows, []string{without, "nobody would be credited"})
		default:
			commission := strings.Join(t.amounts(*p), " and ")
			if commission == "" {
				commission = "no commission"
			}
			rows = append(rows, []string{without, fmt.Sprintf("%s by %s, %s",
				named(p.Winner.Influencer, p.Winner.Campaign), p.Winner.Evidence, commission)})
		}
	}
	tell("without the coupon", x.Counterfactual.WithoutCoupon)
	tell("without the link", x.Counterfactual.WithoutLink)
	t.table("What if", "not known", rows)
}

// amounts are a payout's commissions that are not nothing, a currency each.
func (t *explainer) amounts(p explainedPayout) []string {
	if len(p.Commissions) > 0 {
		return t.each(p.Commissions)
	}
	if isZero(p.Commission) {
		return nil
	}
	return []string{money(p.Commission, t.currency)}
}

func (t *explainer) each(list []explainedAmount) (texts []string) {
	for _, a := range list {
		if !isZero(a.Amount) {
			texts = append(texts, money(a.Amount, a.Currency))
		}
	}
	return texts
}

func isZero(number json.Number) bool {
	d, err := commerce.ParseDecimal(number.String())
	return number == "" || err == nil && d.IsZero()
}

func because(note shown) string {
	if note == "" {
		return ""
	}
	return ": " + string(note)
}

func named(influencer, campaign shown) string {
	if campaign == "" {
		return string(influencer)
	}
	return fmt.Sprintf("%s (campaign %s)", influencer, campaign)
}

func stateWords(state shown) string {
	if state == "expected" {
		return "expected: it is earned when the order is approved"
	}
	return string(state)
}

func withMeaning(rule shown) string {
	if meaning := ruleWords[rule]; meaning != "" {
		return string(rule) + ": " + meaning
	}
	return string(rule)
}

// cameFrom is source / medium / campaign without what is empty.
func cameFrom(parts ...shown) string {
	var words []string
	for _, p := range parts {
		if p != "" && p != "(none)" {
			words = append(words, string(p))
		}
	}
	return strings.Join(words, " / ")
}

// instant is a time of the explanation as clock writes it.
func instant(text shown) string {
	at, err := time.Parse(time.RFC3339, string(text))
	if err != nil {
		return string(text)
	}
	return clock(at)
}

func clock(at time.Time) string { return at.UTC().Format("2006-01-02 15:04:05 UTC") }

// money is a JSON number as people read it: 204.9 is "204.90 BRL".
func money(amount json.Number, currency string) string {
	minor, err := commerce.ParseMinor(amount.String(), currency)
	if err != nil {
		return amount.String() + " " + currency
	}
	return commerce.Amount{Minor: minor, Currency: currency}.String()
}
