package report

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/fold"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/explained"
)

// searchedRows are keys that are looked for.
func searchedRows(companyID string) postgres.Rows[facts.Key] {
	return postgres.Rows[facts.Key]{
		postgres.Col("digest", "bigint", func(k *facts.Key) int64 { return facts.KeyDigest(companyID, *k) }),
		postgres.Col("kind", "smallint", func(k *facts.Key) int16 { return k.Kind.Code() }),
		postgres.Col("key", "bytea", func(k *facts.Key) []byte { return k.Pack() }),
	}
}

// calledOrders are the ids of orders that a text names: by id, name or number.
const calledOrders = `
			select f.order_id from orders f where f.company_id = @company_id and f.order_id = any(@texts)
			union all select f.order_id from orders f where f.company_id = @company_id and f.name = any(@named)
			union all select f.order_id from orders f where f.company_id = @company_id and f.number = @text`

// addText adds the arguments of calledOrders.
func addText(args pgx.NamedArgs, text string) pgx.NamedArgs {
	texts := []string{text, strings.ToUpper(text), strings.ToLower(text)} // as shops write numbers; indexes have each text as it is
	var named []string
	for _, text := range texts {
		named = append(named, text, "#"+text)
	}
	args["text"], args["texts"], args["named"] = text, texts, named
	return args
}

// FindOrders looks for orders, the newest first.
func (r *Reader) FindOrders(ctx context.Context, companyID string, s commerce.OrderSearch) ([]commerce.Sale, error) {
	keys := []facts.Key{facts.RuleKey(facts.KeyCode, fold.Code(s.Text))}
	for _, email := range s.Email {
		keys = append(keys, facts.Key{Kind: facts.KeyEmail, Value: email})
	}
	for _, phone := range s.Phone {
		keys = append(keys, facts.Key{Kind: facts.KeyPhone, Value: phone})
	}
	list, err := postgres.Collect(ctx, r.db.Pool(), postgres.Scan(saleColumns), selectSales+`
		where o.company_id = @company_id and o.order_id in (
`+calledOrders+`
			union all select k.order_id from `+searchedRows(companyID).Unnest("s")+` cross join lateral (
				select k.order_id from order_key k where `+postgres.OfKey("k", "s.digest", "s.kind", "s.key")+` offset 0) k)
		order by o.created_at desc, o.order_id desc limit @limit`,
		searchedRows(companyID).Args(keys, addText(pgx.NamedArgs{"company_id": companyID, "limit": s.Limit}, s.Text)))
	return list, postgres.Wrapf(postgres.Translate(err), "postgres: find orders of %s", companyID)
}

// SalesOf reads the named orders, the newest first.
func (r *Reader) SalesOf(ctx context.Context, companyID string, orderIDs []string) ([]commerce.Sale, error) {
	list, err := postgres.Collect(ctx, r.db.Pool(), postgres.Scan(saleColumns), selectSales+`
		where o.company_id = $1 and o.order_id = any($2) order by o.created_at desc, o.order_id desc`, companyID, orderIDs)
	return list, postgres.Wrapf(postgres.Translate(err), "postgres: %d sales of %s", len(orderIDs), companyID)
}

type storedReview struct {
	commerce.Review
	stored []byte // the explanation, packed
}

func reviewColumns(v *storedReview) postgres.Columns {
	return postgres.Columns{
		postgres.Into("o.order_id", &v.Sale.OrderID),
		postgres.Into("coalesce(o.name, '')", &v.Sale.Name),
		postgres.Into("o.created_at", &v.Sale.CreatedAt),
		postgres.Into("o.day", postgres.Day(&v.Sale.Day)),
		postgres.Into("o.status", &v.Sale.Status),
		postgres.Into("o.currency", &v.Sale.Currency),
		postgres.Into("o.total_minor", &v.Sale.TotalMinor),
		postgres.Into("p.processed_at", &v.Sale.ProcessedAt),
		postgres.Into("coalesce(p.influencer_id::text, '')", &v.InfluencerID),
		postgres.Into("coalesce(i.name, '')", &v.Influencer),
		postgres.Into("p.commission_minor", &v.CommissionMinor),
		postgres.Into("p.fixed_brl_minor", &v.FixedBRLMinor),
		postgres.Into("p.reason", &v.Reason),
		postgres.Into("p.explanation", &v.stored),
	}
}

