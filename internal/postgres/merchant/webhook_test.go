package merchant_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
)

// endpoint adds an active endpoint that gets everything.
func (s *shop) endpoint(id string) {
	s.t.Helper()
	s.must(s.db.AddEndpoint(s.t.Context(), s.author, commerce.Endpoint{ID: id, Name: "ERP", URL: "https://erp.example.com/hook",
		Types: commerce.EventTypes, Active: true}, commerce.SealedSecret{KeyID: "k", Sealed: []byte{1}}))
}

// tell writes events of orders, each in a transaction of its own.
func (s *shop) tell(orders ...string) {
	s.t.Helper()
	conn, err := pgx.Connect(s.t.Context(), s.dsn)
	s.must(err)
	defer conn.Close(context.Background())
	for _, id := range orders {
		s.must(pgx.BeginFunc(s.t.Context(), conn, func(tx pgx.Tx) error {
			return postgres.Tell(s.t.Context(), tx, s.author.CompanyID, func() ([]commerce.Event, error) {
				return []commerce.Event{{Type: commerce.PayoutChanged, Key: "order:" + id, At: time.Now().Truncate(time.Microsecond),
					Data: commerce.OrderTold{OrderID: id, Currency: "BRL"}}}, nil
			})
		}))
	}
}

// due returns which events, counted from the first, and keys of what may be sent now.
func (s *shop) due(l commerce.ConnectLease, e commerce.LeasedDestination) (list []string) {
	s.t.Helper()
	messages, active, err := s.db.DueMessages(s.t.Context(), l, e, time.Now(), 100)
	s.must(err)
	if !active {
		return []string{"disabled"}
	}
	all, err := s.db.Messages(s.t.Context(), e.CompanyID, e.ID, "", 0, 100)
	s.must(err)
	nth := map[int64]int{}
	for i, m := range all {
		nth[m.Number] = len(all) - i
	}
	for _, m := range messages {
		list = append(list, fmt.Sprintf("%d %s", nth[m.Number], m.Key))
	}
	return list
}

func (s *shop) wantList(what string, got []string, want ...string) {
	s.t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		s.t.Fatalf("%s: got %q, want %q", what, got, want)
	}
}

func TestOfOneKeyTheFirstThatWaitsIsDue(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.endpoint("whe_1")
	s.tell("a", "b", "a", "b")
	l := lease("one")
	list, err := s.db.LeaseDestinations(t.Context(), []commerce.DestinationKind{commerce.ToWebhook}, l, 10)
	if s.must(err); len(list) != 1 || len(list[0].Secrets) != 1 {
		t.Fatalf("leased %+v", list)
	}
	e := list[0]
	other, err := s.db.LeaseDestinations(t.Context(), []commerce.DestinationKind{commerce.ToWebhook}, lease("two"), 10)
	if s.must(err); len(other) != 0 {
		t.Fatal("two senders hold one endpoint")
	}
	_, _, err = s.db.DueMessages(t.Context(), lease("two"), e, time.Now(), 10)
	s.want(err, commerce.ErrLeaseLost)
	s.want(s.db.StoreSent(t.Context(), lease("two"), e, nil, commerce.DestinationHealth{}), commerce.ErrLeaseLost)
	messages, err := s.db.Messages(t.Context(), s.author.CompanyID, "whe_1", "", 0, 10)
	s.must(err)
	nth := func(n int64) int64 { return messages[4-n].Number }
	s.wantList("at first", s.due(l, e), "1 order:a", "2 order:b")
	now := time.Now()
	s.must(s.db.StoreSent(t.Context(), l, e, []commerce.Sent{
		{Number: nth(1), Try: commerce.Try{At: now, Failure: commerce.TryTimeout}, State: commerce.MessageWaiting, DueAt: now.Add(time.Hour)},
		{Number: nth(2), Try: commerce.Try{At: now, Status: 204}, State: commerce.MessageDelivered},
	}, commerce.DestinationHealth{DeliveredAt: now}))
	s.wantList("a is tried again later, and the next of it waits", s.due(l, e), "4 order:b")
	waiting, err := s.db.Messages(t.Context(), s.author.CompanyID, "whe_1", commerce.MessageWaiting, 0, 10)
	s.must(err)
	var behind []string
	for _, m := range waiting {
		if m.Behind {
			behind = append(behind, m.Key)
		}
	}
	s.wantList("what waits for an earlier one", behind, "order:a")
	s.must(s.db.StoreSent(t.Context(), l, e, []commerce.Sent{
		{Number: nth(1), Try: commerce.Try{At: now, Status: 500, Failure: commerce.TryStatus}, State: commerce.MessageParked}},
		commerce.DestinationHealth{}))
	s.wantList("a was given up: its next goes", s.due(l, e), "3 order:a", "4 order:b")
	s.must(s.db.ResendMessage(t.Context(), s.author, "whe_1", nth(1)))
	s.wantList("sent again", s.due(l, e), "4 order:b", "1 order:a")
	s.want(s.db.ResendMessage(t.Context(), s.author, "whe_1", 99), commerce.ErrNotFound)
	messages, err = s.db.Messages(t.Context(), s.author.CompanyID, "whe_1", "", 0, 10)
	if s.must(err); len(messages) != 4 || len(messages[3].Tries) != 2 || messages[3].State != commerce.MessageWaiting {
		t.Errorf("the log is %+v", messages)
	}
	s.must(s.db.ReleaseDestination(t.Context(), l, e, now, now.Add(time.Hour)))
	other, err = s.db.LeaseDestinations(t.Context(), []commerce.DestinationKind{commerce.ToWebhook}, lease("two"), 10)
	if s.must(err); len(other) != 1 {
		t.Error("what is due again is not looked at")
	}
}

