package merchant

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
)

func endpointColumns(e *commerce.Endpoint) postgres.Columns {
	return postgres.Columns{
		postgres.Into("d.company_id", &e.CompanyID),
		postgres.Into("d.destination_id", &e.ID),
		postgres.Into("d.kind", &e.Kind),
		postgres.Into("d.name", &e.Name),
		postgres.Into("d.url", &e.URL),
		postgres.Into("d.types", &e.Types),
		postgres.Into("d.state = 'active'", &e.Active),
		postgres.Into("d.reason", &e.Reason),
		postgres.Into("d.since", &e.Since),
		postgres.Into("d.created_at", &e.CreatedAt),
		postgres.Into("d.failing_since", postgres.ZeroIfNull(&e.FailingSince)),
		postgres.Into("d.failures", &e.Failures),
		postgres.Into("d.delivered_at", postgres.ZeroIfNull(&e.DeliveredAt)),
		postgres.Into("jsonb_array_length(d.secrets)", &e.Secrets),
	}
}

// countsOf reads how many messages of an endpoint wait and are parked, and its version. It reads a bounded number of messages: what was
// done before @delivered, and is kept, is parked, but for leaks.
const countsOf = `
	select (select count(*) from (select 1 from outgoing o where o.company_id = @company_id and o.destination_id = @id
			and o.state = 'waiting' limit @most) w),
		(select count(*) from (select o.state from outgoing o where o.company_id = @company_id and o.destination_id = @id
			and o.state <> 'waiting' and o.done_at >= @delivered order by o.done_at desc limit @most) n where n.state = 'parked')
		+ (select count(*) from (select o.state from outgoing o where o.company_id = @company_id and o.destination_id = @id
			and o.state <> 'waiting' and o.done_at < @delivered order by o.done_at limit @most) p where p.state = 'parked'),
		(select count(*) from audit_log a where a.company_id = @company_id and a.subject = @id and ` + isChange + `)`

func (s *Store) countEndpoint(ctx context.Context, e *commerce.Endpoint) error {
	return s.db.Pool().QueryRow(ctx, countsOf, pgx.NamedArgs{"company_id": e.CompanyID, "id": e.ID, "most": commerce.MaxWaiting,
		"delivered": time.Now().Add(-commerce.DeliveredLife)}).
		Scan(&e.Waiting, &e.Parked, &e.Version)
}

// Endpoints returns a company's webhook endpoints, the oldest first.
func (s *Store) Endpoints(ctx context.Context, companyID string) ([]commerce.Endpoint, error) {
	return s.counted(ctx, companyID, []commerce.DestinationKind{commerce.ToWebhook})
}

// Networks returns a company's accounts at advertising networks, the oldest first.
func (s *Store) Networks(ctx context.Context, companyID string) ([]commerce.Network, error) {
	list, err := s.counted(ctx, companyID, commerce.Networks)
	networks := make([]commerce.Network, len(list))
	for i := range list {
		if err == nil {
			networks[i], err = commerce.NetworkOf(list[i])
		}
	}
	return networks, err
}

// counted returns a company's destinations of some kinds with what waits for them.
func (s *Store) counted(ctx context.Context, companyID string, kinds []commerce.DestinationKind) ([]commerce.Endpoint, error) {
	list, err := s.destinations(ctx, companyID, kinds)
	for i := range list {
		if err == nil {
			err = s.countEndpoint(ctx, &list[i])
		}
	}
	return list, postgres.Wrapf(postgres.Translate(err), "postgres: counts of endpoints of %s", companyID)
}

// EndpointStates is Endpoints and Networks together, as they are kept, without how many messages wait and are parked, and without
// versions: it reads no messages.
func (s *Store) EndpointStates(ctx context.Context, companyID string) ([]commerce.Endpoint, error) {
	return s.destinations(ctx, companyID, append([]commerce.DestinationKind{commerce.ToWebhook}, commerce.Networks...))
}

func (s *Store) destinations(ctx context.Context, companyID string, kinds []commerce.DestinationKind) ([]commerce.Endpoint, error) {
	list, err := postgres.Collect(ctx, s.db.Pool(), postgres.Scan(endpointColumns), `
		select `+postgres.List(endpointColumns)+` from destination d
		where d.company_id = $1 and d.kind = any($2) order by d.created_at, d.destination_id limit $3`, companyID, kinds,
		commerce.MaxEndpoints+commerce.MaxNetworks)
	return list, postgres.Wrapf(postgres.Translate(err), "postgres: endpoints of %s", companyID)
}

