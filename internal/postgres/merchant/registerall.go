package merchant

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/fold"
	"github.com/tributary-io/tributary/internal/postgres"
)

// errUndone ends a transaction whose changes are not wanted.
var errUndone = errors.New("undone")

// errUnchanged says that all that a registration says was known.
var errUnchanged = errors.New("unchanged")

// importing is an import of a list, in its transaction, which has the company's lock.
type importing struct {
	*Store
	tx     pgx.Tx
	author commerce.Author
	random io.Reader
	// The company's revision so far, the one that its row says, and the instant of the last change: each change has a later one.
	rev, stored int64
	now         time.Time
	taken       map[string]bool // names, folded, that an influencer has or had, also of the lines before
	known       map[string]*knownInfluencer
}

// RegisterAll registers each of a list as RegisterInfluencer does, but for what is known of an influencer already, in one
// transaction. It says what became of each. All is rolled back where keep returns false of it.
func (s *Store) RegisterAll(ctx context.Context, author commerce.Author, list []commerce.Registration,
	keep func([]commerce.Imported) bool, random io.Reader) ([]commerce.Imported, error) {
	became := make([]commerce.Imported, len(list))
	err := s.db.InTx(ctx, func(tx pgx.Tx) error {
		all := importing{Store: s, tx: tx, author: author, random: random, taken: map[string]bool{},
			known: map[string]*knownInfluencer{}}
		if err := all.begin(ctx, list); err != nil {
			return err
		}
		if err := all.registerList(ctx, list, func(i int, reg *registering, err error) error {
			switch {
			case errors.Is(err, errUnchanged):
				became[i] = commerce.Imported{Unchanged: true, Unpaid: reg.unpaid}
			case err == nil || errors.Is(err, commerce.ErrConflict):
				became[i] = commerce.Imported{Refused: err, Unpaid: err == nil && reg.unpaid}
			default:
				return err
			}
			return nil
		}); err != nil {
			return err
		}
		if !keep(became) {
			return errUndone
		}
		return all.storeRev(ctx)
	})
	if err != nil && !errors.Is(err, errUndone) {
		return nil, fmt.Errorf("postgres: register influencers: %w", err)
	}
	return became, nil
}

// begin locks the company's row, and reads which names of the list are taken.
func (m *importing) begin(ctx context.Context, list []commerce.Registration) error {
	var archived bool
	if err := m.tx.QueryRow(ctx, `
		select rules_rev, clock_timestamp(), archived_at is not null from company where company_id = $1 for no key update`,
		m.author.CompanyID).Scan(&m.rev, &m.now, &archived); err != nil {
		return err
	}
	if archived {
		return commerce.ErrArchived
	}
	m.stored = m.rev
	// Plans that were made while the tables were small read them whole, for each line of those that this transaction adds.
	if _, err := m.tx.Exec(ctx, `discard plans`); err != nil {
		return err
	}
	if _, err := m.tx.Exec(ctx, `set local enable_seqscan = off`); err != nil {
		return err
	}
	folded := make([]string, len(list))
	for i, r := range list {
		folded[i] = fold.Name(r.Name)
	}
	taken, err := postgres.Collect(ctx, m.tx, pgx.RowTo[string], `
		select name_folded from influencer where company_id = @company_id and name_folded = any(@names)
		union select name_folded from former_name where company_id = @company_id and name_folded = any(@names)`,
		pgx.NamedArgs{"company_id": m.author.CompanyID, "names": folded})
	for _, name := range taken {
		m.taken[name] = true
	}
	for part := range slices.Chunk(taken, knownAtOnce) {
		if err == nil {
			err = m.readKnown(ctx, part)
		}
	}
	return err
}

// mostTogether bounds of how many new influencers the statements are sent together.
const mostTogether = 50

