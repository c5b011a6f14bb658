package report

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/fraud"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/explained"
	"github.com/tributary-io/tributary/internal/wire"
)

// signPage is how many orders are read at once: an explanation has some KB.
const signPage = 1_000

// signOrder is what is read of one order.
type signOrder struct {
	sale         fraud.Sale
	name         string
	order        wire.Order
	country, zip string
	explanation  []byte
}

func signColumns(o *signOrder) postgres.Columns {
	return postgres.Columns{
		postgres.Into("o.order_id", &o.sale.OrderID),
		postgres.Into("o.created_at", &o.sale.At),
		postgres.Into("o.day", postgres.Day(&o.sale.Day)),
		postgres.Into("o.currency", &o.sale.Currency),
		postgres.Into("o.total_minor", &o.sale.Total),
		postgres.Into("coalesce(p.commission_minor, 0)", &o.sale.Commission),
		postgres.Into("coalesce(p.fixed_brl_minor, 0)", &o.sale.FixedBRL),
		postgres.Into("coalesce(p.influencer_id::text, '')", &o.sale.Influencer),
		postgres.Into("coalesce(i.name, '')", &o.name),
		postgres.Into("coalesce(k.code_folded, '')", &o.sale.Code),
		postgres.Into("o.body", bytesScanner(func(stored []byte) (err error) { o.order, err = facts.UnpackOrder(stored); return err })),
		postgres.Into("coalesce(n.body->'customer'->>'countryCode', '')", &o.country),
		postgres.Into("coalesce(n.body->'customer'->>'zip', '')", &o.zip),
		postgres.Into("case when p.influencer_id is not null or p.reason = 'self_purchase' then p.explanation end", &o.explanation),
	}
}

// signOrders goes by the index orders_created, as newestOrders does. Orders that are
// credited to nobody, but for denied self-purchases, count for what is usual: nothing of their explanation is asked. A page is
// taken before it is joined: else PostgreSQL reads all outcomes of a long time for each page.
var signOrders = `
	select ` + postgres.List(signColumns) + ` from (
		select company_id, order_id, created_at, day, currency, total_minor, body from orders
		where company_id = @company_id and created_at >= @lo::timestamptz and (created_at, order_id) < (@before::timestamptz, @before_id::text)
			and day between @from::date and @to::date and status <> @cancelled and test is not true
		order by created_at desc, order_id desc limit @most) o
	left join payout p on p.company_id = @company_id and p.order_id = o.order_id
	left join influencer i on i.company_id = @company_id and i.influencer_id = p.influencer_id
	left join coupon k on k.company_id = @company_id and k.coupon_id = p.coupon_id
	left join order_personal n on n.company_id = @company_id and n.order_id = o.order_id
	order by o.created_at desc, o.order_id desc`

// readSigns looks for signs in a company's orders of some days, YYYY-MM-DD in the store's
// time zone, in one snapshot. It returns by which mark.
func (r *Reader) readSigns(ctx context.Context, companyID, from, to string) (report *fraud.Report, mark signsMark, err error) {
	report = &fraud.Report{Start: from, End: to, Names: map[string]string{}}
	var sales []fraud.Sale
	var completed []fraud.Checkout
	err = r.snapshot(ctx, func(tx pgx.Tx) error {
		var timezone string
		if err := tx.QueryRow(ctx, `
			select now(), c.timezone, c.rules_rev, `+newestComputed+`
			from company c where c.company_id = @company_id`, pgx.NamedArgs{"company_id": companyID}).
			Scan(&report.AsOf, &timezone, &mark.rules, postgres.ZeroIfNull(&mark.orders)); err != nil {
			return err
		}
		zone, err := time.LoadLocation(timezone)
		if err != nil {
			return err
		}
		if completed, err = checkouts(ctx, tx, companyID, zone, from, to, report.AsOf); err != nil {
			return err
		}
		args := pgx.NamedArgs{"company_id": companyID, "from": from, "to": to, "cancelled": commerce.OrderCancelled, "lo": beginning,
			"before": end, "before_id": ""}
		if day, err := commerce.ParseDay(from, time.UTC); err == nil {
			args["lo"] = day.Add(-aroundZones)
		}
		if day, err := commerce.ParseDay(to, time.UTC); err == nil {
			args["before"] = day.Add(24*time.Hour + aroundZones)
		}
		budget := visitBudget{mostVisits, mostIdentities}
		for {
			args["most"] = min(signPage, fraud.MostOrders+1-len(sales))
			page, err := postgres.Collect(ctx, tx, postgres.Scan(signColumns), signOrders, args)
			if err != nil {
				return err
			}
			for i := range page {
				sale, err := page[i].read(report.Names)
				if err != nil {
					return fmt.Errorf("order %q: %w", page[i].sale.OrderID, err)
				}
				sales = append(sales, sale)
			}
			if err := visits(ctx, tx, companyID, sales[len(sales)-len(page):], &budget); err != nil {
				return err
			}
			if len(page) < signPage {
				return nil
			}
			last := &page[len(page)-1].sale
			args["before"], args["before_id"] = last.At, last.OrderID
		}
	})
	if err != nil {
		return nil, mark, err
	}
	if report.Cut = len(sales) > fraud.MostOrders; report.Cut {
		sales = sales[:fraud.MostOrders]
		report.Start = sales[len(sales)-1].Day
	}
	report.Orders, report.Signs = len(sales), fraud.Find(sales, completed)
	report.Limit()
	return report, mark, r.nameAll(ctx, companyID, report)
}

