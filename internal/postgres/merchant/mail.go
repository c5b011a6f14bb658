package merchant

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/shopspring/decimal"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/uuidtext"
)

// EnsureMail makes the destinations of mails of all stores: one for each owner and each person of finance, and one for the partners, of
// live companies. Each begins with all mails, and with what happens from now on: what the person's role gets is written. Those of persons
// who are neither any more go, with their messages. What waits at one at which no sender has looked for a day is given up, and then senders
// may take it again.
func (s *Store) EnsureMail(ctx context.Context) error {
	roles := []string{account.RoleOwner, account.RoleFinance}
	_, err := s.db.Pool().Exec(ctx, `
		insert into destination (company_id, destination_id, kind, state, since, name, url, types, secrets, created_at, next_at, language)
		select c.company_id, n.id, 'mail', 'active', now(), n.role, '', n.types, '[]', now(), now(),
			case when c.currency = 'BRL' then 'pt-BR' else 'en' end
		from company c cross join lateral (
			select @partners::text as id, '' as role, @of_partners::text[] as types
			union all
			select @prefix || m.person_id, m.role, @of_persons::text[] from membership m where m.store_id = c.store_id and m.role = any(@roles)) n
		where c.environment = 'live' and c.archived_at is null and not exists (
			select 1 from destination d where d.company_id = c.company_id and d.destination_id = n.id)
		on conflict (company_id, destination_id) do nothing`,
		pgx.NamedArgs{"partners": commerce.MailPartners, "of_partners": []commerce.EventType{commerce.StatementIsClosed},
			"prefix": commerce.MailPrefix, "of_persons": account.MailTypes(account.RoleOwner), "roles": roles})
	if err == nil {
		err = s.removeMail(ctx, roles)
	}
	if err == nil {
		err = s.changeMailRoles(ctx, roles)
	}
	if err == nil {
		err = s.giveUpMail(ctx)
	}
	return postgres.Wrapf(postgres.Translate(err), "postgres: destinations of mails")
}

// mailAtOnce is how many destinations, or messages of one, are looked at in one statement: the others are the next time.
const mailAtOnce = 5000

// removeMail removes destinations of persons who are no owner and not of finance any more, one by one: who writes to several of a company
// locks them in another order.
func (s *Store) removeMail(ctx context.Context, roles []string) error {
	list, err := postgres.Collect(ctx, s.db.Pool(), pgx.RowTo[[]string], `
		select array[d.company_id, d.destination_id] from destination d join company c on c.company_id = d.company_id
		where d.kind = 'mail' and d.destination_id <> $1 and not exists (
			select 1 from membership m where m.store_id = c.store_id and $2 || m.person_id = d.destination_id and m.role = any($3))
		limit $4`, commerce.MailPartners, commerce.MailPrefix, roles, mailAtOnce)
	for _, d := range list {
		if err = removeMessages(ctx, s.db.Pool(), d[0], d[1], allMessages, pgx.NamedArgs{}); err != nil {
			return err
		}
		if err = s.db.InTx(ctx, func(tx pgx.Tx) error {
			if _, err := postgres.NextOutgoing(ctx, tx, d[0], 0); err != nil { // nobody writes messages for it any more
				return err
			}
			if _, err := tx.Exec(ctx, `delete from destination where company_id = $1 and destination_id = $2`, d[0], d[1]); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, `delete from outgoing where company_id = $1 and destination_id = $2`, d[0], d[1])
			return err
		}); err != nil {
			return err
		}
	}
	return err
}

// changeMailRoles stores whose role is another one than before, one by one as removeMail: a person's destination has the role for a name.
func (s *Store) changeMailRoles(ctx context.Context, roles []string) error {
	list, err := postgres.Collect(ctx, s.db.Pool(), pgx.RowTo[[]string], `
		select array[d.company_id, d.destination_id, m.role] from destination d join company c on c.company_id = d.company_id
			join membership m on m.store_id = c.store_id and $1 || m.person_id = d.destination_id
		where d.kind = 'mail' and d.name <> m.role and m.role = any($2) limit $3`, commerce.MailPrefix, roles, mailAtOnce)
	for _, d := range list {
		if _, err = s.db.Pool().Exec(ctx, `update destination set name = $3 where company_id = $1 and destination_id = $2`, d[0], d[1],
			d[2]); err != nil {
			return err
		}
	}
	return err
}