// registerList registers each of a list, all of it or nothing, and gives what became of it to each. Neighbours whose names nobody
// has or had are registered together.
func (m *importing) registerList(ctx context.Context, list []commerce.Registration,
	each func(i int, reg *registering, err error) error) error {
	var fresh []*registering // those before i
	register := func(end int) error {
		errs := m.registerNew(ctx, fresh)
		for n, reg := range fresh {
			if err := each(end-len(fresh)+n, reg, errs[n]); err != nil {
				return err
			}
		}
		fresh = nil
		return nil
	}
	_, versioned := commerce.VersionOf(ctx)
	for i, r := range list {
		reg := &registering{Registration: r, random: m.random, newOnly: true}
		if name := fold.Name(r.Name); !m.taken[name] && !r.KnownOnly && !versioned {
			m.taken[name] = true
			if fresh = append(fresh, reg); len(fresh) < mostTogether {
				continue
			}
			if err := register(i + 1); err != nil {
				return err
			}
			continue
		}
		if err := register(i); err != nil {
			return err
		}
		err := errUnchanged
		if !m.saysNothingNew(reg) {
			*reg = registering{Registration: r, random: m.random, newOnly: true}
			err = m.registerKnown(ctx, reg)
		}
		if err := each(i, reg, err); err != nil {
			return err
		}
	}
	return register(len(list))
}

// registerKnown is Store.register within the import.
func (m *importing) registerKnown(ctx context.Context, reg *registering) error {
	if err := m.storeRev(ctx); err != nil {
		return err
	}
	err := m.register(postgres.WithTransactor(ctx, postgres.Savepoints(m.tx)), m.author, reg)
	if reg.ruleChange != nil {
		m.now = reg.now
		if err == nil {
			m.rev, m.stored = reg.change.Rev, reg.change.Rev
			maps.DeleteFunc(m.known, func(_ string, k *knownInfluencer) bool { return k.InfluencerID == reg.influencerID })
		}
	}
	return err
}

// registerNew registers influencers whose names nobody has or had: together, or where one cannot be registered, each alone.
func (m *importing) registerNew(ctx context.Context, group []*registering) []error {
	errs := make([]error, len(group))
	if len(group) == 0 {
		return errs
	}
	err := m.together(ctx, group)
	switch {
	case err == nil:
	case len(group) > 1 && ctx.Err() == nil:
		for i, reg := range group {
			*reg = registering{Registration: reg.Registration, random: m.random, newOnly: true}
			errs[i] = m.registerNew(ctx, []*registering{reg})[0]
		}
	case errors.Is(err, errCodeTaken):
		*group[0] = registering{Registration: group[0].Registration, random: m.random, newOnly: true}
		errs[0] = m.registerKnown(ctx, group[0])
	case errors.Is(err, errCouponOverlap):
		err = m.couponConflicts(ctx, m.author.CompanyID, group[0].Name, group[0].Coupons)
		fallthrough
	default:
		for i := range errs {
			errs[i] = fmt.Errorf("postgres: register influencer: %w", postgres.Translate(err))
		}
	}
	return errs
}

// together registers all of the influencers, or none. Their statements are sent in two parts: an import has thousands, and waits
// for few answers.
func (m *importing) together(ctx context.Context, group []*registering) error {
	batch, now := &pgx.Batch{}, m.now
	batch.Queue(`savepoint together`)
	for i, reg := range group {
		now = now.Add(time.Microsecond)
		reg.ruleChange = &ruleChange{now: now, tx: m.tx, later: &later{batch: batch}, change: Change{CompanyID: m.author.CompanyID,
			Rev: m.rev + int64(i) + 1, At: m.author.At, Actor: m.author.Actor}}
		if err := reg.run(ctx); err != nil {
			return err
		}
	}
	if err := m.send(ctx, group, batch); err != nil {
		if _, undo := m.tx.Exec(ctx, `rollback to savepoint together; release savepoint together`); undo != nil {
			return errors.Join(err, undo)
		}
		return err
	}
	m.rev, m.now = m.rev+int64(len(group)), now
	return nil
}

