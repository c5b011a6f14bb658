package merchant

import (
	"context"
	"fmt"
	"reflect"
	"slices"
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
			if err := audit(ctx, tx,
				Change{CompanyID: id, Actor: n.Actor, Action: "company.create", Subject: id,
					Detail: map[string]any{"name": n.Name, "environment": environment}}); err != nil {
				return err
			}
		}
		return nil
	})
	return store, postgres.Wrapf(err, "postgres: create store")
}

// Company returns a company; an unknown one is commerce.ErrNotFound.
func (s *Store) Company(ctx context.Context, companyID string) (commerce.Company, error) {
	c, err := postgres.One(ctx, s.db.Pool(), postgres.Scan(companyColumns),
		`select `+postgres.List(companyColumns)+` from company where company_id = $1`, companyID)
	return c, postgres.Wrapf(postgres.Translate(err), "postgres: company %s", companyID)
}

// Companies returns companies, oldest first; at most limit.
func (s *Store) Companies(ctx context.Context, limit int) ([]commerce.Company, error) {
	list, err := postgres.Collect(ctx, s.db.Pool(), postgres.Scan(companyColumns),
		`select `+postgres.List(companyColumns)+` from company order by created_at, company_id limit $1`, limit)
	return list, postgres.Wrapf(postgres.Translate(err), "postgres: companies")
}

// AddOrigins adds those of the origins and hosts that a company lacks, before the
// others; of more than a company may have, the last ones go.
func (s *Store) AddOrigins(ctx context.Context, companyID string, origins, hosts []string, actor string) error {
	add := func(list *[]string, more []string) {
		more = slices.DeleteFunc(slices.Clone(more), func(text string) bool { return slices.Contains(*list, text) })
		*list = append(more, *list...)
		*list = (*list)[:min(len(*list), commerce.MaxListed)]
	}
	_, _, err := s.ChangeSettings(ctx, commerce.SettingsChange{CompanyID: companyID, Actor: actor, Change: func(s *commerce.Settings) {
		add(&s.Origins, origins)
		add(&s.Hosts, hosts)
	}})
	return err
}

// ChangeSettings changes settings of a company, and writes the records from
// which edges and, where it concerns orders, the processor learn of it; a change that changes nothing writes
// nothing. It returns the settings as they were and as they are. Errors:
// commerce.ErrNotFound, *commerce.SettingsError.
func (s *Store) ChangeSettings(ctx context.Context, c commerce.SettingsChange) (before, after commerce.Settings, err error) {
	err = s.db.InTx(ctx, func(tx pgx.Tx) error {
		// As bumpRules, which comes once there is something to change.
		before, err = postgres.One(ctx, tx, postgres.Scan(settingsColumns),
			`select `+postgres.List(settingsColumns)+` from company where company_id = $1 for no key update`, c.CompanyID)
		if err != nil {
			return err
		}
		after = before
		after.Origins, after.Hosts, after.PassingHosts = slices.Clone(before.Origins), slices.Clone(before.Hosts),
			slices.Clone(before.PassingHosts)
		c.Change(&after)
		after.Origins, after.Hosts, after.PassingHosts = notNil(after.Origins), notNil(after.Hosts), notNil(after.PassingHosts)
		after.Normal()
		if reflect.DeepEqual(before, after) {
			return nil
		}
		bad := after.Check()
		if frozen := after.Frozen(before); frozen.Any() {
			// An order that is on Kafka alone does not count yet.
			var ordered bool
			if err := tx.QueryRow(ctx, `select exists (select 1 from orders where company_id = $1)`, c.CompanyID).Scan(&ordered); err != nil {
				return err
			}
			if ordered {
				bad.AddAll(frozen)
			}
		}
		if before.ConfirmDecisions && !after.ConfirmDecisions && c.Actor != byCLI {
			bad.Add("confirm_decisions", commerce.CodeConflict, "is turned off by two people: one proposes it, another confirms it")
		}
		if bad.Any() {
			return &commerce.SettingsError{Bad: bad}
		}
		return storeSettings(ctx, tx, c, before, after)
	})
	return before, after, postgres.Wrapf(err, "postgres: settings of %s", c.CompanyID)
}

