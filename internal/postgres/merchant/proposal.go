package merchant

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
)

// byCLI is the actor of the command line. Who may run it may change the database itself.
const byCLI = "cli"

// personOf is the id of the person who an actor is.
func personOf(actor string) string { return strings.TrimPrefix(actor, "user/") }

// wantsSecond reports whether a second person has to confirm a company's decisions.
func wantsSecond(ctx context.Context, tx pgx.Tx, companyID string) (wants bool, err error) {
	err = tx.QueryRow(ctx, `select confirm_decisions from company where company_id = $1`, companyID).Scan(&wants)
	return wants, err
}

// ProposeDecision keeps a decision until a second person confirms it. Errors: those of DecideEvidence but ErrNeedsSecond;
// commerce.ErrNoSecondNeeded, ErrProposed, ErrTooManyProposals; ErrNotFound also for an order that is not processed yet, and
// ErrSamePerson where no person proposes it.
func (s *Store) ProposeDecision(ctx context.Context, author commerce.Author, p commerce.Proposal) error {
	at := author.At.UTC().Truncate(time.Microsecond)
	err := s.db.InTx(ctx, func(tx pgx.Tx) error {
		rev, now, err := bumpRules(ctx, tx, author.CompanyID)
		if err != nil {
			return err
		}
		wants, err := wantsSecond(ctx, tx, author.CompanyID)
		switch {
		case err != nil:
			return err
		case !wants:
			return commerce.ErrNoSecondNeeded
		case !strings.HasPrefix(author.Actor, "user/"):
			return commerce.ErrSamePerson
		}
		if err := mayPropose(ctx, tx, author.CompanyID, p, at); err != nil {
			return err
		}
		added, err := tx.Exec(ctx, `
			insert into proposal (company_id, order_id, influencer_id, decision, touches, reason, moves, proposed_at, proposed_by)
			values (@company_id, @order_id, @influencer_id, @decision, @touches, @reason, @moves, @at, @actor)
			on conflict (company_id, order_id) do nothing`,
			pgx.NamedArgs{"company_id": author.CompanyID, "order_id": p.OrderID, "influencer_id": postgres.NullIfEmpty(p.InfluencerID),
				"decision": p.Decision, "touches": strings.Join(p.Touches, ","), "reason": p.Reason, "moves": p.Moves, "at": at,
				"actor": author.Actor})
		if err == nil && added.RowsAffected() == 0 {
			err = commerce.ErrProposed
		}
		if err != nil {
			return err
		}
		change := Change{CompanyID: author.CompanyID, Rev: rev, At: now, Actor: author.Actor, Action: "order.propose", Subject: p.OrderID,
			Detail: map[string]any{"influencer_id": p.InfluencerID, "decision": p.Decision, "reason": p.Reason}}
		return audit(ctx, tx, ofRule(change, p.Decision))
	})
	return postgres.Wrapf(err, "postgres: propose a decision")
}

// ofRule makes a change of a proposal one of the company's where it is about the rule itself.
func ofRule(c Change, decision string) Change {
	if decision == commerce.RuleOff {
		c.Action, c.Subject = "company"+strings.TrimPrefix(c.Action, "order"), c.CompanyID
		delete(c.Detail, "influencer_id")
	}
	return c
}

// mayPropose checks a proposal, and removes those that have ended.
func mayPropose(ctx context.Context, tx pgx.Tx, companyID string, p commerce.Proposal, at time.Time) error {
	if p.Decision != commerce.RuleOff {
		if err := postgres.Hit(ctx, tx, `select 1 from orders where company_id = $1 and order_id = $2`, companyID, p.OrderID); err != nil {
			return err
		}
		if err := mayDecide(ctx, tx, companyID, p.EvidenceDecision); err != nil {
			return err
		}
	}
	if _, err := tx.Exec(ctx, `delete from proposal where company_id = $1 and proposed_at <= $2`, companyID,
		at.Add(-commerce.ProposalLife)); err != nil {
		return err
	}
	var waiting int
	if err := tx.QueryRow(ctx, `select count(*) from proposal where company_id = $1`, companyID).Scan(&waiting); err != nil {
		return err
	}
	if waiting >= commerce.MaxProposals {
		return commerce.ErrTooManyProposals
	}
	return nil
}

func proposalColumns(p *commerce.Proposal) postgres.Columns {
	return postgres.Columns{
		postgres.Into("p.order_id", &p.OrderID),
		postgres.Into("coalesce(p.influencer_id::text, '')", &p.InfluencerID),
		postgres.Into("p.decision", &p.Decision),
		postgres.Into("array_remove(string_to_array(p.touches, ','), '')", &p.Touches),
		postgres.Into("p.reason", &p.Reason),
		postgres.Into("p.moves", &p.Moves),
		postgres.Into("p.proposed_at", &p.At),
		postgres.Into("p.proposed_by", &p.By),
		postgres.Into(`(select coalesce(o.accepted_at, (select max(v.accepted_at) from order_version v
			where v.company_id = p.company_id and v.order_id = p.order_id)) from orders o
			where o.company_id = p.company_id and o.order_id = p.order_id)`, postgres.ZeroIfNull(&p.OrderAt)),
		postgres.Into(`coalesce((select i.name from influencer i
			where i.company_id = p.company_id and i.influencer_id = p.influencer_id), '')`, &p.Influencer),
	}
}

