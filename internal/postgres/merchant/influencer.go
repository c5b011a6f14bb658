package merchant

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/fold"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/wire"
)

// RegisterInfluencer makes an influencer, or adds to the one that has the name or had it before, in
// one transaction with its outbox records and its audit row. A name that one who is archived now had before is a
// *commerce.NameTakenError. Overlapping coupons
// give a *commerce.CouponConflictError, a campaign id of another influencer or
// with another name commerce.ErrCampaignTaken or ErrCampaignName, and too many
// costs commerce.ErrTooManyCosts. Details that differ from what is known of where money goes give a
// *commerce.PayeeKnownError.
func (s *Store) RegisterInfluencer(ctx context.Context, author commerce.Author, r commerce.Registration,
	random io.Reader) (commerce.Registered, error) {
	reg := registering{Registration: r, random: random}
	if err := s.register(ctx, author, &reg); err != nil {
		return commerce.Registered{}, err
	}
	return commerce.Registered{InfluencerID: reg.influencerID, CampaignID: reg.campaignID, Codes: reg.codes}, nil
}

func (s *Store) register(ctx context.Context, author commerce.Author, reg *registering) error {
	err := s.changeRules(ctx, author, func(c *ruleChange) error {
		reg.ruleChange = c
		return reg.run(ctx)
	})
	if errors.Is(err, errCouponOverlap) {
		err = s.couponConflicts(ctx, author.CompanyID, reg.Name, reg.Coupons)
	}
	return postgres.Wrapf(err, "postgres: register influencer")
}

// ruleChange is one change of a company's rules, in its transaction.
type ruleChange struct {
	change Change
	now    time.Time // the database's clock, read under the company's lock
	tx     pgx.Tx
	outbox outboxBatch
	later  *later // of a new influencer of an import: what it adds is sent together; nil: each statement is sent at once
}

// args returns others and the company, the revision and the time of the change:
// @company_id, @rev and @now.
func (c *ruleChange) args(others pgx.NamedArgs) pgx.NamedArgs {
	args := pgx.NamedArgs{"company_id": c.change.CompanyID, "rev": c.change.Rev, "now": c.now}
	maps.Copy(args, others)
	return args
}

// changeRules runs f in a transaction that has locked the company's row, and
// writes the outbox records and the audit row that f prepared. With the lock,
// the changes of one company, their revisions and their records have one order.
func (s *Store) changeRules(ctx context.Context, author commerce.Author, f func(c *ruleChange) error) error {
	return s.db.InTx(ctx, func(tx pgx.Tx) error {
		rev, now, err := bumpRules(ctx, tx, author.CompanyID)
		if err != nil {
			return err
		}
		c := &ruleChange{now: now, tx: tx, change: Change{CompanyID: author.CompanyID, Rev: rev, At: author.At, Actor: author.Actor}}
		if err := f(c); err != nil {
			return err
		}
		return c.tell(ctx)
	})
}

// tell writes the outbox records and the audit row that were prepared.
func (c *ruleChange) tell(ctx context.Context) error {
	if err := c.outbox.insert(ctx, c); err != nil {
		return err
	}
	return auditRow(ctx, c, c.change)
}

// setCategory changes an influencer's category and adds the record of it.
func (c *ruleChange) setCategory(ctx context.Context, influencerID, category string) error {
	if _, err := c.tx.Exec(ctx, `
		update influencer set category = @category, rev = @rev
		where company_id = @company_id and influencer_id = @influencer_id`,
		pgx.NamedArgs{"company_id": c.change.CompanyID, "rev": c.change.Rev, "influencer_id": influencerID,
			"category": postgres.NullIfEmpty(category)}); err != nil {
		return err
	}
	return c.outbox.rule(c.change, influencerID, wire.Rule{Type: wire.RuleInfluencer, Change: wire.RuleUpdated, InfluencerID: influencerID})
}

