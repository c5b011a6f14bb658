package merchant

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
)

// noticeOfOrder is the kind of notices that name an order (platform.NoticeOrder).
const noticeOfOrder = "order"

var noticeRows = postgres.Rows[commerce.ShopNotice]{
	postgres.Col("kind", "text", func(n *commerce.ShopNotice) string { return n.Kind }),
	postgres.Col("key", "text", func(n *commerce.ShopNotice) string { return n.Key }),
	postgres.Col("sealed", "bytea", func(n *commerce.ShopNotice) []byte { return n.Sealed }),
	postgres.Col("key_id", "text", func(n *commerce.ShopNotice) string { return n.KeyID }),
	postgres.Col("at", "timestamptz", func(n *commerce.ShopNotice) time.Time { return n.At }),
	postgres.Col("due_at", "timestamptz", func(n *commerce.ShopNotice) time.Time { return n.Due }),
}

func noticeColumns(n *commerce.ShopNotice) postgres.Columns {
	return postgres.Columns{
		postgres.Into("kind", &n.Kind),
		postgres.Into("key", &n.Key),
		postgres.Into("sealed", &n.Sealed),
		postgres.Into("key_id", &n.KeyID),
		postgres.Into("at", &n.At),
		postgres.Into("due_at", &n.Due),
		postgres.Into("attempts", &n.Attempts),
		postgres.Into("came", &n.Came),
	}
}

// AddNotices stores what a platform sent, and has the connection looked at. What is there already is counted, and is due at the
// earlier time. Notices of orders are dropped where the connection reads nothing (it is paused, or ended), and beyond
// commerce.MaxNotices, where all changes are read instead. commerce.ErrTooManyNotices, and nothing is stored, beyond
// commerce.MaxUrgentNotices of other kinds.
func (s *Store) AddNotices(ctx context.Context, companyID, id string, notices []commerce.ShopNotice) error {
	err := s.db.InTx(ctx, func(tx pgx.Tx) error {
		var state commerce.ConnectionState
		if err := tx.QueryRow(ctx, `select state from connection where company_id = $1 and connection_id = $2`, companyID,
			id).Scan(&state); err != nil {
			return err
		}
		// The turn is locked first, as its holder does: whoever locks it behind notices could wait for the other.
		if _, err := tx.Exec(ctx, `select 1 from connection_turn where company_id = $1 and connection_id = $2 for update`, companyID,
			id); err != nil {
			return err
		}
		given := eachOnce(notices, slices.Contains(works, state))
		if len(given) == 0 {
			return nil
		}
		fresh, err := countNotices(ctx, tx, companyID, id, given)
		if err != nil {
			return err
		}
		room, err := postgres.One(ctx, tx, pgx.RowToStructByPos[noticeRoom], `
			select count(*) filter (where kind = $3), count(*) filter (where kind <> $3) from (
				select kind from connection_notice where company_id = $1 and connection_id = $2 limit $4) n`,
			companyID, id, noticeOfOrder, commerce.MaxNotices+commerce.MaxUrgentNotices)
		if err != nil {
			return err
		}
		pollNow := false
		fresh = slices.DeleteFunc(fresh, func(n commerce.ShopNotice) bool {
			if n.Kind != noticeOfOrder {
				room.Urgent++
				return false
			}
			room.Orders++
			if room.Orders > commerce.MaxNotices {
				pollNow = true
				return true
			}
			return false
		})
		if room.Urgent > commerce.MaxUrgentNotices {
			return commerce.ErrTooManyNotices
		}
		if len(fresh) > 0 {
			if _, err := tx.Exec(ctx, `
				insert into connection_notice (company_id, connection_id, kind, key, sealed, key_id, at, due_at)
				select @company_id, @id, n.kind, n.key, n.sealed, n.key_id, n.at, n.due_at from `+noticeRows.Unnest("n")+`
				on conflict (company_id, connection_id, kind, key) do update set
					came = connection_notice.came + 1, due_at = least(connection_notice.due_at, excluded.due_at)`,
				noticeRows.Args(fresh, pgx.NamedArgs{"company_id": companyID, "id": id})); err != nil {
				return err
			}
		}
		return noticed(ctx, tx, companyID, id, pollNow)
	})
	return postgres.Wrapf(err, "postgres: notices of connection %.26s", id)
}

