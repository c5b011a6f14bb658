package merchant

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/uuidtext"
)

func memberColumns(m *account.Member) postgres.Columns {
	return postgres.Columns{
		postgres.Into("p.person_id", &m.PersonID),
		postgres.Into("p.email", &m.Email),
		postgres.Into("m.role", &m.Role),
		postgres.Into("(select max(s.created_at) from person_session s where s.person_id = p.person_id)", postgres.ZeroIfNull(&m.LastSeen)),
	}
}

// Members lists who may log in to a store, by e-mail; at most limit.
func (s *Store) Members(ctx context.Context, storeID string, limit int) ([]account.Member, error) {
	list, err := postgres.Collect(ctx, s.db.Pool(), postgres.Scan(memberColumns), `
		select `+postgres.List(memberColumns)+` from membership m join person p using (person_id)
		where m.store_id = $1 order by p.email limit $2`, storeID, limit)
	return list, postgres.Wrapf(postgres.Translate(err), "postgres: members")
}

// keepAnOwner refuses a change of the last owner's role, also to "": account.ErrLastOwner.
// All owners' rows are locked, so that two changes cannot take the last two.
func keepAnOwner(ctx context.Context, tx pgx.Tx, storeID, personID, role string) error {
	owners, err := postgres.Collect(ctx, tx, pgx.RowTo[string],
		`select person_id::text from membership where store_id = $1 and role = 'owner' order by person_id for update`, storeID)
	if err != nil {
		return err
	}
	if len(owners) == 1 && owners[0] == personID && role != account.RoleOwner {
		return account.ErrLastOwner
	}
	return nil
}

// ChangeMembership changes a member's role, or ends the membership: access to the
// store ends with it. Of somebody who is no owner then, the open links end too: those
// for them and those that they made. Errors: commerce.ErrNotFound, account.ErrLastOwner.
func (s *Store) ChangeMembership(ctx context.Context, c account.MembershipChange) error {
	err := s.db.InTx(ctx, func(tx pgx.Tx) error {
		if err := keepAnOwner(ctx, tx, c.StoreID, c.PersonID, c.Role); err != nil {
			return err
		}
		change := Change{CompanyID: c.CompanyID, Actor: c.Actor, Action: "person.role", Subject: c.PersonID,
			Detail: map[string]any{"role": c.Role}}
		var err error
		if c.Role == "" {
			change.Action, change.Detail = "person.remove", nil
			err = postgres.Hit(ctx, tx, `delete from membership where store_id = $1 and person_id = $2`, c.StoreID, c.PersonID)
		} else {
			err = postgres.Hit(ctx, tx, `update membership set role = $3 where store_id = $1 and person_id = $2`, c.StoreID, c.PersonID, c.Role)
		}
		if err != nil {
			return err
		}
		if c.Role != account.RoleOwner {
			// Else they come back by a link that was made before, for them or by them.
			if _, err := tx.Exec(ctx, `
				delete from invitation i using person p
				where i.store_id = $1 and p.person_id = $2 and (i.made_by = p.person_id or i.email = p.email)`, c.StoreID, c.PersonID); err != nil {
				return err
			}
		}
		return audit(ctx, tx, change)
	})
	return postgres.Wrapf(err, "postgres: change membership")
}

func sessionColumns(o *account.OpenSession) postgres.Columns {
	return postgres.Columns{
		postgres.Into("family", &o.Family),
		postgres.Into("coalesce((array_agg(browser order by created_at desc))[1], '')", &o.Browser),
		postgres.Into("min(created_at)", &o.Started),
		postgres.Into("max(created_at)", &o.LastSeen),
		postgres.Into("max(expires_at)", &o.Expires),
	}
}

// OpenSessions lists a person's log-ins that have not ended at an instant, the last
// used first; at most limit.
func (s *Store) OpenSessions(ctx context.Context, personID string, at time.Time, limit int) ([]account.OpenSession, error) {
	list, err := postgres.Collect(ctx, s.db.Pool(), postgres.Scan(sessionColumns), `
		select `+postgres.List(sessionColumns)+` from person_session where person_id = $1
		group by family having max(expires_at) > $2 order by max(created_at) desc, family limit $3`, personID, at, limit)
	return list, postgres.Wrapf(postgres.Translate(err), "postgres: open sessions")
}