// KnownNames returns those of some folded names (fold.Name) that an influencer
// or a campaign of a company has or had.
func (s *Store) KnownNames(ctx context.Context, companyID string, folded []string) ([]string, error) {
	known, err := postgres.Collect(ctx, s.db.Pool(), pgx.RowTo[string], `
		select name_folded from influencer where company_id = @company_id and name_folded = any(@names)
		union select name_folded from former_name where company_id = @company_id and name_folded = any(@names)
		union select name_folded from campaign where company_id = @company_id and name_folded = any(@names)`,
		pgx.NamedArgs{"company_id": companyID, "names": folded})
	return known, postgres.Wrapf(postgres.Translate(err), "postgres: known names")
}

// registering is one registration, in its transaction.
type registering struct {
	commerce.Registration
	*ruleChange
	random  io.Reader
	newOnly bool // what is known already is not registered again, and errUnchanged where that is all
	unpaid  bool // the influencer has no agreement after this; only set with newOnly

	influencerID, influencerName string
	campaignID, campaignName     string
	codes, couponIDs, costIDs    []string
	detailed                     []string // fields of the details that changed
}

func (reg *registering) run(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		reg.findOrCreateInfluencer, reg.addDetails, reg.findOrCreateCampaign, reg.addLinks, reg.addCoupons, reg.addCosts,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if reg.newOnly && len(reg.outbox)+len(reg.detailed) == 0 {
		return errUnchanged
	}
	reg.change.Detail = map[string]any{
		"name": reg.influencerName, "campaign_id": reg.campaignID,
		"links": len(reg.Links), "coupons": len(reg.Coupons), "costs": len(reg.Costs),
	}
	if len(reg.detailed) > 0 {
		reg.change.Detail["fields"] = reg.detailed
	}
	return nil
}

// addDetails adds details, and overwrites nothing of where money goes.
func (reg *registering) addDetails(ctx context.Context) (err error) {
	reg.detailed, err = reg.setDetails(ctx, reg.influencerID, reg.Details, true)
	return err
}

// newID makes a UUIDv7: rows made at one time are close together in their index.
func (reg *registering) newID() (string, error) {
	id, err := uuid.NewV7FromReader(reg.random)
	return id.String(), postgres.Wrapf(err, "make an id")
}

// rule returns a rule record of this influencer and campaign.
func (reg *registering) rule(kind wire.RuleType, change wire.RuleChange) wire.Rule {
	return wire.Rule{Type: kind, Change: change, InfluencerID: reg.influencerID, CampaignID: reg.campaignID}
}

func (reg *registering) findOrCreateInfluencer(ctx context.Context) error {
	if reg.later != nil {
		return reg.createInfluencer(ctx)
	}
	var err error
	reg.influencerID, reg.influencerName, err = reg.influencerByName(ctx, reg.Name)
	switch {
	case err == nil:
		reg.change.Action, reg.change.Subject = "influencer.add", reg.influencerID
		if reg.newOnly {
			if err := reg.dropKnown(ctx); err != nil {
				return err
			}
		}
		if reg.Category == "" {
			return nil
		}
		return reg.setCategory(ctx, reg.influencerID, reg.Category)
	case !errors.Is(err, pgx.ErrNoRows):
		return err
	}
	if err := reg.refuseTaken(ctx, "", reg.Name, false); err != nil {
		return err
	}
	if reg.KnownOnly {
		return commerce.ErrUnknownInfluencer
	}
	return reg.createInfluencer(ctx)
}

