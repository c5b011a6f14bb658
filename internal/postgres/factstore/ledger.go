package factstore

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/ledger"
	"github.com/tributary-io/tributary/internal/postgres"
)

// Ledgers returns the ledger entries of orders, by order id; of one order by number.
func (t *Tx) Ledgers(ctx context.Context, companyID string, orderIDs []string) (map[string][]ledger.Entry, error) {
	if len(orderIDs) == 0 {
		return nil, nil
	}
	entries := map[string][]ledger.Entry{}
	var id string
	var e ledger.Entry
	into := []any{&id, &e.Number, &e.Kind, &e.Reverses, &e.InfluencerID, &e.CampaignID, &e.CostID, &e.AmountMinor, &e.Currency, &e.PayableOn}
	err := postgres.Each(ctx, t.tx, into, func() error { entries[id] = append(entries[id], e); return nil }, `
		select order_id, entry, kind, coalesce(reverses, 0), influencer_id::text, coalesce(campaign_id, ''), cost_id::text, amount_minor,
		currency, payable_on::text
		from ledger_entry where company_id = @company_id and order_id = any(@order_ids) order by order_id, entry`,
		pgx.NamedArgs{"company_id": companyID, "order_ids": orderIDs})
	return entries, postgres.Wrapf(err, "read ledgers")
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
// insert of several rows has "on conflict" all the same (docs/notes/tables.md), which would
// leave a repeated number out, so AppendLedger counts the rows.
var appendLedger = `
	insert into ledger_entry (company_id, order_id, entry, at, kind, influencer_id, campaign_id, cost_id, amount_minor, currency, payable_on,
		reverses, rule_rev, cause)
	select @company_id, order_id, entry, @now::timestamptz, kind, influencer_id, campaign_id, cost_id, amount_minor, currency, payable_on,
	reverses, @rule_rev::bigint, cause
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
	return postgres.Wrapf(err, "append to ledgers")
}
