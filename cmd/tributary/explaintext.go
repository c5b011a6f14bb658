package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
)

// ruleWords says what a store's payout rule means.
func ruleWords(rule string) string {
	switch rule {
	case facts.CouponFirst:
		return rule + ": a coupon goes before another influencer's link"
	case facts.LastTouch:
		return rule + ": an influencer's link goes before another's coupon"
	}
	return rule
}

func statusWords(status int) string {
	switch status {
	case commerce.OrderApproved:
		return "approved"
	case commerce.OrderPending:
		return "pending"
	case commerce.OrderCancelled:
		return "cancelled"
	}
	return fmt.Sprintf("status %d", status)
}

// explainInWords returns an order's explanation as text for people. Times are UTC.
func explainInWords(sale commerce.ExplainedSale) (string, error) {
	var x facts.Explanation
	if err := json.Unmarshal(sale.Explanation, &x); err != nil {
		return "", fmt.Errorf("stored explanation of %s (--json shows it as it is): %w", sale.Sale.OrderID, err)
	}
	t := explainer{currency: sale.Sale.Currency}
	if sale.Recomputing {
		t.line("This order is being computed again: what follows may change.")
		t.line("")
	}
	t.verdict(sale.Sale, x.Payout)
	t.payout(x)
	t.evidence(x)
	t.ledger(sale.Ledger)
	t.whatIf(x)
	return t.text.String(), nil
}

// explainer writes the parts of one explanation. Names and campaigns in it come
// from other people, so each line and cell is made printable.
type explainer struct {
	text     strings.Builder
	currency string // of the order
}

func (t *explainer) line(format string, args ...any) {
	t.text.WriteString(printable(fmt.Sprintf(format, args...)) + "\n")
}

// table writes a part: its title and its rows in columns, or none if there is no row.
func (t *explainer) table(title, none string, rows [][]string) {
	t.line("")
	t.line("%s", title)
	if len(rows) == 0 {
		t.line("  %s", none)
		return
	}
	aligned := tabwriter.NewWriter(&t.text, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			row[i] = printable(cell)
		}
		fmt.Fprintln(aligned, "  "+strings.TrimRight(strings.Join(row, "\t"), "\t"))
	}
	_ = aligned.Flush() // to a strings.Builder: never fails
}

func (t *explainer) verdict(s commerce.Sale, p facts.ExplainedPayout) {
	t.line("Order %s of %s: %s, %s", s.OrderID, clock(s.CreatedAt), commerce.Amount{Minor: s.TotalMinor, Currency: s.Currency},
		statusWords(s.Status))
	if s.Test {
		t.line("It is a test.")
	}
	if s.DiscountCode != "" {
		t.line("Discount code %s", s.DiscountCode)
	}
	t.line("")
	if p.Winner == nil {
		t.line("Credited to nobody%s.", because(p.Note))
		return
	}
	if p.State == facts.PayoutReview {
		t.line("Credited to nobody yet: the link of %s waits for a decision.", named(p.Winner.Influencer, p.Winner.Campaign))
		t.line("In review%s. Commission if accepted: %s.", because(p.Note), strings.Join(t.amounts(p), " and "))
		t.line("To decide, send the admin API POST /order/%s/evidence with accept or refuse.", url.PathEscape(s.OrderID))
		return
	}
	evidence := string(p.Winner.Evidence)
	if p.Winner.Evidence == facts.EvidenceLink {
		evidence = "the last link opened"
	}
	t.line("Credited to %s by %s.", named(p.Winner.Influencer, p.Winner.Campaign), evidence)
	switch {
	case p.State == facts.PayoutReversed:
		t.line("The commission is reversed: the order is cancelled.")
	case p.State == facts.PayoutNone || len(t.amounts(p)) == 0:
		t.line("No commission%s.", because(p.Note))
	default:
		t.line("Commission %s, %s.", strings.Join(t.amounts(p), " and "), stateWords(p.State))
	}
	if p.PayableOn != "" {
		t.line("It may be paid from %s on.", p.PayableOn)
	}
}

