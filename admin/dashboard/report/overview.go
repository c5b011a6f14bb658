package report

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/attribution"
	"github.com/tributary-io/tributary/internal/lang"
	"github.com/tributary-io/tributary/internal/models"
	"github.com/tributary-io/tributary/internal/reports"
)

const (
	reportPath = "/dashboard/report.csv"
	// fewRows is how many rows of each table the page shows first, and mostRows where all are asked for.
	fewRows, mostRows = 10, 100
	allRows           = "all" // the value of the parameter rows that asks for them
)

// overviewPage is what templates/overview.html shows.
type overviewPage struct {
	site.Head
	Span          spanForm
	Tiles         []site.Tile
	Chart         *site.Chart
	Contract      contractTable
	Model         string // as words
	About         string // what the model does
	NonConverting string // of markov: how many visitors did not buy
	Channels      []channelRow
	AllChannels   channelRow // the total
	Hidden        string     // how many channels the table leaves out
	All           string     // address of the page with all rows; empty: it is this one
	CSV           string     // of the channels
	ContractCSV   string
	Empty         bool // nothing happened in these days
	Begins        bool // no order ever came
	Install       string
	Failing       []site.Link // the pages of connections that fail
}

// channelRow is a channel, and what a model gives to it.
type channelRow struct {
	Name, Href             string
	Orders, Credited, Part string
	Percent                int
	Coupon                 bool   // an influencer's orders that are known by a coupon alone
	group                  string // the influencer, or the channel
	orders, credited       decimal.Decimal
}

// overviewTiles are the metrics of the report sales that are shown, in order.
var overviewTiles = []string{"sales", "orders", "attributed_share", "commission", "cost", "roas", "cac", "new_customers",
	"returning_orders", "clicks", "visits", "conversion"}

// overviewColumns are those of the table behind the chart, beside the sales.
var overviewColumns = []string{"orders", "attributed_share", "commission", "cost", "roas", "visits", "conversion"}

func (s *Pages) overviewRoutes() []site.Route {
	return []site.Route{
		{Pattern: "GET " + site.OverviewPath, Handle: s.overview},
		{Pattern: "GET " + reportPath, Handle: s.reportCSV},
		{Pattern: "GET " + site.OverviewPath + site.CSVEnding, Handle: s.overviewFile},
	}
}

func (s *Pages) overview(w http.ResponseWriter, r *http.Request, v site.Request) {
	a, err := s.askedOf(r, v, models.All)
	if err != nil {
		s.Refuse(w, r, err)
		return
	}
	page := overviewPage{Head: v.Head(v.Lang.T("overview.title"), "overview"), Span: a.formOf(v, site.OverviewPath, true, true, models.All)}
	most := mostRows
	if r.URL.Query().Get("rows") != allRows {
		most, page.All = fewRows, a.address(site.OverviewPath, "rows", allRows)
	}
	page.Span.CSV = a.address(reportPath, "report", string(reports.Sales), "model", "")
	page.Span.CSVIs = v.Lang.T("overview.csv")
	page.ContractCSV = a.address(site.OverviewPath+site.CSVEnding, "table", contractFile, "model", "")
	page.CSV = a.address(site.OverviewPath+site.CSVEnding, "table", channelsFile)
	if page.Failing, err = s.Failing(r, v); err != nil {
		s.Unavailable(w, r, err)
		return
	}
	sales, err := s.report(r, a, reports.Sales, a.By)
	if err != nil {
		s.Refuse(w, r, err)
		return
	}
	page.Span.currencies(a, sales)
	page.Tiles, page.Chart = tilesOf(v.Lang, sales, overviewTiles), salesChart(v.Lang, sales)
	if page.Empty = isEmpty(sales); page.Empty {
		has, err := s.db.HasOrders(r.Context(), v.Current.CompanyID)
		if err != nil {
			s.Unavailable(w, r, err)
			return
		}
		page.Begins, page.Install = !has, v.Path(site.InstallPath)
	}
	err = s.overviewContract(r, v, a, sales, most, &page)
	if err == nil {
		err = s.overviewChannels(r, v, a, most, &page)
	}
	if err != nil {
		s.Refuse(w, r, err)
		return
	}
	s.Render(w, r, http.StatusOK, "overview.html", page)
}

// report reads one report of what a page asks for. A report that depends on no model is
// read without one.
func (s *Pages) report(r *http.Request, a asked, name reports.Name, by reports.By) (*reports.Report, error) {
	if name != reports.Sales {
		a.Compare = reports.NoComparison
	}
	return s.compared(r, a, name, by)
}

// compared is report with the compared days, of any report.
func (s *Pages) compared(r *http.Request, a asked, name reports.Name, by reports.By) (*reports.Report, error) {
	q := a.Query
	q.Name, q.By = name, by
	if !slices.Contains(reports.SpecOf(name).Models, q.Model) {
		q.Model = ""
	}
	found, err := s.reports.Report(r.Context(), q)
	if err == nil && found.FromStandby && (a.oldest.IsZero() || found.AsOf.Before(*a.oldest)) {
		*a.oldest = found.AsOf
	}
	return found, err
}

// isEmpty reports whether nobody did anything in the days of the report sales: all of its
// totals are 0, but for costs.
func isEmpty(r *reports.Report) bool {
	for i, m := range r.Spec.Metrics {
		if m.Name != "cost" && !r.Totals.Sums[i].IsZero() {
			return false
		}
	}
	return len(r.OtherCurrencies) == 0
}

