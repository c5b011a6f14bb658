package merchant

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
)

// OfferConnect stores what a connect service offers, and that it runs now. It removes connections whose time is over: drafts that
// were not started, and those that ended long ago, of which no more stays than which shop the last one was to, by id and name.
func (s *Store) OfferConnect(ctx context.Context, o commerce.ConnectOffer) error {
	err := s.db.InTx(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `
			insert into connect_offer (key_id, public_key, platforms, seen_at)
			values (@key_id, @public_key, @platforms, clock_timestamp())
			on conflict (only_row) do update set key_id = @key_id, public_key = @public_key, platforms = @platforms, seen_at = clock_timestamp()`,
			pgx.NamedArgs{"key_id": o.KeyID, "public_key": o.PublicKey, "platforms": postgres.JSONList(o.Platforms)})
		if err != nil {
			return err
		}
		if err := removeRequests(ctx, tx); err != nil {
			return err
		}
		return removeExpired(ctx, tx)
	})
	return postgres.Wrapf(err, "postgres: offer of connect")
}

// mostExpired bounds what is removed at once.
const mostExpired = 100

func removeExpired(ctx context.Context, tx pgx.Tx) error {
	expired, err := postgres.Collect(ctx, tx, pgx.RowTo[[2]string], `
		update connection_turn set expires_at = null where connection_id in (
			select connection_id from connection_turn where expires_at < now() order by expires_at limit $1 for update skip locked)
		returning array[company_id, connection_id]`, mostExpired)
	if err != nil {
		return err
	}
	byCompany := map[string][]string{}
	for _, e := range expired {
		byCompany[e[0]] = append(byCompany[e[0]], e[1])
	}
	for companyID, ids := range byCompany {
		if err := removeOfConnections(ctx, tx, companyID, ids); err != nil {
			return err
		}
		// The last connection of a shop that brought orders stays: the platform may still ask something in a person's name.
		gone, err := postgres.Collect(ctx, tx, pgx.RowTo[string], `
			delete from connection c where c.company_id = $1 and c.connection_id = any($2) and (c.state <> 'ended' or exists (
				select 1 from connection n where n.company_id = $1 and n.platform = c.platform and n.shop = c.shop
					and n.connection_id <> c.connection_id and n.state not in ('installing', 'draft')
					and (n.created_at, n.connection_id) > (c.created_at, c.connection_id)))
			returning c.connection_id`, companyID, ids)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `delete from connection_turn where company_id = $1 and connection_id = any($2)`, companyID, gone); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `
			update connection set shop_url = '', sealed = null, key_id = '', sealed_api_key = null, api_key_key_id = ''
			where company_id = $1 and connection_id = any($2)`, companyID, ids); err != nil {
			return err
		}
	}
	return nil
}

// removeConnections removes connections with all that hangs off them, but for their turns.
func removeConnections(ctx context.Context, tx pgx.Tx, companyID string, ids []string) error {
	if err := removeOfConnections(ctx, tx, companyID, ids); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `delete from connection where company_id = $1 and connection_id = any($2)`, companyID, ids)
	return err
}

// removeOfConnections removes what hangs off connections, but for their turns.
func removeOfConnections(ctx context.Context, tx pgx.Tx, companyID string, ids []string) error {
	_, err := tx.Exec(ctx, `
		with a as (delete from connection_notice where company_id = @company_id and connection_id = any(@ids)),
			b as (delete from connection_task where company_id = @company_id and connection_id = any(@ids)),
			c as (delete from connection_aside where company_id = @company_id and connection_id = any(@ids)),
			d as (delete from connection_day where company_id = @company_id and connection_id = any(@ids)),
			e as (delete from connection_coupon where company_id = @company_id and connection_id = any(@ids))
		delete from connection_request where company_id = @company_id and connection_id = any(@ids)`,
		pgx.NamedArgs{"company_id": companyID, "ids": ids})
	return err
}

