package money

import (
	"strings"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/lang"
)

// orderDetails says of an order's codes which counts, what tax it contains and what was
// refunded: a sentence each.
func orderDetails(l *lang.Printer, x facts.Explanation, currency string, zone *time.Location) (lines []string) {
	for _, c := range x.Order.Codes {
		code := c.Code
		if c.Influencer != "" {
			code = l.T("order.code_of", code, c.Influencer)
		}
		if c.Amount != nil {
			code = l.T("order.code_off", code, amount(l, *c.Amount, currency))
		}
		if c.Decides {
			lines = append(lines, l.T("order.code_decides", code))
		} else {
			lines = append(lines, l.T("order.code_not", code, reasonWords(l, c.Reason)))
		}
	}
	if x.Order.Tax != "" {
		key := "order.tax_with"
		if x.Payout.BaseIs == facts.BaseWithoutTax {
			key = "order.tax_without"
		}
		lines = append(lines, l.T(key, amount(l, x.Order.Tax, currency), amount(l, x.Payout.Base, currency)))
	}
	for _, r := range x.Order.Refunds {
		parts := []string{amount(l, r.Amount, currency)}
		if at, err := time.Parse(time.RFC3339, r.CreatedAt); err == nil {
			parts = append(parts, l.Time(at.In(zone)))
		}
		for _, item := range r.Items {
			parts = append(parts, l.T("order.refund_items", l.Count(item.Quantity), item.ItemID))
		}
		lines = append(lines, l.T("order.refund", r.ID, strings.Join(append(parts, site.Present(r.Reason)...), ", ")))
	}
	return lines
}

// selfPurchase says that the customer is the influencer, where that is why the commission waits or nothing is owed.
func (p *orderPage) selfPurchase(l *lang.Printer, x facts.Explanation) {
	switch {
	case x.Payout.Reason != facts.ReasonSelfPurchase:
	case x.Payout.State == facts.PayoutReview && x.Payout.Winner != nil:
		p.Verdict, p.Deciding = l.T("verdict.self_purchase", x.Payout.Winner.Influencer), l.T("order.decide_self")
	case len(x.Order.CustomerIs) > 0:
		var names []string
		for _, c := range x.Order.CustomerIs {
			names = append(names, c.Influencer)
		}
		p.Verdict = l.T("verdict.self_purchase_none", site.JoinAnd(l, names))
	}
}