// giveUpMail parks what is due at destinations at which no sender has looked for a day, some thousands at once, and lets senders look at
// them again once nothing is left.
func (s *Store) giveUpMail(ctx context.Context) error {
	list, err := postgres.Collect(ctx, s.db.Pool(), pgx.RowTo[[]string], `
		select array[d.company_id, d.destination_id] from destination d join company c using (company_id)
		where d.kind = 'mail' and c.archived_at is null and not `+postgres.Heeded+` limit $1`, mailAtOnce)
	for _, d := range list {
		for more := true; more && err == nil; {
			err = s.db.InTx(ctx, func(tx pgx.Tx) error {
				parked, err := giveUpSome(ctx, tx, d[0], d[1])
				more = parked == mailAtOnce
				return err
			})
		}
	}
	return err
}

func giveUpSome(ctx context.Context, tx pgx.Tx, companyID, id string) (parked int, err error) {
	ids, err := postgres.Collect(ctx, tx, pgx.RowTo[string], `
		select d.destination_id from destination d where d.company_id = $1 and d.destination_id = $2 and not `+postgres.Heeded+`
		for update of d`, companyID, id)
	if err != nil || len(ids) == 0 { // another one was here
		return 0, err
	}
	now := time.Now()
	numbers, err := postgres.Collect(ctx, tx, pgx.RowTo[int64], `
		select number from outgoing where company_id = $1 and destination_id = $2 and state = 'waiting' and due_at <= $3 limit $4`,
		companyID, id, now, mailAtOnce)
	if err != nil {
		return 0, err
	}
	late := make([]commerce.Sent, 0, len(numbers))
	for _, n := range numbers {
		late = append(late, commerce.Sent{Number: n, State: commerce.MessageParked, Try: commerce.Try{At: now.UTC(), Failure: commerce.TryLate}})
	}
	if err := attemptRows.Exec(ctx, tx, "give up mails", storeSentMessages, late, pgx.NamedArgs{"company_id": companyID,
		"id": id, "tries": commerce.MaxTries}); err != nil || len(late) == mailAtOnce {
		return len(late), err
	}
	_, err = tx.Exec(ctx, `update destination set next_at = $3 where company_id = $1 and destination_id = $2`, companyID, id, now)
	return len(late), err
}

func mailDestinationColumns(d *commerce.MailDestination) postgres.Columns {
	return postgres.Columns{
		postgres.Into("d.destination_id", &d.ID),
		postgres.Into("d.types", &d.Types),
		postgres.Into("d.language", &d.Language),
		postgres.Into("d.state = 'active'", &d.Active),
	}
}

// MailDestination returns what a person, or the partners, get. commerce.ErrNotFound where there is no such destination: no mail is set up,
// or it is not made yet.
func (s *Store) MailDestination(ctx context.Context, companyID, id string) (commerce.MailDestination, error) {
	d, err := postgres.One(ctx, s.db.Pool(), postgres.Scan(mailDestinationColumns), `
		select `+postgres.List(mailDestinationColumns)+` from destination d
		where d.company_id = $1 and d.destination_id = $2 and d.kind = 'mail' and `+postgres.Heeded, companyID, id)
	return d, postgres.Wrapf(postgres.Translate(err), "postgres: mails of %.50s", id)
}

