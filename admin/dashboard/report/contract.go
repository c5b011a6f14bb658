package report

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/lang"
	"github.com/tributary-io/tributary/internal/reports"
)

// contractTable is the table of who is paid for the sales of a page's days. Its rows add up to all sales.
type contractTable struct {
	Rows   []contractRow // the influencers who are paid, and then nobody
	Total  contractRow
	Hidden string // how many influencers are left out, with what they come to
}

// contractRow is an influencer, or nobody, with the approved orders that are credited by agreements.
type contractRow struct {
	Name, Href                           string
	Orders, Coupon, Link, Sales, Part    string // Coupon and Link: of the sales; empty: they have none
	Percent                              int    // Part, for a bar
	Nobody                               bool
	Commission                           string // empty: nobody is paid
	Note                                 string // of nobody: what waits for a decision
	orders, sales, byCoupon, commissions decimal.Decimal
	byLink                               decimal.Decimal
}

// overviewContract fills the table of who is paid for the sales, of most influencers at most.
func (s *Pages) overviewContract(r *http.Request, v site.Request, a asked, sales *reports.Report, most int, page *overviewPage) error {
	partners, err := s.report(r, a, reports.Influencers, reports.ByTotal)
	if err != nil {
		return err
	}
	coupons, err := s.report(r, a, reports.Coupons, reports.ByTotal)
	if err != nil {
		return err
	}
	page.Contract = contractOf(v.Lang, sales, partners, coupons, most)
	for i := range page.Contract.Rows {
		if row := &page.Contract.Rows[i]; row.Href != "" {
			row.Href = v.Path(site.InfluencerPath, "id", row.Href)
		}
	}
	return nil
}

// contractOf divides all sales of the days among the influencers who are paid for them, and nobody. An order is paid by a
// coupon or by a link. Href is the influencer's id. Of more than most influencers the others are left out.
func contractOf(l *lang.Printer, sales, partners, coupons *reports.Report, most int) contractTable {
	value := func(r *reports.Report, row reports.Row, metric string) decimal.Decimal {
		return row.Sums[r.Spec.Column(metric)]
	}
	byCoupon := map[string]decimal.Decimal{}
	for _, row := range coupons.Rows {
		id := row.Texts[2]
		byCoupon[id] = byCoupon[id].Add(value(coupons, row, "sales"))
	}
	byID := map[string]*contractRow{}
	nobody := contractRow{Nobody: true, Name: l.T("overview.nobody"), orders: value(sales, sales.Totals, "orders"),
		sales: value(sales, sales.Totals, "sales")}
	if review := value(sales, sales.Totals, "review_orders"); review.IsPositive() {
		nobody.Note = l.N("overview.in_review", review.IntPart())
	}
	total := contractRow{Name: l.T("overview.all_sales"), orders: nobody.orders, sales: nobody.sales}
	for _, row := range partners.Rows { // one for each campaign
		id := row.Texts[0]
		p := byID[id]
		if p == nil {
			p = &contractRow{Name: row.Texts[1], Href: id, byCoupon: byCoupon[id]}
			byID[id] = p
		}
		orders, sum, commission := value(partners, row, "orders"), value(partners, row, "sales"), value(partners, row, "commission")
		p.orders, p.sales, p.commissions = p.orders.Add(orders), p.sales.Add(sum), p.commissions.Add(commission)
		nobody.orders, nobody.sales = nobody.orders.Sub(orders), nobody.sales.Sub(sum)
		total.commissions = total.commissions.Add(commission)
	}
	var rows []contractRow
	for _, p := range byID {
		if !p.orders.IsZero() || !p.sales.IsZero() || !p.commissions.IsZero() {
			rows = append(rows, *p)
			total.byCoupon = total.byCoupon.Add(p.byCoupon)
		}
	}
	slices.SortFunc(rows, func(x, y contractRow) int {
		return cmp.Or(y.sales.Cmp(x.sales), y.commissions.Cmp(x.commissions), strings.Compare(x.Name, y.Name), strings.Compare(x.Href, y.Href))
	})
	t := contractTable{Total: total}
	if extra := len(rows) - most; extra > 0 {
		hidden := decimal.Zero
		for _, row := range rows[most:] {
			hidden = hidden.Add(row.sales)
		}
		t.Hidden = l.N("overview.hidden", int64(extra), int64(most), int64(len(rows)), l.Sum(hidden, sales.Query.Currency))
		rows = rows[:most]
	}
	t.Rows = append(rows, nobody)
	for i := range t.Rows {
		t.Rows[i].write(l, sales.Query.Currency, total.sales, t.Rows[i].Href != "")
	}
	t.Total.write(l, sales.Query.Currency, total.sales, false)
	t.Total.byLink = total.sales.Sub(nobody.sales).Sub(total.byCoupon)
	t.Total.Coupon, t.Total.Link = l.Sum(total.byCoupon, sales.Query.Currency), l.Sum(t.Total.byLink, sales.Query.Currency)
	t.Total.Commission = l.Sum(total.commissions, sales.Query.Currency)
	return t
}

// write fills the texts of a row.
func (c *contractRow) write(l *lang.Printer, currency string, all decimal.Decimal, paid bool) {
	c.Orders, c.Sales = l.Count(c.orders.IntPart()), l.Sum(c.sales, currency)
	c.Percent, c.Part = part(c.sales, all), "–"
	if all.IsPositive() {
		c.Part = l.Share(c.sales, all)
	}
	if !paid {
		return
	}
	c.Commission = l.Sum(c.commissions, currency)
	if !c.byCoupon.IsZero() {
		c.Coupon = l.Sum(c.byCoupon, currency)
	}
	if c.byLink = c.sales.Sub(c.byCoupon); !c.byLink.IsZero() {
		c.Link = l.Sum(c.byLink, currency)
	}
}
