package report

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/reports"
)

// outcomes are what becomes of events, in the order in which they are shown
// (docs/reports.md).
var outcomes = []string{"stored", "duplicate", "late", "rejected", "dropped", "missing"}

// deliveryPage is what templates/delivery.html shows.
type deliveryPage struct {
	site.Head
	Span       spanForm
	Tiles      []site.Tile
	Chart      *site.Chart
	Reasons    []reasonRow // why events were rejected, the most frequent first
	Dropped    []reasonRow // why senders gave events up
	Sources    []sourceRow // from where events come, the most frequent first
	Meaning    []string    // the outcomes
	Unfollowed string      // streams that were not looked at; empty: none
	SourcesCSV string      // of the sources, by period
	Empty      bool
	Install    string
}

// sourceRow is what came from one origin by one family of browsers.
type sourceRow struct {
	Origin, Browser                               string
	Stored, Duplicate, Rejected, Dropped, Missing string
	events                                        decimal.Decimal
}

type reasonRow struct {
	Reason, Events, Part string
	Means                string // may be empty
	Percent              int
	events               decimal.Decimal
}

func (s *Pages) deliveryRoutes() []site.Route {
	return []site.Route{{Pattern: "GET " + site.DeliveryPath, Handle: s.delivery}}
}

func (s *Pages) delivery(w http.ResponseWriter, r *http.Request, v site.Request) {
	a, err := s.askedOf(r, v, nil)
	var found *reports.Report
	if err == nil {
		found, err = s.report(r, a, reports.Delivery, a.By)
	}
	var from *reports.Report
	if err == nil {
		from, err = s.report(r, a, reports.Sources, reports.ByTotal)
	}
	if err != nil {
		s.Refuse(w, r, err)
		return
	}
	page := deliveryPage{Head: v.Head(v.Lang.T("delivery.title"), "delivery"), Span: a.formOf(v, site.DeliveryPath, true, false, nil),
		Install: v.Path(site.InstallPath)}
	page.Span.CSV = a.address(reportPath, "report", string(reports.Delivery))
	page.Span.CSVIs, page.SourcesCSV = v.Lang.T("delivery.csv"), a.address(reportPath, "report", string(reports.Sources))
	page.fill(v, found)
	page.addSources(v, from)
	s.Render(w, r, http.StatusOK, "delivery.html", page)
}

// fill sums the report by outcome, by period and by reason.
func (page *deliveryPage) fill(v site.Request, found *reports.Report) {
	events := found.Spec.Column("events")
	totals, periods, reasons := map[string]decimal.Decimal{}, map[string]map[string]decimal.Decimal{}, map[string]map[string]decimal.Decimal{}
	for _, row := range found.Rows {
		outcome, n := row.Texts[0], row.Sums[events]
		totals[outcome] = totals[outcome].Add(n)
		if periods[row.Period] == nil {
			periods[row.Period] = map[string]decimal.Decimal{}
		}
		periods[row.Period][outcome] = periods[row.Period][outcome].Add(n)
		if row.Texts[1] != "" {
			if reasons[outcome] == nil {
				reasons[outcome] = map[string]decimal.Decimal{}
			}
			reasons[outcome][row.Texts[1]] = reasons[outcome][row.Texts[1]].Add(n)
		}
	}
	whole := found.Totals.Sums[events]
	page.Empty = whole.IsZero()
	count := func(n decimal.Decimal) string { return v.Lang.Count(n.IntPart()) }
	for _, outcome := range outcomes {
		page.Tiles = append(page.Tiles,
			site.Tile{ID: "sum-" + outcome, Label: v.Lang.T("delivery." + outcome), Lines: []string{count(totals[outcome])},
				Note: v.Lang.Share(totals[outcome], whole)})
	}
	bars := []site.Bar{}
	for _, period := range found.Query.Periods() {
		b := site.Bar{Label: v.Lang.Day(period), Value: periods[period][outcomes[0]], Text: count(periods[period][outcomes[0]])}
		for _, outcome := range outcomes[1:] {
			b.More = append(b.More, count(periods[period][outcome]))
		}
		bars = append(bars, b)
	}
	page.Chart = site.NewChart(v.Lang.T("delivery.by_period"), v.Lang.T("overview.period"), v.Lang.T("delivery."+outcomes[0]), bars)
	for _, outcome := range outcomes[1:] {
		page.Chart.More = append(page.Chart.More, v.Lang.T("delivery."+outcome))
	}
	rows := func(outcome string) (list []reasonRow) {
		for reason, n := range reasons[outcome] {
			means := site.TextOf(v.Lang, "mend."+reason, "")
			if outcome == "dropped" {
				means = site.TextOf(v.Lang, "drop."+reason, "")
			}
			list = append(list, reasonRow{Reason: reason, Means: means, Events: count(n), Part: v.Lang.Share(n, totals[outcome]),
				Percent: part(n, totals[outcome]), events: n})
		}
		slices.SortFunc(list, func(x, y reasonRow) int {
			return cmp.Or(y.events.Cmp(x.events), strings.Compare(x.Reason, y.Reason))
		})
		return list
	}
	page.Reasons, page.Dropped, page.Meaning = rows("rejected"), rows("dropped"), outcomes
	if streams := found.Totals.Sums[found.Spec.Column("streams")]; !streams.IsZero() {
		page.Empty, page.Unfollowed = false, v.Lang.T("delivery.unfollowed", count(streams))
	}
}

// mostSources bounds the rows of the table of sources.
const mostSources = 50

// addSources adds from where the events came.
func (page *deliveryPage) addSources(v site.Request, found *reports.Report) {
	type key struct{ origin, browser string }
	sums, events := map[key]map[string]decimal.Decimal{}, found.Spec.Column("events")
	for _, row := range found.Rows {
		k := key{row.Texts[0], row.Texts[1]}
		if sums[k] == nil {
			sums[k] = map[string]decimal.Decimal{}
		}
		sums[k][row.Texts[2]] = sums[k][row.Texts[2]].Add(row.Sums[events])
	}
	for k, of := range sums {
		text := func(outcome string) string { return v.Lang.Count(of[outcome].IntPart()) }
		row := sourceRow{Origin: k.origin, Browser: v.Lang.T("browser." + k.browser), Stored: text("stored"), Duplicate: text("duplicate"),
			Rejected: text("rejected"), Dropped: text("dropped"), Missing: text("missing")}
		switch k.origin {
		case "":
			row.Origin = v.Lang.T("delivery.no_origin")
		case "other":
			row.Origin = v.Lang.T("delivery.other_origin")
		}
		row.events = of["stored"].Add(of["duplicate"]).Add(of["rejected"]).Add(of["dropped"])
		page.Sources = append(page.Sources, row)
	}
	slices.SortFunc(page.Sources, func(x, y sourceRow) int {
		return cmp.Or(y.events.Cmp(x.events), strings.Compare(x.Origin, y.Origin), strings.Compare(x.Browser, y.Browser))
	})
	page.Sources = page.Sources[:min(mostSources, len(page.Sources))]
}