// send sends what the influencers add, and then what tells of it.
func (m *importing) send(ctx context.Context, group []*registering, batch *pgx.Batch) error {
	if err := m.tx.SendBatch(ctx, batch).Close(); err != nil {
		return overlapError(err)
	}
	told := &pgx.Batch{}
	for _, reg := range group {
		shares := reg.later.shares
		reg.later = nil
		if shares {
			if err := reg.shareIdentities(ctx, reg.influencerID); err != nil {
				return err
			}
		}
		reg.later = &later{batch: told}
		if err := reg.tell(ctx); err != nil {
			return err
		}
	}
	told.Queue(`release savepoint together`)
	return m.tx.SendBatch(ctx, told).Close()
}

// storeRev writes the revision to the company's row.
func (m *importing) storeRev(ctx context.Context) error {
	if m.rev == m.stored {
		return nil
	}
	m.stored = m.rev
	_, err := m.tx.Exec(ctx, `update company set rules_rev = $2 where company_id = $1`, m.author.CompanyID, m.rev)
	return err
}

// dropKnown takes out of a registration what its influencer, who is known, has already: the category, the same links of the
// campaign, coupons of the same days, and agreements (hasCost).
func (reg *registering) dropKnown(ctx context.Context) error {
	list, err := influencersOf(ctx, reg.tx, reg.change.CompanyID, []string{reg.influencerID})
	if err != nil || len(list) == 0 {
		return err
	}
	reg.drop(&list[0])
	return nil
}

func (reg *registering) drop(known *commerce.Influencer) {
	if reg.Category == known.Category {
		reg.Category = ""
	}
	campaign := reg.CampaignID
	for _, c := range known.Campaigns {
		if campaign == "" && fold.Name(c.Name) == fold.Name(reg.Campaign) {
			campaign = c.CampaignID
		}
	}
	// The lists are the caller's: they are copied.
	reg.Links = slices.DeleteFunc(slices.Clone(reg.Links), func(url string) bool {
		return slices.ContainsFunc(known.Links, func(l commerce.Link) bool { return l.CampaignID == campaign && l.URL == url })
	})
	reg.Coupons = slices.DeleteFunc(slices.Clone(reg.Coupons), func(asked commerce.CouponTerms) bool {
		return slices.ContainsFunc(known.Coupons, func(c commerce.Coupon) bool {
			return fold.Code(c.Code) == fold.Code(asked.Code) && c.StartDate == asked.StartDate && c.EndDate == asked.EndDate
		})
	})
	reg.Costs = slices.DeleteFunc(slices.Clone(reg.Costs), func(asked commerce.CostTerms) bool {
		return slices.ContainsFunc(known.Costs, func(c commerce.Cost) bool { return hasCost(c, asked, campaign) })
	})
	reg.unpaid = len(known.Costs)+len(reg.Costs) == 0
}

// hasCost reports whether an agreement is in force as one is asked for, from its first day or an earlier one: a file without
// first days says today, and agreements with different first days add up. What is owed once is as of its day, where the file says one:
// without, the same amount of an earlier day is the one that is meant.
func hasCost(known commerce.Cost, asked commerce.CostTerms, campaign string) bool {
	anyDay := asked.Frequency != commerce.Specific || asked.StartAssumed
	begins := known.StartDate == asked.StartDate || anyDay && known.StartDate < asked.StartDate
	return begins && known.EndDate == asked.EndDate && known.CampaignCost == asked.CampaignCost &&
		(!asked.CampaignCost || known.CampaignID == campaign) && known.CouponCost == asked.CouponCost &&
		known.FixedFeeMinor == asked.FixedFeeMinor && known.VarFee.Equal(asked.VarFee) && known.ValueMinor == asked.ValueMinor &&
		known.Frequency == asked.Frequency && (asked.OwedFrom == "" || known.OwedFrom == asked.OwedFrom)
}