// LeaseConnections takes connections that are due at now, and that nobody holds, for the lease: at most limit. A company gets its
// second once each other one that has something to do got its first. Those of archived companies wait.
func (s *Store) LeaseConnections(ctx context.Context, l commerce.ConnectLease, now time.Time, limit int) ([]commerce.LeasedConnection,
	error) {
	var list []commerce.LeasedConnection
	err := s.db.InTx(ctx, func(tx pgx.Tx) error {
		list = nil
		turns, err := postgres.Collect(ctx, tx, postgres.Scan(turnColumns), `
			with due as (
				select t.connection_id, t.next_at, row_number() over (partition by t.company_id order by t.next_at, t.connection_id) + (
					select count(*) from connection_turn h where h.company_id = t.company_id and h.leased_until > now()) as nth
				from connection_turn t join company c using (company_id)
				where t.next_at <= @now and (t.leased_until is null or t.leased_until <= now()) and c.archived_at is null
			), taken as (
				select t.connection_id from connection_turn t join due d using (connection_id)
				where t.next_at <= @now and (t.leased_until is null or t.leased_until <= now())
				order by d.nth, d.next_at, d.connection_id limit @limit for update of t skip locked
			)
			update connection_turn t set holder = @holder, leased_until = now() + @for::interval, woken = false
			from taken, company c where t.connection_id = taken.connection_id and c.company_id = t.company_id
			returning `+postgres.List(turnColumns),
			pgx.NamedArgs{"now": now, "limit": limit, "holder": l.Holder, "for": l.For})
		if err != nil {
			return err
		}
		for _, turn := range turns {
			c, err := leased(ctx, tx, turn, now)
			if err != nil {
				return err
			}
			list = append(list, c)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("postgres: lease connections: %w", err)
	}
	return list, nil
}

// turn is a row of the queue, and what is said of its company.
type turn struct{ companyID, id, timezone, currency string }

func turnColumns(t *turn) postgres.Columns {
	return postgres.Columns{
		postgres.Into("t.company_id", &t.companyID),
		postgres.Into("t.connection_id", &t.id),
		postgres.Into("c.timezone", &t.timezone),
		postgres.Into("c.currency", &t.currency),
	}
}

func leasedColumns(c *commerce.LeasedConnection) postgres.Columns {
	return append(connectionColumns(&c.Connection),
		postgres.Into("c.sealed", &c.Sealed),
		postgres.Into("c.key_id", &c.KeyID),
		postgres.Into("c.sealed_api_key", &c.SealedAPIKey),
		postgres.Into("c.api_key_key_id", &c.APIKeyKeyID),
		postgres.Into("c.poll_now", &c.PollNow),
		postgres.Into(`exists (select 1 from connection_task k
			where k.company_id = $1 and k.connection_id = c.connection_id and k.done_at is null)`, &c.Tasks),
		postgres.Into(`exists (select 1 from connection_notice n
			where n.company_id = $1 and n.connection_id = c.connection_id and n.due_at <= $3)`, &c.Notices))
}

func leased(ctx context.Context, q postgres.Querier, t turn, now time.Time) (commerce.LeasedConnection, error) {
	c, err := postgres.One(ctx, q, postgres.Scan(leasedColumns), `
		select `+postgres.List(leasedColumns)+` from connection c where c.company_id = $1 and c.connection_id = $2`, t.companyID, t.id, now)
	c.Timezone, c.StoreCurrency = t.timezone, t.currency
	return c, err
}

// ConnectionByID is for who knows a connection's id alone, and holds no lease. commerce.ErrNotFound where there is none.
func (s *Store) ConnectionByID(ctx context.Context, id string) (commerce.LeasedConnection, error) {
	t, err := postgres.One(ctx, s.db.Pool(), postgres.Scan(turnColumns), `
		select `+postgres.List(turnColumns)+` from connection_turn t join company c using (company_id) where t.connection_id = $1`, id)
	var c commerce.LeasedConnection
	if err == nil {
		c, err = leased(ctx, s.db.Pool(), t, time.Now())
	}
	return c, postgres.Wrapf(postgres.Translate(err), "postgres: connection %.26s", id)
}

// ConnectionsOfShop returns one connection of each company that connected a shop of a platform, with no more than its ids, shop,
// state and time of creation: the one that has not ended, else the newest. At most commerce.MaxConnectionsOfShop. A draft has
// brought no order, and is none of them.
func (s *Store) ConnectionsOfShop(ctx context.Context, platform, shop string) ([]commerce.Connection, error) {
	list, err := postgres.Collect(ctx, s.db.Pool(), postgres.Scan(shopConnectionColumns), `
		select distinct on (c.company_id) `+postgres.List(shopConnectionColumns)+` from connection c
		where c.platform = $1 and c.shop = $2 and c.shop <> '' and c.state not in ('installing', 'draft')
		order by c.company_id, c.state = 'ended', c.created_at desc, c.connection_id limit $3`,
		platform, shop, commerce.MaxConnectionsOfShop)
	return list, postgres.Wrapf(postgres.Translate(err), "postgres: connections of a shop")
}

func shopConnectionColumns(c *commerce.Connection) postgres.Columns {
	return postgres.Columns{
		postgres.Into("c.company_id", &c.CompanyID),
		postgres.Into("c.connection_id", &c.ID),
		postgres.Into("c.platform", &c.Platform),
		postgres.Into("c.shop", &c.Shop),
		postgres.Into("c.state", &c.State),
		postgres.Into("c.created_at", &c.CreatedAt),
	}
}

// CountConnections counts the connections of all companies that are not archived by their state.
func (s *Store) CountConnections(ctx context.Context) ([]commerce.ConnectionCount, error) {
	list, err := postgres.Collect(ctx, s.db.Pool(), postgres.Scan(countColumns), `
		select `+postgres.List(countColumns)+` from company k join connection c on c.company_id = k.company_id
		where k.archived_at is null group by c.state order by c.state`)
	return list, postgres.Wrapf(postgres.Translate(err), "postgres: count connections")
}

func countColumns(c *commerce.ConnectionCount) postgres.Columns {
	return postgres.Columns{
		postgres.Into("c.state", &c.State),
		postgres.Into("count(*)", &c.Connections),
		postgres.Into("min(c.polled_at)", postgres.ZeroIfNull(&c.OldestPoll)),
	}
}

// RenewLease lets a connection be held for the lease's time from now on.
func (s *Store) RenewLease(ctx context.Context, l commerce.ConnectLease, c commerce.LeasedConnection) error {
	return s.asHolder(ctx, l, c.CompanyID, c.ID, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `update connection_turn set leased_until = now() + $3::interval
			where company_id = $1 and connection_id = $2`, c.CompanyID, c.ID, l.For)
		return err
	})
}