// EndSessions ends one of a person's sessions, or all but one: the one with the
// given family.
func (s *Store) EndSessions(ctx context.Context, personID, family string, allOthers bool) error {
	_, err := s.db.Pool().Exec(ctx, `delete from person_session where person_id = $1 and (family = $2) <> $3`, personID, family,
		allOthers)
	return postgres.Wrapf(postgres.Translate(err), "postgres: end sessions")
}

var watches = postgres.Rows[account.Watch]{
	postgres.Col("person_id", "uuid", func(w *account.Watch) string { return w.PersonID }),
	postgres.Col("family", "uuid", func(w *account.Watch) string { return w.Family }),
	postgres.Col("company_id", "text", func(w *account.Watch) string { return w.CompanyID }),
}

func watchColumns(w *account.Watch) postgres.Columns {
	return postgres.Columns{
		postgres.Into("w.person_id", &w.PersonID),
		postgres.Into("w.family", &w.Family),
		postgres.Into("w.company_id", &w.CompanyID),
	}
}

// StillWatching returns those whose session lasts and who are members of the
// company's store.
func (s *Store) StillWatching(ctx context.Context, list []account.Watch) ([]account.Watch, error) {
	still, err := postgres.Collect(ctx, s.db.Pool(), postgres.Scan(watchColumns), `
		select `+postgres.List(watchColumns)+` from `+watches.Unnest("w")+`
		join company c on c.company_id = w.company_id
		join membership m on m.store_id = c.store_id and m.person_id = w.person_id
		where exists (select 1 from person_session s where s.family = w.family and s.person_id = w.person_id)`, watches.Args(list, nil))
	return still, postgres.Wrapf(postgres.Translate(err), "postgres: who may watch")
}

// PersonByID returns a person; commerce.ErrNotFound where there is none.
func (s *Store) PersonByID(ctx context.Context, id string) (account.Person, error) {
	p, err := postgres.One(ctx, s.db.Pool(), postgres.Scan(personColumns),
		`select `+postgres.List(personColumns)+` from person where person_id = $1`, id)
	return p, postgres.Wrapf(postgres.Translate(err), "postgres: person")
}

func auditColumns(e *account.AuditEntry) postgres.Columns {
	return postgres.Columns{
		postgres.Into("a.audit_id", &e.ID),
		postgres.Into("a.at", &e.At),
		postgres.Into("a.actor", &e.Actor),
		postgres.Into("a.action", &e.Action),
		postgres.Into("a.subject", &e.Subject),
		postgres.Into("a.detail::text", &e.Detail),
		postgres.Into(`case when a.action = 'customer.erase' then exists (select 1 from erasure r where r.company_id = a.company_id
			and r.erasure_id = a.subject::uuid and r.done_at is not null and not exists (select 1 from erasure_export x
			where x.company_id = a.company_id and x.erasure_id = r.erasure_id)) else false end`, &e.Done),
	}
}

// AuditLog lists what was changed of a company, the newest first, before an entry
// ("": from the newest on); at most limit. action narrows it to those that begin
// with a text.
func (s *Store) AuditLog(ctx context.Context, companyID, before, action string, limit int) ([]account.AuditEntry, error) {
	list, err := postgres.Collect(ctx, s.db.Pool(), postgres.Scan(auditColumns), `
		select `+postgres.List(auditColumns)+` from audit_log a
		where a.company_id = @company_id and (@before::uuid is null or a.audit_id < @before) and starts_with(a.action, @action)
		order by a.audit_id desc limit @limit`,
		pgx.NamedArgs{"company_id": companyID, "before": postgres.NullIfEmpty(before), "action": action, "limit": limit})
	actors := make([]string, len(list))
	for i, e := range list {
		actors[i] = e.Actor
	}
	var names, subjects map[string]string
	if err == nil {
		names, err = s.actorNames(ctx, companyID, actors)
	}
	if err == nil {
		subjects, err = s.subjectNames(ctx, companyID, list)
	}
	for i := range list {
		list[i].Name, list[i].Names = names[list[i].Actor], subjects
	}
	return list, postgres.Wrapf(postgres.Translate(err), "postgres: audit log of %s", companyID)
}