type noticeRoom struct{ Orders, Urgent int }

// eachOnce is notices in one order, each (kind, key) once; without those of orders where they are not wanted.
func eachOnce(notices []commerce.ShopNotice, orders bool) []commerce.ShopNotice {
	list := slices.DeleteFunc(slices.Clone(notices), func(n commerce.ShopNotice) bool { return n.Kind == noticeOfOrder && !orders })
	slices.SortStableFunc(list, func(a, b commerce.ShopNotice) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Key, b.Key))
	})
	return slices.CompactFunc(list, func(a, b commerce.ShopNotice) bool { return a.Kind == b.Kind && a.Key == b.Key })
}

// countNotices counts those that are there already, and returns the others.
func countNotices(ctx context.Context, tx pgx.Tx, companyID, id string, given []commerce.ShopNotice) ([]commerce.ShopNotice, error) {
	known, err := postgres.Collect(ctx, tx, pgx.RowTo[[2]string], `
		update connection_notice o set came = o.came + 1, due_at = least(o.due_at, n.due_at), sealed = n.sealed, key_id = n.key_id
		from `+noticeRows.Unnest("n")+`
		where o.company_id = @company_id and o.connection_id = @id and o.kind = n.kind and o.key = n.key
		returning array[o.kind, o.key]`, noticeRows.Args(given, pgx.NamedArgs{"company_id": companyID, "id": id}))
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(given, func(n commerce.ShopNotice) bool { return slices.Contains(known, [2]string{n.Kind, n.Key}) }), nil
}

// noticed says that a notice came. In a flood of them it writes nothing but now and then.
func noticed(ctx context.Context, tx pgx.Tx, companyID, id string, pollNow bool) error {
	if _, err := tx.Exec(ctx, `
		update connection set notice_at = now(), poll_now = poll_now or $3
		where company_id = $1 and connection_id = $2 and (notice_at is null or notice_at < $4 or $3 and not poll_now)`,
		companyID, id, pollNow, time.Now().Add(-noticeAtEvery)); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `
		update connection_turn set next_at = least(next_at, now()), woken = true
		where company_id = $1 and connection_id = $2 and (next_at > now() or not woken)`, companyID, id)
	return err
}

// noticeAtEvery is how exact commerce.Connection.NoticeAt is.
const noticeAtEvery = 10 * time.Second

// DueNotices returns notices that are due at now, other kinds before those of orders; at most limit.
func (s *Store) DueNotices(ctx context.Context, l commerce.ConnectLease, companyID, id string, now time.Time,
	limit int) (list []commerce.ShopNotice, err error) {
	err = s.asHolder(ctx, l, companyID, id, func(tx pgx.Tx) error {
		list, err = postgres.Collect(ctx, tx, postgres.Scan(noticeColumns), `
			select `+postgres.List(noticeColumns)+` from connection_notice
			where company_id = $1 and connection_id = $2 and due_at <= $3
			order by kind = $5, due_at, kind, key limit $4`, companyID, id, now, limit, noticeOfOrder)
		return err
	})
	return list, err
}

// DoneNotice forgets a notice or, with a retryAt, has it tried again then. One that came again since it was read stays, and is due.
func (s *Store) DoneNotice(ctx context.Context, l commerce.ConnectLease, companyID, id string, n commerce.ShopNotice,
	retryAt time.Time) error {
	return s.asHolder(ctx, l, companyID, id, func(tx pgx.Tx) error {
		if retryAt.IsZero() {
			_, err := tx.Exec(ctx, `
				delete from connection_notice where company_id = $1 and connection_id = $2 and kind = $3 and key = $4 and came = $5`,
				companyID, id, n.Kind, n.Key, n.Came)
			return err
		}
		_, err := tx.Exec(ctx, `
			update connection_notice set due_at = $6, attempts = attempts + 1
			where company_id = $1 and connection_id = $2 and kind = $3 and key = $4 and came = $5`,
			companyID, id, n.Kind, n.Key, n.Came, retryAt)
		return err
	})
}