// ChangeMail sets what a destination gets, and in which language. One that was disabled, since too many messages waited, is active
// again, and looked at. commerce.ErrNotFound where it is not there.
func (s *Store) ChangeMail(ctx context.Context, author commerce.Author, to commerce.MailDestination) error {
	err := s.db.InTx(ctx, func(tx pgx.Tx) error {
		if err := lockForConnections(ctx, tx, author.CompanyID); err != nil {
			return err
		}
		types := to.Types
		if types == nil {
			types = []commerce.EventType{}
		}
		if err := postgres.Hit(ctx, tx, `
			update destination set types = @types, language = @language, state = 'active', reason = '',
				since = case when state = 'active' then since else @now::timestamptz end,
				next_at = case when state = 'active' then next_at else @now::timestamptz end,
				failing_since = case when state = 'active' then failing_since end,
				failures = case when state = 'active' then failures else 0 end
			where company_id = @company_id and destination_id = @id and kind = 'mail'`,
			pgx.NamedArgs{"company_id": author.CompanyID, "id": to.ID, "types": types, "language": to.Language, "now": time.Now()}); err != nil {
			return err
		}
		return auditConnection(ctx, tx, author, "mail.change", to.ID, map[string]any{"types": types, "language": to.Language})
	})
	return postgres.Wrapf(err, "postgres: mails of %.50s", to.ID)
}

func mailPersonColumns(p *commerce.MailPerson) postgres.Columns {
	return postgres.Columns{postgres.Into("p.email", &p.Email), postgres.Into("m.role", &p.Role), postgres.Into("s.name", &p.Store)}
}

// MailPerson returns the person of a destination. commerce.ErrNotFound for one who is not in the store any more.
func (s *Store) MailPerson(ctx context.Context, companyID, destinationID string) (commerce.MailPerson, error) {
	id, found := strings.CutPrefix(destinationID, commerce.MailPrefix)
	if !found || !uuidtext.Is(id) {
		return commerce.MailPerson{}, commerce.ErrNotFound
	}
	p, err := postgres.One(ctx, s.db.Pool(), postgres.Scan(mailPersonColumns), `
		select `+postgres.List(mailPersonColumns)+` from company c join store s using (store_id) join membership m using (store_id)
			join person p using (person_id)
		where c.company_id = $1 and p.person_id = $2`, companyID, id)
	return p, postgres.Wrapf(postgres.Translate(err), "postgres: person of mails")
}

func mailTotalColumns(t *mailTotal) postgres.Columns {
	return postgres.Columns{
		postgres.Into("p.currency", &t.Currency), postgres.Into("count(*)", &t.orders),
		postgres.Into("sum(p.commission_minor)::numeric", &t.Minor), postgres.Into("sum(p.fixed_brl_minor)::numeric", &t.fixed),
	}
}

// mailTotal is what waits in one currency.
type mailTotal struct {
	commerce.MailTotal
	orders int64
	fixed  decimal.Decimal // in BRL, of orders in another currency
}

// MailReviews returns what waits for a decision of a company now, and when the destination was told of it last.
func (s *Store) MailReviews(ctx context.Context, companyID, destinationID string, now time.Time) (told commerce.MailReviews, err error) {
	list, err := postgres.Collect(ctx, s.db.Pool(), postgres.Scan(mailTotalColumns), `
		select `+postgres.List(mailTotalColumns)+` from payout p where p.company_id = $1 and p.state = 'review'
		group by p.currency order by p.currency`, companyID)
	if err == nil {
		err = s.db.Pool().QueryRow(ctx, `
			select max(done_at) from outgoing where company_id = $1 and destination_id = $2 and type = $3 and state = 'delivered'
				and done_at > $4 and tries -> -1 ->> 'status' = '250'`, companyID, destinationID, commerce.PayoutReview,
			now.Add(-commerce.DigestEvery)).Scan(postgres.ZeroIfNull(&told.SentAt))
	}
	if err != nil {
		return told, fmt.Errorf("postgres: reviews to mail: %w", postgres.Translate(err))
	}
	fixed := decimal.Zero
	for _, t := range list {
		told.Orders += t.orders
		told.Totals, fixed = append(told.Totals, t.MailTotal), fixed.Add(t.fixed)
	}
	if fixed.IsZero() {
		return told, nil
	}
	for i := range told.Totals {
		if told.Totals[i].Currency == commerce.BRL {
			told.Totals[i].Minor = told.Totals[i].Minor.Add(fixed)
			return told, nil
		}
	}
	told.Totals = append(told.Totals, commerce.MailTotal{Currency: commerce.BRL, Minor: fixed})
	return told, nil
}

