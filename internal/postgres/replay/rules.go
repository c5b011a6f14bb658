package replay

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/postgres"
)

// ruleTable is a table of which a company's rows are copied as they are.
type ruleTable struct {
	name    string
	columns string // all but company_id
	where   string // which rows; empty: all
}

// ruleTables are all that internal/postgres/cases reads of a company's rules. The
// company's own row comes first: it says which store it belongs to.
var ruleTables = []ruleTable{
	{name: "company", columns: `store_id, environment, name, country, timezone, currency, origins, hosts, limits, consent_policy, payout_rule,
		window_days,
		half_life_days, ignore_direct, pay_recurring, commission_without_tax, rules_rev, created_at, passing_hosts, unproven,
		self_purchase, hold_days,
		delivered_hold_days, minimum_payout, retention_days, archived_at, restored_at, legal_name, tax_id, confirm_decisions`},
	{name: "past_setting",
		columns: `until, rev, payout_rule, window_days, half_life_days, ignore_direct, pay_recurring, commission_without_tax, unproven, ` +
			`self_purchase, hold_days, delivered_hold_days, passing_hosts`},
	{name: "influencer", columns: `influencer_id, name, name_folded, category, rev, created_at, archived_at`},
	{name: "former_name", columns: `name_folded, influencer_id, name, rev`},
	{name: "influencer_unproven", columns: `influencer_id, since, rev, unproven`},
	{name: "influencer_identity", columns: `influencer_id, kind, key, since, until, field, shared, others, rev`},
	{name: "self_purchase", columns: `order_id, influencer_id`},
	{name: "campaign", columns: `campaign_id, influencer_id, name, name_folded, rev, created_at, archived_at`},
	{name: "link", columns: `link_id, influencer_id, campaign_id, url, code, rev, created_at, archived_at`},
	{name: "coupon", columns: `coupon_id, influencer_id, campaign_id, code, code_folded, period, rev, created_at, deleted_at`},
	{name: "cost", columns: `cost_id, influencer_id, campaign_id, fixed_fee_minor, var_fee, value_minor, frequency, is_coupon_cost,
		start_date, end_date, owed_from, until, rev,
		created_at, deleted_at`},
}

// rulesPerPage is how many rows of a table of rules are in memory together.
const rulesPerPage = 500

// CopyRules copies a company's rules, with their history, from the snapshot into a
// fresh schema. They are facts: a replay does not compute them.
func (s *Snapshot) CopyRules(ctx context.Context, companyID string, to *Schema) error {
	err := to.DB.InTx(ctx, func(tx pgx.Tx) error {
		if err := s.copyStore(ctx, companyID, tx); err != nil {
			return err
		}
		for _, t := range ruleTables {
			if err := s.copyTable(ctx, companyID, t, tx); err != nil {
				return fmt.Errorf("table %s: %w", t.name, err)
			}
		}
		return nil
	})
	return postgres.Wrapf(err, "postgres: copy the rules of %s", companyID)
}

// copyStore makes the store to which a company belongs.
func (s *Snapshot) copyStore(ctx context.Context, companyID string, to pgx.Tx) error {
	var id, name string
	if err := s.tx.QueryRow(ctx, `
		select s.store_id::text, s.name from store s join company c using (store_id) where c.company_id = $1`,
		companyID).Scan(&id, &name); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	_, err := to.Exec(ctx, `insert into store (store_id, name) values ($1, $2) on conflict (store_id) do nothing`, id, name)
	return postgres.Wrapf(err, "store")
}

// copyTable copies a company's rows of one table. The rows are read as JSON, and are
// not all in memory at once.
func (s *Snapshot) copyTable(ctx context.Context, companyID string, t ruleTable, to pgx.Tx) error {
	which := ""
	if t.where != "" {
		which = " and " + t.where
	}
	read := "select to_jsonb(r)::text from (select " + t.columns + " from " + t.name + " where company_id = @company_id" + which + ") r"
	write := "insert into " + t.name + " (company_id, " + t.columns + ") select @company_id, " + t.columns +
		" from jsonb_populate_recordset(null::" + t.name + ", @rows::jsonb) on conflict do nothing returning 1"
	put := func(page []string) error {
		if len(page) == 0 {
			return nil
		}
		written, err := postgres.Collect(ctx, to, pgx.RowTo[int], write,
			pgx.NamedArgs{"company_id": companyID, "rows": "[" + strings.Join(page, ",") + "]"})
		if err == nil && len(written) != len(page) {
			err = fmt.Errorf("%d of %d rows were written", len(written), len(page))
		}
		return err
	}
	var page []string
	var row string
	if err := postgres.Each(ctx, s.tx, []any{&row}, func() error {
		page = append(page, row)
		if len(page) < rulesPerPage {
			return nil
		}
		err := put(page)
		page = page[:0]
		return err
	}, read, pgx.NamedArgs{"company_id": companyID}); err != nil {
		return err
	}
	return put(page)
}