// RenameStore gives the store of a company, and both of its companies, another name: that of pages, invitations, and of statements
// that are closed from now on where the store has no legal name. The same name again changes nothing. Errors: commerce.ErrNotFound,
// commerce.ErrArchived, *commerce.SettingsError.
func (s *Store) RenameStore(ctx context.Context, author commerce.Author, name string) error {
	if bad := commerce.CheckStoreName(name); bad.Any() {
		return &commerce.SettingsError{Bad: bad}
	}
	err := s.db.InTx(ctx, func(tx pgx.Tx) error {
		var storeID, before string
		var archivedAt time.Time
		if err := tx.QueryRow(ctx, `
			select s.store_id::text, s.name, c.archived_at from company c join store s using (store_id)
			where c.company_id = $1 for no key update`, author.CompanyID).Scan(&storeID, &before, postgres.ZeroIfNull(&archivedAt)); err != nil {
			return err
		}
		switch {
		case !archivedAt.IsZero():
			return commerce.ErrArchived
		case before == name:
			return nil
		}
		if _, err := tx.Exec(ctx, `update store set name = $2 where store_id = $1`, storeID, name); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `update company set name = $2 where store_id = $1`, storeID, name); err != nil {
			return err
		}
		return audit(ctx, tx, Change{CompanyID: author.CompanyID, Actor: author.Actor, Action: "company.rename", Subject: author.CompanyID,
			Detail: map[string]any{"name": map[string]any{"from": before, "to": name}}})
	})
	return postgres.Wrapf(err, "postgres: rename the store of %s", author.CompanyID)
}

// storeSettings writes changed settings, their audit row and their records.
func storeSettings(ctx context.Context, tx pgx.Tx, c commerce.SettingsChange, before, after commerce.Settings) error {
	rev, now, err := bumpRules(ctx, tx, c.CompanyID)
	if err != nil {
		return err
	}
	if !before.SameForOrders(after) {
		if err := keepPast(ctx, tx, c.CompanyID, before, rev, now); err != nil {
			return err
		}
	}
	args := settingsArgs(after)
	args["company_id"] = c.CompanyID
	if _, err := tx.Exec(ctx, `
		update company set country = @country, timezone = @timezone, currency = @currency, origins = @origins, hosts = @hosts, limits = @limits,
			consent_policy = @consent_policy, payout_rule = @payout_rule, window_days = @window_days, half_life_days = @half_life_days,
			ignore_direct = @ignore_direct, pay_recurring = @pay_recurring, commission_without_tax = @commission_without_tax, unproven = @unproven,
			self_purchase = @self_purchase, hold_days = @hold_days, delivered_hold_days = @delivered_hold_days,
			passing_hosts = @passing_hosts, minimum_payout = @minimum_payout::numeric, retention_days = @retention_days,
			legal_name = @legal_name, tax_id = @tax_id, confirm_decisions = @confirm_decisions
		where company_id = @company_id`, args); err != nil {
		return err
	}
	if err := putDirectoryCompany(ctx, tx, c.CompanyID, nil); err != nil {
		return err
	}
	if before.ConfirmDecisions && !after.ConfirmDecisions {
		if _, err := tx.Exec(ctx, `delete from proposal where company_id = $1`, c.CompanyID); err != nil {
			return err
		}
	}
	change := Change{CompanyID: c.CompanyID, Rev: rev, At: now, Actor: c.Actor, Action: "company.settings", Subject: c.CompanyID,
		Detail: map[string]any{}}
	if c.ProposedBy != "" {
		change.Detail["proposed_by"] = personOf(c.ProposedBy)
	}
	old, concernsOrders := settingsArgs(before), false
	for name, value := range settingsArgs(after) {
		if !reflect.DeepEqual(old[name], value) {
			change.Detail[name] = map[string]any{"from": old[name], "to": value}
			concernsOrders = concernsOrders || !edgeSettings[name]
		}
	}
	if concernsOrders {
		// The body is empty: the record only says that settings changed, and they are read from PostgreSQL.
		if err := putCommerce(ctx, tx, change, wire.KindSettings, "settings", struct{}{}); err != nil {
			return err
		}
	}
	return audit(ctx, tx, change)
}

