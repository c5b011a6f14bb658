package report

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/reports"
	"github.com/tributary-io/tributary/internal/rollup"
	"github.com/tributary-io/tributary/internal/wire"
)

const (
	// mostPartnerOrders is in how many of an influencer's orders products are looked for, the newest.
	mostPartnerOrders = 500
	// mostBest is how many products and statements an influencer's page shows.
	mostBest = 5
	// mostCurrencies bounds an influencer's balances, one for each currency.
	mostCurrencies = 20
)

// PartnerResults are what an influencer brought in chosen days, and what is owed now. The template
// "results" shows them.
type PartnerResults struct {
	Span       spanForm
	High       string      // a warning: commissions of the days that are above their order's value; empty: none
	Tiles      []site.Tile // of the days
	Balance    []site.Tile // of today
	Best       []bestRow
	Looked     string // of how many orders the products are, where these are not all
	Statements []partnerStatement
	All        string // path of all the influencer's statements
}

type bestRow struct{ Name, ID, Orders, Quantity, Sales string }

type partnerStatement struct{ Number, Period, Total, State, StateIs string }

// PartnerResults reads the results of an influencer for the days that the address asks for. It returns
// site.ErrBadAddress for what no form of the page sends.
func (s *Pages) PartnerResults(r *http.Request, v site.Request, i commerce.Influencer) (any, error) {
	a, err := s.askedOf(r, v, nil)
	if err != nil {
		return nil, err
	}
	a.ID, a.explicit = i.InfluencerID, false
	found, err := s.report(r, a, reports.Influencers, reports.ByTotal)
	if err != nil {
		return nil, err
	}
	page := &PartnerResults{Span: a.formOf(v, site.InfluencerPath, false, false, nil), All: v.Path(site.StatementsPath, "q", i.Name)}
	page.Span.currencies(a, found)
	page.Tiles = partnerTiles(v, found, i.InfluencerID)
	high, err := s.db.CommissionsAbove(r.Context(), a.Query, i.InfluencerID)
	if err != nil {
		return nil, err
	}
	if high > 0 {
		page.High = v.Lang.N("warn.high", high)
	}
	if page.Balance, err = s.partnerBalance(r, v, i); err != nil {
		return nil, err
	}
	if err := s.partnerStatements(r, v, i, page); err != nil {
		return nil, err
	}
	return page, s.bestProducts(r, v, a, found.Query.Currency, page)
}

// partnerTiles are the numbers of the days, of all of an influencer's campaigns together.
func partnerTiles(v site.Request, found *reports.Report, influencerID string) (tiles []site.Tile) {
	sum := reports.Row{Sums: make([]decimal.Decimal, len(found.Spec.Metrics))}
	for _, row := range found.Rows {
		if row.Texts[0] != influencerID {
			continue
		}
		for at := range sum.Sums {
			sum.Sums[at] = sum.Sums[at].Add(row.Sums[at])
		}
	}
	for _, name := range []string{"sales", "orders", "average_order", "commission"} {
		line := figureOf(v.Lang, found, sum, name)
		tile := site.Tile{ID: "partner-" + name, Label: v.Lang.T("partner." + name), Lines: []string{line}, Size: site.SizeOf(line)}
		if pending := sum.Sums[found.Spec.Column("pending_orders")]; name == "orders" && pending.IsPositive() {
			tile.Note = "+ " + v.Lang.N("sales.count_pending", pending.IntPart())
		}
		tiles = append(tiles, tile)
	}
	return tiles
}

