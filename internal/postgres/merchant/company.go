package merchant

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/wire"
)

// CreateStore makes a store with its live and its sandbox company, and tells
// the directory of both in the same transaction.
func (s *Store) CreateStore(ctx context.Context, n commerce.NewStore) (commerce.Store, error) {
	n.Defaults()
	storeID, err := uuid.NewRandomFromReader(n.Random)
	if err != nil {
		return commerce.Store{}, fmt.Errorf("postgres: create store: %w", err)
	}
	store := commerce.Store{StoreID: storeID.String(), Name: n.Name}
	err = s.db.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `insert into store (store_id, name) values ($1, $2)`, store.StoreID, n.Name); err != nil {
			return err
		}
		for _, environment := range []string{commerce.Live, commerce.Sandbox} {
			id, err := commerce.NewID(n.Random, "c_")
			if err != nil {
				return err
			}
			company, err := scanCompany(tx.QueryRow(ctx, `
				insert into company (company_id, store_id, environment, name, country, timezone, currency, origins, hosts,
					consent_policy, payout_rule, window_days, half_life_days, ignore_direct, pay_recurring)
				values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
				returning `+companyColumns,
				id, store.StoreID, environment, n.Name, n.Country, n.Timezone, n.Currency, notNil(n.Origins), notNil(n.Hosts),
				n.ConsentPolicy, n.PayoutRule, n.WindowDays, n.HalfLifeDays, !n.CountDirect, n.PayRecurring))
			if err != nil {
				return err
			}
			if environment == commerce.Live {
				store.Live = company
			} else {
				store.Sandbox = company
			}
			if err := putDirectoryCompany(ctx, tx, id, n.KeyCheck); err != nil {
				return err
			}
			if err := audit(ctx, tx, Change{CompanyID: id, Actor: n.Actor, Action: "company.create", Subject: id, Detail: map[string]any{"name": n.Name, "environment": environment}}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return commerce.Store{}, fmt.Errorf("postgres: create store: %w", err)
	}
	return store, nil
}

// Company is one company; commerce.ErrNotFound where there is none.
func (s *Store) Company(ctx context.Context, companyID string) (commerce.Company, error) {
	c, err := scanCompany(s.db.Pool().QueryRow(ctx, `select `+companyColumns+` from company where company_id = $1`, companyID))
	if err != nil {
		return c, fmt.Errorf("postgres: company %s: %w", companyID, postgres.Translate(err))
	}
	return c, nil
}

// Companies lists companies in the order of their making, at most limit.
func (s *Store) Companies(ctx context.Context, limit int) ([]commerce.Company, error) {
	rows, err := s.db.Pool().Query(ctx, `select `+companyColumns+` from company order by created_at, company_id limit $1`, limit)
	if err != nil {
		return nil, fmt.Errorf("postgres: companies: %w", postgres.Translate(err))
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (commerce.Company, error) { return scanCompany(row) })
	if err != nil {
		return nil, fmt.Errorf("postgres: companies: %w", postgres.Translate(err))
	}
	return list, nil
}

// SetOrigins replaces the origins and hosts of a company and tells the
// directory and the processor.
func (s *Store) SetOrigins(ctx context.Context, companyID string, origins, hosts []string, actor string, keyCheck func(string) string) error {
	err := s.db.InTx(ctx, func(tx pgx.Tx) error {
		rev, err := bumpRules(ctx, tx, companyID)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `update company set origins = $2, hosts = $3 where company_id = $1`, companyID, notNil(origins), notNil(hosts)); err != nil {
			return err
		}
		if err := putDirectoryCompany(ctx, tx, companyID, keyCheck); err != nil {
			return err
		}
		change := Change{CompanyID: companyID, Rev: rev, At: time.Now(), Actor: actor, Action: "company.origins", Subject: companyID,
			Detail: map[string]any{"origins": notNil(origins), "hosts": notNil(hosts)}}
		// The body is empty on purpose: settings are read from Postgres, the record says when to look again.
		if err := putCommerce(ctx, tx, change, wire.KindSettings, "settings", struct{}{}); err != nil {
			return err
		}
		return audit(ctx, tx, change)
	})
	if err != nil {
		return fmt.Errorf("postgres: origins of %s: %w", companyID, err)
	}
	return nil
}

const companyColumns = `company_id, store_id::text, environment, name, country, timezone, currency, origins, hosts, consent_policy, rules_rev, created_at`

func scanCompany(row pgx.Row) (c commerce.Company, err error) {
	err = row.Scan(&c.CompanyID, &c.StoreID, &c.Environment, &c.Name, &c.Country, &c.Timezone, &c.Currency,
		&c.Origins, &c.Hosts, &c.ConsentPolicy, &c.RulesRev, &c.CreatedAt)
	return c, err
}

// bumpRules locks the company's row and gives its next rule revision. Every
// change of a rule or setting takes it first: revisions and outbox rows of one
// company are then in one order.
func bumpRules(ctx context.Context, tx pgx.Tx, companyID string) (int64, error) {
	var rev int64
	err := tx.QueryRow(ctx, `update company set rules_rev = rules_rev + 1 where company_id = $1 returning rules_rev`, companyID).Scan(&rev)
	return rev, err
}

// queryer is a connection or a transaction.
type queryer interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// directoryCompany reads what the edge must know of a company.
func directoryCompany(ctx context.Context, tx queryer, companyID string, keyCheck func(string) string) (wire.Company, error) {
	var limits []byte
	c := wire.Company{V: 1}
	err := tx.QueryRow(ctx, `
		select company_id, rules_rev, environment, origins, country, timezone, hosts, limits, consent_policy
		from company where company_id = $1`, companyID).
		Scan(&c.CompanyID, &c.Rev, &c.Environment, &c.Origins, &c.Country, &c.Timezone, &c.Hosts, &limits, &c.ConsentPolicy)
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(limits, &c.Limits); err != nil {
		return c, fmt.Errorf("limits of %s: %w", companyID, err)
	}
	if keyCheck == nil {
		return c, errors.New("no key check given: an edge could not tell that its hashing secret is the wrong one")
	}
	c.KeyCheck = keyCheck(companyID)
	return c, nil
}

// notNil makes an absent list an empty one: the columns are not null.
func notNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