// edgeSettings are those that decide about no order: edges alone read them, or they
// concern statements or how long events are kept. After their change no order has to be computed again.
var edgeSettings = map[string]bool{"minimum_payout": true, "legal_name": true, "tax_id": true, "retention_days": true, "country": true,
	"origins": true, "limits": true, "consent_policy": true, "confirm_decisions": true}

// keepPast keeps the settings that were in force until now: they still decide about
// the orders that were created before.
func keepPast(ctx context.Context, tx pgx.Tx, companyID string, before commerce.Settings, rev int64, now time.Time) error {
	args := pgx.NamedArgs{
		"company_id": companyID, "rev": rev, "until": now, "payout_rule": before.PayoutRule, "window_days": before.WindowDays,
		"half_life_days": before.HalfLifeDays, "ignore_direct": !before.CountDirect, "pay_recurring": before.PayRecurring,
		"commission_without_tax": before.WithoutTax,
		"unproven":               before.Unproven, "self_purchase": before.SelfPurchase,
		"hold_days": before.HoldDays, "delivered_hold_days": before.DeliveredHoldDays,
		"passing_hosts": notNil(before.PassingHosts),
	}
	_, err := tx.Exec(ctx, `
		insert into past_setting (company_id, until, rev, payout_rule, window_days, half_life_days, ignore_direct, pay_recurring,
			commission_without_tax, unproven, self_purchase, hold_days, delivered_hold_days, passing_hosts)
		values (@company_id, @until, @rev, @payout_rule, @window_days, @half_life_days, @ignore_direct, @pay_recurring, @commission_without_tax,
			@unproven, @self_purchase, @hold_days, @delivered_hold_days, @passing_hosts)`, args)
	return err
}

func companyOwnColumns(c *commerce.Company) postgres.Columns {
	return postgres.Columns{
		postgres.Into("company_id", &c.CompanyID),
		postgres.Into("store_id", &c.StoreID),
		postgres.Into("environment", &c.Environment),
		postgres.Into("name", &c.Name),
		postgres.Into("rules_rev", &c.RulesRev),
		postgres.Into("created_at", &c.CreatedAt),
		postgres.Into("archived_at", postgres.ZeroIfNull(&c.ArchivedAt)),
	}
}

// companyColumns are all of a company.
func companyColumns(c *commerce.Company) postgres.Columns {
	return append(companyOwnColumns(c), settingsColumns(&c.Settings)...)
}

// settingsColumns and settingsArgs name each setting once for reading and once
// for writing.
func settingsColumns(s *commerce.Settings) postgres.Columns {
	return postgres.Columns{
		postgres.Into("country", &s.Country),
		postgres.Into("timezone", &s.Timezone),
		postgres.Into("currency", &s.Currency),
		postgres.Into("origins", &s.Origins),
		postgres.Into("hosts", &s.Hosts),
		postgres.Into("limits", &s.Limits),
		postgres.Into("consent_policy", &s.ConsentPolicy),
		postgres.Into("payout_rule", &s.PayoutRule),
		postgres.Into("window_days", &s.WindowDays),
		postgres.Into("half_life_days", &s.HalfLifeDays),
		postgres.Into("not ignore_direct", &s.CountDirect),
		postgres.Into("pay_recurring", &s.PayRecurring),
		postgres.Into("commission_without_tax", &s.WithoutTax),
		postgres.Into("unproven", &s.Unproven),
		postgres.Into("self_purchase", &s.SelfPurchase),
		postgres.Into("hold_days", &s.HoldDays),
		postgres.Into("delivered_hold_days", &s.DeliveredHoldDays),
		postgres.Into("passing_hosts", &s.PassingHosts),
		postgres.Into("retention_days", &s.RetentionDays),
		postgres.Into("minimum_payout", postgres.Number(&s.MinimumPayout)),
		postgres.Into("legal_name", &s.LegalName),
		postgres.Into("tax_id", &s.TaxID),
		postgres.Into("confirm_decisions", &s.ConfirmDecisions),
	}
}

