package factstore

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/ledger"
	"github.com/tributary-io/tributary/internal/postgres"
)

// OutcomeHashes returns the hashes of orders' stored outcomes, by order id.
func (t *Tx) OutcomeHashes(ctx context.Context, companyID string, orderIDs []string) (map[string][]byte, error) {
	rows, err := t.tx.Query(ctx, `
		select order_id, outcome_hash from explanation where company_id = @company_id and order_id = any(@order_ids)`,
		pgx.NamedArgs{"company_id": companyID, "order_ids": orderIDs})
	if err != nil {
		return nil, fmt.Errorf("read hashes of outcomes: %w", err)
	}
	hashes := map[string][]byte{}
	var id string
	var hash []byte
	if _, err := pgx.ForEachRow(rows, []any{&id, &hash}, func() error { hashes[id] = bytes.Clone(hash); return nil }); err != nil {
		return nil, fmt.Errorf("read hashes of outcomes: %w", err)
	}
	return hashes, nil
}

// credit is one row of an order's credits.
type credit struct {
	facts.Credit
	orderID, currency string
}

var creditRows = postgres.Rows[credit]{
	postgres.Col("order_id", "text", func(c *credit) string { return c.orderID }),
	postgres.Col("model", "text", func(c *credit) string { return c.Model }),
	postgres.Col("position", "int", func(c *credit) int32 { return int32(c.Position) }),
	postgres.Col("touch_id", "text", func(c *credit) string { return c.TouchID }),
	postgres.Col("channel", "text", func(c *credit) string { return c.Channel }),
	postgres.Col("influencer_id", "uuid", func(c *credit) *string { return postgres.NullIfEmpty(c.InfluencerID) }),
	postgres.Col("campaign_id", "text", func(c *credit) *string { return postgres.NullIfEmpty(c.CampaignID) }),
	postgres.Col("amount_minor", "bigint", func(c *credit) int64 { return c.AmountMinor }),
	postgres.Col("currency", "text", func(c *credit) string { return c.currency }),
}

var insertCredits = `
	insert into credit (company_id, order_id, model, position, touch_id, channel, influencer_id, campaign_id, amount_minor, currency)
	select @company_id, order_id, model, position, touch_id, channel, influencer_id, campaign_id, amount_minor, currency
	from ` + creditRows.Unnest("c") + `
	on conflict (company_id, order_id, model, position) do nothing`

var payoutRows = postgres.Rows[facts.StoredOutcome]{
	postgres.Col("order_id", "text", func(o *facts.StoredOutcome) string { return o.OrderID }),
	postgres.Col("influencer_id", "uuid", func(o *facts.StoredOutcome) *string { return postgres.NullIfEmpty(o.Payout.InfluencerID) }),
	postgres.Col("campaign_id", "text", func(o *facts.StoredOutcome) *string { return postgres.NullIfEmpty(o.Payout.CampaignID) }),
	postgres.Col("evidence", "text", func(o *facts.StoredOutcome) *string { return postgres.NullIfEmpty(string(o.Payout.Evidence)) }),
	postgres.Col("state", "text", func(o *facts.StoredOutcome) facts.PayoutState { return o.Payout.State }),
	postgres.Col("reason", "text", func(o *facts.StoredOutcome) facts.Reason { return o.Payout.Reason }),
	postgres.Col("proof", "text", func(o *facts.StoredOutcome) *string { return postgres.NullIfEmpty(string(o.Payout.Proof)) }),
	postgres.Col("payable_on", "date", func(o *facts.StoredOutcome) *string { return postgres.NullIfEmpty(o.Payout.PayableOn) }),
	postgres.Col("base_minor", "bigint", func(o *facts.StoredOutcome) int64 { return o.Payout.BaseMinor }),
	postgres.Col("commission_minor", "bigint", func(o *facts.StoredOutcome) int64 { return o.Payout.CommissionMinor }),
	postgres.Col("fixed_brl_minor", "bigint", func(o *facts.StoredOutcome) int64 { return o.Payout.FixedBRLMinor }),
}