// partnerBalance is what an influencer has today, a line for each currency.
func (s *Pages) partnerBalance(r *http.Request, v site.Request, i commerce.Influencer) (tiles []site.Tile, err error) {
	after := commerce.BalanceCursor{Influencer: i.Name, InfluencerID: i.InfluencerID}
	list, err := s.db.Balances(r.Context(), v.Current.CompanyID, s.DayOf(v), after, mostCurrencies)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(b commerce.Balance) bool { return b.InfluencerID != i.InfluencerID })
	for _, kind := range []struct {
		name string
		of   func(b commerce.Balance) decimal.Decimal
	}{
		{"expected", func(b commerce.Balance) decimal.Decimal { return b.ExpectedMinor }},
		{"review", func(b commerce.Balance) decimal.Decimal { return b.ReviewMinor }},
		{"held", func(b commerce.Balance) decimal.Decimal { return b.HeldMinor }},
		{"payable", func(b commerce.Balance) decimal.Decimal { return b.PayableMinor }},
		{"paid", func(b commerce.Balance) decimal.Decimal { return b.PaidMinor }},
	} {
		tile := site.Tile{ID: "partner-" + kind.name, Label: v.Lang.T("payouts." + kind.name)}
		for _, b := range list {
			if minor := kind.of(b); !minor.IsZero() {
				tile.Lines = append(tile.Lines, v.Lang.Sum(minor, b.Currency))
			}
		}
		if tile.Lines == nil {
			tile.Lines = []string{v.Lang.Sum(decimal.Zero, v.Current.Currency)}
		}
		tile.Size = site.SizeOf(tile.Lines...)
		tiles = append(tiles, tile)
	}
	return tiles, nil
}

// partnerStatements are an influencer's newest statements.
func (s *Pages) partnerStatements(r *http.Request, v site.Request, i commerce.Influencer, page *PartnerResults) error {
	list, err := s.db.Statements(r.Context(), v.Current.CompanyID, commerce.StatementFilter{InfluencerID: i.InfluencerID},
		commerce.StatementCursor{}, mostBest)
	for _, st := range list {
		row := partnerStatement{Period: v.Lang.Period(st.StartDate, st.EndDate), State: v.Lang.T("statements.state_" + st.State),
			StateIs: "pending"}
		if st.State != commerce.StatementClosing { // its amounts are not known before
			row.Number, row.Total = v.Lang.Count(st.Number), v.Lang.Sum(st.TotalMinor, st.Currency)
		}
		switch {
		case st.Carried:
			row.State = v.Lang.T("statements.carried")
		case st.State == commerce.StatementPaid:
			row.StateIs = "approved"
		}
		page.Statements = append(page.Statements, row)
	}
	return err
}

// bestProducts are the products of the approved orders of the days that are paid to an influencer, those
// with the greatest sales first.
func (s *Pages) bestProducts(r *http.Request, v site.Request, a asked, currency string, page *PartnerResults) error {
	approved := commerce.OrderApproved
	list, err := s.db.Orders(r.Context(), v.Current.CompanyID, commerce.OrderFilter{Status: &approved, InfluencerID: a.ID,
		From: a.Start, To: a.End, Limit: mostPartnerOrders + 1})
	if err != nil {
		return err
	}
	if len(list) > mostPartnerOrders {
		list, page.Looked = list[:mostPartnerOrders], v.Lang.T("partner.looked", v.Lang.Count(mostPartnerOrders))
	}
	var sums rollup.Sums
	for _, stored := range list {
		var o wire.Order
		if err := json.Unmarshal(stored.Body, &o); err != nil {
			s.Log.Error("dashboard: an order is not in its shape", "company", v.Current.CompanyID, "error", err)
			continue
		}
		if o.Currency == currency && stored.Payout.State == "earned" {
			sums.AddProducts(a.Start, currency, o.Items.Value, 1) // of all days together
		}
	}
	rows := sums.Products()
	slices.SortFunc(rows, func(x, y rollup.Row[rollup.ProductKey]) int {
		return cmp.Or(y.Sums[rollup.ProductSales].Cmp(x.Sums[rollup.ProductSales]), strings.Compare(x.Key.Item, y.Key.Item))
	})
	rows = rows[:min(len(rows), mostBest)]
	ids := make([]string, len(rows))
	for i, row := range rows {
		ids[i] = row.Key.Item
	}
	if len(ids) == 0 {
		return nil
	}
	names, err := s.db.ProductNames(r.Context(), v.Current.CompanyID, ids)
	if err != nil {
		return err
	}
	digits, _ := commerce.Exponent(currency)
	for _, row := range rows {
		page.Best = append(page.Best, bestRow{Name: cmp.Or(names[row.Key.Item], row.Key.Item), ID: row.Key.Item,
			Orders: v.Lang.Count(row.Sums[rollup.ProductOrders].IntPart()), Quantity: v.Lang.Count(row.Sums[rollup.ProductQuantity].IntPart()),
			Sales: v.Lang.Sum(row.Sums[rollup.ProductSales].Shift(int32(digits)).Round(0), currency)})
	}
	return nil
}