func (t *explainer) payout(x facts.Explanation) {
	rows := [][]string{
		{"rule", ruleWords(x.Payout.Rule)},
		{"base", money(x.Payout.Base, t.currency) + ", the total without shipping"},
	}
	if x.Payout.BaseIs == facts.BaseWithoutTax {
		rows[1][1] += " and without tax"
	}
	if x.Order.Tax != "" {
		rows = append(rows, []string{"tax", money(x.Order.Tax, t.currency) + ", contained in the total"})
	}
	for _, c := range x.Order.Codes {
		off := ""
		if c.Amount != nil {
			off = ", " + money(*c.Amount, t.currency) + " off"
		}
		word := "it decides"
		if !c.Decides {
			word = "does not count: " + c.Reason
		}
		rows = append(rows, []string{"code", c.Code + off + ": " + word})
	}
	for _, r := range x.Order.Refunds {
		rows = append(rows, []string{"refund", strings.TrimSpace(r.ID+" "+money(r.Amount, t.currency)) + ", " + cameFrom(r.CreatedAt, r.Reason)})
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

// foundBy says to whom a key of the order leads.
func foundBy(k facts.ExplainedKey) string {
	switch {
	case k.HubOf == facts.HubOfOrders:
		return "shared by too many orders to tell anything, not used"
	case k.Hub:
		return "shared by too many visitors to tell anything, not used"
	case k.Visitors == 1:
		return "1 visitor"
	}
	return fmt.Sprintf("%d visitors", k.Visitors)
}

func (t *explainer) evidence(x facts.Explanation) {
	var rows [][]string
	for _, k := range x.Keys {
		rows = append(rows, []string{string(k.Kind), foundBy(k)})
	}
	t.table("Keys of the order, the strongest first", "none: the order carries nothing that a visit carries too", rows)

	rows = nil
	for _, touch := range x.Touches {
		used := "used"
		if touch.Proof == facts.ProofClaimed || touch.Proof == facts.ProofRefused {
			used = "used by the channel models"
		}
		switch {
		case !touch.Used:
			used = "not used: " + touch.Reason
		case touch.Reason != "":
			used += ": " + touch.Reason
		}
		rows = append(rows, []string{instant(touch.At), touch.Channel, cameFrom(touch.Source, touch.Medium, touch.Campaign),
			"by " + touch.MatchedBy, proofWords(touch.Proof), used})
	}
	t.table("Touches before the order, the oldest first", "none", rows)

	rows = nil
	for _, c := range x.Cuts {
		rows = append(rows, []string{strings.TrimSpace(string(c.What) + " " + string(c.Kind)), "too many " + string(c.Limit)})
	}
	if len(rows) > 0 {
		t.table("Left out by a limit", "", rows)
	}
}

func (t *explainer) ledger(entries []commerce.LedgerEntry) {
	var rows [][]string
	for _, e := range entries {
		kind := e.Kind
		if e.Reverses != 0 {
			kind += fmt.Sprintf(" (takes back %d)", e.Reverses)
		}
		rows = append(rows, []string{fmt.Sprint(e.Entry), clock(e.At), kind, e.Influencer,
			commerce.Amount{Minor: e.AmountMinor, Currency: e.Currency}.String(), "payable " + e.PayableOn, e.Cause})
	}
	t.table("Ledger", "nothing was posted", rows)
}

func (t *explainer) whatIf(x facts.Explanation) {
	var rows [][]string
	add := func(without string, p facts.ExplainedPayout) {
		switch {
		case p.Winner == nil:
			rows = append(rows, []string{without, "nobody would be credited"})
		case p.State == facts.PayoutReview:
			rows = append(rows, []string{without,
				fmt.Sprintf("the link of %s would wait for a decision", named(p.Winner.Influencer, p.Winner.Campaign))})
		default:
			commission := strings.Join(t.amounts(p), " and ")
			if commission == "" {
				commission = "no commission"
			}
			rows = append(rows, []string{without, fmt.Sprintf("%s by %s, %s",
				named(p.Winner.Influencer, p.Winner.Campaign), p.Winner.Evidence, commission)})
		}
	}
	add("without the coupon", x.Counterfactual.WithoutCoupon)
	add("without the link", x.Counterfactual.WithoutLink)
	t.table("What if", "", rows)
}

// amounts returns a payout's commissions that are not zero, one a currency.
func (t *explainer) amounts(p facts.ExplainedPayout) []string {
	if len(p.Commissions) > 0 {
		return t.each(p.Commissions)
	}
	if isZero(p.Commission) {
		return nil
	}
	return []string{money(p.Commission, t.currency)}
}

func (t *explainer) each(list []facts.ExplainedSum) (texts []string) {
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

func because(note string) string {
	if note == "" {
		return ""
	}
	return ": " + note
}

func named(influencer, campaign string) string {
	if campaign == "" {
		return influencer
	}
	return fmt.Sprintf("%s (campaign %s)", influencer, campaign)
}

// proofWords says by what a touch is known to be the buyer's.
func proofWords(proof facts.Proof) string {
	switch proof {
	case "":
		return ""
	case facts.ProofClaimed:
		return "not proven"
	case facts.ProofAccepted, facts.ProofRefused:
		return string(proof)
	}
	return "proven by " + string(proof)
}

func stateWords(state facts.PayoutState) string {
	if state == facts.PayoutExpected {
		return "expected: it is earned when the order is approved"
	}
	return string(state)
}

// cameFrom joins source, medium and campaign, without those that are empty.
func cameFrom(parts ...string) string {
	var words []string
	for _, p := range parts {
		if p != "" && p != "(none)" {
			words = append(words, p)
		}
	}
	return strings.Join(words, " / ")
}

// instant returns a time of the explanation in the format of clock.
func instant(text string) string {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return text
	}
	return clock(at)
}

func clock(at time.Time) string { return at.UTC().Format("2006-01-02 15:04:05 UTC") }

// money returns an amount for people: 204.9 is "204.90 BRL".
func money(amount json.Number, currency string) string {
	minor, err := commerce.ParseMinor(amount.String(), currency)
	if err != nil {
		return amount.String() + " " + currency
	}
	return commerce.Amount{Minor: minor, Currency: currency}.String()
}
