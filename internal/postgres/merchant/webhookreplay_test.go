package merchant_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/merchant"
)

// insertOrders inserts orders of an influencer that changed one a hundredth of a second, the last at $2.
const insertOrders = `
	insert into payout (company_id, order_id, day, status, currency, total_minor, base_minor, commission_minor, influencer_id, processed_at)
	select $1, 'o' || n, current_date, 1, 'BRL', 1, 1, 1, gen_random_uuid(), $2::timestamptz - n * interval '10 ms'
	from generate_series(0, $3::int - 1) n`

// enable makes an endpoint active or not.
func (s *shop) enable(id string, active bool) {
	s.t.Helper()
	s.must(s.db.ChangeEndpoint(s.t.Context(), s.author, id, func(e *commerce.Endpoint) error {
		e.Active = active
		return nil
	}))
}

// begin begins a transaction of somebody who writes events.
func (s *shop) begin() pgx.Tx {
	s.t.Helper()
	conn, err := pgx.Connect(s.t.Context(), s.dsn)
	s.must(err)
	s.t.Cleanup(func() { _ = conn.Close(context.Background()) })
	tx, err := conn.Begin(s.t.Context())
	s.must(err)
	_, err = tx.Exec(s.t.Context(), `set local lock_timeout = '5s'`)
	s.must(err)
	return tx
}

// tellIn writes an event of an order.
func (s *shop) tellIn(ctx context.Context, tx pgx.Tx, order string) error {
	return postgres.Tell(ctx, tx, s.author.CompanyID, func() ([]commerce.Event, error) {
		return []commerce.Event{{Type: commerce.PayoutChanged, Key: "order:" + order, At: time.Now().Truncate(time.Microsecond),
			Data: commerce.OrderTold{OrderID: order, Currency: "BRL"}}}, nil
	})
}

// What a transaction wrote before an endpoint was disabled, and told after it, has an earlier moment.
func TestAReplayReadsALittleBeforeItsFirstMoment(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.endpoint("whe_1")
	now := time.Now()
	const orders = 2*commerce.MaxReplay + 1000 // 110 a second, and so many in the time before
	s.exec(insertOrders, s.author.CompanyID, now.Add(-time.Second), orders)
	s.exec(`update destination set state = 'disabled' where company_id = $1`, s.author.CompanyID)
	from, most := now, 10
	for ; most > 0; most-- {
		if !from.Before(now.Add(commerce.ReplayBefore)) {
			t.Fatalf("the rest, from %v on, is refused", from)
		}
		r, err := s.db.ReplayEndpoint(t.Context(), s.author, "whe_1", from, now)
		if s.must(err); !r.More {
			break
		}
		from = r.Until
	}
	if most == 0 {
		t.Fatal("a replay that goes on comes to no end")
	}
	conn, err := pgx.Connect(t.Context(), s.dsn)
	s.must(err)
	defer conn.Close(context.Background())
	var told int
	if s.must(conn.QueryRow(t.Context(), `select count(distinct key) from outgoing`).Scan(&told)); told != orders {
		t.Errorf("%d of %d orders are told", told, orders)
	}
}

// A replay whose time ends says from where on another one goes on, and these come to the end.
func TestAReplayLeavesWhatItHasNoTimeFor(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.endpoint("whe_1")
	const orders = 1700
	now := time.Now()
	s.exec(insertOrders, s.author.CompanyID, now.Add(-time.Second), orders)
	from, to, calls := now.Add(-time.Minute), now, 0
	for r := (commerce.Replayed{More: true}); r.More; calls++ {
		if calls > 20 || !from.Before(to.Add(commerce.ReplayBefore)) {
			t.Fatalf("call %d is from %v to %v", calls, from, to)
		}
		limited, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		var err error
		r, err = merchant.ReplayReserving(s.db, limited, s.author, "whe_1", from, to, time.Minute)
		cancel()
		if s.must(err); r.Messages == 0 {
			t.Fatal("it wrote nothing")
		}
		from = r.Until
	}
	conn, err := pgx.Connect(t.Context(), s.dsn)
	s.must(err)
	defer conn.Close(context.Background())
	var told int
	if s.must(conn.QueryRow(t.Context(), `select count(distinct key) from outgoing`).Scan(&told)); told != orders || calls != 4 {
		t.Errorf("%d of %d orders are told by %d calls", told, orders, calls)
	}
}

// A transaction told something while the endpoint was disabled: the replay after that waits for it.
func TestAReplayWaitsForWhoToldNothing(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.endpoint("whe_1")
	s.enable("whe_1", false)
	tx := s.begin()
	_, err := tx.Exec(t.Context(), insertOrders, s.author.CompanyID, time.Now(), 1)
	s.must(err)
	s.must(s.tellIn(t.Context(), tx, "o0"))
	s.enable("whe_1", true)
	type done struct {
		commerce.Replayed
		err error
	}
	replayed := make(chan done, 1)
	go func() {
		r, err := s.db.ReplayEndpoint(t.Context(), s.author, "whe_1", time.Now().Add(-time.Minute), time.Now().Add(time.Minute))
		replayed <- done{r, err}
	}()
	select {
	case d := <-replayed:
		t.Fatalf("it did not wait: %+v", d)
	case <-time.After(300 * time.Millisecond):
	}
	// It holds nothing that the transaction may need.
	_, err = tx.Exec(t.Context(), `update destination set next_at = now() where company_id = $1`, s.author.CompanyID)
	s.must(err)
	s.must(tx.Commit(t.Context()))
	if d := <-replayed; d.err != nil || d.Messages != 2 {
		t.Errorf("%+v", d)
	}
}

