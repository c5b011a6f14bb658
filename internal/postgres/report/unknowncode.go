package report

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/fold"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/reports"
)

// mostTyped bounds the texts of discount codes that are read of some days: those of the most orders.
const mostTyped = 10_000

// UnknownCodes returns the codes of approved orders that are no influencer's coupon, those of the most orders first,
// limit at most. Of q it reads CompanyID, Start, End and Currency. Test orders are not counted. An order with several such
// codes counts for each.
func (r *Reader) UnknownCodes(ctx context.Context, q reports.Query, limit int) ([]reports.UnknownCode, error) {
	type typed struct {
		codes  string
		orders int64
		sales  decimal.Decimal
	}
	list, err := postgres.Collect(ctx, r.db.Pool(), func(row pgx.CollectableRow) (t typed, err error) {
		return t, row.Scan(&t.codes, &t.orders, &t.sales)
	}, `
		select discount_code, count(*), sum(total_minor) from orders
		where company_id = @company_id and day between @from and @to and currency = @currency and status = @approved
		and test is null and discount_code <> ''
		group by 1 order by 2 desc, 1 limit @most`,
		pgx.NamedArgs{"company_id": q.CompanyID, "from": q.Start, "to": q.End, "currency": q.Currency, "approved": commerce.OrderApproved,
			"most": mostTyped})
	if err != nil {
		return nil, fmt.Errorf("postgres: codes of orders: %w", postgres.Translate(err))
	}
	sums := map[string]reports.UnknownCode{}
	for _, t := range list {
		seen := map[string]bool{}
		for _, part := range fold.SplitCodes(t.codes) {
			code := fold.Code(part)
			if code == "" || seen[code] {
				continue
			}
			seen[code] = true
			sum := sums[code]
			sums[code] = reports.UnknownCode{Code: code, Orders: sum.Orders + t.orders, SalesMinor: sum.SalesMinor.Add(t.sales)}
		}
	}
	codes := make([]string, 0, len(sums))
	for code := range sums {
		codes = append(codes, code)
	}
	known, err := postgres.Collect(ctx, r.db.Pool(), pgx.RowTo[string],
		`select distinct code_folded from coupon where company_id = $1 and code_folded = any($2) and deleted_at is null`, q.CompanyID, codes)
	if err != nil {
		return nil, fmt.Errorf("postgres: coupons by code: %w", postgres.Translate(err))
	}
	for _, code := range known {
		delete(sums, code)
	}
	unknown := make([]reports.UnknownCode, 0, len(sums))
	for _, sum := range sums {
		unknown = append(unknown, sum)
	}
	slices.SortFunc(unknown, func(x, y reports.UnknownCode) int {
		if x.Orders != y.Orders {
			return int(y.Orders - x.Orders)
		}
		return strings.Compare(x.Code, y.Code)
	})
	return unknown[:min(limit, len(unknown))], nil
}