func settingsArgs(s commerce.Settings) pgx.NamedArgs {
	return pgx.NamedArgs{
		"country": s.Country, "timezone": s.Timezone, "currency": s.Currency,
		"origins": notNil(s.Origins), "hosts": notNil(s.Hosts), "limits": s.Limits, "consent_policy": s.ConsentPolicy,
		"payout_rule": s.PayoutRule, "window_days": s.WindowDays, "half_life_days": s.HalfLifeDays,
		"ignore_direct": !s.CountDirect, "pay_recurring": s.PayRecurring, "commission_without_tax": s.WithoutTax,
		"unproven": s.Unproven, "self_purchase": s.SelfPurchase, "hold_days": s.HoldDays, "delivered_hold_days": s.DeliveredHoldDays,
		"passing_hosts": notNil(s.PassingHosts), "minimum_payout": s.MinimumPayout,
		"retention_days": s.RetentionDays, "legal_name": s.LegalName, "tax_id": s.TaxID,
		"confirm_decisions": s.ConfirmDecisions,
	}
}

// insertCompany stores a company of a new store: c has its ids and environment,
// n all else.
func insertCompany(ctx context.Context, tx pgx.Tx, n commerce.NewStore, c commerce.Company) (commerce.Company, error) {
	args := settingsArgs(n.Settings)
	args["company_id"], args["store_id"], args["environment"], args["name"] = c.CompanyID, c.StoreID, c.Environment, n.Name
	return postgres.One(ctx, tx, postgres.Scan(companyColumns), `
		insert into company (company_id, store_id, environment, name, country, timezone, currency, origins, hosts, limits,
			consent_policy, payout_rule, window_days, half_life_days, ignore_direct, pay_recurring, commission_without_tax, unproven,
			self_purchase, hold_days, delivered_hold_days, passing_hosts, minimum_payout, retention_days,
			legal_name, tax_id, confirm_decisions)
		values (@company_id, @store_id, @environment, @name, @country, @timezone, @currency, @origins, @hosts, @limits,
			@consent_policy, @payout_rule, @window_days, @half_life_days, @ignore_direct, @pay_recurring, @commission_without_tax, @unproven,
				@self_purchase, @hold_days, @delivered_hold_days, @passing_hosts, @minimum_payout::numeric, @retention_days,
				@legal_name, @tax_id, @confirm_decisions)
		returning `+postgres.List(companyColumns), args)
}

// bumpRules locks the company's row, and returns its next rule revision and
// the database's time. Every change of a rule or setting takes it first:
// revisions, times and outbox rows of one company are then in one order, which
// is the order of commits, so that a cursor over times never skips a row. Of a company
// that is archived nothing is changed: commerce.ErrArchived.
func bumpRules(ctx context.Context, tx pgx.Tx, companyID string) (rev int64, now time.Time, err error) {
	var archivedAt time.Time
	rev, now, archivedAt, err = bumpAny(ctx, tx, companyID)
	if err == nil && !archivedAt.IsZero() {
		err = commerce.ErrArchived
	}
	return rev, now, err
}

// bumpAny is bumpRules for what may be done to an archived company too: what is owed is
// closed and paid, persons are erased, keys are revoked. A change that is made from an older
// version is a *commerce.StaleError.
func bumpAny(ctx context.Context, tx pgx.Tx, companyID string) (rev int64, now, archivedAt time.Time, err error) {
	err = tx.QueryRow(ctx,
		`update company set rules_rev = rules_rev + 1 where company_id = $1 returning rules_rev, clock_timestamp(), archived_at`,
		companyID).Scan(&rev, &now, postgres.ZeroIfNull(&archivedAt))
	if err == nil {
		err = checkVersion(ctx, tx, companyID)
	}
	return rev, now, archivedAt, err
}

// lockCompany locks the company's row as bumpRules does, and gives it no new revision: for
// what may turn out to change nothing.
func lockCompany(ctx context.Context, tx pgx.Tx, companyID string) error {
	_, err := tx.Exec(ctx, `select 1 from company where company_id = $1 for no key update`, companyID)
	return err
}

// notNil returns an empty list for nil: the columns are not null.
func notNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
