package merchant

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/wire"
)

// sharedKey tells whether more than @most orders of the last days have a key, as a counter's e-mail or an agency's phone
// may. Orders alone are counted, and those of before: nothing that strangers or the influencer do afterwards makes a key
// shared.
var sharedKey = `
	select count(*) > @most from (
		select 1 from (select @kind::smallint as kind, @key::bytea as key,
			` + postgres.KeyDigest("@kind::smallint", "@key::bytea") + ` as digest offset 0) k
		join order_key o on ` + postgres.OfKey("o", "k.digest", "k.kind", "k.key") + `
		where o.company_id = @company_id and o.created_at > @after limit @most + 1) n`

// shareIdentities begins a new row, from now on, for each key of an influencer of which it has changed whether another influencer
// has it too: orders that were created before keep what they had. The keys are those that the influencer has, or had until now. It
// adds a record of the change for each other influencer whose rows changed.
func (c *ruleChange) shareIdentities(ctx context.Context, influencerID string) error {
	// The keys are arguments, so that few rows are read, however many there are of the company.
	var kinds []int16
	var keys [][]byte
	if err := c.tx.QueryRow(ctx, `
		select array_agg(kind), array_agg(key) from influencer_identity
		where company_id = @company_id and influencer_id = @influencer_id and (until is null or until = @now)`,
		pgx.NamedArgs{"company_id": c.change.CompanyID, "influencer_id": influencerID, "now": c.now}).Scan(&kinds, &keys); err != nil {
		return err
	}
	if len(keys) == 0 {
		return nil
	}
	changed, err := postgres.Collect(ctx, c.tx, pgx.RowTo[string], `
		with open as (
			select i.company_id, i.influencer_id, i.kind, i.key, i.since, i.field, i.shared, i.others, exists (
				select 1 from influencer_identity o
				join influencer p on p.company_id = o.company_id and p.influencer_id = o.influencer_id
				where o.company_id = @company_id and o.kind = i.kind and o.key = i.key and o.key = any(@keys::bytea[]) and o.until is null
					and o.influencer_id <> i.influencer_id and p.archived_at is null) as others_now
			from influencer_identity i
			where i.company_id = @company_id and i.until is null and i.kind = any(@kinds::smallint[]) and i.key = any(@keys::bytea[])
				and (i.kind, i.key) in (select * from unnest(@kinds::smallint[], @keys::bytea[]))),
		changed as (select * from open where others <> others_now),
		ended as (
			update influencer_identity x set until = @now, rev = @rev from changed n
			where x.company_id = @company_id and x.influencer_id = n.influencer_id and x.kind = n.kind and x.key = n.key
				and x.since = n.since and n.since < @now),
		begun as (
			insert into influencer_identity (company_id, influencer_id, kind, key, since, field, shared, others, rev)
			select company_id, influencer_id, kind, key, @now, field, shared, others_now, @rev from changed
			on conflict (company_id, influencer_id, kind, key, since) do update set others = excluded.others, until = null
			returning influencer_id)
		select distinct influencer_id::text from begun order by 1`, c.args(pgx.NamedArgs{"kinds": kinds, "keys": keys}))
	if err != nil {
		return err
	}
	for _, id := range changed {
		if id == influencerID {
			continue
		}
		if err := c.outbox.rule(c.change, id, wire.Rule{Type: wire.RuleInfluencer, Change: wire.RuleUpdated, InfluencerID: id}); err != nil {
			return err
		}
	}
	return nil
}

// keepSelfPurchases keeps of which orders an influencer is the customer, before the keys that show it are removed.
func (c *ruleChange) keepSelfPurchases(ctx context.Context, influencerID string) error {
	_, err := c.tx.Exec(ctx, `
		insert into self_purchase (company_id, order_id, influencer_id)
		select distinct k.company_id, k.order_id, i.influencer_id
		from (
			select influencer_id, kind, key, since, until, `+postgres.KeyDigest("kind", "key")+` as digest from influencer_identity
			where company_id = @company_id and influencer_id = @influencer_id and not shared and not others offset 0) i
		join order_key k on `+postgres.OfKey("k", "i.digest", "i.kind", "i.key")+`
		where k.company_id = @company_id and k.created_at >= i.since and (i.until is null or k.created_at < i.until)
		on conflict (company_id, order_id, influencer_id) do nothing`,
		pgx.NamedArgs{"company_id": c.change.CompanyID, "influencer_id": influencerID})
	return err
}

// lackingKeys returns those keys of unchanged fields that an influencer does not have: by a hashing secret of after they were
// saved.
func (c *ruleChange) lackingKeys(ctx context.Context, influencerID string, keys []commerce.IdentityKey,
	changed []string) (lacking []commerce.IdentityKey, err error) {
	for _, k := range keys {
		if slices.Contains(changed, k.Field) {
			continue
		}
		var known bool
		if err := c.tx.QueryRow(ctx, `
			select exists (select 1 from influencer_identity where company_id = @company_id and influencer_id = @influencer_id
				and kind = @kind and key = @key and until is null)`, pgx.NamedArgs{"company_id": c.change.CompanyID,
			"influencer_id": influencerID, "kind": k.Kind, "key": k.Key}).Scan(&known); err != nil {
			return nil, err
		}
		if !known {
			lacking = append(lacking, k)
		}
	}
	return lacking, nil
}

// setIdentities ends the keys of some fields now, and adds keys. Orders that were created before keep what they had.
func (c *ruleChange) setIdentities(ctx context.Context, influencerID string, fields []string,
	keys []commerce.IdentityKey) error {
	if c.later == nil {
		if _, err := c.tx.Exec(ctx, `
			update influencer_identity set until = @now, rev = @rev
			where company_id = @company_id and influencer_id = @influencer_id and field = any(@fields) and until is null`,
			c.args(pgx.NamedArgs{"influencer_id": influencerID, "fields": fields})); err != nil {
			return err
		}
	}
	for _, k := range keys {
		if err := c.exec(ctx, `
			insert into influencer_identity (company_id, influencer_id, kind, key, since, field, shared, others, rev)
			select @company_id::text, @influencer_id::uuid, @kind::smallint, @key::bytea, @now::timestamptz, @field::text, k.shared, false,
				@rev::bigint
			from (`+sharedKey+`) k (shared)
			on conflict (company_id, influencer_id, kind, key, since) do nothing`,
			c.args(pgx.NamedArgs{"influencer_id": influencerID, "kind": k.Kind, "key": k.Key, "field": k.Field,
				"most": commerce.MostOwnOrders, "after": c.now.AddDate(0, 0, -commerce.SharedDays)})); err != nil {
			return err
		}
	}
	if c.later == nil {
		return c.shareIdentities(ctx, influencerID)
	}
	c.lookForOthers(influencerID, keys)
	return nil
}

// lookForOthers looks whether another influencer has one of a new influencer's keys: few have, and then they are shared.
func (c *ruleChange) lookForOthers(influencerID string, keys []commerce.IdentityKey) {
	for _, k := range keys {
		c.later.batch.Queue(`
			select from influencer_identity
			where company_id = @company_id and kind = @kind and key = @key and until is null and influencer_id <> @influencer_id limit 1`,
			pgx.NamedArgs{"company_id": c.change.CompanyID, "influencer_id": influencerID, "kind": k.Kind, "key": k.Key}).
			Query(func(rows pgx.Rows) error {
				c.later.shares = rows.Next() || c.later.shares
				rows.Close()
				return rows.Err()
			})
	}
}
