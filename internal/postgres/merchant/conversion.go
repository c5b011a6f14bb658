package merchant

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
)

// mostTold is how many conversions of an erasure, or of a person, are read.
const mostTold = 1000

func toldConversionColumns(c *commerce.ToldConversion) postgres.Columns {
	return postgres.Columns{
		postgres.Into("v.network", &c.Network),
		postgres.Into("v.account", &c.Account),
		postgres.Into("v.order_id", &c.OrderID),
		postgres.Into("v.begun_at", &c.BegunAt),
		postgres.Into("v.sent_at", postgres.ZeroIfNull(&c.SentAt)),
		postgres.Into("v.currency", &c.Value.Currency),
		postgres.Into("v.value_minor", &c.Value.Minor),
	}
}

// ToldConversion returns what an account at a network was told of an order. commerce.ErrNotFound where it was told nothing.
func (s *Store) ToldConversion(ctx context.Context, companyID string, of commerce.ToldConversion) (commerce.ToldConversion, error) {
	c, err := postgres.One(ctx, s.db.Pool(), postgres.Scan(toldConversionColumns), `
		select `+postgres.List(toldConversionColumns)+` from conversion v
		where v.company_id = $1 and v.order_id = $2 and v.network = $3 and v.account = $4`, companyID, of.OrderID, of.Network, of.Account)
	return c, postgres.Wrapf(postgres.Translate(err), "postgres: conversion")
}

// BeginConversion stores that an account, which is kept as a destination, is told of an order now: before each request, so that an erasure
// finds it whatever becomes of that. False, and nothing is stored, where it must not be told any more: the order's person is erased, an
// erasure is not done that was asked for after the order came, or the account was disabled or changed since it was leased.
func (s *Store) BeginConversion(ctx context.Context, d commerce.LeasedDestination, c commerce.ToldConversion) (may bool, err error) {
	err = s.db.InTx(ctx, func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, `
			select count(*) = 1 from destination where company_id = $1 and destination_id = $2 and state = 'active' and url = $3 and types = $4`,
			d.CompanyID, d.ID, d.URL, d.Types).Scan(&may); err != nil || !may {
			return err
		}
		if err := tx.QueryRow(ctx, `
			select not exists (select 1 from erased_order e where e.company_id = @company_id and e.order_id = @order_id)
				and not exists (select 1 from erasure e where e.company_id = @company_id and e.done_at is null
					and e.asked_at >= least(o.created_at, o.accepted_at))
			from orders o where o.company_id = @company_id and o.order_id = @order_id`,
			pgx.NamedArgs{"company_id": d.CompanyID, "order_id": c.OrderID}).Scan(&may); err != nil || !may {
			return err
		}
		_, err := tx.Exec(ctx, `
			insert into conversion (company_id, order_id, network, account, begun_at, currency, value_minor)
			values (@company_id, @order_id, @network, @account, @begun_at, @currency, @value)
			on conflict (company_id, order_id, network, account) do nothing`, conversionArgs(d.CompanyID, c))
		return err
	})
	if err != nil {
		return false, fmt.Errorf("postgres: begin a conversion: %w", err)
	}
	return may, nil
}

// StoreConversion stores that an account took what it was told of an order, and which value it has of it now; without SentAt, that it is
// not known any more whether it has it.
func (s *Store) StoreConversion(ctx context.Context, companyID string, c commerce.ToldConversion) error {
	args := conversionArgs(companyID, c)
	args["sent_at"] = postgres.NullIfZero(c.SentAt)
	delete(args, "begun_at")
	_, err := s.db.Pool().Exec(ctx, `
		update conversion set sent_at = @sent_at, currency = @currency, value_minor = @value
		where company_id = @company_id and order_id = @order_id and network = @network and account = @account`, args)
	return postgres.Wrapf(postgres.Translate(err), "postgres: store a conversion")
}

func conversionArgs(companyID string, c commerce.ToldConversion) pgx.NamedArgs {
	return pgx.NamedArgs{"company_id": companyID, "order_id": c.OrderID, "network": c.Network, "account": c.Account, "begun_at": c.BegunAt,
		"currency": c.Value.Currency, "value": c.Value.Minor}
}

// ErasedConversions returns what networks were told, or may have been, of orders whose person an erasure is of: at most 1000, and whether
// there are more. The erasure is to be passed on to these.
func (s *Store) ErasedConversions(ctx context.Context, companyID, erasureID string) (list []commerce.ToldConversion, more bool, err error) {
	list, err = postgres.Collect(ctx, s.db.Pool(), postgres.Scan(toldConversionColumns), `
		select `+postgres.List(toldConversionColumns)+` from erased_order e
		join conversion v on v.company_id = e.company_id and v.order_id = e.order_id
		where e.company_id = @company_id and e.erasure_id = @erasure_id::uuid and v.company_id = @company_id
		order by v.network, v.account, v.begun_at, v.order_id limit @most`,
		pgx.NamedArgs{"company_id": companyID, "erasure_id": erasureID, "most": mostTold + 1})
	if err != nil {
		return nil, false, fmt.Errorf("postgres: conversions of erasure %s: %w", erasureID, postgres.Translate(err))
	}
	if len(list) > mostTold {
		list, more = list[:mostTold], true
	}
	return list, more, nil
}
