package cases

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres"
)

// Reader reads companies' rules; safe for concurrent use.
type Reader struct {
	db *postgres.DB
}

// NewReader makes a reader of a database.
func NewReader(db *postgres.DB) *Reader { return &Reader{db: db} }

// Revisions returns the rules' revision of each company, by company id. Unknown
// companies are left out.
func (r *Reader) Revisions(ctx context.Context, companyIDs []string) (map[string]int64, error) {
	revisions, err := postgres.Map[string, int64](ctx, r.db.Pool(),
		`select company_id, rules_rev from company where company_id = any($1)`, companyIDs)
	return revisions, postgres.Wrapf(postgres.Translate(err), "postgres: rule revisions")
}

// Rules reads all rules of a company in one snapshot. An unknown company is
// commerce.ErrNotFound.
func (r *Reader) Rules(ctx context.Context, companyID string) (rules *facts.Rules, err error) {
	err = r.db.Snapshot(ctx, func(tx pgx.Tx) error {
		rules, err = In(tx).Rules(ctx, companyID)
		return err
	})
	return rules, postgres.Wrapf(err, "postgres: rules of %s", companyID)
}

// Rules reads all rules of a company. They are of one revision where the transaction
// sees one snapshot, or has locked the company's row.
func (t Tx) Rules(ctx context.Context, companyID string) (*facts.Rules, error) {
	rules, tx := &facts.Rules{CompanyID: companyID}, t.tx
	if err := readSettings(ctx, tx, rules); err != nil {
		return nil, err
	}
	var err error
	rules.Influencers, err = postgres.Collect(ctx, tx, func(row pgx.CollectableRow) (f facts.Influencer, err error) {
		return f, row.Scan(&f.ID, &f.Name, &f.Folded, &f.CreatedAt, postgres.ZeroIfNull(&f.ArchivedAt))
	}, `select influencer_id::text, name, name_folded, created_at, archived_at from influencer where company_id = $1 order by influencer_id`,
		companyID)
	if err != nil {
		return nil, err
	}
	if err := readOwnUnproven(ctx, tx, rules); err != nil {
		return nil, err
	}
	if rules.Identities, err = readIdentities(ctx, tx, companyID); err != nil {
		return nil, err
	}
	if err := readFormerNames(ctx, tx, rules); err != nil {
		return nil, err
	}
	rules.Campaigns, err = postgres.Collect(ctx, tx, func(row pgx.CollectableRow) (c facts.Campaign, err error) {
		return c, row.Scan(&c.ID, &c.InfluencerID, &c.Name, &c.Folded, &c.CreatedAt, postgres.ZeroIfNull(&c.ArchivedAt))
	}, `select campaign_id, influencer_id::text, name, name_folded, created_at, archived_at from campaign where company_id = $1 order by `+
		`campaign_id`, companyID)
	if err != nil {
		return nil, err
	}
	rules.Links, err = postgres.Collect(ctx, tx, func(row pgx.CollectableRow) (l facts.Link, err error) {
		return l, row.Scan(&l.ID, &l.InfluencerID, &l.CampaignID, &l.Code, postgres.ZeroIfNull(&l.ArchivedAt))
	}, `select link_id::text, influencer_id::text, campaign_id, code, archived_at from link where company_id = $1 order by link_id`, companyID)
	if err != nil {
		return nil, err
	}
	rules.Coupons, err = postgres.Collect(ctx, tx, func(row pgx.CollectableRow) (c facts.Coupon, err error) {
		return c, row.Scan(&c.ID, &c.InfluencerID, &c.CampaignID, &c.Code, &c.From, &c.To, postgres.ZeroIfNull(&c.DeletedAt))
	}, `select coupon_id::text, influencer_id::text, campaign_id, code_folded,
			coalesce(lower(period)::text, ''), coalesce((upper(period) - 1)::text, ''), deleted_at
		from coupon where company_id = $1 and not isempty(period) order by coupon_id`, companyID)
	if err != nil {
		return nil, err
	}
	rules.Costs, err = postgres.Collect(ctx, tx, func(row pgx.CollectableRow) (c facts.Cost, err error) {
		var fee string
		if err := row.Scan(&c.ID, &c.InfluencerID, &c.CampaignID, &c.FixedFeeMinor, &fee, &c.CouponOnly, &c.From, &c.To, &c.Rev, &c.CreatedAt,
			postgres.ZeroIfNull(&c.DeletedAt)); err != nil {
			return c, err
		}
		c.VarFee, err = decimal.NewFromString(fee)
		return c, err
	}, `select cost_id::text, influencer_id::text, coalesce(campaign_id, ''), fixed_fee_minor, var_fee::text, is_coupon_cost,
			start_date::text, coalesce(end_date::text, ''), rev, created_at, deleted_at
		from cost where company_id = $1 and (fixed_fee_minor > 0 or var_fee > 0) order by cost_id`, companyID)
	if err != nil {
		return nil, err
	}
	return rules, nil
}