// Network returns an account at a network. commerce.ErrNotFound where the company has none of that id.
func (s *Store) Network(ctx context.Context, companyID, id string) (commerce.Network, error) {
	e, err := s.Endpoint(ctx, companyID, id)
	if err != nil || !strings.HasPrefix(id, commerce.NetworkPrefix) {
		return commerce.Network{}, cmp.Or(err, error(commerce.ErrNotFound))
	}
	return commerce.NetworkOf(e)
}

// Endpoint returns one, or an account at a network as it is kept. commerce.ErrNotFound where the company has none of that id.
func (s *Store) Endpoint(ctx context.Context, companyID, id string) (commerce.Endpoint, error) {
	e, err := postgres.One(ctx, s.db.Pool(), postgres.Scan(endpointColumns), `
		select `+postgres.List(endpointColumns)+` from destination d
		where d.company_id = $1 and d.destination_id = $2 and d.kind <> 'mail'`, companyID, id)
	if err == nil {
		err = s.countEndpoint(ctx, &e)
	}
	return e, postgres.Wrapf(postgres.Translate(err), "postgres: endpoint %.40s", id)
}

// AddNetwork stores a new account at a network with its secret. commerce.ErrTooManyNetworks where there is no room.
func (s *Store) AddNetwork(ctx context.Context, author commerce.Author, n commerce.Network, secret commerce.SealedSecret) error {
	return s.addDestination(ctx, author, n.Stored(), secret, commerce.Networks, commerce.MaxNetworks, commerce.ErrTooManyNetworks)
}

// AddEndpoint stores a new endpoint with its first secret. commerce.ErrTooManyEndpoints where there is no room.
func (s *Store) AddEndpoint(ctx context.Context, author commerce.Author, e commerce.Endpoint, secret commerce.SealedSecret) error {
	e.Kind = commerce.ToWebhook
	return s.addDestination(ctx, author, e, secret, []commerce.DestinationKind{commerce.ToWebhook}, commerce.MaxEndpoints,
		commerce.ErrTooManyEndpoints)
}

// addDestination adds one where a company has fewer than most of some kinds; else it is the error full.
func (s *Store) addDestination(ctx context.Context, author commerce.Author, e commerce.Endpoint, secret commerce.SealedSecret,
	kinds []commerce.DestinationKind, most int, full error) error {
	err := s.db.InTx(ctx, func(tx pgx.Tx) error {
		if err := lockForConnections(ctx, tx, author.CompanyID); err != nil {
			return err
		}
		var there int
		if err := tx.QueryRow(ctx, `select count(*) from destination where company_id = $1 and kind = any($2)`,
			author.CompanyID, kinds).Scan(&there); err != nil {
			return err
		}
		if there >= most {
			return full
		}
		if slices.Contains(commerce.Networks, e.Kind) {
			if err := mayAdd(ctx, tx, author.CompanyID, e); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, `
			insert into destination (company_id, destination_id, kind, state, since, name, url, types, secrets, created_at, next_at)
			values (@company_id, @id, @kind, 'active', now(), @name, @url, @types, @secrets::jsonb, now(), now())`,
			pgx.NamedArgs{"company_id": author.CompanyID, "id": e.ID, "kind": e.Kind, "name": e.Name, "url": e.URL, "types": e.Types,
				"secrets": postgres.JSONList([]commerce.SealedSecret{secret})}); err != nil {
			return err
		}
		return auditConnection(ctx, tx, author, auditedAs(e.ID)+".add", e.ID, endpointDetail(e))
	})
	return postgres.Wrapf(err, "postgres: add endpoint")
}

// mayAdd is commerce.ErrNetworkThere where a company has an account at a network twice: what is told to one is told to the other. It is
// commerce.ErrNetworkSandbox where a sandbox has one that counts.
func mayAdd(ctx context.Context, tx pgx.Tx, companyID string, e commerce.Endpoint) error {
	own, err := commerce.ParseNetworkAccount(e.URL)
	if err != nil {
		return err
	}
	var sandbox bool
	if err := tx.QueryRow(ctx, `select environment = 'sandbox' from company where company_id = $1`, companyID).Scan(&sandbox); err != nil {
		return err
	}
	if sandbox && own.Test == "" {
		return commerce.ErrNetworkSandbox
	}
	others, err := postgres.Collect(ctx, tx, pgx.RowTo[string],
		`select url from destination where company_id = $1 and kind = $2 and destination_id <> $3`, companyID, e.Kind, e.ID)
	for _, url := range others {
		if other, err := commerce.ParseNetworkAccount(url); err == nil && other.ID == own.ID && other.Action == own.Action {
			return commerce.ErrNetworkThere
		}
	}
	return err
}

