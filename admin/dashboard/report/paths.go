package report

import (
	"net/http"
	"strings"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/lang"
	"github.com/tributary-io/tributary/internal/reports"
)

const (
	// mostSteps is how many steps of a journey are shown: the first and the last of a
	// longer one.
	mostSteps = 8
	// betweenSteps stands between the channels of a path (docs/reports.md).
	betweenSteps = " > "
)

// pathsPage is what templates/paths.html shows.
type pathsPage struct {
	site.Head
	Span spanForm
	Flow []*sankey // the journeys drawn, for each width of screen
	List []journeyRow
	Half int // place in a journey at which steps are left out

	NonConverting string // how many visitors did not buy
}

// journeyRow is one journey, or all that are too seldom to be listed.
type journeyRow struct {
	Steps               []string // empty: all others
	Skipped             int64    // steps in the middle that are left out
	Orders, Sales, Part string
	Percent             int
}

func (s *Pages) pathRoutes() []site.Route {
	return []site.Route{{Pattern: "GET " + site.PathsPath, Handle: s.paths}}
}

func (s *Pages) paths(w http.ResponseWriter, r *http.Request, v site.Request) {
	a, err := s.askedOf(r, v, nil)
	var found *reports.Report
	if err == nil {
		found, err = s.report(r, a, reports.Paths, reports.ByTotal)
	}
	if err != nil {
		s.Refuse(w, r, err)
		return
	}
	page := pathsPage{Head: v.Head(v.Lang.T("paths.title"), "paths"), Span: a.formOf(v, site.PathsPath, false, false, nil),
		Half: mostSteps / 2}
	page.Span.currencies(a, found)
	page.Span.CSV = a.address(reportPath, "report", string(reports.Paths))
	page.NonConverting = nonConvertingText(v.Lang, found.NonConverting)
	orders := found.Spec.Column("orders")
	var others []journeyRow
	var drawn []journey
	for _, row := range found.Rows {
		j := journeyRow{Orders: figureOf(v.Lang, found, row, "orders"), Sales: figureOf(v.Lang, found, row, "sales"),
			Part:    figureOf(v.Lang, found, row, "share"),
			Percent: part(row.Sums[orders], found.Totals.Sums[orders])}
		if row.Texts[0] == "" {
			others, drawn = append(others, j), append(drawn, journey{Orders: row.Sums[orders].IntPart()})
			continue
		}
		for _, step := range strings.Split(row.Texts[0], betweenSteps) {
			j.Steps = append(j.Steps, site.ChannelWords(v.Lang, step))
		}
		drawn = append(drawn, journey{j.Steps, row.Sums[orders].IntPart()})
		if extra := len(j.Steps) - mostSteps; extra > 0 {
			j.Skipped = int64(extra)
			j.Steps = append(j.Steps[:mostSteps/2:mostSteps/2], j.Steps[mostSteps/2+extra:]...)
		}
		page.List = append(page.List, j)
	}
	page.List, page.Flow = append(page.List, others...), newSankeys(v.Lang, drawn)
	s.Render(w, r, http.StatusOK, "paths.html", page)
}

// nonConvertingText says how many visitors came and did not buy, and up to which day that is known.
func nonConvertingText(l *lang.Printer, n *reports.NonConvertingPaths) string {
	switch {
	case n == nil || n.CountedUntil == "":
		return l.T("nonconverting.none")
	case n.FinalUntil == "":
		return l.T("nonconverting.counted", l.Count(n.Journeys), l.Day(n.CountedUntil))
	}
	return l.T("nonconverting.counted", l.Count(n.Journeys), l.Day(n.CountedUntil)) + " " + l.T("nonconverting.final", l.Day(n.FinalUntil))
}