// ReleaseConnection gives a connection back, to be looked at from next on; zero: when something comes. What came while it was held
// is looked at now.
func (s *Store) ReleaseConnection(ctx context.Context, l commerce.ConnectLease, c commerce.LeasedConnection, next time.Time) error {
	return s.asHolder(ctx, l, c.CompanyID, c.ID, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `
			update connection_turn set holder = '', leased_until = null, woken = false,
				next_at = case when woken then $4::timestamptz else coalesce($3::timestamptz, 'infinity') end
			where company_id = $1 and connection_id = $2`, c.CompanyID, c.ID, postgres.NullIfZero(next), time.Now())
		return err
	})
}

// asHolder runs write in a transaction in which nobody else can take the connection. commerce.ErrLeaseLost, and nothing is
// written, where the lease is not held any more.
func (s *Store) asHolder(ctx context.Context, l commerce.ConnectLease, companyID, id string, write func(tx pgx.Tx) error) error {
	err := s.db.InTx(ctx, func(tx pgx.Tx) error {
		if err := holds(ctx, tx, l, companyID, id); err != nil {
			return err
		}
		return write(tx)
	})
	return postgres.Wrapf(err, "postgres: connection %.26s", id)
}

// holds locks a connection's turn. commerce.ErrLeaseLost where the lease is not held any more.
func holds(ctx context.Context, tx pgx.Tx, l commerce.ConnectLease, companyID, id string) error {
	err := postgres.Hit(ctx, tx, `
		select 1 from connection_turn
		where company_id = $1 and connection_id = $2 and holder = $3 and holder <> '' and leased_until > clock_timestamp() for update`,
		companyID, id, l.Holder)
	if errors.Is(err, pgx.ErrNoRows) {
		return commerce.ErrLeaseLost
	}
	return err
}