// auditedAs begins the names of actions on a destination in the audit log.
func auditedAs(id string) string {
	if strings.HasPrefix(id, commerce.NetworkPrefix) {
		return "network"
	}
	return "webhook"
}

func endpointDetail(e commerce.Endpoint) map[string]any {
	if n, err := commerce.NetworkOf(e); err == nil && auditedAs(e.ID) == "network" {
		return map[string]any{"name": e.Name, "network": e.Kind, "account_id": n.Account.ID, "action_id": n.Account.Action,
			"login_id": n.Account.Login, "test_code": n.Account.Test, "all_orders": n.AllOrders, "enabled": e.Active}
	}
	return map[string]any{"name": e.Name, "url": e.URL, "types": e.Types, "enabled": e.Active}
}

// changeEndpoint runs a change of an endpoint that is there. commerce.ErrNotFound where it is not.
func (s *Store) changeEndpoint(ctx context.Context, author commerce.Author, id, action string, detail map[string]any,
	change func(tx pgx.Tx, now time.Time) error) error {
	err := s.db.InTx(ctx, func(tx pgx.Tx) error {
		if err := lockForConnections(ctx, tx, author.CompanyID); err != nil {
			return err
		}
		var now time.Time
		var name string
		if err := tx.QueryRow(ctx, `
			select clock_timestamp(), name from destination where company_id = $1 and destination_id = $2 and kind <> 'mail' for update`,
			author.CompanyID, id).Scan(&now, &name); err != nil {
			return err
		}
		if err := change(tx, now); err != nil {
			return err
		}
		told := map[string]any{"name": name}
		maps.Copy(told, detail)
		return auditConnection(ctx, tx, author, auditedAs(id)+"."+action, id, told)
	})
	return postgres.Wrapf(err, "postgres: endpoint %.40s", id)
}

// dueAtOnce is how many messages become due when an endpoint is enabled. Those that were never tried are due already.
const dueAtOnce = 20_000

// ChangeEndpoint lets change set name, URL, types, and whether the endpoint is active: nothing else of it is stored. Where change returns
// an error, that is returned and nothing is stored. One that becomes active again begins without failures, and what waited for it is due.
func (s *Store) ChangeEndpoint(ctx context.Context, author commerce.Author, id string, change func(e *commerce.Endpoint) error) error {
	detail := map[string]any{}
	return s.changeEndpoint(ctx, author, id, "change", detail, func(tx pgx.Tx, now time.Time) error {
		e, err := postgres.One(ctx, tx, postgres.Scan(endpointColumns), `
			select `+postgres.List(endpointColumns)+` from destination d where d.company_id = $1 and d.destination_id = $2`, author.CompanyID, id)
		was := e
		if err == nil {
			err = change(&e)
		}
		if err == nil && slices.Contains(commerce.Networks, e.Kind) {
			err = mayAdd(ctx, tx, author.CompanyID, e)
		}
		if err != nil {
			return err
		}
		maps.Copy(detail, endpointDetail(e))
		_, err = tx.Exec(ctx, `
			update destination set name = @name, url = @url, types = @types,
				since = case when (state = 'active') = @active then since else @now end,
				failing_since = case when state = 'active' or not @active then failing_since end,
				failures = case when state = 'active' or not @active then failures else 0 end,
				reason = case when @active then '' when state = 'active' then @by else reason end,
				next_at = case when state = 'active' then next_at else @now end,
				state = case when @active then 'active' else 'disabled' end
			where company_id = @company_id and destination_id = @id`,
			pgx.NamedArgs{"company_id": author.CompanyID, "id": id, "name": e.Name, "url": e.URL, "types": e.Types, "active": e.Active,
				"by": commerce.EndpointByMerchant, "now": now})
		if err == nil && e.Active && (!was.Active || e.URL != was.URL) {
			err = dueNow(ctx, tx, author.CompanyID, id, now)
		}
		return err
	})
}

// dueNow has what waits for an endpoint, which begins without failures, sent now. Who sends holds the endpoint while it changes messages,
// so nobody waits for this one in turn.
func dueNow(ctx context.Context, tx pgx.Tx, companyID, id string, now time.Time) error {
	_, err := tx.Exec(ctx, `
		update outgoing set due_at = $3 where company_id = $1 and destination_id = $2 and state = 'waiting' and number = any(array(
			select number from outgoing where company_id = $1 and destination_id = $2 and state = 'waiting' and due_at > $3
			order by due_at, number limit $4))`, companyID, id, now, dueAtOnce)
	if err == nil {
		_, err = tx.Exec(ctx, `
			update destination set failing_since = null, failures = 0, next_at = least(next_at, $3)
			where company_id = $1 and destination_id = $2 and state = 'active'`, companyID, id, now)
	}
	return err
}

