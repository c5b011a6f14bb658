package merchant

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/uuidtext"
	"github.com/tributary-io/tributary/internal/wire"
)

// logInMade notes who made a person's log-in or password by a link; madeBy is empty for the command line.
func logInMade(ctx context.Context, tx pgx.Tx, personID string, at time.Time, madeBy string) error {
	_, err := tx.Exec(ctx, `insert into log_in_made (person_id, made_at, made_by) values ($1, $2, $3) on conflict do nothing`,
		personID, at, postgres.NullIfEmpty(madeBy))
	return err
}

// ConfirmPix says that an influencer's Pix key, which changed at an instant, is theirs. Errors: commerce.ErrNotFound,
// commerce.ErrConflict where it has changed since, commerce.ErrSamePerson.
func (s *Store) ConfirmPix(ctx context.Context, author commerce.Author, influencerID string, changed time.Time) error {
	err := s.changeRules(ctx, author, func(c *ruleChange) error {
		var at time.Time
		var by, key string
		if err := c.tx.QueryRow(ctx, `
			select pix_at, coalesce(pix_by, ''), pix_key from influencer_personal where company_id = $1 and influencer_id = $2`,
			author.CompanyID, influencerID).Scan(postgres.ZeroIfNull(&at), &by, &key); err != nil {
			return err
		}
		if key == "" || !at.Equal(changed) {
			return commerce.ErrConflict
		}
		if second, err := isSecond(ctx, c.tx, author, by); err != nil || !second {
			return errors.Join(err, commerce.ErrSamePerson)
		}
		if _, err := c.tx.Exec(ctx, `
			update influencer_personal set pix_confirmed_at = $3, pix_confirmed_by = $4 where company_id = $1 and influencer_id = $2`,
			author.CompanyID, influencerID, c.now, author.Actor); err != nil {
			return err
		}
		c.change.Action, c.change.Subject = "influencer.confirm_pix", influencerID
		if err := c.offersMessage(ctx, influencerID); err != nil {
			return err
		}
		return c.outbox.rule(c.change, influencerID,
			wire.Rule{Type: wire.RuleInfluencer, Change: wire.RuleUpdated, InfluencerID: influencerID})
	})
	return postgres.Wrapf(err, "postgres: confirm a Pix key")
}

// actorsOfKeys are who made or renewed a company's API keys: one of them may be who used one.
const actorsOfKeys = `
	select distinct actor from audit_log where company_id = $1 and action in ('api_key.create', 'api_key.rotate')`

// isSecond reports whether the author is another person than the one who made a change. Who made the log-in or password of
// another within commerce.LogInRest, and all whose log-ins hang together so, count as one. A change by an API key counts as made
// by everybody who made one.
func isSecond(ctx context.Context, tx pgx.Tx, author commerce.Author, first string) (bool, error) {
	who, isPerson := strings.CutPrefix(author.Actor, "user/")
	if !isPerson || !uuidtext.Is(who) {
		return false, nil
	}
	same, err := samePeople(ctx, tx, author, first)
	return !slices.Contains(same, who), err
}

// samePeople returns the ids of all who count as the person who made a change of the author's company: see isSecond.
func samePeople(ctx context.Context, q postgres.Querier, author commerce.Author, first string) ([]string, error) {
	firsts := []string{first}
	if strings.HasPrefix(first, "key/") {
		var err error
		if firsts, err = postgres.Collect(ctx, q, pgx.RowTo[string], actorsOfKeys, author.CompanyID); err != nil {
			return nil, err
		}
	}
	var people []string
	byCLI := false
	for _, actor := range firsts {
		if id, ok := strings.CutPrefix(actor, "user/"); ok && uuidtext.Is(id) {
			people = append(people, id)
		} else {
			byCLI = true
		}
	}
	return postgres.Collect(ctx, q, pgx.RowTo[string], `
		with recursive made as (select person_id, made_by from log_in_made where made_at > $3),
		one (person_id) as (
			select unnest($1::uuid[])
			union all
			select person_id from made where $2 and made_by is null),
		together (person_id) as (
			select person_id from one
			union
			select case when m.person_id = t.person_id then m.made_by else m.person_id end
			from together t join made m on m.made_by is not null and t.person_id in (m.person_id, m.made_by))
		select person_id::text from together`, notNil(people), byCLI, author.At.Add(-commerce.LogInRest))
}

// LastPaid returns when a payment to influencers was last recorded, by their ids; those who were never paid are left out.
func (s *Store) LastPaid(ctx context.Context, companyID string, influencerIDs []string) (map[string]time.Time, error) {
	last, err := postgres.Map[string, time.Time](ctx, s.db.Pool(), `
		select s.influencer_id::text, max(p.recorded_at) from statement s
		join statement_payment p on p.company_id = s.company_id and p.statement_id = s.statement_id and p.undone_rev is null
		where s.company_id = $1 and s.influencer_id = any($2::uuid[]) group by s.influencer_id`, companyID, notNil(influencerIDs))
	return last, postgres.Wrapf(postgres.Translate(err), "postgres: last payments of %s", companyID)
}
