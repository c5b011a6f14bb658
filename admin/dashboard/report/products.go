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

const (
	mostProducts = 200
	// showUnresolved, in the parameter "show", leaves only items that are not in the
	// catalogue.
	showUnresolved = "unresolved"
)

// productsPage is what templates/products.html shows.
type productsPage struct {
	site.Head
	Span       spanForm
	Steps      []stepRow
	List       []productRow
	Hidden     string
	SalesCSV   string
	Unresolved string // how many items are not in the catalogue; empty: none
	Only       bool   // only those are shown
	Toggle     string // path of the page with only those, or with all
}

// stepRow is one step of the way to a sale, of all products.
type stepRow struct {
	Name, Count, Part string
	Percent           int
}

// productRow is a product, or an item that is not in the catalogue: its visitors by step,
// and its approved orders.
type productRow struct {
	Name, ID                           string
	Unresolved                         bool
	Viewed, Added, Began, Bought, Part string
	Percent                            int
	Orders, Quantity, Sales            string
	viewed, sales                      decimal.Decimal
}

// funnelSteps are the columns of the report funnel, in the order of the way to a sale.
var funnelSteps = []string{"viewed", "added_to_cart", "began_checkout", "bought"}

func (s *Pages) productRoutes() []site.Route {
	return []site.Route{{Pattern: "GET " + site.ProductsPath, Handle: s.products}}
}

func (s *Pages) products(w http.ResponseWriter, r *http.Request, v site.Request) {
	a, err := s.askedOf(r, v, nil)
	show := r.URL.Query().Get("show")
	if err == nil && show != "" && show != showUnresolved {
		err = site.ErrBadAddress
	}
	var funnel, sold *reports.Report
	if err == nil {
		funnel, err = s.report(r, a, reports.Funnel, reports.ByTotal)
	}
	if err == nil {
		sold, err = s.report(r, a, reports.Products, reports.ByTotal)
	}
	if err != nil {
		s.Refuse(w, r, err)
		return
	}
	page := productsPage{Head: v.Head(v.Lang.T("products.title"), "products"), Span: a.formOf(v, site.ProductsPath, false, false, nil),
		Only: show == showUnresolved}
	page.Span.Show = show
	page.Span.currencies(a, sold)
	page.Span.CSV = a.address(reportPath, "report", string(reports.Funnel))
	page.Span.CSVIs = v.Lang.T("products.funnel_csv")
	page.SalesCSV = a.address(reportPath, "report", string(reports.Products))
	page.Steps = stepsOf(v.Lang, funnel)
	rows := mergeProducts(v.Lang, funnel, sold)
	resolved := func(p productRow) bool { return !p.Unresolved }
	if n := len(rows) - len(slices.DeleteFunc(slices.Clone(rows), func(p productRow) bool { return p.Unresolved })); n > 0 {
		page.Unresolved = v.Lang.N("products.unresolved", int64(n))
	}
	page.Toggle = a.address(site.ProductsPath, "show", showUnresolved)
	if page.Only {
		page.Toggle, rows = a.address(site.ProductsPath), slices.DeleteFunc(rows, resolved)
	}
	if extra := len(rows) - mostProducts; extra > 0 {
		page.Hidden, rows = v.Lang.N("report.hidden", int64(extra)), rows[:mostProducts]
	}
	page.List = rows
	s.Render(w, r, http.StatusOK, "products.html", page)
}

// stepsOf is the way to a sale, of all products together; empty where nobody went it.
func stepsOf(l *lang.Printer, funnel *reports.Report) (list []stepRow) {
	most := decimal.Zero
	for _, name := range funnelSteps {
		most = decimal.Max(most, funnel.Totals.Sums[funnel.Spec.Column(name)])
	}
	if most.IsZero() {
		return nil
	}
	viewed := funnel.Totals.Sums[funnel.Spec.Column("viewed")]
	for _, name := range funnelSteps {
		n := funnel.Totals.Sums[funnel.Spec.Column(name)]
		list = append(list, stepRow{Name: l.T("products." + name), Count: l.Count(n.IntPart()), Part: l.Share(n, viewed), Percent: part(n, most)})
	}
	return list
}

// mergeProducts puts the visitors and the orders of each product into one row.
func mergeProducts(l *lang.Printer, funnel, sold *reports.Report) []productRow {
	visits, orders := rowsByItem(funnel), rowsByItem(sold)
	keys := map[string][]string{}
	for _, r := range []*reports.Report{funnel, sold} {
		for _, row := range r.Rows {
			keys[itemKey(row)] = row.Texts
		}
	}
	rows := make([]productRow, 0, len(keys))
	for key, texts := range keys {
		p := productRow{Name: cmp.Or(texts[1], texts[0], texts[2]), ID: cmp.Or(texts[0], texts[2]), Unresolved: texts[0] == ""}
		p.visitors(l, funnel, orNone(visits[key], funnel))
		line := orNone(orders[key], sold)
		p.Orders, p.Quantity, p.Sales = figureOf(l, sold, line, "orders"), figureOf(l, sold, line, "quantity"), figureOf(l, sold, line, "sales")
		p.sales = line.Sums[sold.Spec.Column("sales")]
		rows = append(rows, p)
	}
	slices.SortFunc(rows, func(x, y productRow) int {
		return cmp.Or(y.sales.Cmp(x.sales), y.viewed.Cmp(x.viewed), strings.Compare(x.Name, y.Name), strings.Compare(x.ID, y.ID))
	})
	return rows
}

func (p *productRow) visitors(l *lang.Printer, funnel *reports.Report, row reports.Row) {
	for i, to := range []*string{&p.Viewed, &p.Added, &p.Began, &p.Bought} {
		*to = figureOf(l, funnel, row, funnelSteps[i])
	}
	p.viewed = row.Sums[funnel.Spec.Column("viewed")]
	p.Part, p.Percent = figureOf(l, funnel, row, "conversion"), part(row.Sums[funnel.Spec.Column("bought")], p.viewed)
}

// itemKey names a product, or an item that is none, in the reports funnel and products.
func itemKey(row reports.Row) string { return row.Texts[0] + "\x00" + row.Texts[2] }

func rowsByItem(r *reports.Report) map[string]reports.Row {
	rows := make(map[string]reports.Row, len(r.Rows))
	for _, row := range r.Rows {
		rows[itemKey(row)] = row
	}
	return rows
}

// orNone is a row, or one in which all is 0 where there is none.
func orNone(row reports.Row, r *reports.Report) reports.Row {
	if row.Sums == nil {
		row.Sums = make([]decimal.Decimal, len(r.Spec.Metrics))
	}
	return row
}