// Proposals returns what waits for a second person, the oldest first, and of each whether the author may confirm it.
func (s *Store) Proposals(ctx context.Context, author commerce.Author) ([]commerce.Proposal, error) {
	fail := func(err error) ([]commerce.Proposal, error) {
		return nil, fmt.Errorf("postgres: proposals of %s: %w", author.CompanyID, postgres.Translate(err))
	}
	list, err := postgres.Collect(ctx, s.db.Pool(), postgres.Scan(proposalColumns), `
		select `+postgres.List(proposalColumns)+` from proposal p where p.company_id = $1 and p.proposed_at > $2
		order by p.proposed_at, p.order_id limit $3`,
		author.CompanyID, author.At.Add(-commerce.ProposalLife), commerce.MaxProposals)
	if err != nil || len(list) == 0 {
		return list, postgres.Translate(err)
	}
	able, err := postgres.Collect(ctx, s.db.Pool(), pgx.RowTo[string], `
		select m.person_id::text from membership m join company c using (store_id)
		where c.company_id = $1 and m.role in ('owner', 'finance')`, author.CompanyID)
	if err != nil {
		return fail(err)
	}
	same, actors := map[string][]string{}, []string{}
	for i := range list {
		p := &list[i]
		if same[p.By] == nil {
			actors = append(actors, p.By)
			if same[p.By], err = samePeople(ctx, s.db.Pool(), author, p.By); err != nil {
				return fail(err)
			}
		}
		who, isPerson := strings.CutPrefix(author.Actor, "user/")
		p.Second = isPerson && !slices.Contains(same[p.By], who)
		p.Anybody = slices.ContainsFunc(able, func(id string) bool { return !slices.Contains(same[p.By], id) })
	}
	names, err := s.actorNames(ctx, author.CompanyID, actors)
	if err != nil {
		return fail(err)
	}
	for i := range list {
		list[i].ByName = names[list[i].By]
	}
	return list, nil
}

// openProposal reads the proposal that somebody saw: commerce.ErrNotFound, ErrConflict where it is another one by now,
// ErrProposalEnded. The caller has the company's lock.
func openProposal(ctx context.Context, tx pgx.Tx, author commerce.Author, seen commerce.SeenProposal) (commerce.Proposal, error) {
	p, err := postgres.One(ctx, tx, postgres.Scan(proposalColumns), `
		select `+postgres.List(proposalColumns)+` from proposal p where p.company_id = $1 and p.order_id = $2`, author.CompanyID, seen.OrderID)
	switch {
	case err != nil:
	case !p.At.Equal(seen.At):
		err = commerce.ErrConflict
	case !p.EndsAt().After(author.At):
		err = commerce.ErrProposalEnded
	}
	return p, err
}

// ConfirmProposal makes what another person proposed. Errors: commerce.ErrSamePerson, ErrOrderChanged, those of openProposal and of
// DecideEvidence but ErrNeedsSecond.
func (s *Store) ConfirmProposal(ctx context.Context, author commerce.Author, seen commerce.SeenProposal) error {
	err := s.db.InTx(ctx, func(tx pgx.Tx) error {
		rev, now, err := bumpRules(ctx, tx, author.CompanyID)
		if err != nil {
			return err
		}
		p, err := openProposal(ctx, tx, author, seen)
		if err != nil {
			return err
		}
		if second, err := isSecond(ctx, tx, author, p.By); err != nil || !second {
			return errors.Join(err, commerce.ErrSamePerson)
		}
		if p.Decision == commerce.RuleOff {
			return turnRuleOff(ctx, tx, author, p)
		}
		if !p.OrderAt.Equal(seen.OrderAt) {
			return commerce.ErrOrderChanged
		}
		if err := removeProposal(ctx, tx, author.CompanyID, p.OrderID); err != nil {
			return err
		}
		change := Change{CompanyID: author.CompanyID, Rev: rev, At: now, Actor: author.Actor}
		return storeDecision(ctx, tx, change, p.EvidenceDecision, p.By)
	})
	return postgres.Wrapf(err, "postgres: confirm a decision")
}

// turnRuleOff ends the two-person rule, and with it all that waits.
func turnRuleOff(ctx context.Context, tx pgx.Tx, author commerce.Author, p commerce.Proposal) error {
	before, err := postgres.One(ctx, tx, postgres.Scan(settingsColumns),
		`select `+postgres.List(settingsColumns)+` from company where company_id = $1`, author.CompanyID)
	if err != nil {
		return err
	}
	after := before
	after.ConfirmDecisions = false
	change := commerce.SettingsChange{CompanyID: author.CompanyID, Actor: author.Actor, ProposedBy: p.By}
	return storeSettings(ctx, tx, change, before, after)
}

// EndProposal takes a proposal away: its author withdraws it, anybody else refuses it with a reason. Errors: those of openProposal.
func (s *Store) EndProposal(ctx context.Context, author commerce.Author, seen commerce.SeenProposal, reason string) error {
	err := s.db.InTx(ctx, func(tx pgx.Tx) error {
		rev, now, err := bumpRules(ctx, tx, author.CompanyID)
		if err != nil {
			return err
		}
		p, err := openProposal(ctx, tx, author, seen)
		if err != nil {
			return err
		}
		if err := removeProposal(ctx, tx, author.CompanyID, p.OrderID); err != nil {
			return err
		}
		change := Change{CompanyID: author.CompanyID, Rev: rev, At: now, Actor: author.Actor, Action: "order.refuse_proposal",
			Subject: p.OrderID, Detail: map[string]any{"influencer_id": p.InfluencerID, "decision": p.Decision}}
		if p.By == author.Actor {
			change.Action = "order.withdraw_proposal"
		} else {
			change.Detail["proposed_by"], change.Detail["reason"] = personOf(p.By), reason
		}
		return audit(ctx, tx, ofRule(change, p.Decision))
	})
	return postgres.Wrapf(err, "postgres: end a proposal")
}

func removeProposal(ctx context.Context, tx pgx.Tx, companyID, orderID string) error {
	_, err := tx.Exec(ctx, `delete from proposal where company_id = $1 and order_id = $2`, companyID, orderID)
	return err
}