func (reg *registering) createInfluencer(ctx context.Context) (err error) {
	reg.unpaid = len(reg.Costs) == 0
	if reg.influencerID, err = reg.newID(); err != nil {
		return err
	}
	reg.influencerName = reg.Name
	reg.change.Action, reg.change.Subject = "influencer.create", reg.influencerID
	err = reg.exec(ctx, `
		insert into influencer (company_id, influencer_id, name, name_folded, category, rev, created_at)
		values (@company_id, @influencer_id, @name, @name_folded, @category, @rev, @now)`,
		reg.args(pgx.NamedArgs{"influencer_id": reg.influencerID, "name": reg.Name, "name_folded": fold.Name(reg.Name),
			"category": postgres.NullIfEmpty(reg.Category)}))
	if err != nil {
		return err
	}
	return reg.outbox.rule(reg.change, reg.influencerID,
		wire.Rule{Type: wire.RuleInfluencer, Change: wire.RuleCreated, InfluencerID: reg.influencerID})
}

// UpdateInfluencer changes the influencer that has a name, or had it before. An unknown name is commerce.ErrNotFound. A new
// name that another has or had, archived or not, is a *commerce.NameTakenError, one too many commerce.ErrTooManyNames.
func (s *Store) UpdateInfluencer(ctx context.Context, author commerce.Author, name string, asked commerce.InfluencerChange) error {
	err := s.changeRules(ctx, author, func(c *ruleChange) error {
		id, known, err := c.influencerByName(ctx, name)
		if err != nil {
			return err
		}
		c.change.Action, c.change.Subject, c.change.Detail = "influencer.update", id, map[string]any{"name": known}
		if asked.Name != "" {
			if err := c.rename(ctx, id, known, asked.Name); err != nil {
				return err
			}
		}
		if asked.Category.Present {
			c.change.Detail["category"] = asked.Category.Value
			if err := c.setCategory(ctx, id, asked.Category.Value); err != nil {
				return err
			}
		}
		fields, err := c.setDetails(ctx, id, asked.Details, false)
		if err != nil {
			return err
		}
		if len(fields) > 0 {
			c.change.Detail["fields"] = fields
		}
		if asked.OffersMessage && slices.ContainsFunc(fields, isPayee) {
			if err := c.offersMessage(ctx, id); err != nil {
				return err
			}
		}
		return c.forgetRepeats(ctx)
	})
	return postgres.Wrapf(err, "postgres: update influencer")
}

// Influencers returns a company's influencers after a cursor, oldest first, each
// with all that is live of it; at most limit.
func (s *Store) Influencers(ctx context.Context, companyID string, after commerce.InfluencerCursor,
	limit int) ([]commerce.Influencer, error) {
	return s.influencers(ctx, companyID, after, limit, false)
}

// InfluencersWithCosts is Influencers without those that have no live cost.
func (s *Store) InfluencersWithCosts(ctx context.Context, companyID string, after commerce.InfluencerCursor,
	limit int) ([]commerce.Influencer, error) {
	return s.influencers(ctx, companyID, after, limit, true)
}

func influencerColumns(i *commerce.Influencer) postgres.Columns {
	return postgres.Columns{
		postgres.Into("influencer_id", &i.InfluencerID),
		postgres.Into("name", &i.Name),
		postgres.Into(formerNames, &i.FormerNames),
		postgres.Into("coalesce(category, '')", &i.Category),
		postgres.Into("created_at", &i.CreatedAt),
		postgres.Into("archived_at", postgres.ZeroIfNull(&i.ArchivedAt)),
	}
}

func (s *Store) influencers(ctx context.Context, companyID string, after commerce.InfluencerCursor, limit int,
	withCosts bool) ([]commerce.Influencer, error) {
	var list []commerce.Influencer
	err := s.db.Snapshot(ctx, func(tx pgx.Tx) error {
		afterID := after.InfluencerID
		if afterID == "" {
			afterID = uuid.Nil.String()
		}
		var err error
		list, err = postgres.Collect(ctx, tx, postgres.Scan(influencerColumns), `
			select `+postgres.List(influencerColumns)+` from influencer i
			where company_id = @company_id and archived_at is null and (created_at, influencer_id) > (@after, @after_id::uuid)
				and (not @with_costs or exists (select 1 from cost c
					where c.company_id = @company_id and c.influencer_id = i.influencer_id and c.deleted_at is null))
			order by created_at, influencer_id limit @limit`,
			pgx.NamedArgs{"company_id": companyID, "after": after.CreatedAt, "after_id": afterID, "with_costs": withCosts, "limit": limit})
		if err != nil || len(list) == 0 {
			return err
		}
		return fillInfluencers(ctx, tx, companyID, list)
	})
	return list, postgres.Wrapf(err, "postgres: influencers")
}

