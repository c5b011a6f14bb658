package money

import (
	"context"
	"net/http"
	"strconv"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/admin/dashboard/site"
	"github.com/tributary-io/tributary/internal/commerce"
)

func (s *Pages) listRoutes() []site.Route {
	return []site.Route{
		{Pattern: "GET " + site.OrdersPath + site.CSVEnding,
			Handle: s.File("orders", []string{"order_id", "name", "created_at", "day", "status", "currency", "total", "discount_code",
				"influencer_id", "influencer", "campaign", "evidence", "commission", "expected_commission", "fixed_commission_brl", "waits_for",
				"test"}, s.ordersFile)},
		{Pattern: "GET " + site.PayoutsPath + site.CSVEnding,
			Handle: s.File("payouts",
				[]string{"influencer_id", "influencer", "currency", "expected", "review", "held", "payable", "paid",
					"withheld"}, s.payoutsFile)},
		{Pattern: "GET " + site.ReviewsPath + site.CSVEnding,
			Handle: s.File("reviews", []string{"order_id", "name", "created_at", "currency", "total", "influencer_id", "influencer",
				"commission", "fixed_commission_brl", "reason"}, s.reviewsFile)},
		{Pattern: "GET " + site.StatementsPath + site.CSVEnding,
			Handle: s.File("statements", []string{"number", "statement_id", "influencer_id", "influencer", "currency", "start_date", "end_date",
				"state",
				"orders", "opening", "total", "withheld", "net", "withheld_text", "invoice", "carried", "paid_at", "reference"}, s.statementsFile)},
	}
}

func (s *Pages) ordersFile(ctx context.Context, r *http.Request, v site.Request, f *site.ListFile) error {
	query := r.URL.Query()
	page := askedOrders(v.Lang, query)
	if page.Text != "" || !orderFiltersAreGood(&page, query.Get("status")) {
		return site.ErrBadAddress
	}
	filter := page.filter(query.Get("status"))
	filter.Limit = site.RowsPerRead
	return f.AddPages(func() (int, error) {
		found, err := s.db.Orders(ctx, v.Current.CompanyID, filter)
		if err != nil || len(found) == 0 {
			return 0, err
		}
		ids := make([]string, 0, len(found))
		for _, o := range found {
			ids = append(ids, storedOrderID(o))
		}
		sales, err := s.db.SalesOf(ctx, v.Current.CompanyID, ids)
		for _, sale := range sales {
			earned, expected := sale.CommissionMinor, int64(0)
			if sale.Status == commerce.OrderPending {
				earned, expected = 0, earned
			}
			f.Add(sale.OrderID, sale.Name, site.MomentText(sale.CreatedAt), sale.Day, statusWord(sale.Status), sale.Currency,
				site.MinorText(decimal.NewFromInt(sale.TotalMinor), sale.Currency),
				sale.DiscountCode, sale.InfluencerID, sale.Influencer, sale.Campaign, string(sale.Evidence),
				site.MinorText(decimal.NewFromInt(earned), sale.Currency), site.MinorText(decimal.NewFromInt(expected), sale.Currency),
				site.MinorText(decimal.NewFromInt(sale.FixedBRLMinor), commerce.BRL), sale.WaitsFor, strconv.FormatBool(sale.Test))
		}
		filter.After = commerce.Cursor{At: found[len(found)-1].CreatedAt, OrderID: ids[len(ids)-1]}
		return len(found), err
	})
}

func statusWord(status int) string {
	if status < 0 || status >= len(site.StatusWords) {
		return strconv.Itoa(status)
	}
	return site.StatusWords[status]
}

func (s *Pages) payoutsFile(ctx context.Context, _ *http.Request, v site.Request, f *site.ListFile) error {
	var after commerce.BalanceCursor
	return f.AddPages(func() (int, error) {
		list, err := s.db.Balances(ctx, v.Current.CompanyID, s.DayOf(v), after, site.RowsPerRead)
		for _, b := range list {
			f.Add(b.InfluencerID, b.Influencer, b.Currency, site.MinorText(b.ExpectedMinor, b.Currency),
				site.MinorText(b.ReviewMinor, b.Currency),
				site.MinorText(b.HeldMinor, b.Currency),
				site.MinorText(b.PayableMinor, b.Currency), site.MinorText(b.PaidMinor, b.Currency),
				site.MinorText(b.WithheldMinor, b.Currency))
			after = b.Cursor()
		}
		return len(list), err
	})
}

func (s *Pages) reviewsFile(ctx context.Context, _ *http.Request, v site.Request, f *site.ListFile) error {
	var before commerce.Cursor
	return f.AddPages(func() (int, error) {
		list, err := s.db.Reviews(ctx, v.Current.CompanyID, before, site.RowsPerRead)
		for _, review := range list {
			sale := review.Sale
			f.Add(sale.OrderID, sale.Name, site.MomentText(sale.CreatedAt), sale.Currency,
				site.MinorText(decimal.NewFromInt(sale.TotalMinor), sale.Currency), review.InfluencerID, review.Influencer,
				site.MinorText(decimal.NewFromInt(review.CommissionMinor), sale.Currency),
				site.MinorText(decimal.NewFromInt(review.FixedBRLMinor), commerce.BRL),
				review.Reason)
			before = commerce.Cursor{At: sale.CreatedAt, OrderID: sale.OrderID}
		}
		return len(list), err
	})
}

func (s *Pages) statementsFile(ctx context.Context, r *http.Request, v site.Request, f *site.ListFile) error {
	filter, _, ok := statementFilter(r.URL.Query())
	if !ok {
		return site.ErrBadAddress
	}
	var after commerce.StatementCursor
	return f.AddPages(func() (int, error) {
		list, err := s.db.Statements(ctx, v.Current.CompanyID, filter, after, site.RowsPerRead)
		for _, st := range list {
			opening, total := site.MinorText(st.OpeningMinor, st.Currency), site.MinorText(st.TotalMinor, st.Currency)
			withheld, net := site.MinorText(st.WithheldMinor, st.Currency), site.MinorText(st.NetMinor(), st.Currency)
			if st.State == commerce.StatementClosing { // not known yet
				opening, total, withheld, net = "", "", "", ""
			}
			f.Add(st.NumberText(), st.StatementID, st.InfluencerID, st.Influencer, st.Currency, st.StartDate, st.EndDate, st.State,
				strconv.FormatInt(st.Lines, 10), opening, total, withheld, net, st.WithheldText(), st.Invoice,
				strconv.FormatBool(st.Carried), site.MomentText(st.PaidAt), st.Reference)
			after = st.Cursor()
		}
		return len(list), err
	})
}
