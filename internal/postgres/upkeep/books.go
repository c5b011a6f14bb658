package upkeep

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/upkeep/books"
)

// Books reads what the books compare. It is a books.Store; safe for concurrent use.
type Books struct{ db *postgres.DB }

// NewBooks makes one on a database.
func NewBooks(db *postgres.DB) *Books { return &Books{db} }

// imbalancesOf sums the approved orders of days, and their credits by model. Orders that
// wait to be computed are in neither sum: their credits are those of before.
func imbalancesOf(days string) string {
	var sums, models []string
	for _, model := range facts.Models {
		column := model + "_minor"
		sums = append(sums, "coalesce(sum(c."+column+"), 0) as "+column)
		models = append(models, "('"+model+"', c."+column+")")
	}
	return `
	with approved as (
		select o.order_id, o.day, o.currency, o.total_minor from orders o
		where o.company_id = @company_id and o.status = 0 and o.test is not true` + days + `
			and not exists (select 1 from recompute r where r.company_id = @company_id and r.order_id = o.order_id)),
	sold as (select day, currency, sum(total_minor) as total_minor from approved group by 1, 2),
	credited as (
		select o.day, c.currency, ` + strings.Join(sums, ", ") + `
		from approved o join credit c on c.company_id = @company_id and c.order_id = o.order_id group by 1, 2)
	select day, currency, m.model, coalesce(m.minor, 0), coalesce(s.total_minor, 0)
	from sold s full join credited c using (day, currency)
	cross join lateral (values ` + strings.Join(models, ", ") + `) m (model, minor)
	where coalesce(m.minor, 0) <> coalesce(s.total_minor, 0)
	order by day, currency, m.model limit @most`
}

var (
	imbalancesOfDays = imbalancesOf(" and o.day = any(@days::date[])")
	imbalancesOfAll  = imbalancesOf("")
)

// AllImbalances returns where the credits of a company are not what its approved orders
// come to, the first most of them, ordered by day, currency and model.
func AllImbalances(ctx context.Context, q postgres.Querier, companyID string, most int) ([]books.Imbalance, error) {
	list, err := postgres.Collect(ctx, q, scanImbalance, imbalancesOfAll, pgx.NamedArgs{"company_id": companyID, "most": most})
	return of(companyID, list, err)
}

// Imbalances is AllImbalances of days.
func (s *Books) Imbalances(ctx context.Context, companyID string, days []string, most int) ([]books.Imbalance, error) {
	list, err := postgres.Collect(ctx, s.db.Pool(), scanImbalance, imbalancesOfDays,
		pgx.NamedArgs{"company_id": companyID, "most": most, "days": days})
	return of(companyID, list, err)
}

func of(companyID string, list []books.Imbalance, err error) ([]books.Imbalance, error) {
	if err != nil {
		return nil, fmt.Errorf("postgres: credits and approved orders of %s: %w", companyID, err)
	}
	for i := range list {
		list[i].CompanyID = companyID
	}
	return list, nil
}

func scanImbalance(row pgx.CollectableRow) (i books.Imbalance, err error) {
	var credited, approved pgtype.Numeric
	if err = row.Scan(postgres.Day(&i.Day), &i.Currency, &i.Model, &credited, &approved); err == nil {
		i.Credited, i.Approved = decimal.NewFromBigInt(credited.Int, credited.Exp), decimal.NewFromBigInt(approved.Int, approved.Exp)
	}
	return i, err
}

// SoldDays returns the days before one that have orders, the newest first, at most limit.
func (s *Books) SoldDays(ctx context.Context, companyID, before string, limit int) ([]books.SoldDay, error) {
	list, err := postgres.Collect(ctx, s.db.Pool(), func(row pgx.CollectableRow) (d books.SoldDay, err error) {
		return d, row.Scan(postgres.Day(&d.Day), &d.Orders)
	}, `
		select day, sum(orders)::bigint from sale_day where company_id = @company_id and day < @before::date
		group by day order by day desc limit @most`, pgx.NamedArgs{"company_id": companyID, "before": before, "most": limit})
	return list, postgres.Wrapf(err, "postgres: days with orders of %s", companyID)
}