// A transaction waits for another one that writes events while the endpoint becomes active: it writes for it.
func TestWhoWaitsForTheNumbersSeesAnEndpointThatBecameActive(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.endpoint("whe_1")
	s.enable("whe_1", false)
	first, second := s.begin(), s.begin()
	s.must(s.tellIn(t.Context(), first, "a"))
	told := make(chan error, 1)
	go func() { told <- s.tellIn(t.Context(), second, "b") }()
	time.Sleep(200 * time.Millisecond) // it has read the endpoint, and waits
	s.enable("whe_1", true)
	s.must(first.Commit(t.Context()))
	s.must(<-told)
	s.must(second.Commit(t.Context()))
	messages, err := s.db.Messages(t.Context(), s.author.CompanyID, "whe_1", "", 0, 10)
	if s.must(err); len(messages) != 1 || messages[0].Key != "order:b" {
		t.Errorf("%+v", messages)
	}
}

// An endpoint's messages are many: no transaction holds others up while all of them are removed.
func TestAnEndpointIsRemovedBitByBit(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.endpoint("whe_1")
	s.endpoint("whe_2")
	s.exec(`insert into outgoing (company_id, destination_id, number, key, type, at, message_id, data, due_at)
		select $1, d, n, 'order:' || n, 'payout.changed', now(), '', '{}', now() from generate_series(1, 12000) n,
		unnest('{whe_1,whe_2}'::text[]) d`, s.author.CompanyID)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.db.RemoveEndpoint(ended, s.author, "whe_1"); err == nil {
		t.Fatal("it is removed by nobody")
	}
	tx := s.begin() // somebody who writes events keeps the end of it waiting, and not the rest
	_, err := postgres.NextOutgoing(t.Context(), tx, s.author.CompanyID, 0)
	s.must(err)
	removed := make(chan error, 1)
	go func() { removed <- s.db.RemoveEndpoint(t.Context(), s.author, "whe_1") }()
	count := func(id string) (n int) {
		s.must(tx.QueryRow(t.Context(), `select count(*) from outgoing where destination_id = $1`, id).Scan(&n))
		return n
	}
	for end := time.Now().Add(15 * time.Second); count("whe_1") > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nothing is removed meanwhile")
		}
	}
	e, err := s.db.Endpoint(t.Context(), s.author.CompanyID, "whe_1")
	if s.must(err); e.Active {
		t.Error("it is active while it is removed")
	}
	if n := count("whe_2"); n != 12000 {
		t.Errorf("%d messages of another endpoint are left", n)
	}
	s.must(tx.Commit(t.Context()))
	s.must(<-removed)
	s.want(s.db.RemoveEndpoint(t.Context(), s.author, "whe_1"), commerce.ErrNotFound)
}

// An order that was an influencer's and is nobody's now is told too, though it never earned anything.
func TestAReplayTellsOrdersThatAreNobodysNow(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.endpoint("whe_1")
	s.exec(insertOrders, s.author.CompanyID, time.Now(), 3)
	s.exec(`update payout set influencer_id = null, state = 'none', commission_minor = 0, formerly = order_id = 'o1' or null`)
	r, err := s.db.ReplayEndpoint(t.Context(), s.author, "whe_1", time.Now().Add(-time.Hour), time.Now())
	s.must(err)
	messages, err := s.db.Messages(t.Context(), s.author.CompanyID, "whe_1", "", 0, 10)
	if s.must(err); r.Messages != 2 || len(messages) != 2 || messages[0].Key != "order:o1" ||
		!strings.Contains(string(messages[0].Data), `"state":"none"`) || strings.Contains(string(messages[0].Data), "influencer") {
		t.Errorf("%+v, %+v", r, messages)
	}
	// An account looks at that one, and at what it was told of when it was told of all.
	n := commerce.Network{Endpoint: commerce.Endpoint{ID: "net_1", Kind: commerce.ToGA4, Name: "GA4", Active: true},
		Account: commerce.NetworkAccount{ID: "G-ABC123"}}
	s.must(s.db.AddNetwork(t.Context(), s.author, n, commerce.SealedSecret{KeyID: "k", Sealed: []byte{1}}))
	s.exec(`insert into conversion (company_id, order_id, network, account, begun_at, currency, value_minor)
		values ($1, 'o2', 'ga4', 'G-ABC123', now(), 'BRL', 100)`, s.author.CompanyID)
	_, err = s.db.ReplayEndpoint(t.Context(), s.author, n.ID, time.Now().Add(-time.Hour), time.Now())
	s.must(err)
	messages, err = s.db.Messages(t.Context(), s.author.CompanyID, n.ID, "", 0, 10)
	if s.must(err); len(messages) != 2 || messages[0].Key != "order:o1" || messages[1].Key != "order:o2" {
		t.Errorf("an account: %+v", messages)
	}
}

// A test of an endpoint waits for who writes events, and holds nothing that they may need.
func TestATestOfAnEndpointWaitsForWriters(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.endpoint("whe_1")
	tx := s.begin()
	s.must(s.tellIn(t.Context(), tx, "a"))
	tested := make(chan error, 1)
	go func() {
		_, err := s.db.TestEndpoint(t.Context(), s.author, "whe_1")
		tested <- err
	}()
	select {
	case err := <-tested:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	_, err := tx.Exec(t.Context(), `update destination set next_at = now() where company_id = $1`, s.author.CompanyID)
	s.must(err)
	s.must(tx.Commit(t.Context()))
	s.must(<-tested)
}
