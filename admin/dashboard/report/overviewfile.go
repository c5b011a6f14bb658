package report

import (
	"cmp"
	"math"
	"net/http"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/lang"
	"github.com/tributary-io/tributary/internal/models"
	"github.com/tributary-io/tributary/internal/reports"
)

// The tables of the overview that are files, as the parameter table names them.
const (
	contractFile = "contract"
	channelsFile = "channels"
)

// fileTable is a table of a page as its file has it: the same rows and columns, and the total.
type fileTable struct {
	first   string   // name of the column with what a row is
	columns []string // of the others but the influencer's id
	rows    []fileRow
	total   fileRow
}

type fileRow struct {
	key, name, id string   // of equal keys one is that of the compared days
	cells         []string // empty where the page has none
}

// overviewFile sends a table of the overview as a file, where the compared days are columns of their own.
func (s *Pages) overviewFile(w http.ResponseWriter, r *http.Request, v site.Request) {
	a, err := s.askedOf(r, v, models.All)
	if err == nil && a.Alert != "" {
		err = site.ErrBadAddress // a file has no place to tell it
	}
	var table fileTable
	var before *fileTable
	name := cmp.Or(r.URL.Query().Get("table"), contractFile)
	switch {
	case err != nil:
	case name == contractFile:
		table, before, err = s.contractFile(r, v, a)
	case name == channelsFile:
		table, before, err = s.channelsFile(r, v, a)
	default:
		err = site.ErrBadAddress
	}
	if err != nil {
		s.Refuse(w, r, err)
		return
	}
	s.SendFile(w, r, v, fileOf(name, a), table.csv(before))
}

// contractFile reads who is paid, also of the compared days, if there are such.
func (s *Pages) contractFile(r *http.Request, v site.Request, a asked) (table fileTable, before *fileTable, err error) {
	var list [3]*reports.Report
	for i, name := range []reports.Name{reports.Sales, reports.Influencers, reports.Coupons} {
		if list[i], err = s.compared(r, a, name, reports.ByTotal); err != nil {
			return table, nil, err
		}
	}
	table = contractLines(v.Lang, list[0], list[1], list[2])
	if list[0].Comparison != nil {
		compared := contractLines(v.Lang, list[0].Comparison, list[1].Comparison, list[2].Comparison)
		before = &compared
	}
	return table, before, nil
}

func contractLines(l *lang.Printer, sales, partners, coupons *reports.Report) fileTable {
	contract := contractOf(l, sales, partners, coupons, math.MaxInt)
	line := func(row contractRow) fileRow {
		amount := func(minor decimal.Decimal, shown string) string {
			if shown == "" {
				return ""
			}
			return site.MinorText(minor, sales.Query.Currency)
		}
		return fileRow{row.Href, row.Name, row.Href, []string{row.orders.String(), amount(row.byCoupon, row.Coupon), amount(row.byLink, row.Link),
			amount(row.sales, row.Sales), partText(row.Part), amount(row.commissions, row.Commission)}}
	}
	t := fileTable{first: "influencer", columns: []string{"orders", "by_coupon", "by_link", "sales", "share", "commission"},
		total: line(contract.Total)}
	for _, row := range contract.Rows {
		t.rows = append(t.rows, line(row))
	}
	return t
}

// channelsFile reads what a model gives to each channel, also of the compared days, if there are such.
func (s *Pages) channelsFile(r *http.Request, v site.Request, a asked) (table fileTable, before *fileTable, err error) {
	channels, err := s.compared(r, a, reports.Channels, reports.ByTotal)
	if err != nil {
		return table, nil, err
	}
	table = channelLines(v.Lang, channels)
	if channels.Comparison != nil {
		compared := channelLines(v.Lang, channels.Comparison)
		before = &compared
	}
	return table, before, nil
}

func channelLines(l *lang.Printer, channels *reports.Report) fileTable {
	line := func(row channelRow) fileRow {
		return fileRow{row.Name + "\x00" + row.Href, row.Name, row.Href,
			[]string{row.orders.String(), site.MinorText(row.credited, channels.Query.Currency), partText(row.Part)}}
	}
	t := fileTable{first: "channel", columns: []string{"credited_orders", "credited_sales", "share"},
		total: line(channelOf(l, channels, channels.Totals))}
	t.total.name = l.T("overview.all_sales")
	for _, row := range channelsOf(l, channels) {
		t.rows = append(t.rows, line(row))
	}
	return t
}

// partText is a percentage as the page shows it, which spreadsheets read as a number; empty where there is none.
func partText(shown string) string {
	if shown == noFigure {
		return ""
	}
	return shown
}

// csv writes the table, and beside each column that of the compared days. What only those have comes before the total.
func (t fileTable) csv(before *fileTable) []byte {
	header, old := []string{t.first}, map[string]fileRow{}
	for _, name := range t.columns {
		header = append(header, name)
		if before != nil {
			header = append(header, name+reports.Compared)
		}
	}
	if before != nil {
		for _, row := range before.rows {
			old[row.key] = row
		}
	}
	var lines [][]string
	add := func(row fileRow, now, then []string) {
		line := []string{reports.CSVText(row.name)}
		for i := range t.columns {
			for _, cells := range [][]string{now, then} {
				switch {
				case cells != nil:
					line = append(line, cells[i])
				case before != nil:
					line = append(line, "")
				}
			}
		}
		lines = append(lines, append(line, row.id))
	}
	for _, row := range t.rows {
		add(row, row.cells, old[row.key].cells)
		delete(old, row.key)
	}
	var then []string
	if before != nil {
		for _, row := range before.rows {
			if _, alone := old[row.key]; alone {
				add(row, nil, row.cells)
			}
		}
		then = before.total.cells
	}
	add(t.total, t.total.cells, then)
	return reports.WriteCSV(append(header, "influencer_id"), lines)
}
