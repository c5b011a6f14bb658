package report

import (
	"net/http"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/reports"
)

const (
	mostCoupons      = 200
	mostUnknownCodes = 100
)

// couponsPage is what templates/coupons.html shows.
type couponsPage struct {
	site.Head
	Span    spanForm
	List    []couponRow
	Hidden  string
	Unknown []codeRow // codes that are nobody's
}

type couponRow struct {
	Code, Influencer, Href, Campaign                 string
	Orders, Sales, Average, Commission, NewCustomers string
}

type codeRow struct{ Code, Href, Orders, Sales string }

func (s *Pages) couponRoutes() []site.Route {
	return []site.Route{{Pattern: "GET " + site.CouponsPath, Handle: s.coupons}}
}

// coupons shows the orders of each coupon, and those with a code that is no coupon.
func (s *Pages) coupons(w http.ResponseWriter, r *http.Request, v site.Request) {
	a, err := s.askedOf(r, v, nil)
	var sold *reports.Report
	if err == nil {
		sold, err = s.report(r, a, reports.Coupons, reports.ByTotal)
	}
	var unknown []reports.UnknownCode
	if err == nil {
		unknown, err = s.db.UnknownCodes(r.Context(), sold.Query, mostUnknownCodes)
	}
	if err != nil {
		s.Refuse(w, r, err)
		return
	}
	page := couponsPage{Head: v.Head(v.Lang.T("coupons.title"), "coupons"), Span: a.formOf(v, site.CouponsPath, false, false, nil)}
	page.Span.currencies(a, sold)
	page.Span.CSV, page.Span.CSVIs = a.address(reportPath, "report", string(reports.Coupons)), v.Lang.T("coupons.csv")
	rows := sold.Rows
	if extra := len(rows) - mostCoupons; extra > 0 {
		page.Hidden, rows = v.Lang.N("report.hidden", int64(extra)), rows[:mostCoupons]
	}
	for _, row := range rows {
		figure := func(name string) string { return figureOf(v.Lang, sold, row, name) }
		page.List = append(page.List, couponRow{Code: row.Texts[1], Influencer: row.Texts[3], Campaign: row.Texts[5],
			Href:   v.Path(site.InfluencerPath, "id", row.Texts[2]),
			Orders: figure("orders"), Sales: figure("sales"), Average: figure("average_order"), Commission: figure("commission"),
			NewCustomers: figure("new_customers")})
	}
	for _, code := range unknown {
		page.Unknown = append(page.Unknown, codeRow{Code: code.Code, Orders: v.Lang.Count(code.Orders),
			Sales: v.Lang.Sum(code.SalesMinor, sold.Query.Currency),
			Href:  v.Path(site.OrdersPath, "q", code.Code, "from", a.Start, "to", a.End)})
	}
	s.Render(w, r, http.StatusOK, "coupons.html", page)
}
