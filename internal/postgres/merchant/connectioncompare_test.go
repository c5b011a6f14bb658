package merchant_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/wire"
)

// What an order of ours earns is in its digest: a shop that is connected again takes nothing back.
func TestDigestsTellWhichOrdersEarnNothing(t *testing.T) {
	t.Parallel()
	s, now := newShop(t), time.Now().UTC()
	for id, noCommission := range map[string]wire.Optional[bool]{"earns": {}, "said": wire.Some(false), "paid": wire.Some(true)} {
		body, err := facts.PackOrder(&wire.Order{OrderID: id, CreatedAt: now, Currency: "BRL", TotalMinor: 1050, NoCommission: noCommission})
		s.must(err)
		s.exec(`insert into orders (company_id, order_id, created_at, processed_at, version_at, total_minor, day, status, currency, body)
			values ($1, $2, $3, $3, $3, 1050, '2026-01-01', 0, 'BRL', $4)`, s.author.CompanyID, id, now, body)
	}
	got, err := s.db.OrderDigests(t.Context(), s.author.CompanyID, []string{"earns", "said", "paid", "none"})
	if s.must(err); len(got) != 3 {
		t.Fatalf("%+v", got)
	}
	for id, d := range got {
		if d.NoCommission != (id == "paid") || d.Total != "10.50" || d.OrderID != id {
			t.Errorf("%s: %+v", id, d)
		}
	}
}

// A shop whose connection fails is connected anew, and takes the place of it: its app was installed again. One that runs stays.
func TestAFailingConnectionMakesRoomForTheSameShop(t *testing.T) {
	t.Parallel()
	s, ctx := newShop(t), t.Context()
	company := s.author.CompanyID
	first, other := s.connected("1"), s.connected("2")
	become := func(id, state string) {
		s.exec(`update connection set state = $3 where company_id = $1 and connection_id = $2`, company, id, state)
	}
	become(first, "failing")
	become(other, "failing")
	second := s.draft(s.author, "1")
	become(first, "live") // it came back before the other one was started
	s.want(s.start(s.author, second), commerce.ErrShopConnected)
	become(first, "failing")
	s.must(s.start(s.author, second))
	for id, want := range map[string]commerce.ConnectionState{first: commerce.ConnectionEnded, other: commerce.ConnectionFailing,
		second: commerce.ConnectionConnecting} {
		if c, err := s.db.Connection(ctx, company, id); err != nil || c.State != want {
			t.Errorf("%s is %s, want %s: %v", id, c.State, want, err)
		}
	}
	var keys int
	conn, err := pgx.Connect(ctx, s.dsn)
	s.must(err)
	defer conn.Close(ctx)
	s.must(conn.QueryRow(ctx, `select count(*) from api_key k join connection c on c.company_id = k.company_id and c.api_key_id = k.key_id
		where c.connection_id = $1 and k.revoked_at is null`, first).Scan(&keys))
	if keys != 0 {
		t.Error("the API key of the connection that ended is still there")
	}
}
