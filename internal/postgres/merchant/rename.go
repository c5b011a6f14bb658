package merchant

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/fold"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/wire"
)

// formerNames is the SQL of the names that an influencer (i) had before, as a list of texts.
const formerNames = `array(select f.name from former_name f
	where f.company_id = @company_id and f.influencer_id = i.influencer_id order by f.name_folded)`

// hadBefore is the SQL that tells whether an influencer (i) had the folded name @folded before it was renamed, hasOrHad
// whether it has it or had it.
const (
	hadBefore = `i.influencer_id = (select f.influencer_id from former_name f where f.company_id = @company_id and f.name_folded = @folded)`
	hasOrHad  = `(i.name_folded = @folded or ` + hadBefore + `)`
)

// influencerByName finds a live influencer by a name that it has or had before.
func (c *ruleChange) influencerByName(ctx context.Context, name string) (id, known string, err error) {
	err = c.tx.QueryRow(ctx, `
		select influencer_id, name from influencer i
		where company_id = @company_id and archived_at is null and `+hasOrHad,
		pgx.NamedArgs{"company_id": c.change.CompanyID, "folded": fold.Name(name)}).Scan(&id, &known)
	return id, known, err
}

// refuseTaken refuses a name for an influencer, "" for a new one, where another has it now or had it before it was renamed:
// *commerce.NameTakenError. Who is archived has its name for a rename alone: a new influencer may have the same.
func (c *ruleChange) refuseTaken(ctx context.Context, influencerID, name string, renames bool) error {
	var taken commerce.NameTakenError
	err := c.tx.QueryRow(ctx, `
		select i.name, i.archived_at is not null from influencer i
		where i.company_id = @company_id and i.influencer_id is distinct from @influencer_id::uuid
			and (i.name_folded = @folded and (@renames or i.archived_at is null) or `+hadBefore+`)
		order by i.archived_at desc nulls first limit 1`,
		pgx.NamedArgs{"company_id": c.change.CompanyID, "influencer_id": postgres.NullIfEmpty(influencerID), "folded": fold.Name(name),
			"renames": renames}).Scan(&taken.Influencer, &taken.Archived)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	case err != nil:
		return err
	}
	return &taken
}

// rename gives an influencer another name. The one before stays the influencer's for ever. Visits that carry the new name
// already are the influencer's from now on, so it must be nobody else's: *commerce.NameTakenError.
func (c *ruleChange) rename(ctx context.Context, influencerID, before, name string) error {
	if before == name {
		return nil
	}
	if err := c.refuseNew(ctx, influencerID, before, name); err != nil {
		return err
	}
	if _, err := c.tx.Exec(ctx, `
		insert into former_name (company_id, name_folded, influencer_id, name, rev) values (@company_id, @folded, @influencer_id, @name, @rev)
		on conflict (company_id, name_folded) do nothing`,
		c.naming(influencerID, before)); err != nil {
		return err
	}
	if _, err := c.tx.Exec(ctx, `
		update influencer set name = @name, name_folded = @folded, rev = @rev where company_id = @company_id and influencer_id = @influencer_id`,
		c.naming(influencerID, name)); err != nil {
		return err
	}
	if err := c.publishLinks(ctx, influencerID, nil); err != nil {
		return err
	}
	c.change.Action, c.change.Detail["name"] = "influencer.rename", map[string]any{"from": before, "to": name}
	return c.outbox.rule(c.change, influencerID, wire.Rule{Type: wire.RuleInfluencer, Change: wire.RuleUpdated, InfluencerID: influencerID})
}

func (c *ruleChange) naming(influencerID, name string) pgx.NamedArgs {
	return pgx.NamedArgs{"company_id": c.change.CompanyID, "rev": c.change.Rev, "influencer_id": influencerID, "name": name,
		"folded": fold.Name(name)}
}

// refuseNew refuses a name that an influencer never had: where another has or had it, and beyond commerce.MaxNames.
func (c *ruleChange) refuseNew(ctx context.Context, influencerID, before, name string) error {
	own, err := postgres.Collect(ctx, c.tx, pgx.RowTo[string], `
		select name_folded from former_name where company_id = @company_id and influencer_id = @influencer_id union select @before::text`,
		pgx.NamedArgs{"company_id": c.change.CompanyID, "influencer_id": influencerID, "before": fold.Name(before)})
	switch {
	case err != nil:
		return err
	case slices.Contains(own, fold.Name(name)):
		return nil
	case len(own) >= commerce.MaxNames:
		return commerce.ErrTooManyNames
	}
	return c.refuseTaken(ctx, influencerID, name, true)
}
