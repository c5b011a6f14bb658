package merchant

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/wire"
)

// CreateStore makes a store with its live and its sandbox company. Their records
// of the directory are written in the same transaction.
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
			company, err := insertCompany(ctx, tx, n, commerce.Company{CompanyID: id, StoreID: store.StoreID, Environment: environment})
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

// Company returns a company; an unknown one is commerce.ErrNotFound.
func (s *Store) Company(ctx context.Context, companyID string) (commerce.Company, error) {
	c, err := postgres.One(ctx, s.db.Pool(), postgres.Scan(companyColumns),
		`select `+postgres.List(companyColumns)+` from company where company_id = $1`, companyID)
	if err != nil {
		return c, fmt.Errorf("postgres: company %s: %w", companyID, postgres.Translate(err))
	}
	return c, nil
}

// Companies returns companies, oldest first; at most limit.
func (s *Store) Companies(ctx context.Context, limit int) ([]commerce.Company, error) {
	list, err := postgres.Collect(ctx, s.db.Pool(), postgres.Scan(companyColumns),
		`select `+postgres.List(companyColumns)+` from company order by created_at, company_id limit $1`, limit)
	if err != nil {
		return nil, fmt.Errorf("postgres: companies: %w", postgres.Translate(err))
	}
	return list, nil
}

// SetOrigins replaces the origins and hosts of a company, and writes the records
// from which the edge and the processor learn of it.
func (s *Store) SetOrigins(ctx context.Context, companyID string, origins, hosts []string, actor string, keyCheck func(string) string) error {
	err := s.db.InTx(ctx, func(tx pgx.Tx) error {
		rev, _, err := bumpRules(ctx, tx, companyID)
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
		// The body is empty: the record only says that settings changed, and they are read from PostgreSQL.
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

func companyColumns(c *commerce.Company) postgres.Columns {
	return postgres.Columns{
		postgres.Into("company_id", &c.CompanyID),
		postgres.Into("store_id", &c.StoreID),
		postgres.Into("environment", &c.Environment),
		postgres.Into("name", &c.Name),
		postgres.Into("country", &c.Country),
		postgres.Into("timezone", &c.Timezone),
		postgres.Into("currency", &c.Currency),
		postgres.Into("origins", &c.Origins),
		postgres.Into("hosts", &c.Hosts),
		postgres.Into("consent_policy", &c.ConsentPolicy),
		postgres.Into("rules_rev", &c.RulesRev),
		postgres.Into("created_at", &c.CreatedAt),
	}
}

// insertCompany stores a company of a new store: c has its ids and environment,
// n all else.
func insertCompany(ctx context.Context, tx pgx.Tx, n commerce.NewStore, c commerce.Company) (commerce.Company, error) {
	return postgres.One(ctx, tx, postgres.Scan(companyColumns), `
		insert into company (company_id, store_id, environment, name, country, timezone, currency, origins, hosts,
			consent_policy, payout_rule, window_days, half_life_days, ignore_direct, pay_recurring)
		values (@company_id, @store_id, @environment, @name, @country, @timezone, @currency, @origins, @hosts,
			@consent_policy, @payout_rule, @window_days, @half_life_days, @ignore_direct, @pay_recurring)
		returning `+postgres.List(companyColumns), pgx.NamedArgs{
		"company_id": c.CompanyID, "store_id": c.StoreID, "environment": c.Environment,
		"name": n.Name, "country": n.Country, "timezone": n.Timezone, "currency": n.Currency,
		"origins": notNil(n.Origins), "hosts": notNil(n.Hosts),
		"consent_policy": n.ConsentPolicy, "payout_rule": n.PayoutRule, "window_days": n.WindowDays, "half_life_days": n.HalfLifeDays,
		"ignore_direct": !n.CountDirect, "pay_recurring": n.PayRecurring,
	})
}

// bumpRules locks the company's row, and returns its next rule revision and
// the database's time. Every change of a rule or setting takes it first:
// revisions, times and outbox rows of one company are then in one order, which
// is the order of commits, so that a cursor over times never skips a row.
func bumpRules(ctx context.Context, tx pgx.Tx, companyID string) (rev int64, now time.Time, err error) {
	err = tx.QueryRow(ctx, `update company set rules_rev = rules_rev + 1 where company_id = $1 returning rules_rev, clock_timestamp()`,
		companyID).Scan(&rev, &now)
	return rev, now, err
}

func directoryColumns(c *wire.Company) postgres.Columns {
	return postgres.Columns{
		postgres.Into("company_id", &c.CompanyID),
		postgres.Into("rules_rev", &c.Rev),
		postgres.Into("environment", &c.Environment),
		postgres.Into("origins", &c.Origins),
		postgres.Into("country", &c.Country),
		postgres.Into("timezone", &c.Timezone),
		postgres.Into("hosts", &c.Hosts),
		postgres.Into("limits", &c.Limits),
		postgres.Into("consent_policy", &c.ConsentPolicy),
	}
}

// directoryCompany reads what the edge needs of a company.
func directoryCompany(ctx context.Context, q postgres.Querier, companyID string, keyCheck func(string) string) (wire.Company, error) {
	c, err := postgres.One(ctx, q, postgres.Scan(directoryColumns),
		`select `+postgres.List(directoryColumns)+` from company where company_id = $1`, companyID)
	if err != nil {
		return c, err
	}
	c.V = 1
	if keyCheck == nil {
		return c, errors.New("no key check given: an edge could not tell that its hashing secret is the wrong one")
	}
	c.KeyCheck = keyCheck(companyID)
	return c, nil
}

// notNil returns an empty list for nil: the columns are not null.
func notNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