// nameAll adds the names of influencers whom no order has named.
func (r *Reader) nameAll(ctx context.Context, companyID string, report *fraud.Report) error {
	ids := []string{}
	for _, s := range report.Signs {
		if _, named := report.Names[s.Influencer]; s.Influencer != "" && !named {
			ids = append(ids, s.Influencer)
		}
	}
	names, err := postgres.Map[string, string](ctx, r.db.Pool(),
		`select influencer_id::text, name from influencer where company_id = @company_id and influencer_id = any(@ids::uuid[])`,
		pgx.NamedArgs{"company_id": companyID, "ids": ids})
	maps.Copy(report.Names, names)
	return err
}

// read returns the sale, and adds the influencers' names that it tells.
func (o *signOrder) read(names map[string]string) (fraud.Sale, error) {
	s := o.sale
	if s.Influencer != "" {
		names[s.Influencer] = o.name
	}
	for _, key := range facts.PersonKeys(&o.order) { // by each hashing secret
		if slices.Contains(facts.BuyerKinds, key.Kind) {
			s.Buyers = append(s.Buyers, string(key.Kind)+":"+key.Value)
		}
	}
	s.Place, s.Network = placeOf(o.country, o.zip), o.order.NetKey.Or("")
	if len(o.explanation) == 0 {
		return s, nil
	}
	customers, touches, err := explainedEvidence(o.explanation)
	if err != nil {
		return s, err
	}
	for _, c := range customers {
		s.Customers, names[c.InfluencerID] = append(s.Customers, c.InfluencerID), c.Influencer
	}
	s.Explain(touches)
	for _, t := range touches {
		if t.InfluencerID != "" {
			names[t.InfluencerID] = t.Influencer
		}
	}
	return s, nil
}

// explainedEvidence reads the customers and the touches of a stored explanation. It stops after the touches, before which the
// order is: the models' parts are the most of an explanation.
func explainedEvidence(stored []byte) (customers []facts.ExplainedCustomer, touches []facts.ExplainedTouch, err error) {
	text, err := explained.Unpack(stored)
	if err != nil {
		return nil, nil, err
	}
	fields := json.NewDecoder(bytes.NewReader(text))
	if _, err := fields.Token(); err != nil { // {
		return nil, nil, err
	}
	for fields.More() {
		name, err := fields.Token()
		if err != nil {
			return nil, nil, err
		}
		var order facts.ExplainedOrder
		var other json.RawMessage
		switch name {
		case "order":
			err = fields.Decode(&order)
			customers = order.CustomerIs
		case "touches":
			err = fields.Decode(&touches)
			return customers, touches, err
		default:
			err = fields.Decode(&other)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return customers, nil, nil
}

// placeOf returns a digest of a postal code, without its signs; "" for none.
func placeOf(country, zip string) string {
	code := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' {
			return r
		}
		return -1
	}, strings.ToUpper(zip))
	if strings.Trim(code, "0") == "" {
		return ""
	}
	digest := sha256.Sum256([]byte(strings.ToUpper(country) + " " + code))
	return base64.RawURLEncoding.EncodeToString(digest[:16])
}
