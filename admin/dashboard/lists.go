package dashboard

import (
	"context"
	"net/http"
	"strconv"

	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/commerce"
)

func (s *moneyPages) listRoutes() []route {
	return []route{
		{pattern: "GET " + ordersPath + csvEnding,
			handle: s.file("orders", []string{"order_id", "name", "created_at", "day", "status", "currency", "total", "discount_code",
				"influencer_id", "influencer", "campaign", "evidence", "commission", "fixed_commission_brl", "waits_for", "test"}, s.ordersFile)},
		{pattern: "GET " + payoutsPath + csvEnding,
			handle: s.file("payouts",
				[]string{"influencer_id", "influencer", "currency", "expected", "review", "held", "payable", "paid"}, s.payoutsFile)},
		{pattern: "GET " + reviewsPath + csvEnding,
			handle: s.file("reviews", []string{"order_id", "name", "created_at", "currency", "total", "influencer_id", "influencer",
				"commission", "fixed_commission_brl", "reason"}, s.reviewsFile)},
		{pattern: "GET " + statementsPath + csvEnding,
			handle: s.file("statements", []string{"statement_id", "influencer_id", "influencer", "currency", "start_date", "end_date", "state",
				"orders", "opening", "total", "carried", "paid_at", "reference"}, s.statementsFile)},
	}
}

func (s *moneyPages) ordersFile(ctx context.Context, r *http.Request, v pageRequest, f *listFile) error {
	query := r.URL.Query()
	page := askedOrders(query)
	if page.Text != "" || !orderFiltersAreGood(&page, query.Get("status")) {
		return errBadAddress
	}
	filter := page.filter(query.Get("status"))
	filter.Limit = rowsPerRead
	for {
		found, err := s.db.Orders(ctx, v.current.CompanyID, filter)
		if err != nil || len(found) == 0 {
			return err
		}
		ids := make([]string, 0, len(found))
		for _, o := range found {
			ids = append(ids, storedOrderID(o))
		}
		sales, err := s.db.SalesOf(ctx, v.current.CompanyID, ids)
		if err != nil {
			return err
		}
		for _, sale := range sales {
			if err := f.add(sale.OrderID, sale.Name, momentText(sale.CreatedAt), sale.Day, statusWord(sale.Status), sale.Currency,
				minorText(decimal.NewFromInt(sale.TotalMinor), sale.Currency),
				sale.DiscountCode, sale.InfluencerID, sale.Influencer, sale.Campaign, string(sale.Evidence),
				minorText(decimal.NewFromInt(sale.CommissionMinor), sale.Currency),
				minorText(decimal.NewFromInt(sale.FixedBRLMinor), commerce.BRL), sale.WaitsFor, strconv.FormatBool(sale.Test)); err != nil {
				return err
			}
		}
		if len(found) < rowsPerRead {
			return nil
		}
		filter.After = commerce.Cursor{At: found[len(found)-1].CreatedAt, OrderID: ids[len(ids)-1]}
	}
}

func statusWord(status int) string {
	if status < 0 || status >= len(statusWords) {
		return strconv.Itoa(status)
	}
	return statusWords[status]
}

func (s *moneyPages) payoutsFile(ctx context.Context, _ *http.Request, v pageRequest, f *listFile) error {
	var after commerce.BalanceCursor
	for {
		list, err := s.db.Balances(ctx, v.current.CompanyID, s.dayOf(v), after, rowsPerRead)
		if err != nil {
			return err
		}
		for _, b := range list {
			if err := f.add(b.InfluencerID, b.Influencer, b.Currency, minorText(b.ExpectedMinor, b.Currency), minorText(b.ReviewMinor, b.Currency),
				minorText(b.HeldMinor, b.Currency),
				minorText(b.PayableMinor, b.Currency), minorText(b.PaidMinor, b.Currency)); err != nil {
				return err
			}
		}
		if len(list) < rowsPerRead {
			return nil
		}
		after = list[len(list)-1].Cursor()
	}
}

func (s *moneyPages) reviewsFile(ctx context.Context, _ *http.Request, v pageRequest, f *listFile) error {
	var before commerce.Cursor
	for {
		list, err := s.db.Reviews(ctx, v.current.CompanyID, before, rowsPerRead)
		if err != nil {
			return err
		}
		for _, review := range list {
			sale := review.Sale
			if err := f.add(sale.OrderID, sale.Name, momentText(sale.CreatedAt), sale.Currency,
				minorText(decimal.NewFromInt(sale.TotalMinor), sale.Currency), review.InfluencerID, review.Influencer,
				minorText(decimal.NewFromInt(review.CommissionMinor), sale.Currency), minorText(decimal.NewFromInt(review.FixedBRLMinor), commerce.BRL),
				review.Reason); err != nil {
				return err
			}
		}
		if len(list) < rowsPerRead {
			return nil
		}
		before = commerce.Cursor{At: list[len(list)-1].Sale.CreatedAt, OrderID: list[len(list)-1].Sale.OrderID}
	}
}

func (s *moneyPages) statementsFile(ctx context.Context, _ *http.Request, v pageRequest, f *listFile) error {
	var after commerce.StatementCursor
	for {
		list, err := s.db.Statements(ctx, v.current.CompanyID, commerce.StatementFilter{}, after, rowsPerRead)
		if err != nil {
			return err
		}
		for _, st := range list {
			opening, total := minorText(st.OpeningMinor, st.Currency), minorText(st.TotalMinor, st.Currency)
			if st.State == commerce.StatementClosing { // not known yet
				opening, total = "", ""
			}
			if err := f.add(st.StatementID, st.InfluencerID, st.Influencer, st.Currency, st.StartDate, st.EndDate, st.State,
				strconv.FormatInt(st.Lines, 10), opening, total,
				strconv.FormatBool(st.Carried), momentText(st.PaidAt), st.Reference); err != nil {
				return err
			}
		}
		if len(list) < rowsPerRead {
			return nil
		}
		after = list[len(list)-1].Cursor()
	}
}