var upsertPayouts = `
	insert into payout (company_id, order_id, influencer_id, campaign_id, evidence, state, reason, proof, payable_on, base_minor, commission_minor, fixed_brl_minor)
	select @company_id, order_id, influencer_id, campaign_id, evidence, state, reason, proof, payable_on, base_minor, commission_minor, fixed_brl_minor
	from ` + payoutRows.Unnest("p") + `
	on conflict (company_id, order_id) do update set influencer_id = excluded.influencer_id, campaign_id = excluded.campaign_id,
		evidence = excluded.evidence, state = excluded.state, reason = excluded.reason, proof = excluded.proof, payable_on = excluded.payable_on,
		base_minor = excluded.base_minor, commission_minor = excluded.commission_minor,
		fixed_brl_minor = excluded.fixed_brl_minor`

var explanationRows = postgres.Rows[facts.StoredOutcome]{
	postgres.Col("order_id", "text", func(o *facts.StoredOutcome) string { return o.OrderID }),
	postgres.Col("body", "jsonb", func(o *facts.StoredOutcome) facts.Explanation { return o.Explanation }),
	postgres.Col("outcome_hash", "bytea", func(o *facts.StoredOutcome) []byte { return o.Hash }),
}

var upsertExplanations = `
	insert into explanation (company_id, order_id, body, outcome_hash)
	select @company_id, order_id, body, outcome_hash from ` + explanationRows.Unnest("e") + `
	on conflict (company_id, order_id) do update set body = excluded.body, outcome_hash = excluded.outcome_hash`

var dayRows = postgres.Rows[facts.StoredOutcome]{
	postgres.Col("order_id", "text", func(o *facts.StoredOutcome) string { return o.OrderID }),
	postgres.Col("day", "date", func(o *facts.StoredOutcome) string { return o.Day }),
}

var setDays = `
	update orders o set day = d.day, processed_at = @now::timestamptz from ` + dayRows.Unnest("d") + `
	where o.company_id = @company_id and o.order_id = d.order_id`

// WriteOutcomes replaces the stored outcomes of orders: credits, payout, explanation,
// the keys by which the order is found, its hubs, and its day.
func (t *Tx) WriteOutcomes(ctx context.Context, companyID string, now time.Time, outcomes []facts.StoredOutcome) error {
	ids := make([]string, len(outcomes))
	var credits []credit
	var found, hubs []facts.OrderKey
	for i, o := range outcomes {
		ids[i] = o.OrderID
		for _, c := range o.Credits {
			credits = append(credits, credit{c, o.OrderID, o.Currency})
		}
		found, hubs = append(found, o.FoundBy...), append(hubs, o.Hubs...)
	}
	company := pgx.NamedArgs{"company_id": companyID}
	if err := t.exec(ctx, "remove credits", `delete from credit where company_id = @company_id and order_id = any(@order_ids)`,
		pgx.NamedArgs{"company_id": companyID, "order_ids": ids}); err != nil {
		return err
	}
	if err := t.exec(ctx, "store credits", insertCredits, creditRows.Args(credits, company)); err != nil {
		return err
	}
	if err := t.exec(ctx, "store payouts", upsertPayouts, payoutRows.Args(outcomes, company)); err != nil {
		return err
	}
	if err := t.exec(ctx, "store explanations", upsertExplanations, explanationRows.Args(outcomes, company)); err != nil {
		return err
	}
	if _, err := t.ReplaceKeys(ctx, companyID, ids, facts.DerivedKinds, found); err != nil {
		return err
	}
	if err := t.MarkHubs(ctx, companyID, ids, facts.JoinKinds, hubs); err != nil {
		return err
	}
	return t.exec(ctx, "store days of orders", setDays, dayRows.Args(outcomes, pgx.NamedArgs{"company_id": companyID, "now": now}))
}