func enable(e *commerce.Endpoint) error {
	e.Active = true
	return nil
}

// A company that nobody reads for cannot fill the database.
func TestAnEndpointThatNobodyReadsIsDisabled(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.endpoint("whe_1")
	nextSecond := func() {
		time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second + 10*time.Millisecond)))
	}
	s.exec(`insert into outgoing (company_id, destination_id, number, key, type, at, message_id, data, due_at, tries)
		select $1, 'whe_1', n, 'order:' || n, 'payout.changed', now(), '', '{}', now(),
			case when n <= 10 then '[{"failure": "timeout"}, {"failure": "processing"}]'::jsonb else '[{"failure": "timeout"}]' end
		from generate_series(1, $2::int) n`, s.author.CompanyID, commerce.MaxWaiting+8)
	s.tell("last")
	if e, err := s.db.Endpoint(t.Context(), s.author.CompanyID, "whe_1"); err != nil || !e.Active {
		t.Fatalf("some of it is with the receiver: %+v %v", e, err)
	}
	nextSecond()
	s.tell("beyond")
	e, err := s.db.Endpoint(t.Context(), s.author.CompanyID, "whe_1")
	if s.must(err); e.Active || e.Reason != commerce.EndpointOverflow || e.Waiting != commerce.MaxWaiting {
		t.Fatalf("%+v", e)
	}
	_, err = s.db.ReplayEndpoint(t.Context(), s.author, "whe_1", time.Now().Add(-time.Hour), time.Now())
	s.want(err, commerce.ErrEndpointFull)
	s.must(s.db.ChangeEndpoint(t.Context(), s.author, "whe_1", enable))
	if e, err = s.db.Endpoint(t.Context(), s.author.CompanyID, "whe_1"); err != nil || !e.Active || e.Reason != "" || e.Version != 2 {
		t.Errorf("%+v %v", e, err)
	}
	active := func(what string, want bool) {
		t.Helper()
		nextSecond() // it is looked in each second
		s.tell("another")
		if e, err = s.db.Endpoint(t.Context(), s.author.CompanyID, "whe_1"); err != nil || e.Active != want {
			t.Errorf("%s: %+v %v", what, e, err)
		}
	}
	active("what waited is sent now", true)
	s.exec(`update destination set since = now() - interval '2 hours'`)
	active("it had its time", false)
	s.enable("whe_1", true)
	s.exec(`insert into outgoing (company_id, destination_id, number, key, type, at, message_id, data, due_at)
		select $1, 'whe_1', -n, 'order:' || n, 'payout.changed', now(), '', '{}', now() from generate_series(1, $2::int) n`,
		s.author.CompanyID, commerce.MaxWaiting)
	active("twice as many wait", false)
	s.must(s.db.RemoveEndpoint(t.Context(), s.author, "whe_1"))
	_, err = s.db.Endpoint(t.Context(), s.author.CompanyID, "whe_1")
	s.want(err, commerce.ErrNotFound)
}