// ChangeNetwork is ChangeEndpoint of an account at a network: change sets name, account, which orders, and whether it is active.
func (s *Store) ChangeNetwork(ctx context.Context, author commerce.Author, id string, change func(n *commerce.Network) error) error {
	return s.ChangeEndpoint(ctx, author, id, func(e *commerce.Endpoint) error {
		n, err := commerce.NetworkOf(*e)
		if err == nil {
			err = change(&n)
		}
		if err == nil {
			*e = n.Stored()
		}
		return err
	})
}

// RotateSecret adds a secret in front of an endpoint's others: each of those signs beside it until commerce.SecretOverlap after its own
// rotation, the newest commerce.MaxFormer of them.
func (s *Store) RotateSecret(ctx context.Context, author commerce.Author, id string, secret commerce.SealedSecret) error {
	return s.changeEndpoint(ctx, author, id, "secret", nil, func(tx pgx.Tx, now time.Time) error {
		var former []commerce.SealedSecret
		if err := tx.QueryRow(ctx, `select secrets from destination where company_id = $1 and destination_id = $2`, author.CompanyID,
			id).Scan(&former); err != nil {
			return err
		}
		list := []commerce.SealedSecret{secret}
		if strings.HasPrefix(id, commerce.NetworkPrefix) { // it signs nothing
			former = nil
		}
		for _, one := range former {
			if one.EndsAt.IsZero() {
				one.EndsAt = now.Add(commerce.SecretOverlap)
			}
			if one.EndsAt.After(now) && len(list) <= commerce.MaxFormer {
				list = append(list, one)
			}
		}
		_, err := tx.Exec(ctx, `update destination set secrets = $3::jsonb where company_id = $1 and destination_id = $2`, author.CompanyID, id,
			postgres.JSONList(list))
		if err == nil && former == nil {
			err = dueNow(ctx, tx, author.CompanyID, id, now)
		}
		return err
	})
}

// RemoveEndpoint removes an endpoint with its messages. It is disabled first, and removed once its messages are: where that fails, it is
// there still, disabled, and can be removed again. Each step commits by itself, also where ctx carries a postgres.Transactor.
func (s *Store) RemoveEndpoint(ctx context.Context, author commerce.Author, id string) error {
	ctx = postgres.WithoutTransactor(ctx)
	if err := s.changeEndpoint(ctx, author, id, "remove", nil, func(tx pgx.Tx, now time.Time) error {
		_, err := tx.Exec(ctx, `
			update destination set state = 'disabled', reason = $3, since = $4
			where company_id = $1 and destination_id = $2 and state = 'active'`, author.CompanyID, id, commerce.EndpointByMerchant, now)
		return err
	}); err != nil {
		return err
	}
	err := removeMessages(ctx, s.db.Pool(), author.CompanyID, id, allMessages, pgx.NamedArgs{})
	if err == nil {
		err = s.db.InTx(ctx, func(tx pgx.Tx) error {
			if _, err := replayTo(ctx, tx, author.CompanyID, id); err != nil { // nobody writes messages for it any more
				return err
			}
			if _, err := tx.Exec(ctx, `delete from outgoing where company_id = $1 and destination_id = $2`, author.CompanyID, id); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, `delete from destination where company_id = $1 and destination_id = $2`, author.CompanyID, id)
			return err
		})
	}
	return postgres.Wrapf(postgres.Translate(err), "postgres: endpoint %.40s", id)
}

func messageColumns(m *commerce.Message) postgres.Columns {
	return postgres.Columns{
		postgres.Into("o.number", &m.Number),
		postgres.Into("o.key", &m.Key),
		postgres.Into("o.type", &m.Type),
		postgres.Into("o.at", &m.At),
		postgres.Into("o.message_id", &m.ID),
		postgres.Into("o.data", (*[]byte)(&m.Data)),
		postgres.Into("o.state", &m.State),
		postgres.Into("o.due_at", &m.DueAt),
		postgres.Into("o.attempts", &m.Attempts),
		postgres.Into("o.tries", &m.Tries),
		postgres.Into("o.done_at", postgres.ZeroIfNull(&m.DoneAt)),
	}
}

// listedColumns are messageColumns and whether the message waits for an earlier one.
func listedColumns(m *commerce.Message) postgres.Columns {
	return append(messageColumns(m), postgres.Into(`o.state = 'waiting' and exists (
		select 1 from outgoing b where b.company_id = @company_id and b.destination_id = @id and b.state = 'waiting' and b.key = o.key
			and b.number < o.number)`, &m.Behind))
}