// readSettings reads the company's own row: revision, time zone and settings; and
// the settings that were in force before.
func readSettings(ctx context.Context, tx pgx.Tx, rules *facts.Rules) error {
	var timezone string
	var now settingsRow
	err := tx.QueryRow(ctx, `
		select rules_rev, timezone, hosts, origins, payout_rule, window_days, half_life_days, ignore_direct, pay_recurring,
		commission_without_tax, unproven, self_purchase, hold_days, delivered_hold_days, passing_hosts, retention_days,
			exists (select 1 from erasure e where e.company_id = $1)
		from company where company_id = $1`, rules.CompanyID).
		Scan(append([]any{&rules.Rev, &timezone, &rules.Hosts, &rules.Origins},
			append(now.columns(), &rules.RetentionDays, &rules.HasErasures)...)...)
	if err != nil {
		return err
	}
	rules.Settings = now.settings()
	if rules.Location, err = time.LoadLocation(timezone); err != nil {
		return fmt.Errorf("time zone of %s: %w", rules.CompanyID, err)
	}
	rules.Past, err = postgres.Collect(ctx, tx, func(row pgx.CollectableRow) (past facts.PastSettings, err error) {
		var was settingsRow
		if err := row.Scan(append([]any{&past.Until}, was.columns()...)...); err != nil {
			return past, err
		}
		past.Settings = was.settings()
		return past, nil
	}, `
		select until, payout_rule, window_days, half_life_days, ignore_direct, pay_recurring, commission_without_tax, unproven, self_purchase,
		hold_days,
		delivered_hold_days, passing_hosts
		from past_setting where company_id = $1 order by until`, rules.CompanyID)
	return err
}

// settingsRow is the columns of settings, in days.
type settingsRow struct {
	facts.Settings
	windowDays, halfLifeDays int
}

func (s *settingsRow) columns() []any {
	return []any{&s.PayoutRule, &s.windowDays, &s.halfLifeDays, &s.IgnoreDirect, &s.PayRecurring, &s.WithoutTax, &s.Unproven,
		&s.SelfPurchase, &s.HoldDays, &s.DeliveredHoldDays, &s.PassingHosts}
}

func (s *settingsRow) settings() facts.Settings {
	s.Window, s.HalfLife = time.Duration(s.windowDays)*24*time.Hour, time.Duration(s.halfLifeDays)*24*time.Hour
	return s.Settings
}

// readOwnUnproven reads the influencers' own settings of what is done with evidence
// that nothing proves.
func readOwnUnproven(ctx context.Context, tx pgx.Tx, rules *facts.Rules) error {
	var own facts.UnprovenSince
	return readOf(ctx, tx, rules, `
		select influencer_id::text, since, coalesce(unproven, '') from influencer_unproven
		where company_id = $1 order by influencer_id, since, rev`, []any{&own.Since, &own.Unproven},
		func(f *facts.Influencer) { f.Unproven = append(f.Unproven, own) })
}

// readFormerNames reads the names that influencers had before.
func readFormerNames(ctx context.Context, tx pgx.Tx, rules *facts.Rules) error {
	var name string
	return readOf(ctx, tx, rules, `select influencer_id::text, name_folded from former_name where company_id = $1 order by name_folded`,
		[]any{&name}, func(f *facts.Influencer) { f.Former = append(f.Former, name) })
}

// readOf reads rows that belong to influencers of the rules. The first column is the influencer's id, the others go into
// columns; take is called after each row.
func readOf(ctx context.Context, tx pgx.Tx, rules *facts.Rules, sql string, columns []any, take func(f *facts.Influencer)) error {
	place := map[string]int{}
	for i, f := range rules.Influencers {
		place[f.ID] = i
	}
	var id string
	return postgres.Each(ctx, tx, append([]any{&id}, columns...), func() error {
		if i, known := place[id]; known {
			take(&rules.Influencers[i])
		}
		return nil
	}, sql, rules.CompanyID)
}

// readIdentities reads the keys that tell one influencer from all others.
func readIdentities(ctx context.Context, tx pgx.Tx, companyID string) ([]facts.Identity, error) {
	return postgres.Collect(ctx, tx, func(row pgx.CollectableRow) (i facts.Identity, err error) {
		var kind int16
		var key []byte
		if err := row.Scan(&i.InfluencerID, &kind, &key, &i.Since, postgres.ZeroIfNull(&i.Until)); err != nil {
			return i, err
		}
		i.Key, err = facts.UnpackKey(kind, key)
		return i, err
	}, `
		select influencer_id::text, kind, key, since, until from influencer_identity
		where company_id = $1 and not shared and not others and until is distinct from since
		order by influencer_id, kind, key, since`, companyID)
}
