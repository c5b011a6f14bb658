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

func leasedDestinationColumns(e *commerce.LeasedDestination) postgres.Columns {
	return postgres.Columns{
		postgres.Into("d.company_id", &e.CompanyID),
		postgres.Into("d.destination_id", &e.ID),
		postgres.Into("d.kind", &e.Kind),
		postgres.Into("d.url", &e.URL),
		postgres.Into("d.language", &e.Language),
		postgres.Into("d.types", &e.Types),
		postgres.Into("d.since", &e.Since),
		postgres.Into("d.secrets", &e.Secrets),
		postgres.Into("d.failing_since", postgres.ZeroIfNull(&e.FailingSince)),
		postgres.Into("d.failures", &e.Failures),
	}
}

// dueDestinations is the condition of those that a sender may take: not mails at which nobody looked for a day, until EnsureMail gave up
// what waits there.
const dueDestinations = `d.state = 'active' and d.kind = any(@kinds) and d.next_at <= now() and ` + postgres.Heeded + `
					and (d.leased_until is null or d.leased_until <= now())`

// LeaseDestinations takes active destinations of some kinds that are due, and that nobody holds, for the lease: at most limit. A company
// gets its second once each other one that has something to send got its first. Those of archived companies wait.
func (s *Store) LeaseDestinations(ctx context.Context, kinds []commerce.DestinationKind, l commerce.ConnectLease,
	limit int) ([]commerce.LeasedDestination, error) {
	var list []commerce.LeasedDestination
	err := s.db.InTx(ctx, func(tx pgx.Tx) (err error) {
		list, err = postgres.Collect(ctx, tx, postgres.Scan(leasedDestinationColumns), `
			with due as (
				select d.company_id, d.destination_id, d.next_at, row_number() over (
					partition by d.company_id order by d.next_at, d.destination_id) + (
					select count(*) from destination h where h.company_id = d.company_id and h.kind = any(@kinds) and h.leased_until > now()) as nth
				from destination d join company c using (company_id)
				where `+dueDestinations+` and c.archived_at is null
			), taken as (
				select d.company_id, d.destination_id from destination d join due n using (company_id, destination_id)
				where `+dueDestinations+`
				order by n.nth, n.next_at, n.destination_id limit @limit for update of d skip locked)
			update destination d set holder = @holder, leased_until = now() + @for::interval
			from taken where d.company_id = taken.company_id and d.destination_id = taken.destination_id
			returning `+postgres.List(leasedDestinationColumns), pgx.NamedArgs{"kinds": kinds, "limit": limit, "holder": l.Holder, "for": l.For})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("postgres: lease destinations: %w", err)
	}
	return list, nil
}

// asSender runs write in a transaction in which nobody else can take the destination. commerce.ErrLeaseLost, and nothing is written, where
// the lease is not held any more.
func (s *Store) asSender(ctx context.Context, l commerce.ConnectLease, e commerce.LeasedDestination, write func(tx pgx.Tx) error) error {
	return s.asSenderTelling(ctx, l, e, false, write)
}

// asSenderTelling is asSender. Where write tells something, the company's numbers are taken before the destination, as all take them.
func (s *Store) asSenderTelling(ctx context.Context, l commerce.ConnectLease, e commerce.LeasedDestination, tells bool,
	write func(tx pgx.Tx) error) error {
	err := s.db.InTx(ctx, func(tx pgx.Tx) error {
		if tells {
			if _, err := postgres.NextOutgoing(ctx, tx, e.CompanyID, 0); err != nil {
				return err
			}
		}
		err := postgres.Hit(ctx, tx, `
			select 1 from destination where company_id = $1 and destination_id = $2 and holder = $3 and holder <> ''
				and leased_until > now() for update`, e.CompanyID, e.ID, l.Holder)
		if errors.Is(err, pgx.ErrNoRows) {
			return commerce.ErrLeaseLost
		}
		if err != nil {
			return err
		}
		return write(tx)
	})
	return postgres.Wrapf(err, "postgres: destination %.40s", e.ID)
}

// DueMessages renews the lease and returns the messages that may be sent now: of each key the first that waits, where it is due; the
// longest due first, at most limit. active is false where the endpoint was disabled, removed or given another URL meanwhile.
func (s *Store) DueMessages(ctx context.Context, l commerce.ConnectLease, e commerce.LeasedDestination, now time.Time, limit int,
) (list []commerce.Message, active bool, err error) {
	err = s.asSender(ctx, l, e, func(tx pgx.Tx) (err error) {
		if err := tx.QueryRow(ctx, `
			update destination set leased_until = now() + $3::interval where company_id = $1 and destination_id = $2
			returning state = 'active' and url = $4`, e.CompanyID, e.ID, l.For, e.URL).Scan(&active); err != nil || !active {
			return err
		}
		list, err = postgres.Collect(ctx, tx, postgres.Scan(messageColumns), `
			select `+postgres.List(messageColumns)+` from outgoing o
			where o.company_id = @company_id and o.destination_id = @id and o.state = 'waiting' and o.due_at <= @now and o.number = (
				select b.number from outgoing b where b.company_id = @company_id and b.destination_id = @id and b.state = 'waiting'
					and b.key = o.key order by b.number limit 1)
			order by o.due_at, o.number limit @most`,
			pgx.NamedArgs{"company_id": e.CompanyID, "id": e.ID, "now": now, "most": limit})
		return err
	})
	return list, active, err
}

func triesOf(s *commerce.Sent) []commerce.Try {
	if s.Untried {
		return []commerce.Try{}
	}
	return []commerce.Try{s.Try}
}

var attemptRows = postgres.Rows[commerce.Sent]{
	postgres.Col("number", "bigint", func(s *commerce.Sent) int64 { return s.Number }),
	postgres.Col("state", "text", func(s *commerce.Sent) string { return s.State }),
	postgres.Col("due_at", "timestamptz", func(s *commerce.Sent) *time.Time { return postgres.NullIfZero(s.DueAt) }),
	postgres.Col("try", "text", func(s *commerce.Sent) string { return postgres.JSONList(triesOf(s)) }),
	postgres.Col("at", "timestamptz", func(s *commerce.Sent) time.Time { return s.Try.At }),
}

var storeSentMessages = `
	update outgoing o set state = n.state, due_at = coalesce(n.due_at, o.due_at), attempts = o.attempts + jsonb_array_length(n.try::jsonb),
		tries = case when n.try <> '[]' and jsonb_array_length(o.tries) >= @tries then o.tries - 0 else o.tries end || n.try::jsonb,
		done_at = case when n.state <> 'waiting' then n.at end
	from ` + attemptRows.Unnest("n") + `
	where o.company_id = @company_id and o.destination_id = @id and o.number = n.number and o.state = 'waiting'`

// StoreSent stores what became of attempts, and how the destination is: not where it was given another URL, or was disabled or enabled,
// since it was leased. It is disabled after that, in a transaction of its own: that one waits for who writes events of the company, and
// what became of the attempts is not lost with it.
func (s *Store) StoreSent(ctx context.Context, l commerce.ConnectLease, e commerce.LeasedDestination, sent []commerce.Sent,
	health commerce.DestinationHealth) error {
	active := health
	active.Disable = ""
	if err := s.storeSent(ctx, l, e, sent, active); err != nil || health.Disable == "" {
		return err
	}
	return s.storeSent(ctx, l, e, nil, health)
}

func (s *Store) storeSent(ctx context.Context, l commerce.ConnectLease, e commerce.LeasedDestination, sent []commerce.Sent,
	health commerce.DestinationHealth) error {
	return s.asSenderTelling(ctx, l, e, health.Disable != "", func(tx pgx.Tx) error {
		if err := attemptRows.Exec(ctx, tx, "store attempts", storeSentMessages, sent, pgx.NamedArgs{"company_id": e.CompanyID,
			"id": e.ID, "tries": commerce.MaxTries}); err != nil {
			return err
		}
		stored, err := tx.Exec(ctx, `
			update destination set failing_since = @failing, failures = @failures, delivered_at = coalesce(@delivered, delivered_at),
				state = case when @disable = '' then state else 'disabled' end,
				reason = case when @disable = '' then reason else @disable end,
				since = case when @disable = '' then since else @now::timestamptz end
			where company_id = @company_id and destination_id = @id and url = @url and since = @since`,
			pgx.NamedArgs{"company_id": e.CompanyID, "id": e.ID, "url": e.URL, "since": e.Since, "failing": postgres.NullIfZero(health.FailingSince),
				"now": time.Now(), "failures": health.Failures, "delivered": postgres.NullIfZero(health.DeliveredAt), "disable": health.Disable})
		if err != nil || health.Disable == "" || stored.RowsAffected() == 0 {
			return err
		}
		return postgres.TellDisabled(ctx, tx, e.CompanyID, e.ID, health.Disable)
	})
}

// ReleaseDestination gives a destination back, to be looked at at next, or when its next message is due, if that is sooner, but not before
// least.
func (s *Store) ReleaseDestination(ctx context.Context, l commerce.ConnectLease, e commerce.LeasedDestination,
	least, next time.Time) error {
	return s.asSender(ctx, l, e, func(tx pgx.Tx) error {
		var due time.Time
		if err := tx.QueryRow(ctx, `select min(due_at) from outgoing where company_id = $1 and destination_id = $2 and state = 'waiting'`,
			e.CompanyID, e.ID).Scan(postgres.ZeroIfNull(&due)); err != nil {
			return err
		}
		if !due.IsZero() && due.Before(next) {
			next = due
		}
		if next.Before(least) {
			next = least
		}
		_, err := tx.Exec(ctx, `update destination set holder = '', leased_until = null, next_at = $3
			where company_id = $1 and destination_id = $2`, e.CompanyID, e.ID, next)
		return err
	})
}