// Messages returns an endpoint's messages with what became of them, the newest first, below a number; at most limit. before 0: from the
// newest on; state empty: all.
func (s *Store) Messages(ctx context.Context, companyID, id, state string, before int64, limit int) ([]commerce.Message, error) {
	list, err := postgres.Collect(ctx, s.db.Pool(), postgres.Scan(listedColumns), `
		select `+postgres.List(listedColumns)+` from outgoing o
		where o.company_id = @company_id and o.destination_id = @id and (@before::bigint = 0 or o.number < @before)
			and (@state = '' or o.state = @state) order by o.number desc limit @most`,
		pgx.NamedArgs{"company_id": companyID, "id": id, "before": before, "state": state, "most": limit})
	return list, postgres.Wrapf(postgres.Translate(err), "postgres: messages of endpoint %.40s", id)
}

// ResendMessage lets a message be sent again, now. commerce.ErrNotFound where the endpoint has none of that number,
// commerce.ErrEndpointDisabled where nothing is sent to it.
func (s *Store) ResendMessage(ctx context.Context, author commerce.Author, id string, number int64) error {
	return s.changeEndpoint(ctx, author, id, "resend", map[string]any{"sequence": number}, func(tx pgx.Tx, now time.Time) error {
		var active bool
		err := tx.QueryRow(ctx, `
			update outgoing o set state = 'waiting', due_at = $4, attempts = 0, done_at = null from destination d
			where o.company_id = $1 and o.destination_id = $2 and o.number = $3 and d.company_id = $1 and d.destination_id = $2
			returning d.state = 'active'`, author.CompanyID, id, number, now).Scan(&active)
		if err != nil {
			return err
		}
		if !active {
			return commerce.ErrEndpointDisabled
		}
		return wakeEndpoint(ctx, tx, author.CompanyID, id, now)
	})
}

// TestEndpoint sends a commerce.EndpointTest to an endpoint, also to one that asks for no such event, and returns its number. It waits
// for no other message. commerce.ErrEndpointDisabled where nothing is sent to it, commerce.ErrNetworkTestCode where it would count.
func (s *Store) TestEndpoint(ctx context.Context, author commerce.Author, id string) (number int64, err error) {
	err = s.db.InTx(ctx, func(tx pgx.Tx) error {
		if err := lockForConnections(ctx, tx, author.CompanyID); err != nil {
			return err
		}
		to, err := replayTo(ctx, tx, author.CompanyID, id) // in the order in which others lock: the company, the numbers, the endpoint
		if err != nil {
			return err
		}
		var e commerce.Endpoint
		if err := tx.QueryRow(ctx, `select state = 'active', kind, name, url from destination where company_id = $1 and destination_id = $2`,
			author.CompanyID, id).Scan(&e.Active, &e.Kind, &e.Name, &e.URL); err != nil {
			return err
		}
		if !e.Active {
			return commerce.ErrEndpointDisabled
		}
		if n, err := commerce.NetworkOf(e); n.Account.TestCounts(e.Kind) {
			return cmp.Or(err, commerce.ErrNetworkTestCode)
		}
		now := time.Now().UTC().Truncate(time.Microsecond)
		event := commerce.Event{Type: testOf(id), Key: fmt.Sprintf("test:%d", now.UnixMicro()), At: now,
			Data: commerce.TestTold{EndpointID: id}}
		to.Types = []string{string(event.Type)}
		if err := postgres.TellTo(ctx, tx, author.CompanyID, to, []commerce.Event{event}); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, `
			select number from outgoing where company_id = $1 and destination_id = $2 and key = $3 and state = 'waiting'`, author.CompanyID, id,
			event.Key).Scan(&number); err != nil {
			return err
		}
		if err := wakeEndpoint(ctx, tx, author.CompanyID, id, now); err != nil { // also one that fails
			return err
		}
		return auditConnection(ctx, tx, author, auditedAs(id)+".test", id, map[string]any{"name": e.Name})
	})
	return number, postgres.Wrapf(err, "postgres: endpoint %.40s", id)
}

// testOf is the event that tests a destination.
func testOf(id string) commerce.EventType {
	if strings.HasPrefix(id, commerce.NetworkPrefix) {
		return commerce.ConversionTest
	}
	return commerce.EndpointTest
}

func wakeEndpoint(ctx context.Context, tx pgx.Tx, companyID, id string, now time.Time) error {
	_, err := tx.Exec(ctx, `update destination set next_at = least(next_at, $3) where company_id = $1 and destination_id = $2`,
		companyID, id, now)
	return err
}
