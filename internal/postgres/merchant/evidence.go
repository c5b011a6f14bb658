package merchant

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/wire"
)

// SetUnproven sets what is done with evidence of one influencer that nothing proves,
// for orders created from now on: one of commerce.UnprovenRules, or "" for what the
// company does. The influencer is named; an unknown one is commerce.ErrNotFound.
func (s *Store) SetUnproven(ctx context.Context, author commerce.Author, name, unproven string) error {
	err := s.changeRules(ctx, author, func(c *ruleChange) error {
		id, known, err := c.influencerByName(ctx, name)
		if err != nil {
			return err
		}
		if _, err := c.tx.Exec(ctx, `
			insert into influencer_unproven (company_id, influencer_id, since, rev, unproven)
			values (@company_id, @influencer_id, @now, @rev, @unproven)`,
			c.args(pgx.NamedArgs{"influencer_id": id, "unproven": postgres.NullIfEmpty(unproven)})); err != nil {
			return err
		}
		c.change.Action, c.change.Subject = "influencer.unproven", id
		c.change.Detail = map[string]any{"name": known, "unproven": unproven}
		return c.outbox.rule(c.change, id, wire.Rule{Type: wire.RuleInfluencer, Change: wire.RuleUpdated, InfluencerID: id})
	})
	return postgres.Wrapf(err, "postgres: evidence of %q that nothing proves", name)
}

// UnprovenOf returns what SetUnproven set last for an influencer; empty: what the company
// does.
func (s *Store) UnprovenOf(ctx context.Context, companyID, influencerID string) (unproven string, err error) {
	err = s.db.Pool().QueryRow(ctx, `
		select coalesce(unproven, '') from influencer_unproven where company_id = $1 and influencer_id = $2
		order by since desc, rev desc limit 1`, companyID, influencerID).Scan(&unproven)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return "", fmt.Errorf("postgres: evidence of %s that nothing proves: %w", influencerID, postgres.Translate(err))
	}
	return unproven, nil
}

// DecideEvidence records what the merchant decided about an influencer's link evidence
// for an order, or in a dispute. It records a repeat too: the decision that counts may still be on its
// way to the processor, and what is stored one that it takes back. A repeat changes
// nothing (facts.FoldDecisions). An unknown influencer is commerce.ErrNotFound. Where so
// many decisions about the order are stored as may be, it is commerce.ErrTooManyDecisions;
// those on their way are not counted. commerce.ErrNeedsSecond: see ProposeDecision.
func (s *Store) DecideEvidence(ctx context.Context, author commerce.Author, d commerce.EvidenceDecision) error {
	err := s.db.InTx(ctx, func(tx pgx.Tx) error {
		rev, now, err := bumpRules(ctx, tx, author.CompanyID)
		if err != nil {
			return err
		}
		if second, err := wantsSecond(ctx, tx, author.CompanyID); err != nil {
			return err
		} else if second && !postgres.IsUndone(ctx) {
			return commerce.ErrNeedsSecond
		}
		return storeDecision(ctx, tx, Change{CompanyID: author.CompanyID, Rev: rev, At: now, Actor: author.Actor}, d, "")
	})
	return postgres.Wrapf(err, "postgres: evidence for an order")
}

// storeDecision writes a decision's record and its row of the audit log. proposedBy is who made the decision where the change's
// actor confirmed it; empty: the actor made it.
func storeDecision(ctx context.Context, tx pgx.Tx, c Change, d commerce.EvidenceDecision, proposedBy string) error {
	if err := mayDecide(ctx, tx, c.CompanyID, d); err != nil {
		return err
	}
	c.Action, c.Subject = "order.evidence", d.OrderID
	c.Detail = map[string]any{"influencer_id": d.InfluencerID, "decision": d.Decision}
	if d.Reason != "" {
		c.Action, c.Detail["reason"] = "order.assign", d.Reason
	}
	record := wire.Evidence{OrderID: d.OrderID, InfluencerID: d.InfluencerID, Decision: d.Decision, Touches: d.Touches, Reason: d.Reason}
	decided := c
	if proposedBy != "" {
		record.ConfirmedBy, decided.Actor, c.Detail["proposed_by"] = c.Actor, proposedBy, personOf(proposedBy)
	}
	if err := putCommerce(ctx, tx, decided, wire.KindEvidence, d.OrderID+"/"+d.InfluencerID, record); err != nil {
		return err
	}
	return audit(ctx, tx, c)
}

// mayDecide returns commerce.ErrNotFound where there is no such influencer, and commerce.ErrTooManyDecisions.
func mayDecide(ctx context.Context, tx pgx.Tx, companyID string, d commerce.EvidenceDecision) error {
	if err := postgres.Hit(ctx, tx, `select 1 from influencer where company_id = @company_id and influencer_id = @influencer_id`,
		pgx.NamedArgs{"company_id": companyID, "influencer_id": d.InfluencerID}); err != nil {
		return err
	}
	var decided int
	if err := tx.QueryRow(ctx, `
		select count(*) from (select 1 from evidence_decision where company_id = @company_id and order_id = @order_id limit @most) d`,
		pgx.NamedArgs{"company_id": companyID, "order_id": d.OrderID, "most": commerce.MaxDecisions}).Scan(&decided); err != nil {
		return err
	}
	if decided >= commerce.MaxDecisions {
		return commerce.ErrTooManyDecisions
	}
	return nil
}
