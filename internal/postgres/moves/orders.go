package moves

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

// Migration 0029: orders are packed, and one that has one version is stored once. The
// files beside this one have both forms of both tables.

func packOrders(ctx context.Context, m *mover) error {
	versions, err := moveOf("order_version", "0029_order_version.sql", `
		select v.version_at, v.accepted_at, v.company_id, v.order_id, v.content_hash, v.body::text,
			v.body = o.body and not exists (
				select from order_version x where x.company_id = v.company_id and x.order_id = v.order_id
					and (x.version_at, x.accepted_at, x.content_hash) <> (v.version_at, v.accepted_at, v.content_hash))
		from order_version v left join orders o on o.company_id = v.company_id and o.order_id = v.order_id`,
		[]string{"version_at", "accepted_at", "company_id", "order_id", "content_hash", "body"}, func(rows pgx.Rows) ([]any, error) {
			var at, accepted pgtype.Timestamptz
			var company, order, body string
			var hash []byte
			var once *bool
			if err := rows.Scan(&at, &accepted, &company, &order, &hash, &body, &once); err != nil {
				return nil, err
			}
			if once != nil && *once {
				return []any{at, accepted, company, order, hash, nil}, nil
			}
			_, packed, err := packedOrder(company, order, body)
			return []any{at, accepted, company, order, hash, packed}, err
		})
	if err != nil {
		return err
	}
	orders, err := moveOf("orders", "0029_orders.sql", `
		select created_at, processed_at, approved_since, total_minor, day, status, is_first_order, company_id, order_id, currency, body::text from orders`,
		[]string{"created_at", "processed_at", "approved_since", "total_minor", "day", "status", "is_first_order", "company_id", "order_id", "currency", "sent_first", "name", "number", "discount_code", "body"},
		func(rows pgx.Rows) ([]any, error) {
			var created, processed, approved pgtype.Timestamptz
			var total int64
			var day pgtype.Date
			var status int16
			var first *bool
			var company, order, currency, body string
			if err := rows.Scan(&created, &processed, &approved, &total, &day, &status, &first, &company, &order, &currency, &body); err != nil {
				return nil, err
			}
			o, packed, err := packedOrder(company, order, body)
			if err != nil {
				return nil, err
			}
			searched := facts.SearchedOf(&o)
			return []any{created, processed, approved, total, day, status, first, company, order, currency, searched.First, searched.Name, searched.Number, searched.DiscountCode, packed}, nil
		})
	if err != nil {
		return err
	}
	return m.run(ctx, versions, orders)
}

func packedOrder(companyID, orderID, body string) (o wire.Order, packed []byte, err error) {
	if err = json.Unmarshal([]byte(body), &o); err == nil {
		packed, err = facts.PackOrder(&o)
	}
	if err != nil {
		return o, nil, fmt.Errorf("order %s of company %s: %w", orderID, companyID, err)
	}
	return o, packed, nil
}

func unpackOrders(ctx context.Context, m *mover) error {
	text := func(stored []byte) (wire.Order, json.RawMessage, error) {
		o, err := facts.UnpackOrder(stored)
		if err != nil {
			return o, nil, err
		}
		body, err := json.Marshal(&o)
		return o, body, err
	}
	versions, err := moveOf("order_version", "0028_order_version.sql", `
		select v.company_id, v.order_id, v.version_at, v.accepted_at, v.content_hash, coalesce(v.body, o.body)
		from order_version v left join orders o on o.company_id = v.company_id and o.order_id = v.order_id`,
		[]string{"company_id", "order_id", "version_at", "accepted_at", "content_hash", "body"}, func(rows pgx.Rows) ([]any, error) {
			var at, accepted pgtype.Timestamptz
			var company, order string
			var hash, stored []byte
			if err := rows.Scan(&company, &order, &at, &accepted, &hash, &stored); err != nil {
				return nil, err
			}
			_, body, err := text(stored)
			return []any{company, order, at, accepted, hash, body}, err
		})
	if err != nil {
		return err
	}
	orders, err := moveOf("orders", "0028_orders.sql", `
		select company_id, order_id, created_at, day, status, currency, total_minor, is_first_order, body, processed_at, approved_since from orders`,
		[]string{"company_id", "order_id", "created_at", "day", "status", "currency", "total_minor", "shipping_minor", "is_first_order", "body", "processed_at", "approved_since"},
		func(rows pgx.Rows) ([]any, error) {
			var created, processed, approved pgtype.Timestamptz
			var total int64
			var day pgtype.Date
			var status int16
			var first *bool
			var company, order, currency string
			var stored []byte
			if err := rows.Scan(&company, &order, &created, &day, &status, &currency, &total, &first, &stored, &processed, &approved); err != nil {
				return nil, err
			}
			o, body, err := text(stored)
			return []any{company, order, created, day, status, currency, total, o.ShippingMinor.Or(0), first, body, processed, approved}, err
		})
	if err != nil {
		return err
	}
	return m.run(ctx, versions, orders)
}