func TestEndpointsAreBoundedAndSecretsOverlap(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for n := range commerce.MaxEndpoints {
		s.endpoint(fmt.Sprint("whe_", n))
	}
	s.want(s.db.AddEndpoint(t.Context(), s.author, commerce.Endpoint{ID: "more", Types: commerce.EventTypes}, commerce.SealedSecret{}),
		commerce.ErrTooManyEndpoints)
	rotate := func(key string) {
		t.Helper()
		s.must(s.db.RotateSecret(t.Context(), s.author, "whe_0", commerce.SealedSecret{KeyID: key, Sealed: []byte{2}}))
	}
	var first time.Time // the end of the secret that the receiver knows
	signs := func(what string, want ...string) {
		t.Helper()
		list, err := s.db.LeaseDestinations(t.Context(), []commerce.DestinationKind{commerce.ToWebhook}, lease(what), 100)
		s.must(err)
		var keys []string
		for _, e := range list {
			if e.ID == "whe_0" {
				for i, secret := range e.Secrets {
					keys = append(keys, secret.KeyID)
					if left := time.Until(secret.EndsAt); secret.EndsAt.IsZero() != (i == 0) || i > 0 && left < 22*time.Hour {
						t.Errorf("%s: %s ends %v", what, secret.KeyID, secret.EndsAt)
					}
					if secret.KeyID == "k" && first.IsZero() {
						first = secret.EndsAt
					} else if secret.KeyID == "k" && !secret.EndsAt.Equal(first) {
						t.Errorf("%s: the end moved from %v to %v", what, first, secret.EndsAt)
					}
				}
			}
		}
		s.wantList(what, keys, want...)
		s.exec(`update destination set leased_until = null, holder = ''`)
	}
	rotate("1")
	signs("after one", "1", "k")
	rotate("2")
	signs("after two", "2", "1", "k")
	rotate("3")
	rotate("4")
	signs("at most so many", "4", "3", "2", "1")
	s.exec(`update destination set secrets = jsonb_set(secrets, '{2,ends_at}', '"2020-01-01T00:00:00Z"') where destination_id = 'whe_0'`)
	rotate("5")
	signs("without one that ended", "5", "4", "3", "1")
	s.want(s.db.RotateSecret(t.Context(), s.author, "none", commerce.SealedSecret{}), commerce.ErrNotFound)
}

// A database that was restored has an older counter: receivers that drop what is older than what they have must take what comes then.
func TestSequencesDoNotGoBackWithTheDatabase(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.endpoint("whe_1")
	s.tell("a", "b")
	s.exec(`update outgoing_number set last = 1`)
	time.Sleep(1100 * time.Millisecond) // a restore takes longer
	s.tell("a")
	messages, err := s.db.Messages(t.Context(), s.author.CompanyID, "whe_1", "", 0, 10)
	if s.must(err); len(messages) != 3 || messages[0].Key != "order:a" || messages[1].Key != "order:b" {
		t.Fatalf("%+v", messages)
	}
	if messages[0].Number >= 1<<53 {
		t.Errorf("%d is not exact as a number of JSON", messages[0].Number)
	}
}

// One company's endpoints are many, and due for longest.
func TestCompaniesShareTheSenders(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for n := range 5 {
		s.endpoint(fmt.Sprint("whe_a", n))
	}
	s.author.CompanyID = s.store.Sandbox.CompanyID
	s.endpoint("whe_b")
	s.exec(`update destination set next_at = now() - interval '1 minute' where destination_id like 'whe_a%'`)
	var got []string
	for range 3 {
		list, err := s.db.LeaseDestinations(t.Context(), []commerce.DestinationKind{commerce.ToWebhook}, lease("one"), 2)
		s.must(err)
		for _, e := range list {
			got = append(got, e.ID)
		}
	}
	slices.Sort(got[:2])
	s.wantList("of both first", got, "whe_a0", "whe_b", "whe_a1", "whe_a2", "whe_a3", "whe_a4")
}

// countReads counts reads of destinations.
type countReads struct{ n atomic.Int32 }

func (c *countReads) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if strings.Contains(data.SQL, "from destination") {
		c.n.Add(1)
	}
	return ctx
}