// Reviews lists the orders whose commission waits for a decision, the newest first,
// created before the given instant and id where before is not zero.
func (r *Reader) Reviews(ctx context.Context, companyID string, before commerce.Cursor, limit int) ([]commerce.Review, error) {
	if before.IsZero() {
		before.At = time.Date(2201, 1, 1, 0, 0, 0, 0, time.UTC) // after all orders (commerce.Recordable)
	}
	list, err := postgres.Collect(ctx, r.db.Pool(), postgres.Scan(reviewColumns), `
		select `+postgres.List(reviewColumns)+`
		from payout p
		join orders o on o.company_id = p.company_id and o.order_id = p.order_id
		left join influencer i on i.company_id = p.company_id and i.influencer_id = p.influencer_id
		where p.company_id = @company_id and p.state = 'review' and (o.created_at, o.order_id) < (@before::timestamptz, @before_id::text)
		order by o.created_at desc, o.order_id desc limit @limit`,
		pgx.NamedArgs{"company_id": companyID, "before": before.At, "before_id": before.OrderID, "limit": limit})
	if err != nil {
		return nil, fmt.Errorf("postgres: reviews of %s: %w", companyID, postgres.Translate(err))
	}
	reviews := make([]commerce.Review, len(list))
	for i := range list {
		reviews[i] = list[i].Review
		if list[i].stored == nil {
			continue
		}
		if reviews[i].Explanation, err = explained.Unpack(list[i].stored); err != nil {
			return nil, fmt.Errorf("postgres: explanation of %s of %s: %w", list[i].Sale.OrderID, companyID, err)
		}
	}
	return reviews, nil
}

func summaryColumns(s *commerce.InfluencerSummary) postgres.Columns {
	return postgres.Columns{
		postgres.Into("i.influencer_id", &s.InfluencerID),
		postgres.Into("i.name", &s.Name),
		postgres.Into("coalesce(i.category, '')", &s.Category),
		postgres.Into("(select count(*) from link l where l.company_id = @company_id and l.influencer_id = i.influencer_id and "+
			"l.archived_at is null)", &s.Links),
		postgres.Into("(select count(*) from coupon c where c.company_id = @company_id and c.influencer_id = i.influencer_id and c.deleted_at "+
			"is null and c.period @> @today::date)", &s.Coupons),
		postgres.Into("(select count(*) from cost k where k.company_id = @company_id and k.influencer_id = i.influencer_id and "+
			"k.deleted_at is null)", &s.Costs),
		postgres.Into("coalesce(s.orders, 0)", &s.Orders),
		postgres.Into("coalesce(s.total, 0)", &s.TotalMinor),
		postgres.Into("coalesce(s.commission, 0)", &s.CommissionMinor),
	}
}

// FindInfluencers lists influencers that are not archived, or those that are, with what they sold: the sums by
// day of approved orders.
func (r *Reader) FindInfluencers(ctx context.Context, companyID string, s commerce.InfluencerSearch) ([]commerce.InfluencerSummary, error) {
	list, err := postgres.Collect(ctx, r.db.Pool(), postgres.Scan(summaryColumns), `
		select `+postgres.List(summaryColumns)+`
		from influencer i
		left join (
			select influencer_id, sum(orders)::bigint as orders, sum(sales_minor) as total, sum(commission_minor) as commission
			from sale_day where company_id = @company_id and day >= @from::date and currency = @currency and influencer_id <> ''
			group by influencer_id) s on s.influencer_id = i.influencer_id::text
		where i.company_id = @company_id and (i.archived_at is not null) = @archived and (strpos(i.name_folded, @name) > 0 or exists (
			select 1 from former_name f where f.company_id = @company_id and f.influencer_id = i.influencer_id
			and strpos(f.name_folded, @name) > 0) or exists (
			select 1 from coupon x where x.company_id = @company_id and x.influencer_id = i.influencer_id and x.code_folded = @code
			and x.deleted_at is null))
		order by case when @sort = 'sales' then coalesce(s.total, 0) end desc, case when @sort = 'new' then i.created_at end desc,
			i.name_folded, i.influencer_id limit @limit offset @offset`,
		pgx.NamedArgs{"company_id": companyID, "from": s.From, "today": s.Today, "currency": s.Currency, "name": fold.Name(s.Text),
			"code": fold.Code(s.Text), "sort": s.Sort, "archived": s.Archived, "limit": s.Limit, "offset": s.Offset})
	return list, postgres.Wrapf(postgres.Translate(err), "postgres: find influencers of %s", companyID)
}
