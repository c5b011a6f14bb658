package factstore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/explained"
)

// OutcomeHashes returns the hashes of orders' stored outcomes, by order id.
func (t *Tx) OutcomeHashes(ctx context.Context, companyID string, orderIDs []string) (map[string][]byte, error) {
	hashes, err := postgres.Map[string, []byte](ctx, t.tx, `
		select order_id, outcome_hash from payout where company_id = @company_id and order_id = any(@order_ids)`,
		pgx.NamedArgs{"company_id": companyID, "order_ids": orderIDs})
	return hashes, postgres.Wrapf(err, "read hashes of outcomes")
}

func payoutColumns(o *facts.Outcome) postgres.Columns {
	return postgres.Columns{
		postgres.Into("order_id", &o.OrderID),
		postgres.Into("day", postgres.Day(&o.Day)),
		postgres.Into("status", &o.Status),
		postgres.Into("currency", &o.Currency),
		postgres.Into("total_minor", &o.TotalMinor),
		postgres.Into("coalesce(influencer_id::text, '')", &o.Payout.InfluencerID),
		postgres.Into("coalesce(campaign_id, '')", &o.Payout.CampaignID),
		postgres.Into("coalesce(evidence, '')", &o.Payout.Evidence),
		postgres.Into("coalesce(coupon_id::text, '')", &o.Payout.CouponID),
		postgres.Into("state", &o.Payout.State),
		postgres.Into("reason", &o.Payout.Reason),
		postgres.Into("coalesce(proof, '')", &o.Payout.Proof),
		postgres.Into("payable_on", postgres.Day(&o.Payout.PayableOn)),
		postgres.Into("base_minor", &o.Payout.BaseMinor),
		postgres.Into("commission_minor", &o.Payout.CommissionMinor),
		postgres.Into("fixed_brl_minor", &o.Payout.FixedBRLMinor),
		postgres.Into("credits", &o.Credits),
	}
}

var selectPayouts = `select ` + postgres.List(payoutColumns) + ` from payout where company_id = @company_id and order_id = any(@order_ids)`

// StoredOutcomes returns what is stored of orders' outcomes, by order id: all that
// facts.StoredOutcome.Before has. Orders without an outcome are left out.
func (t *Tx) StoredOutcomes(ctx context.Context, companyID string, orderIDs []string) (map[string]*facts.Outcome, error) {
	if len(orderIDs) == 0 {
		return nil, nil
	}
	list, err := postgres.Collect(ctx, t.tx, postgres.Scan(payoutColumns), selectPayouts,
		pgx.NamedArgs{"company_id": companyID, "order_ids": orderIDs})
	if err != nil {
		return nil, fmt.Errorf("read payouts: %w", err)
	}
	outcomes := make(map[string]*facts.Outcome, len(list))
	for i := range list {
		outcomes[list[i].OrderID] = &list[i]
	}
	return outcomes, nil
}

// payoutRow is one row of the table payout.
type payoutRow struct {
	*facts.StoredOutcome
	names *string // see namesText
	text  []byte  // the explanation, packed
}

var payoutRows = postgres.Rows[payoutRow]{
	postgres.Col("order_id", "text", func(o *payoutRow) string { return o.OrderID }),
	postgres.Col("influencer_id", "uuid", func(o *payoutRow) *string { return postgres.NullIfEmpty(o.Payout.InfluencerID) }),
	postgres.Col("campaign_id", "text", func(o *payoutRow) *string { return postgres.NullIfEmpty(o.Payout.CampaignID) }),
	postgres.Col("evidence", "text", func(o *payoutRow) *string { return postgres.NullIfEmpty(string(o.Payout.Evidence)) }),
	postgres.Col("coupon_id", "uuid", func(o *payoutRow) *string { return postgres.NullIfEmpty(o.Payout.CouponID) }),
	postgres.Col("state", "text", func(o *payoutRow) facts.PayoutState { return o.Payout.State }),
	postgres.Col("reason", "text", func(o *payoutRow) facts.Reason { return o.Payout.Reason }),
	postgres.Col("proof", "text", func(o *payoutRow) *string { return postgres.NullIfEmpty(string(o.Payout.Proof)) }),
	postgres.Col("payable_on", "date", func(o *payoutRow) *string { return postgres.NullIfEmpty(o.Payout.PayableOn) }),
	postgres.Col("base_minor", "bigint", func(o *payoutRow) int64 { return o.Payout.BaseMinor }),
	postgres.Col("commission_minor", "bigint", func(o *payoutRow) int64 { return o.Payout.CommissionMinor }),
	postgres.Col("fixed_brl_minor", "bigint", func(o *payoutRow) int64 { return o.Payout.FixedBRLMinor }),
	postgres.Col("day", "date", func(o *payoutRow) string { return o.Day }),
	postgres.Col("status", "int", func(o *payoutRow) int32 { return int32(o.Status) }),
	postgres.Col("currency", "text", func(o *payoutRow) string { return o.Currency }),
	postgres.Col("total_minor", "bigint", func(o *payoutRow) int64 { return o.TotalMinor }),
	postgres.Col("names", "text", func(o *payoutRow) *string { return o.names }),
	postgres.Col("is_first_order", "boolean", func(o *payoutRow) *bool { return o.First }),
	postgres.Col("credits", "json", func(o *payoutRow) *string { return postgres.JSON(o.Credits) }),
	postgres.Col("outcome_hash", "bytea", func(o *payoutRow) []byte { return o.Hash }),
	postgres.Col("explanation", "bytea", func(o *payoutRow) []byte { return o.text }),
}