func (c *countReads) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// A batch of the processor tells in many steps.
func TestATransactionReadsDestinationsOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	var reads countReads
	config, err := pgx.ParseConfig(s.dsn)
	s.must(err)
	config.Tracer = &reads
	conn, err := pgx.ConnectConfig(t.Context(), config)
	s.must(err)
	defer conn.Close(context.Background())
	tell := func(want int32) {
		t.Helper()
		reads.n.Store(0)
		s.must(pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
			telling := postgres.NewTelling(tx)
			for range 3 {
				if err := telling.Tell(t.Context(), s.author.CompanyID, func() ([]commerce.Event, error) {
					return []commerce.Event{{Type: commerce.PayoutChanged, Key: "order:1", Data: commerce.OrderTold{}}}, nil
				}); err != nil {
					return err
				}
			}
			return nil
		}))
		if n := reads.n.Load(); n != want {
			t.Errorf("%d reads, want %d", n, want)
		}
	}
	tell(1) // there is none
	s.endpoint("whe_1")
	tell(2) // and those that are active, once the numbers are held
}

// A form that is older than the endpoint destroys nothing.
func TestAStaleRemoveKeepsTheEndpointAndItsMessages(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.endpoint("whe_1")
	s.tell("a", "b")
	stale := commerce.WithVersion(t.Context(), commerce.Version{Subject: "whe_1", Changes: 0})
	var old *commerce.StaleError
	if err := s.db.RemoveEndpoint(stale, s.author, "whe_1"); !errors.As(err, &old) {
		t.Fatalf("got %v", err)
	}
	e, err := s.db.Endpoint(t.Context(), s.author.CompanyID, "whe_1")
	if s.must(err); !e.Active || e.Waiting != 2 || e.Version != 1 {
		t.Errorf("%+v", e)
	}
	s.must(s.db.RemoveEndpoint(commerce.WithVersion(t.Context(), commerce.Version{Subject: "whe_1", Changes: 1}), s.author, "whe_1"))
}

// The transaction of an Idempotency-Key holds nothing of what goes on in several steps, and takes none of it back.
func TestStepsCommitWithoutTheAttemptOfAKey(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.endpoint("whe_1")
	s.exec(insertOrders, s.author.CompanyID, time.Now().Add(-time.Second), 3)
	claimed, err := s.db.ClaimKey(t.Context(), account.Claim{CompanyID: s.author.CompanyID, Key: "k", Lease: time.Minute, Keep: time.Hour})
	s.must(err)
	within := claimed.Attempt.Within(t.Context())
	_, err = s.db.ReplayEndpoint(within, s.author, "whe_1", time.Now().Add(-time.Hour), time.Now())
	s.must(err)
	limited, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	s.must(s.db.ChangeEndpoint(limited, s.author, "whe_1", enable)) // nobody holds the endpoint
	if e, err := s.db.Endpoint(t.Context(), s.author.CompanyID, "whe_1"); err != nil || e.Waiting != 6 {
		t.Errorf("%+v, %v", e, err)
	}
	s.must(s.db.RemoveEndpoint(within, s.author, "whe_1"))
	s.must(claimed.Attempt.Abandon(t.Context()))
	_, err = s.db.Endpoint(t.Context(), s.author.CompanyID, "whe_1")
	s.want(err, commerce.ErrNotFound)
	s.wantList("messages of it", s.leftKeys("whe_1"))
}

// What was tried before waits for up to a day for its next attempt.
func TestWhatWaitedIsDueWhenAnEndpointIsEnabled(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.endpoint("whe_1")
	s.tell("a", "b")
	s.exec(`update outgoing set due_at = now() + interval '20 hours', attempts = 9`)
	l := lease("one")
	e, err := s.db.LeaseDestinations(t.Context(), []commerce.DestinationKind{commerce.ToWebhook}, l, 10)
	s.must(err)
	s.enable("whe_1", true) // it is
	s.wantList("nothing was enabled", s.due(l, e[0]))
	s.enable("whe_1", false)
	messages, err := s.db.Messages(t.Context(), s.author.CompanyID, "whe_1", "", 0, 10)
	s.must(err)
	s.want(s.db.ResendMessage(t.Context(), s.author, "whe_1", messages[0].Number), commerce.ErrEndpointDisabled)
	s.want(s.db.ResendMessage(t.Context(), s.author, "whe_1", 99), commerce.ErrNotFound)
	s.enable("whe_1", true)
	s.wantList("enabled", s.due(l, e[0]), "1 order:a", "2 order:b")
}