// tilesOf are totals of a report, with how they differ from those before.
func tilesOf(l *lang.Printer, r *reports.Report, names []string) (list []site.Tile) {
	for _, name := range names {
		line := figureOf(l, r, r.Totals, name)
		size := site.SizeOf(line)
		list = append(list, site.Tile{ID: "sum-" + name, Label: l.T("overview." + name), Lines: []string{site.Breakable(line, size)},
			Note: changeOf(l, r, name), Size: size})
	}
	return list
}

func salesChart(l *lang.Printer, r *reports.Report) *site.Chart {
	column, bars := r.Spec.Column("sales"), []site.Bar{}
	for _, row := range r.Rows {
		value, _ := r.Value(row, column)
		b := site.Bar{Label: l.Day(row.Period), Value: value, Text: figureOf(l, r, row, "sales")}
		for _, name := range overviewColumns {
			b.More = append(b.More, figureOf(l, r, row, name))
		}
		bars = append(bars, b)
	}
	c := site.NewChart(l.T("overview.by_period"), l.T("overview.period"), l.T("overview.sales"), bars)
	for _, name := range overviewColumns {
		c.More = append(c.More, l.T("overview."+name))
	}
	return c
}

// overviewChannels fills the table of channels: what the model gives to each, of most at most.
func (s *Pages) overviewChannels(r *http.Request, v site.Request, a asked, most int, page *overviewPage) error {
	channels, err := s.report(r, a, reports.Channels, reports.ByTotal)
	if err != nil {
		return err
	}
	model := channels.Query.Model
	page.Model, page.About = v.Lang.T("model."+model), v.Lang.T("model.about."+model)
	if model == models.Markov {
		page.NonConverting = nonConvertingText(v.Lang, channels.NonConverting)
	}
	rows := channelsOf(v.Lang, channels)
	if len(rows) > most {
		page.Hidden, rows = v.Lang.T("overview.hidden_channels", int64(most), int64(len(rows))), rows[:most]
	}
	for i := range rows {
		if rows[i].Href != "" {
			rows[i].Href = v.Path(site.InfluencerPath, "id", rows[i].Href)
		}
	}
	page.Channels, page.AllChannels = rows, channelOf(v.Lang, channels, channels.Totals)
	page.AllChannels.Name = v.Lang.T("overview.all_sales")
	return nil
}

// channelsOf returns the rows of a model. Orders of an influencer that are known by a coupon alone come after those of
// the influencer's visits. Href is the influencer's id.
func channelsOf(l *lang.Printer, channels *reports.Report) (rows []channelRow) {
	groups := map[string]decimal.Decimal{}
	for _, line := range channels.Rows {
		row := channelOf(l, channels, line)
		row.Name, row.Href = site.ChannelWords(l, line.Texts[0]), line.Texts[1]
		row.Coupon = strings.HasPrefix(line.Texts[0], attribution.CouponChannel)
		row.group = cmp.Or(row.Href, line.Texts[0])
		if row.Href != "" && !row.Coupon {
			row.Name = line.Texts[0]
		}
		groups[row.group] = groups[row.group].Add(row.credited)
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(x, y channelRow) int {
		coupon := 0
		if x.Coupon != y.Coupon {
			coupon = map[bool]int{false: -1, true: 1}[x.Coupon]
		}
		return cmp.Or(groups[y.group].Cmp(groups[x.group]), strings.Compare(x.group, y.group), coupon, y.credited.Cmp(x.credited),
			strings.Compare(x.Name, y.Name))
	})
	return rows
}

// channelOf is a row, or the total, without a name.
func channelOf(l *lang.Printer, channels *reports.Report, line reports.Row) channelRow {
	column := channels.Spec.Column("credited_sales")
	return channelRow{Orders: figureOf(l, channels, line, "credited_orders"), Credited: figureOf(l, channels, line, "credited_sales"),
		Part: figureOf(l, channels, line, "share"), Percent: part(line.Sums[column], channels.Totals.Sums[column]),
		orders: line.Sums[channels.Spec.Column("credited_orders")], credited: line.Sums[column]}
}

// reportCSV is a report of a page's days as a file.
func (s *Pages) reportCSV(w http.ResponseWriter, r *http.Request, v site.Request) {
	name := reports.Name(r.URL.Query().Get("report"))
	if name == "" {
		name = reports.Sales
	}
	spec := reports.SpecOf(name)
	if len(spec.Metrics) == 0 {
		s.Refuse(w, r, site.ErrBadAddress)
		return
	}
	a, err := s.askedOf(r, v, spec.Models)
	if err == nil && a.Alert != "" {
		err = site.ErrBadAddress // a file has no place to tell it
	}
	if err != nil {
		s.Refuse(w, r, err)
		return
	}
	by := a.By
	if !spec.Every && name != reports.Delivery {
		by = reports.ByTotal
	}
	report, err := s.report(r, a, name, by)
	if err != nil {
		s.Refuse(w, r, err)
		return
	}
	s.SendFile(w, r, v, fileOf(string(name), a), report.ComparedCSV())
}

// fileOf is the name of a file of the days that were asked for. Of reports that were read from a standby it says how new they are.
func fileOf(name string, a asked) string {
	name += "-" + a.Start + "-" + a.End
	if !a.oldest.IsZero() {
		name += a.oldest.UTC().Format("-as-of-20060102T150405Z")
	}
	return name
}
