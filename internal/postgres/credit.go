package postgres

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
)

// storeOutcomes writes outcomes that differ from what is stored: credits,
// payouts, ledger entries, explanations, and by what rules could concern them.
// cases go with outcomes, index by index.
func (a *applying) storeOutcomes(ctx context.Context, outcomes []facts.Outcome, cases []*facts.Case) error {
	changed, hashes, err := a.changed(ctx, outcomes)
	if err != nil {
		return err
	}
	var ids, days []string
	var credits []creditRow
	var bodies []string
	var keyOrders, keyKinds, keyValues []string
	var keyCreated []time.Time
	var lines []facts.Outcome
	for i, o := range outcomes {
		a.applied.Orders = append(a.applied.Orders, facts.OrderRef{CompanyID: a.company, OrderID: o.OrderID})
		if !changed[i] {
			continue
		}
		ids, days, bodies = append(ids, o.OrderID), append(days, o.Day), append(bodies, string(o.Explanation))
		lines = append(lines, o)
		for _, c := range o.Credits {
			credits = append(credits, creditRow{c, o.OrderID, cases[i].Order.Currency})
		}
		for _, k := range o.Evidence {
			keyOrders, keyKinds, keyValues = append(keyOrders, o.OrderID), append(keyKinds, k.Kind), append(keyValues, k.Value)
			keyCreated = append(keyCreated, cases[i].Order.CreatedAt)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	if err := a.replaceCredits(ctx, ids, credits); err != nil {
		return fmt.Errorf("credits: %w", err)
	}
	if err := a.upsertPayouts(ctx, lines); err != nil {
		return fmt.Errorf("payouts: %w", err)
	}
	if err := a.postLedger(ctx, ids, lines); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	if _, err := a.tx.Exec(ctx, `delete from order_key where company_id = $1 and order_id = any($2) and kind = any($3)`,
		a.company, ids, []string{facts.KeyUTM, facts.KeyLink, facts.KeyInfluencer}); err != nil {
		return err
	}
	if err := a.insertKeys(ctx, keyOrders, keyKinds, keyValues, keyCreated); err != nil {
		return fmt.Errorf("evidence: %w", err)
	}
	_, err = a.tx.Exec(ctx, `
		insert into explanation (company_id, order_id, body, outcome_hash)
		select $1, order_id, body::jsonb, hash from unnest($2::text[], $3::text[], $4::bytea[]) as e (order_id, body, hash)
		on conflict (company_id, order_id) do update set body = excluded.body, outcome_hash = excluded.outcome_hash`,
		a.company, ids, bodies, hashes)
	if err != nil {
		return fmt.Errorf("explanations: %w", err)
	}
	_, err = a.tx.Exec(ctx, `
		update orders o set day = d.day::date, processed_at = $2 from unnest($3::text[], $4::text[]) as d (order_id, day)
		where o.company_id = $1 and o.order_id = d.order_id`, a.company, a.now, ids, days)
	return err
}

// changed tells which outcomes are not what is stored, with the hashes of those.
func (a *applying) changed(ctx context.Context, outcomes []facts.Outcome) (changed []bool, hashes [][]byte, err error) {
	ids := make([]string, len(outcomes))
	for i, o := range outcomes {
		ids[i] = o.OrderID
	}
	rows, err := a.tx.Query(ctx, `select order_id, outcome_hash from explanation where company_id = $1 and order_id = any($2)`, a.company, ids)
	if err != nil {
		return nil, nil, err
	}
	stored := map[string][]byte{}
	var id string
	var hash []byte
	if _, err := pgx.ForEachRow(rows, []any{&id, &hash}, func() error { stored[id] = bytes.Clone(hash); return nil }); err != nil {
		return nil, nil, err
	}
	changed = make([]bool, len(outcomes))
	for i, o := range outcomes {
		o.Cause = "" // history, not outcome
		text, err := json.Marshal(o)
		if err != nil {
			return nil, nil, fmt.Errorf("outcome of order %s: %w", o.OrderID, err)
		}
		sum := sha256.Sum256(text)
		if changed[i] = !bytes.Equal(sum[:], stored[o.OrderID]); changed[i] {
			hashes = append(hashes, sum[:])
		}
	}
	return changed, hashes, nil
}

type creditRow struct {
	facts.Credit
	orderID, currency string
}

func (a *applying) replaceCredits(ctx context.Context, ids []string, credits []creditRow) error {
	if _, err := a.tx.Exec(ctx, `delete from credit where company_id = $1 and order_id = any($2)`, a.company, ids); err != nil {
		return err
	}
	n := len(credits)
	orders, models, positions, touches, channels := make([]string, n), make([]string, n), make([]int32, n), make([]string, n), make([]string, n)
	influencers, campaigns, amounts, currencies := make([]string, n), make([]string, n), make([]int64, n), make([]string, n)
	for i, c := range credits {
		orders[i], models[i], positions[i], touches[i], channels[i] = c.orderID, c.Model, int32(c.Position), c.TouchID, c.Channel
		influencers[i], campaigns[i], amounts[i], currencies[i] = c.InfluencerID, c.CampaignID, c.AmountMinor, c.currency
	}
	_, err := a.tx.Exec(ctx, `
		insert into credit (company_id, order_id, model, position, touch_id, channel, influencer_id, campaign_id, amount_minor, currency)
		select $1, order_id, model, position, touch_id, channel, nullif(influencer_id, '')::uuid, nullif(campaign_id, ''), amount, currency
		from unnest($2::text[], $3::text[], $4::int[], $5::text[], $6::text[], $7::text[], $8::text[], $9::bigint[], $10::text[])
			as c (order_id, model, position, touch_id, channel, influencer_id, campaign_id, amount, currency)`,
		a.company, orders, models, positions, touches, channels, influencers, campaigns, amounts, currencies)
	return err
}

func (a *applying) upsertPayouts(ctx context.Context, outcomes []facts.Outcome) error {
	n := len(outcomes)
	orders, influencers, campaigns, evidence := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	bases, commissions, fixed := make([]int64, n), make([]int64, n), make([]int64, n)
	for i, o := range outcomes {
		orders[i], influencers[i], campaigns[i], evidence[i] = o.OrderID, o.Payout.InfluencerID, o.Payout.CampaignID, o.Payout.Evidence
		bases[i], commissions[i], fixed[i] = o.Payout.BaseMinor, o.Payout.CommissionMinor, o.Payout.FixedBRLMinor
	}
	_, err := a.tx.Exec(ctx, `
		insert into payout (company_id, order_id, influencer_id, campaign_id, evidence, base_minor, commission_minor, fixed_brl_minor)
		select $1, order_id, nullif(influencer_id, '')::uuid, nullif(campaign_id, ''), nullif(evidence, ''), base, commission, fixed
		from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[])
			as p (order_id, influencer_id, campaign_id, evidence, base, commission, fixed)
		on conflict (company_id, order_id) do update set influencer_id = excluded.influencer_id, campaign_id = excluded.campaign_id,
			evidence = excluded.evidence, base_minor = excluded.base_minor, commission_minor = excluded.commission_minor,
			fixed_brl_minor = excluded.fixed_brl_minor`,
		a.company, orders, influencers, campaigns, evidence, bases, commissions, fixed)
	return err
}

// entry is one ledger entry, stored or to be.
type entry struct {
	facts.Line
	number   int32
	kind     string
	reverses int32 // 0: none
}

// postLedger appends what makes the open entries of each order say its lines:
// an entry that no line equals is reversed in full, a line that no entry
// equals is posted. A line whose cost had another entry is an adjustment.
func (a *applying) postLedger(ctx context.Context, ids []string, outcomes []facts.Outcome) error {
	rows, err := a.tx.Query(ctx, `
		select l.order_id, l.entry, l.kind, coalesce(l.reverses, 0), l.influencer_id::text, coalesce(l.campaign_id, ''), l.cost_id::text, l.amount_minor, l.currency
		from ledger_entry l where l.company_id = $1 and l.order_id = any($2) order by l.order_id, l.entry`, a.company, ids)
	if err != nil {
		return err
	}
	stored := map[string][]entry{}
	var id string
	var e entry
	if _, err := pgx.ForEachRow(rows, []any{&id, &e.number, &e.kind, &e.reverses, &e.InfluencerID, &e.CampaignID, &e.CostID, &e.AmountMinor, &e.Currency}, func() error {
		stored[id] = append(stored[id], e)
		return nil
	}); err != nil {
		return err
	}
	var orders, causes []string
	var posts []entry
	for _, o := range outcomes {
		for _, post := range ledgerPosts(stored[o.OrderID], o.Lines) {
			orders, causes, posts = append(orders, o.OrderID), append(causes, o.Cause), append(posts, post)
		}
	}
	n := len(posts)
	if n == 0 {
		return nil
	}
	numbers, kinds, influencers, campaigns, costs := make([]int32, n), make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	amounts, currencies, reverses := make([]int64, n), make([]string, n), make([]int32, n)
	for i, p := range posts {
		numbers[i], kinds[i], influencers[i], campaigns[i], costs[i] = p.number, p.kind, p.InfluencerID, p.CampaignID, p.CostID
		amounts[i], currencies[i], reverses[i] = p.AmountMinor, p.Currency, p.reverses
	}
	_, err = a.tx.Exec(ctx, `
		insert into ledger_entry (company_id, order_id, entry, at, kind, influencer_id, campaign_id, cost_id, amount_minor, currency, reverses, rule_rev, cause)
		select $1, order_id, entry, $2, kind, influencer_id::uuid, nullif(campaign_id, ''), cost_id::uuid, amount, currency, nullif(reverses, 0), $3, cause
		from unnest($4::text[], $5::int[], $6::text[], $7::text[], $8::text[], $9::text[], $10::bigint[], $11::text[], $12::int[], $13::text[])
			as l (order_id, entry, kind, influencer_id, campaign_id, cost_id, amount, currency, reverses, cause)`,
		a.company, a.now, a.Rules.Rev, orders, numbers, kinds, influencers, campaigns, costs, amounts, currencies, reverses, causes)
	return err
}

// ledgerPosts is what must be appended to an order's entries, oldest first, so
// that those not reversed equal its lines.
func ledgerPosts(stored []entry, lines []facts.Line) []entry {
	var next int32
	open := map[int32]entry{}
	for _, e := range stored {
		next = max(next, e.number)
		if e.reverses != 0 {
			delete(open, e.reverses)
		} else {
			open[e.number] = e
		}
	}
	wanted := slices.Clone(lines)
	had := map[string]bool{} // costs that are taken back
	var posts []entry
	numbers := make([]int32, 0, len(open))
	for n := range open {
		numbers = append(numbers, n)
	}
	slices.SortFunc(numbers, cmp.Compare)
	for _, n := range numbers {
		e := open[n]
		if i := slices.Index(wanted, e.Line); i >= 0 {
			wanted = slices.Delete(wanted, i, i+1)
			continue
		}
		had[e.CostID] = true
		back := entry{Line: e.Line, kind: "reversed", reverses: e.number}
		back.AmountMinor = -back.AmountMinor
		posts = append(posts, back)
	}
	for _, line := range wanted {
		kind := "earned"
		if had[line.CostID] {
			kind = "adjusted"
		}
		posts = append(posts, entry{Line: line, kind: kind})
	}
	for i := range posts {
		next++
		posts[i].number = next
	}
	return posts
}