// Influencer returns one influencer, archived ones too, with all that is live of it;
// commerce.ErrNotFound where there is none.
func (s *Store) Influencer(ctx context.Context, companyID, influencerID string) (commerce.Influencer, error) {
	list, err := s.InfluencersOf(ctx, companyID, []string{influencerID})
	if err == nil && len(list) == 0 {
		err = commerce.ErrNotFound
	}
	if err != nil {
		return commerce.Influencer{}, fmt.Errorf("influencer %s: %w", influencerID, err)
	}
	return list[0], nil
}

// InfluencersOf returns those of the influencers that there are, archived ones too, each with all that is live of it, in the
// order of the ids.
func (s *Store) InfluencersOf(ctx context.Context, companyID string, ids []string) ([]commerce.Influencer, error) {
	var list []commerce.Influencer
	err := s.db.Snapshot(ctx, func(tx pgx.Tx) (err error) {
		list, err = influencersOf(ctx, tx, companyID, ids)
		return err
	})
	return list, postgres.Wrapf(err, "postgres: influencers")
}

func influencersOf(ctx context.Context, tx pgx.Tx, companyID string, ids []string) ([]commerce.Influencer, error) {
	list, err := postgres.Collect(ctx, tx, postgres.Scan(influencerColumns), `
		select `+postgres.List(influencerColumns)+` from influencer i
		where company_id = @company_id and influencer_id = any(@ids::uuid[]) order by array_position(@ids::uuid[], influencer_id)`,
		pgx.NamedArgs{"company_id": companyID, "ids": ids})
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return list, fillInfluencers(ctx, tx, companyID, list)
}

// fillInfluencers reads all that is live of influencers.
func fillInfluencers(ctx context.Context, tx pgx.Tx, companyID string, list []commerce.Influencer) error {
	page := influencerPage{companyID: companyID, byID: make(map[string]*commerce.Influencer, len(list))}
	for i := range list {
		page.ids = append(page.ids, list[i].InfluencerID)
		page.byID[list[i].InfluencerID] = &list[i]
	}
	return page.fill(ctx, tx)
}

// influencerPage is the influencers of one page. Each of its methods reads one
// kind of thing that belongs to them.
type influencerPage struct {
	companyID string
	ids       []string
	byID      map[string]*commerce.Influencer
}

// fill reads all that is live of the influencers.
func (p *influencerPage) fill(ctx context.Context, tx pgx.Tx) error {
	for _, fill := range []func(context.Context, pgx.Tx) error{p.campaigns, p.links, p.coupons, p.costs, p.details} {
		if err := fill(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}

// owned is something with the influencer that it belongs to.
type owned[T any] struct {
	influencerID string
	it           T
}

// InfluencerID returns the id of an influencer by name, however it is written: the one
// that has the name now, else the one that had it last, by its archiving or a rename. An unknown name is
// commerce.ErrNotFound.
func (s *Store) InfluencerID(ctx context.Context, companyID, name string) (id string, err error) {
	err = s.db.Pool().QueryRow(ctx, `
		select influencer_id::text from influencer i where company_id = @company_id and `+hasOrHad+`
		order by archived_at desc nulls first, created_at desc limit 1`,
		pgx.NamedArgs{"company_id": companyID, "folded": fold.Name(name)}).Scan(&id)
	return id, postgres.Wrapf(postgres.Translate(err), "postgres: influencer %q", name)
}