// subjectNames returns the names of what entries name by id: influencers, also those of
// agreements and statements, campaigns, and the e-mails of people, also of those whom an open
// link invites: the log keeps no e-mail. An order's id is the merchant's own text: nothing is
// looked up by it.
func (s *Store) subjectNames(ctx context.Context, companyID string, list []account.AuditEntry) (map[string]string, error) {
	var ids, texts, people []string
	add := func(text string) {
		if uuidtext.Is(text) {
			ids = append(ids, text)
		} else if text != "" {
			texts = append(texts, text)
		}
	}
	for _, e := range list {
		var detail struct {
			InfluencerID string `json:"influencer_id"`
			CampaignID   string `json:"campaign_id"`
			ProposedBy   string `json:"proposed_by"`
		}
		_ = json.Unmarshal([]byte(e.Detail), &detail) // other details have no names
		switch {
		case strings.HasPrefix(e.Action, "person.") && uuidtext.Is(e.Subject): // the program wrote it
			people = append(people, e.Subject)
		case !strings.HasPrefix(e.Action, "order."):
			add(e.Subject)
		}
		add(detail.InfluencerID)
		if uuidtext.Is(detail.ProposedBy) {
			people = append(people, detail.ProposedBy)
		}
		texts = append(texts, detail.CampaignID)
	}
	return postgres.Map[string, string](ctx, s.db.Pool(), `
		select influencer_id::text, name from influencer where company_id = @company_id and influencer_id = any(@ids::uuid[])
		union all
		select campaign_id, name from campaign where company_id = @company_id and campaign_id = any(@texts::text[])
		union all
		select cost_id::text, i.name from cost c join influencer i on i.company_id = c.company_id and i.influencer_id = c.influencer_id
		where c.company_id = @company_id and c.cost_id = any(@ids::uuid[])
		union all
		select coupon_id::text, i.name from coupon c join influencer i on i.company_id = c.company_id and i.influencer_id = c.influencer_id
		where c.company_id = @company_id and c.coupon_id = any(@ids::uuid[])
		union all
		select statement_id::text, i.name from statement t join influencer i on i.company_id = t.company_id
		and i.influencer_id = t.influencer_id
		where t.company_id = @company_id and t.statement_id = any(@ids::uuid[])
		union all
		select person_id::text, email from person where person_id = any(@people::uuid[])
		union all
		select invitation_id::text, n.email from invitation n join company o using (store_id)
		where o.company_id = @company_id and n.invitation_id = any(@people::uuid[])`,
		pgx.NamedArgs{"company_id": companyID, "ids": notNil(ids), "texts": notNil(texts), "people": notNil(people)})
}

// ActorNames returns the e-mails and keys' names of actors of a company.
func (s *Store) ActorNames(ctx context.Context, companyID string, actors []string) (map[string]string, error) {
	names, err := s.actorNames(ctx, companyID, actors)
	return names, postgres.Wrapf(postgres.Translate(err), "postgres: names of actors of %s", companyID)
}

// actorNames returns the e-mails and keys' names of actors.
func (s *Store) actorNames(ctx context.Context, companyID string, actors []string) (map[string]string, error) {
	people, keys := []string{}, []string{}
	for _, actor := range actors {
		if id, found := strings.CutPrefix(actor, "user/"); found && uuidtext.Is(id) {
			people = append(people, id)
		}
		if id, found := strings.CutPrefix(actor, "key/"); found {
			keys = append(keys, id)
		}
	}
	return postgres.Map[string, string](ctx, s.db.Pool(), namesOfActors,
		pgx.NamedArgs{"company_id": companyID, "people": people, "keys": keys})
}

// namesOfActors finds people and keys by their ids, so that indexes are used.
const namesOfActors = `
	select 'user/' || person_id::text, email from person where person_id = any(@people::uuid[])
	union all
	select 'key/' || key_id, name from api_key where company_id = @company_id and key_id = any(@keys::text[])`