var upsertPayouts = `
	insert into payout (company_id, order_id, influencer_id, campaign_id, evidence, coupon_id, state, reason, proof, payable_on, base_minor,
		commission_minor, fixed_brl_minor,
		day, status, currency, total_minor, names, is_first_order, credits, outcome_hash, explanation, processed_at)
	select @company_id, order_id, influencer_id, campaign_id, evidence, coupon_id, state, reason, proof, payable_on, base_minor,
	commission_minor, fixed_brl_minor,
		day, status, currency, total_minor, names::bigint[], is_first_order, credits, outcome_hash, explanation, @now::timestamptz
	from ` + payoutRows.Unnest("p") + `
	on conflict (company_id, order_id) do update set influencer_id = excluded.influencer_id, campaign_id = excluded.campaign_id,
		evidence = excluded.evidence, coupon_id = excluded.coupon_id, state = excluded.state, reason = excluded.reason, proof = excluded.proof,
		payable_on = excluded.payable_on,
		base_minor = excluded.base_minor, commission_minor = excluded.commission_minor, fixed_brl_minor = excluded.fixed_brl_minor,
		day = excluded.day, status = excluded.status, currency = excluded.currency, total_minor = excluded.total_minor, names = excluded.names,
		credits = excluded.credits, outcome_hash = excluded.outcome_hash, explanation = excluded.explanation,
		processed_at = excluded.processed_at,
		formerly = case when payout.influencer_id is not null then true else payout.formerly end`

var dayRows = postgres.Rows[facts.StoredOutcome]{
	postgres.Col("order_id", "text", func(o *facts.StoredOutcome) string { return o.OrderID }),
	postgres.Col("day", "date", func(o *facts.StoredOutcome) string { return o.Day }),
}

var setDays = `
	update orders o set day = d.day from ` + dayRows.Unnest("d") + `
	where o.company_id = @company_id and o.order_id = d.order_id and o.day <> d.day`

// errCreditText means that a name has a control character, such as separates channels in
// path_day: commerce lets none in. The order is quarantined.
var errCreditText = fmt.Errorf("%w: a channel or an id has a control character", facts.ErrData)

func hasControl(c facts.Credit) bool {
	return strings.ContainsFunc(c.Channel+c.InfluencerID+c.CampaignID, func(r rune) bool { return r < ' ' })
}

// WriteOutcomes replaces the stored outcomes of orders: payout, credits, explanation,
// the keys by which the order is found, its hubs, and its day. StoredOutcome.Before must
// be what Outcomes returned in this transaction.
func (t *Tx) WriteOutcomes(ctx context.Context, companyID string, now time.Time, outcomes []facts.StoredOutcome) error {
	payouts := make([]payoutRow, len(outcomes))
	var found, hubs []facts.OrderKey
	var keyed, marked []string // orders that may have had keys of facts.DerivedKinds; that have keys that are hubs, or may have had
	for i := range outcomes {
		o := &outcomes[i]
		body, err := explained.Pack(o.Text)
		if err != nil {
			return fmt.Errorf("order %s: %w", o.OrderID, err)
		}
		if slices.ContainsFunc(o.Credits, hasControl) {
			return fmt.Errorf("order %s: %w", o.OrderID, errCreditText)
		}
		payouts[i] = payoutRow{o, namesText(companyID, &o.Outcome), body}
		own := slices.DeleteFunc(slices.Clone(o.FoundBy), func(k facts.OrderKey) bool { return slices.Contains(facts.NameKinds, k.Kind) })
		found, hubs = append(found, own...), append(hubs, o.Hubs...)
		if o.Before != nil {
			keyed = append(keyed, o.OrderID)
		}
		if o.Before != nil || len(o.Hubs) > 0 {
			marked = append(marked, o.OrderID)
		}
	}
	company := pgx.NamedArgs{"company_id": companyID}
	if err := payoutRows.Exec(ctx, t.tx, "store payouts", upsertPayouts, payouts,
		pgx.NamedArgs{"company_id": companyID, "now": now}); err != nil {
		return err
	}
	if len(keyed) > 0 || len(found) > 0 {
		if _, err := t.ReplaceKeys(ctx, companyID, keyed, facts.DerivedKinds, found); err != nil {
			return err
		}
	}
	if len(marked) > 0 {
		if err := t.MarkHubs(ctx, companyID, marked, facts.JoinKinds, hubs); err != nil {
			return err
		}
	}
	return dayRows.Exec(ctx, t.tx, "store days of orders", setDays, outcomes, company)
}

// MarkProcessed notes that orders that have an outcome are processed now.
func (t *Tx) MarkProcessed(ctx context.Context, companyID string, now time.Time, orderIDs []string) error {
	return t.exec(ctx, "mark orders as processed", `
		update payout set processed_at = @now::timestamptz where company_id = @company_id and order_id = any(@order_ids)
			and processed_at <> @now`,
		pgx.NamedArgs{"company_id": companyID, "order_ids": orderIDs, "now": now})
}
