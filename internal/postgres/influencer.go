package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/wire"
)

// RegisterInfluencer makes an influencer, or adds to the one of that name, in
// one transaction: all of the registration or nothing, its outbox records and
// audit row included. The company's row lock puts changes of one company in one
// order. Overlapping coupons give a *commerce.CouponConflictError, a foreign
// campaign id commerce.ErrCampaignTaken or ErrCampaignName.
func (db *DB) RegisterInfluencer(ctx context.Context, author commerce.Author, r commerce.Registration, random io.Reader) (commerce.Registered, error) {
	var made commerce.Registered
	err := db.inTx(ctx, func(tx pgx.Tx) error {
		rev, err := bumpRules(ctx, tx, author.CompanyID)
		if err != nil {
			return err
		}
		reg := registering{
			Registration: r, tx: tx, random: random,
			change: Change{CompanyID: author.CompanyID, Rev: rev, At: author.At, Actor: author.Actor},
		}
		made, err = reg.run(ctx)
		return err
	})
	var conflict *commerce.CouponConflictError
	if errors.Is(err, errCouponOverlap) {
		// The transaction is rolled back: now ask what stood in the way.
		if conflict, err = db.couponConflicts(ctx, author.CompanyID, r); err == nil {
			err = conflict
		}
	}
	if err != nil {
		return commerce.Registered{}, fmt.Errorf("postgres: register influencer: %w", err)
	}
	return made, nil
}

// registering is one registration under way in its transaction.
type registering struct {
	commerce.Registration
	tx     pgx.Tx
	random io.Reader
	change Change
	outbox outboxBatch

	influencerID, influencerName string
	campaignID, campaignName     string
}

func (reg *registering) run(ctx context.Context) (made commerce.Registered, err error) {
	if err := reg.findOrCreateInfluencer(ctx); err != nil {
		return made, err
	}
	if err := reg.findOrCreateCampaign(ctx); err != nil {
		return made, err
	}
	codes, err := reg.addLinks(ctx)
	if err != nil {
		return made, err
	}
	if err := reg.addCoupons(ctx); err != nil {
		return made, err
	}
	if err := reg.addCosts(ctx); err != nil {
		return made, err
	}
	if err := reg.outbox.insert(ctx, reg.tx); err != nil {
		return made, err
	}
	reg.change.Detail = map[string]any{
		"name": reg.influencerName, "campaign_id": reg.campaignID,
		"links": len(reg.Links), "coupons": len(reg.Coupons), "costs": len(reg.Costs),
	}
	if err := audit(ctx, reg.tx, reg.change); err != nil {
		return made, err
	}
	return commerce.Registered{InfluencerID: reg.influencerID, CampaignID: reg.campaignID, Codes: codes}, nil
}

// newID is a UUIDv7: rows made together lie together in their index.
func (reg *registering) newID() (string, error) {
	id, err := uuid.NewV7FromReader(reg.random)
	if err != nil {
		return "", fmt.Errorf("make an id: %w", err)
	}
	return id.String(), nil
}

// rule is a rule record of this influencer and campaign.
func (reg *registering) rule(kind, change string) wire.Rule {
	return wire.Rule{Type: kind, Change: change, InfluencerID: reg.influencerID, CampaignID: reg.campaignID}
}

func (reg *registering) findOrCreateInfluencer(ctx context.Context) error {
	folded := commerce.FoldName(reg.Name)
	err := reg.tx.QueryRow(ctx, `
		select influencer_id::text, name from influencer
		where company_id = $1 and name_folded = $2 and archived_at is null`,
		reg.change.CompanyID, folded).Scan(&reg.influencerID, &reg.influencerName)
	switch {
	case err == nil:
		reg.change.Action, reg.change.Subject = "influencer.add", reg.influencerID
		if reg.Category == "" {
			return nil
		}
		if _, err := reg.tx.Exec(ctx, `update influencer set category = $3, rev = $4 where company_id = $1 and influencer_id = $2`,
			reg.change.CompanyID, reg.influencerID, reg.Category, reg.change.Rev); err != nil {
			return err
		}
		return reg.outbox.rule(reg.change, reg.influencerID, wire.Rule{Type: "influencer", Change: "updated", InfluencerID: reg.influencerID})
	case !errors.Is(err, pgx.ErrNoRows):
		return err
	}
	if reg.influencerID, err = reg.newID(); err != nil {
		return err
	}
	reg.influencerName = reg.Name
	reg.change.Action, reg.change.Subject = "influencer.create", reg.influencerID
	// clock_timestamp under the company's lock: created_at has the order of
	// commits, so a cursor never skips one that commits late.
	_, err = reg.tx.Exec(ctx, `
		insert into influencer (company_id, influencer_id, name, name_folded, category, rev, created_at)
		values ($1, $2, $3, $4, nullif($5, ''), $6, clock_timestamp())`,
		reg.change.CompanyID, reg.influencerID, reg.Name, folded, reg.Category, reg.change.Rev)
	if err != nil {
		return err
	}
	return reg.outbox.rule(reg.change, reg.influencerID, wire.Rule{Type: "influencer", Change: "created", InfluencerID: reg.influencerID})
}

// Influencers lists a company's influencers with all that is live of them, in
// the order of their making, after a cursor; at most limit.
func (db *DB) Influencers(ctx context.Context, companyID string, after commerce.InfluencerCursor, limit int) ([]commerce.Influencer, error) {
	var list []commerce.Influencer
	err := db.snapshot(ctx, func(tx pgx.Tx) error {
		afterID := after.InfluencerID
		if afterID == "" {
			afterID = uuid.Nil.String()
		}
		rows, err := tx.Query(ctx, `
			select influencer_id::text, name, coalesce(category, ''), created_at from influencer
			where company_id = $1 and archived_at is null and (created_at, influencer_id) > ($2, $3::uuid)
			order by created_at, influencer_id limit $4`, companyID, after.CreatedAt, afterID, limit)
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (i commerce.Influencer, err error) {
			return i, row.Scan(&i.InfluencerID, &i.Name, &i.Category, &i.CreatedAt)
		})
		if err != nil || len(list) == 0 {
			return err
		}
		page := influencerPage{companyID: companyID, byID: make(map[string]*commerce.Influencer, len(list))}
		for i := range list {
			page.ids = append(page.ids, list[i].InfluencerID)
			page.byID[list[i].InfluencerID] = &list[i]
		}
		for _, fill := range []func(context.Context, pgx.Tx) error{page.campaigns, page.links, page.coupons, page.costs} {
			if err := fill(ctx, tx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("postgres: influencers: %w", err)
	}
	return list, nil
}

// influencerPage is the influencers of one page, to be filled by resource.
type influencerPage struct {
	companyID string
	ids       []string
	byID      map[string]*commerce.Influencer
}