// Ledgers returns the ledger entries of orders, by order id; of one order by number.
func (t *Tx) Ledgers(ctx context.Context, companyID string, orderIDs []string) (map[string][]ledger.Entry, error) {
	rows, err := t.tx.Query(ctx, `
		select order_id, entry, kind, coalesce(reverses, 0), influencer_id::text, coalesce(campaign_id, ''), cost_id::text, amount_minor, currency, payable_on::text
		from ledger_entry where company_id = @company_id and order_id = any(@order_ids) order by order_id, entry`,
		pgx.NamedArgs{"company_id": companyID, "order_ids": orderIDs})
	if err != nil {
		return nil, fmt.Errorf("read ledgers: %w", err)
	}
	entries := map[string][]ledger.Entry{}
	var id string
	var e ledger.Entry
	if _, err := pgx.ForEachRow(rows, []any{&id, &e.Number, &e.Kind, &e.Reverses, &e.InfluencerID, &e.CampaignID, &e.CostID, &e.AmountMinor, &e.Currency, &e.PayableOn},
		func() error { entries[id] = append(entries[id], e); return nil }); err != nil {
		return nil, fmt.Errorf("read ledgers: %w", err)
	}
	return entries, nil
}

var postingRows = postgres.Rows[ledger.Posting]{
	postgres.Col("order_id", "text", func(p *ledger.Posting) string { return p.OrderID }),
	postgres.Col("entry", "int", func(p *ledger.Posting) int32 { return int32(p.Number) }),
	postgres.Col("kind", "text", func(p *ledger.Posting) ledger.Kind { return p.Kind }),
	postgres.Col("influencer_id", "uuid", func(p *ledger.Posting) string { return p.InfluencerID }),
	postgres.Col("campaign_id", "text", func(p *ledger.Posting) *string { return postgres.NullIfEmpty(p.CampaignID) }),
	postgres.Col("cost_id", "uuid", func(p *ledger.Posting) string { return p.CostID }),
	postgres.Col("amount_minor", "bigint", func(p *ledger.Posting) int64 { return p.AmountMinor }),
	postgres.Col("currency", "text", func(p *ledger.Posting) string { return p.Currency }),
	postgres.Col("payable_on", "date", func(p *ledger.Posting) string { return p.PayableOn }),
	postgres.Col("reverses", "int", func(p *ledger.Posting) *int32 {
		if p.Reverses == 0 {
			return nil
		}
		n := int32(p.Reverses)
		return &n
	}),
	postgres.Col("cause", "text", func(p *ledger.Posting) string { return p.Cause.String() }),
}

// appendLedger meets no conflict: the company's single writer numbers the entries. An
// insert of several rows has "on conflict" all the same (docs/tables.md), which would
// leave a repeated number out, so AppendLedger counts the rows.
var appendLedger = `
	insert into ledger_entry (company_id, order_id, entry, at, kind, influencer_id, campaign_id, cost_id, amount_minor, currency, payable_on, reverses, rule_rev, cause)
	select @company_id, order_id, entry, @now::timestamptz, kind, influencer_id, campaign_id, cost_id, amount_minor, currency, payable_on, reverses, @rule_rev::bigint, cause
	from ` + postingRows.Unnest("l") + `
	on conflict (company_id, order_id, entry) do nothing returning 1`

// AppendLedger appends entries to the ledgers of orders. ruleRev is the revision of
// the rules by which they were computed.
func (t *Tx) AppendLedger(ctx context.Context, companyID string, now time.Time, ruleRev int64, postings []ledger.Posting) error {
	if len(postings) == 0 {
		return nil
	}
	rows, err := postgres.Collect(ctx, t.tx, pgx.RowTo[int], appendLedger,
		postingRows.Args(postings, pgx.NamedArgs{"company_id": companyID, "now": now, "rule_rev": ruleRev}))
	if err == nil && len(rows) != len(postings) {
		err = fmt.Errorf("%d of %d entries: a number is taken", len(rows), len(postings))
	}
	if err != nil {
		return fmt.Errorf("append to ledgers: %w", err)
	}
	return nil
}
