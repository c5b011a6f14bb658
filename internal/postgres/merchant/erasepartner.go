package merchant

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/fold"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/wire"
)

// EraseInfluencer removes for good what is known of an influencer's person, archived or not: contacts, document, Pix key,
// handles, notes and the keyed hashes of them. The name, which is part of links and orders, and what closed statements
// froze stay; so does of which orders the influencer was the customer. The influencer is named by the name, and by the id
// unless it is empty; then it is who has the name, else who had it last. An unknown one is commerce.ErrNotFound. To erase
// again changes nothing.
func (s *Store) EraseInfluencer(ctx context.Context, author commerce.Author, influencerID, name string) error {
	err := s.changeRules(ctx, author, func(c *ruleChange) error {
		var known string
		if err := c.tx.QueryRow(ctx, `
			select influencer_id::text, name from influencer i
			where company_id = @company_id and `+hasOrHad+` and (@influencer_id::uuid is null or influencer_id = @influencer_id)
			order by archived_at desc nulls first, created_at desc limit 1`,
			pgx.NamedArgs{"company_id": c.change.CompanyID, "folded": fold.Name(name), "influencer_id": postgres.NullIfEmpty(influencerID)}).
			Scan(&influencerID, &known); err != nil {
			return err
		}
		if err := c.removeIdentities(ctx, influencerID); err != nil {
			return err
		}
		if _, err := c.tx.Exec(ctx, `delete from influencer_personal where company_id = $1 and influencer_id = $2`,
			c.change.CompanyID, influencerID); err != nil {
			return err
		}
		c.change.Action, c.change.Subject, c.change.Detail = "influencer.erase", influencerID, map[string]any{"name": known}
		if err := c.forgetRepeats(ctx); err != nil {
			return err
		}
		return c.outbox.rule(c.change, influencerID, wire.Rule{Type: wire.RuleInfluencer, Change: wire.RuleUpdated, InfluencerID: influencerID})
	})
	return postgres.Wrapf(err, "postgres: erase influencer")
}

// removeIdentities removes the keyed hashes of an influencer. Those of others who have one of them too count again from now on.
func (c *ruleChange) removeIdentities(ctx context.Context, influencerID string) error {
	if err := c.keepSelfPurchases(ctx, influencerID); err != nil {
		return err
	}
	of := c.args(pgx.NamedArgs{"influencer_id": influencerID})
	if _, err := c.tx.Exec(ctx, `
		update influencer_identity set until = @now, rev = @rev
		where company_id = @company_id and influencer_id = @influencer_id and until is null`, of); err != nil {
		return err
	}
	if err := c.shareIdentities(ctx, influencerID); err != nil {
		return err
	}
	_, err := c.tx.Exec(ctx, `delete from influencer_identity where company_id = @company_id and influencer_id = @influencer_id`,
		pgx.NamedArgs{"company_id": c.change.CompanyID, "influencer_id": influencerID})
	return err
}