func mailStatementColumns(m *commerce.MailStatement) postgres.Columns {
	return postgres.Columns{
		postgres.Into("coalesce(p.email, '')", &m.Email), postgres.Into("i.name", &m.Partner), postgres.Into("o.name", &m.Store),
		postgres.Into("s.number", &m.Number), postgres.Into("s.end_date", postgres.Day(&m.EndDate)),
		postgres.Into("coalesce(s.carried, false)", &m.Carried), postgres.Into("coalesce(l.revoked, 0)", &m.Revoked),
	}
}

// MailStatement returns a closed statement with its partner's address, as it is now. commerce.ErrNotFound where it is not there.
func (s *Store) MailStatement(ctx context.Context, companyID, statementID string) (commerce.MailStatement, error) {
	if !uuidtext.Is(statementID) {
		return commerce.MailStatement{}, commerce.ErrNotFound
	}
	m, err := postgres.One(ctx, s.db.Pool(), postgres.Scan(mailStatementColumns), `
		select `+postgres.List(mailStatementColumns)+` from statement s
			join influencer i on i.company_id = s.company_id and i.influencer_id = s.influencer_id
			left join influencer_personal p on p.company_id = s.company_id and p.influencer_id = s.influencer_id
			left join statement_link l on l.company_id = s.company_id and l.statement_id = s.statement_id
			join company c on c.company_id = s.company_id join store o on o.store_id = c.store_id
		where s.company_id = $1 and s.statement_id = $2 and s.closed_at is not null`, companyID, statementID)
	return m, postgres.Wrapf(postgres.Translate(err), "postgres: statement to mail")
}

// MailShop returns a connection, and when the destination was told of it last. commerce.ErrNotFound where it is not there any more.
func (s *Store) MailShop(ctx context.Context, companyID, destinationID, connectionID string, now time.Time) (shop commerce.MailShop,
	err error) {
	err = s.db.Pool().QueryRow(ctx, `
		select c.platform, coalesce(c.shop_name, ''), c.state = 'failing', (
			select max(o.done_at) from outgoing o where o.company_id = $1 and o.destination_id = $3 and o.key = 'connection:' || $2
				and o.state = 'delivered' and o.done_at > $4 and o.tries -> -1 ->> 'status' = '250')
		from connection c where c.company_id = $1 and c.connection_id = $2`, companyID, connectionID, destinationID,
		now.Add(-commerce.FailingEvery)).Scan(&shop.Platform, &shop.Name, &shop.Failing, postgres.ZeroIfNull(&shop.SentAt))
	return shop, postgres.Wrapf(postgres.Translate(err), "postgres: connection to mail")
}

// MailEndpoint returns the name of an endpoint that is disabled. commerce.ErrNotFound where it is active again, or is not there.
func (s *Store) MailEndpoint(ctx context.Context, companyID, endpointID string) (name string, err error) {
	err = s.db.Pool().QueryRow(ctx, `
		select name from destination where company_id = $1 and destination_id = $2 and kind <> 'mail' and state = 'disabled'`, companyID,
		endpointID).Scan(&name)
	return name, postgres.Wrapf(postgres.Translate(err), "postgres: endpoint to mail")
}

// MailPartners returns the names of influencers, by id: those that are there.
func (s *Store) MailPartners(ctx context.Context, companyID string, ids []string) (map[string]string, error) {
	names, err := postgres.Map[string, string](ctx, s.db.Pool(), `
		select influencer_id::text, name from influencer where company_id = $1 and influencer_id::text = any($2)`, companyID, ids)
	return names, postgres.Wrapf(postgres.Translate(err), "postgres: influencers to mail")
}
