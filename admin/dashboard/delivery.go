package dashboard

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/reports"
)

const deliveryPath = "/dashboard/delivery"

// outcomes are what becomes of events, in the order in which they are shown
// (docs/reports.md).
var outcomes = []string{"stored", "duplicate", "late", "rejected"}

// deliveryPage is what templates/delivery.html shows.
type deliveryPage struct {
	head
	Span    spanForm
	Tiles   []tile
	Chart   *chart
	Reasons []reasonRow // why events were rejected, the most frequent first
	Empty   bool
	Install string
}

type reasonRow struct {
	Reason, Events, Part string
	Percent              int
	events               decimal.Decimal
}

func (s *Server) deliveryRoutes() []route {
	return []route{{pattern: "GET " + deliveryPath, handle: s.delivery}}
}

func (s *Server) delivery(w http.ResponseWriter, r *http.Request, v pageRequest) {
	a, err := s.askedOf(r, v, nil)
	var found *reports.Report
	if err == nil {
		found, err = s.report(r, a, reports.Delivery, a.By)
	}
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	page := deliveryPage{head: v.head(v.lang.T("delivery.title"), "delivery"), Span: a.formOf(v, deliveryPath, true, false, nil), Install: storePath(installPath, v.current.CompanyID)}
	page.Span.CSV = a.address(reportPath, "report", string(reports.Delivery))
	page.fill(v, found)
	s.render(w, r, http.StatusOK, "delivery.html", page)
}

// fill sums the report by outcome, by period and by reason.
func (page *deliveryPage) fill(v pageRequest, found *reports.Report) {
	events := found.Spec.Column("events")
	totals, periods, reasons := map[string]decimal.Decimal{}, map[string]map[string]decimal.Decimal{}, map[string]decimal.Decimal{}
	for _, row := range found.Rows {
		outcome, n := row.Texts[0], row.Sums[events]
		totals[outcome] = totals[outcome].Add(n)
		if periods[row.Period] == nil {
			periods[row.Period] = map[string]decimal.Decimal{}
		}
		periods[row.Period][outcome] = periods[row.Period][outcome].Add(n)
		if row.Texts[1] != "" {
			reasons[row.Texts[1]] = reasons[row.Texts[1]].Add(n)
		}
	}
	whole := found.Totals.Sums[events]
	page.Empty = whole.IsZero()
	count := func(n decimal.Decimal) string { return v.lang.Count(n.IntPart()) }
	for _, outcome := range outcomes {
		page.Tiles = append(page.Tiles, tile{ID: "sum-" + outcome, Label: v.lang.T("delivery." + outcome), Lines: []string{count(totals[outcome])}, Note: v.lang.Share(totals[outcome], whole)})
	}
	bars := []bar{}
	for _, period := range found.Query.Periods() {
		b := bar{Label: v.lang.Day(period), Value: periods[period][outcomes[0]], Text: count(periods[period][outcomes[0]])}
		for _, outcome := range outcomes[1:] {
			b.More = append(b.More, count(periods[period][outcome]))
		}
		bars = append(bars, b)
	}
	page.Chart = newChart(v.lang.T("delivery.by_period"), v.lang.T("overview.period"), v.lang.T("delivery."+outcomes[0]), bars)
	for _, outcome := range outcomes[1:] {
		page.Chart.More = append(page.Chart.More, v.lang.T("delivery."+outcome))
	}
	for reason, n := range reasons {
		page.Reasons = append(page.Reasons, reasonRow{Reason: reason, Events: count(n), Part: v.lang.Share(n, totals["rejected"]), Percent: part(n, totals["rejected"]), events: n})
	}
	slices.SortFunc(page.Reasons, func(x, y reasonRow) int {
		return cmp.Or(y.events.Cmp(x.events), strings.Compare(x.Reason, y.Reason))
	})
}
