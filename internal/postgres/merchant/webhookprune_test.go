package merchant_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
)

// leftKeys are the keys of an endpoint's messages.
func (s *shop) leftKeys(id string) []string {
	s.t.Helper()
	conn, err := pgx.Connect(s.t.Context(), s.dsn)
	s.must(err)
	defer conn.Close(context.Background())
	keys, err := postgres.Collect(s.t.Context(), conn, pgx.RowTo[string],
		`select key from outgoing where destination_id = $1 order by key`, id)
	s.must(err)
	return keys
}

// What is kept depends on nobody who sends: endpoints are disabled, and one was removed by a program of before.
func TestOldMessagesAreRemovedOfAllEndpoints(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.endpoint("whe_1")
	s.endpoint("whe_2")
	s.enable("whe_2", false)
	s.exec(`insert into outgoing (company_id, destination_id, number, key, type, at, message_id, data, state, due_at, done_at)
		select $1, d, n, key, type, now(), '', '{}', state, now(), now() - days * interval '1 day' from (values
			(1, 'waits', 'payout.changed', 'waiting', null), (2, 'delivered 6', 'payout.changed', 'delivered', 6),
			(3, 'delivered 8', 'payout.changed', 'delivered', 8), (4, 'parked 29', 'payout.changed', 'parked', 29),
			(5, 'parked 31', 'payout.changed', 'parked', 31), (6, 'leak 29', 'coupon.leaking', 'delivered', 29),
			(7, 'leak 31', 'coupon.leaking', 'delivered', 31)) v (n, key, type, state, days), unnest('{whe_1,whe_2,whe_gone}'::text[]) d`,
		s.author.CompanyID)
	s.exec(`insert into outgoing (company_id, destination_id, number, key, type, at, message_id, data, state, due_at, done_at)
		select $1, 'whe_2', n, 'many', 'payout.changed', now(), '', '{}', 'delivered', now(), now() - interval '8 days'
		from generate_series(10, 11000) n`, s.author.CompanyID)
	s.must(s.db.PruneMessages(t.Context(), time.Now()))
	for _, id := range []string{"whe_1", "whe_2"} {
		s.wantList(id, s.leftKeys(id), "delivered 6", "leak 29", "parked 29", "waits")
	}
	s.wantList("of one that is not there", s.leftKeys("whe_gone"))
}

// A busy endpoint's messages are many before they are old.
func TestTheNewestMessagesOfAnEndpointAreKept(t *testing.T) {
	t.Parallel()
	const most = 6000
	s := newShop(t)
	s.endpoint("whe_1")
	s.endpoint("whe_2")
	s.exec(`insert into outgoing (company_id, destination_id, number, key, type, at, message_id, data, state, due_at, done_at)
		select $1, 'whe_1', n, case n when 2 then 'waits' when 3 then 'leak' else 'beyond' end,
			case n when 3 then 'coupon.leaking' else 'payout.changed' end, now(), '', '{}',
			case n when 2 then 'waiting' else 'delivered' end, now(), case n when 2 then null else now() end
		from generate_series(1, 5) n`, s.author.CompanyID)
	s.exec(`insert into outgoing (company_id, destination_id, number, key, type, at, message_id, data, state, due_at, done_at)
		select $1, 'whe_2', 1000000, 'new', 'payout.changed', now(), '', '{}', 'delivered', now(), now()`, s.author.CompanyID)
	s.exec(`insert into outgoing (company_id, destination_id, number, key, type, at, message_id, data, state, due_at, done_at)
		select $1, 'whe_1', n * 1000, 'kept', 'payout.changed', now(), '', '{}', 'delivered', now(), now() from generate_series(1, $2::int) n`,
		s.author.CompanyID, most)
	s.must(merchant.PruneCompany(s.db, t.Context(), s.author.CompanyID, time.Now(), most))
	keys := s.leftKeys("whe_1")
	if n := len(keys); n != most+2 || keys[n-1] != "waits" || keys[n-2] != "leak" || keys[0] != "kept" {
		t.Errorf("%d messages are left", n)
	}
	s.wantList("another endpoint", s.leftKeys("whe_2"), "new")
}