func TestCountsOfAnEndpointAreOfWhatWaitsAndWasGivenUp(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.endpoint("whe_1")
	s.exec(`insert into outgoing (company_id, destination_id, number, key, type, at, message_id, data, state, due_at, done_at)
		select $1, 'whe_1', n, 'k', 'payout.changed', now(), '', '{}', state, now(), now() - days * interval '1 day' from (values
			(1, 'waiting', null), (2, 'delivered', 1), (3, 'parked', 1), (4, 'parked', 8), (5, 'parked', 20), (6, 'delivered', 8)
		) v (n, state, days)`, s.author.CompanyID)
	list, err := s.db.Endpoints(t.Context(), s.author.CompanyID)
	if s.must(err); len(list) != 1 || list[0].Waiting != 1 || list[0].Parked != 3 || list[0].Version != 1 {
		t.Errorf("%+v", list)
	}
	list, err = s.db.EndpointStates(t.Context(), s.author.CompanyID)
	if s.must(err); len(list) != 1 || !list[0].Active || list[0].Name != "ERP" {
		t.Errorf("%+v", list)
	}
}

// What an address answered says nothing of the one that the merchant set meanwhile.
func TestAnAddressThatIsNoMoreDisablesNothing(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.endpoint("whe_1")
	s.tell("a")
	l := lease("one")
	list, err := s.db.LeaseDestinations(t.Context(), []commerce.DestinationKind{commerce.ToWebhook}, l, 10)
	s.must(err)
	s.must(s.db.ChangeEndpoint(t.Context(), s.author, "whe_1", func(e *commerce.Endpoint) error {
		e.URL = "https://new.example.com/hook"
		return nil
	}))
	s.wantList("nothing goes to the old one", s.due(l, list[0]), "disabled")
	gone := commerce.DestinationHealth{FailingSince: time.Now(), Failures: 7, Disable: commerce.EndpointGone}
	s.must(s.db.StoreSent(t.Context(), l, list[0], nil, gone))
	if e, err := s.db.Endpoint(t.Context(), s.author.CompanyID, "whe_1"); err != nil || !e.Active || e.Failures != 0 {
		t.Errorf("%+v, %v", e, err)
	}
	now := time.Now()
	s.must(s.db.ReleaseDestination(t.Context(), l, list[0], now, now))
	list, err = s.db.LeaseDestinations(t.Context(), []commerce.DestinationKind{commerce.ToWebhook}, l, 10)
	s.must(err)
	s.wantList("to the new one", s.due(l, list[0]), "1 order:a")
	s.must(s.db.StoreSent(t.Context(), l, list[0], nil, gone))
	if e, err := s.db.Endpoint(t.Context(), s.author.CompanyID, "whe_1"); err != nil || e.Active || e.Reason != commerce.EndpointGone {
		t.Errorf("%+v, %v", e, err)
	}
}

// A leak that one endpoint got is not hidden from another one, and a new event ends no rest.
func TestEachEndpointGetsALeakAndANewEventEndsNoRest(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.endpoint("whe_1")
	s.endpoint("whe_2")
	s.enable("whe_2", false)
	leak := func() {
		tx := s.begin()
		s.must(postgres.Tell(t.Context(), tx, s.author.CompanyID, func() ([]commerce.Event, error) {
			return []commerce.Event{{Type: commerce.CouponLeaking, Key: "coupon:A", At: time.Now(), Data: commerce.LeakTold{Code: "A"}}}, nil
		}))
		s.must(tx.Commit(t.Context()))
	}
	leak()
	s.enable("whe_2", true)
	leak()
	leak()
	s.wantList("the first", s.leftKeys("whe_1"), "coupon:A")
	s.wantList("the second", s.leftKeys("whe_2"), "coupon:A")

	s.exec(`update destination set next_at = $1`, time.Now().Add(time.Hour))
	s.exec(`update destination set failing_since = $1 where destination_id = 'whe_1'`, time.Now())
	s.tell("a")
	list, err := s.db.LeaseDestinations(t.Context(), []commerce.DestinationKind{commerce.ToWebhook}, lease("one"), 10)
	if s.must(err); len(list) != 1 || list[0].ID != "whe_2" {
		t.Errorf("looked at are %+v", list)
	}
	_, err = s.db.TestEndpoint(t.Context(), s.author, "whe_1")
	s.must(err)
	list, err = s.db.LeaseDestinations(t.Context(), []commerce.DestinationKind{commerce.ToWebhook}, lease("one"), 10)
	if s.must(err); len(list) != 1 || list[0].ID != "whe_1" {
		t.Errorf("to be tested is %+v", list)
	}
}
