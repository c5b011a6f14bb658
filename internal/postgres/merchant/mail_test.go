package merchant_test

import (
	"crypto/rand"
	"slices"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
)

// What is mailed is no endpoint: pages, API and commands of webhooks do not know it, it does not count among them, and who sends
// webhooks does not take it.
func TestMailsAreNoEndpoints(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	p, err := s.db.CreateMember(t.Context(), s.store.StoreID, account.RoleOwner, "ana@example.com", "x")
	s.must(err)
	own := commerce.MailPrefix + p.ID
	for range 2 {
		s.must(s.db.EnsureMail(t.Context()))
	}
	list, err := s.db.Endpoints(t.Context(), s.author.CompanyID)
	if s.must(err); len(list) != 0 {
		t.Errorf("%+v", list)
	}
	for range commerce.MaxEndpoints {
		s.ids++
		s.endpoint("whe_" + string(rune('a'+s.ids)))
	}
	for _, id := range []string{own, commerce.MailPartners} {
		_, err := s.db.Endpoint(t.Context(), s.author.CompanyID, id)
		s.want(err, commerce.ErrNotFound)
		s.want(s.db.ChangeEndpoint(t.Context(), s.author, id, func(*commerce.Endpoint) error { return nil }), commerce.ErrNotFound)
		s.want(s.db.RotateSecret(t.Context(), s.author, id, commerce.SealedSecret{}), commerce.ErrNotFound)
		s.want(s.db.RemoveEndpoint(t.Context(), s.author, id), commerce.ErrNotFound)
		s.want(s.db.ResendMessage(t.Context(), s.author, id, 1), commerce.ErrNotFound)
		_, err = s.db.TestEndpoint(t.Context(), s.author, id)
		s.want(err, commerce.ErrNotFound)
		_, err = s.db.ReplayEndpoint(t.Context(), s.author, id, time.Now().Add(-time.Hour), time.Now())
		s.want(err, commerce.ErrNotFound)
	}
	s.want(s.db.ChangeMail(t.Context(), s.author, commerce.MailDestination{ID: "whe_b", Language: "en"}), commerce.ErrNotFound)
	l := lease("one")
	webhooks, err := s.db.LeaseDestinations(t.Context(), []commerce.DestinationKind{commerce.ToWebhook}, l, 100)
	s.must(err)
	mails, err := s.db.LeaseDestinations(t.Context(), []commerce.DestinationKind{commerce.ToMail}, l, 100)
	if s.must(err); len(webhooks) != commerce.MaxEndpoints || len(mails) != 2 || mails[0].Language != "pt-BR" {
		t.Errorf("%d webhooks, mails %+v", len(webhooks), mails)
	}
	// Nobody gets mails of a sandbox, and one who left the store gets none.
	if _, err := s.db.MailDestination(t.Context(), s.store.Sandbox.CompanyID, own); err == nil {
		t.Error("the sandbox has mails")
	}
	s.exec(`delete from membership`)
	s.must(s.db.EnsureMail(t.Context()))
	_, err = s.db.MailDestination(t.Context(), s.author.CompanyID, own)
	s.want(err, commerce.ErrNotFound)
	_, err = s.db.MailPerson(t.Context(), s.author.CompanyID, own)
	s.want(err, commerce.ErrNotFound)
}

// A company that has mails and no endpoint writes nothing of what is not mailed, and holds no numbers for it.
func TestWhatIsNotMailedIsNotWritten(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.must(s.db.EnsureMail(t.Context()))
	tx := s.begin()
	s.must(s.tellIn(t.Context(), tx, "a")) // payout.changed
	var n int
	s.must(tx.QueryRow(t.Context(), `select count(*) from outgoing_number`).Scan(&n))
	if n != 0 {
		t.Error("the company's numbers are held")
	}
	s.must(tx.Commit(t.Context()))
	messages, err := s.db.Messages(t.Context(), s.author.CompanyID, commerce.MailPartners, "", 0, 10)
	if s.must(err); len(messages) != 0 {
		t.Errorf("%+v", messages)
	}
}

// An endpoint that is disabled since too much waits is told to owners, in the same transaction.
func TestAnEndpointThatOverflowsIsTold(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	p, err := s.db.CreateMember(t.Context(), s.store.StoreID, account.RoleOwner, "ana@example.com", "x")
	s.must(err)
	s.must(s.db.EnsureMail(t.Context()))
	s.endpoint("whe_1")
	s.exec(`insert into outgoing (company_id, destination_id, number, key, type, at, message_id, data, due_at)
		select $1, 'whe_1', -n, 'k', 'payout.changed', now(), '', '{}', 'infinity' from generate_series(1, $2::int) n`, s.author.CompanyID,
		commerce.MaxWaiting)
	s.tell("a")
	e, err := s.db.Endpoint(t.Context(), s.author.CompanyID, "whe_1")
	if s.must(err); e.Active {
		t.Fatal("it is active")
	}
	messages, err := s.db.Messages(t.Context(), s.author.CompanyID, commerce.MailPrefix+p.ID, "", 0, 10)
	if s.must(err); len(messages) != 1 || messages[0].Type != commerce.WebhookDisabled || messages[0].Key != "endpoint:whe_1" {
		t.Errorf("%+v", messages)
	}
	name, err := s.db.MailEndpoint(t.Context(), s.author.CompanyID, "whe_1")
	if s.must(err); name != "ERP" {
		t.Errorf("%q", name)
	}
}

// Nobody sent mails for a month: what waits is given up, tried or not, and nothing of the past is sent. What was never tried while a
// server was away, and senders looked, is not late.
func TestWhatWaitedWhileNobodyLookedIsGivenUp(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	p, err := s.db.CreateMember(t.Context(), s.store.StoreID, account.RoleOwner, "ana@example.com", "x")
	s.must(err)
	s.must(s.db.EnsureMail(t.Context()))
	own := commerce.MailPrefix + p.ID
	s.exec(`insert into outgoing (company_id, destination_id, number, key, type, at, message_id, data, due_at, attempts)
		select $1, d.id, n, 'k' || n, 'coupon.leaking', now(), '', '{}', now() - interval '26 hours', n
		from unnest(array[$2, 'partners']) d (id), generate_series(0, 2) n`, s.author.CompanyID, own)
	s.exec(`update destination set next_at = now() - interval '25 hours' where destination_id = $1`, own)
	l := lease("one")
	list, err := s.db.LeaseDestinations(t.Context(), []commerce.DestinationKind{commerce.ToMail}, l, 10)
	if s.must(err); len(list) != 1 || list[0].ID != commerce.MailPartners {
		t.Fatalf("%+v", list)
	}
	s.must(s.db.EnsureMail(t.Context()))
	parked, err := s.db.Messages(t.Context(), s.author.CompanyID, own, commerce.MessageParked, 0, 10)
	if s.must(err); len(parked) != 3 || parked[0].Tries[0].Failure != commerce.TryLate {
		t.Errorf("%+v", parked)
	}
	due, _, err := s.db.DueMessages(t.Context(), l, list[0], time.Now(), 10)
	if s.must(err); len(due) != 3 {
		t.Errorf("%d are due where senders look", len(due))
	}
	list, err = s.db.LeaseDestinations(t.Context(), []commerce.DestinationKind{commerce.ToMail}, l, 10)
	if s.must(err); len(list) != 1 || list[0].ID != own {
		t.Errorf("%+v", list)
	}
}

// Too many mails waited, and were not sent for days: who chooses again gets the mails of what happens from then on.
func TestMailsThatOverflowedAreEnabledAgain(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.must(s.db.EnsureMail(t.Context()))
	s.exec(`update destination set state = 'disabled', reason = 'overflow', next_at = now() - interval '25 hours', failures = 7,
		failing_since = now() - interval '2 days' where kind = 'mail'`)
	s.must(s.db.EnsureMail(t.Context()))
	d, err := s.db.MailDestination(t.Context(), s.author.CompanyID, commerce.MailPartners)
	if s.must(err); d.Active {
		t.Error("it is active")
	}
	s.exec(`update destination set next_at = now() + interval '1 hour'`)
	s.must(s.db.ChangeMail(t.Context(), s.author, d))
	list, err := s.db.LeaseDestinations(t.Context(), []commerce.DestinationKind{commerce.ToMail}, lease("one"), 10)
	if s.must(err); len(list) != 1 || list[0].Failures != 0 || !list[0].FailingSince.IsZero() {
		t.Errorf("%+v", list)
	}
}

// A person who leaves takes the messages along: one who comes back is not sent what waited before.
func TestWhoLeavesTheStoreLeavesNoMails(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	p, err := s.db.CreateMember(t.Context(), s.store.StoreID, account.RoleOwner, "ana@example.com", "x")
	s.must(err)
	s.must(s.db.EnsureMail(t.Context()))
	own := commerce.MailPrefix + p.ID
	s.exec(`insert into outgoing (company_id, destination_id, number, key, type, at, message_id, data, due_at)
		values ($1, $2, 1, 'k', 'coupon.leaking', now(), '', '{}', now())`, s.author.CompanyID, own)
	s.exec(`delete from membership`)
	s.must(s.db.EnsureMail(t.Context()))
	messages, err := s.db.Messages(t.Context(), s.author.CompanyID, own, "", 0, 10)
	if s.must(err); len(messages) != 0 {
		t.Errorf("%+v", messages)
	}
}

// Nothing is written for finance of what owners alone are told: who becomes an owner is told of a leak that was there before, and what
// this person chose as another role stays so.
func TestAPersonGetsTheMailsOfTheRole(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	p, err := s.db.CreateMember(t.Context(), s.store.StoreID, account.RoleFinance, "ana@example.com", "x")
	s.must(err)
	own := commerce.MailPrefix + p.ID
	s.must(s.db.EnsureMail(t.Context()))
	tell := func(role string, want ...string) {
		t.Helper()
		s.exec(`update membership set role = $1 where person_id = $2`, role, p.ID)
		s.must(s.db.EnsureMail(t.Context()))
		tx := s.begin()
		now := time.Now()
		s.must(postgres.Tell(t.Context(), tx, s.author.CompanyID, func() ([]commerce.Event, error) {
			return []commerce.Event{{Type: commerce.CouponLeaking, Key: "coupon:ANA", At: now, Data: commerce.LeakTold{Code: "ANA"}},
				{Type: commerce.ConnectionFails, Key: "connection:con_1", At: now, Data: commerce.ConnectionTold{ConnectionID: "con_1"}},
				{Type: commerce.PayoutReview, Key: "order:1", At: now, Data: commerce.OrderTold{OrderID: "1"}}}, nil
		}))
		s.must(postgres.TellDisabled(t.Context(), tx, s.author.CompanyID, "whe_1", commerce.EndpointGone))
		s.must(tx.Commit(t.Context()))
		list, err := s.db.Messages(t.Context(), s.author.CompanyID, own, "", 0, 10)
		s.must(err)
		var got []string
		for _, m := range list {
			got = append(got, string(m.Type))
		}
		slices.Sort(got)
		s.wantList(role, got, want...)
	}
	tell(account.RoleFinance, "payout.review")
	tell(account.RoleOwner, "connection.failing", "coupon.leaking", "payout.review", "webhook.disabled")
	d, err := s.db.MailDestination(t.Context(), s.author.CompanyID, own)
	if s.must(err); !slices.Equal(d.Types, account.MailTypes(account.RoleOwner)) {
		t.Errorf("%v", d.Types)
	}
	s.exec(`delete from outgoing`)
	tell(account.RoleFinance, "payout.review")
}

// A company's mails that are under way do not hold up its webhooks, and a message that waits without an attempt keeps its attempts.
func TestMailsUnderWayHoldUpNoWebhook(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.endpoint("whe_1")
	s.must(s.db.EnsureMail(t.Context()))
	other, err := s.db.CreateStore(t.Context(), commerce.NewStore{Name: "Outra", Actor: "cli", KeyCheck: func(id string) string { return id },
		Random: rand.Reader})
	s.must(err)
	mine := s.author.CompanyID
	s.author.CompanyID = other.Live.CompanyID
	s.endpoint("whe_2")
	s.author.CompanyID = mine
	s.exec(`update destination set next_at = now() - interval '1 minute' where destination_id = 'whe_1'`)
	l := lease("one")
	mails, err := s.db.LeaseDestinations(t.Context(), []commerce.DestinationKind{commerce.ToMail}, l, 10)
	if s.must(err); len(mails) != 1 {
		t.Fatalf("%+v", mails)
	}
	webhooks, err := s.db.LeaseDestinations(t.Context(), []commerce.DestinationKind{commerce.ToWebhook}, l, 1)
	if s.must(err); len(webhooks) != 1 || webhooks[0].ID != "whe_1" {
		t.Errorf("%+v", webhooks)
	}
	s.exec(`insert into outgoing (company_id, destination_id, number, key, type, at, message_id, data, due_at, attempts, tries)
		select $1, 'partners', 1, 'k', 'statement.closed', now(), '', '{}', now(), $2::int, jsonb_agg(jsonb_build_object('took_ms', n))
		from generate_series(1, $2::int) n`, mine, commerce.MaxTries)
	s.must(s.db.StoreSent(t.Context(), l, mails[0], []commerce.Sent{{Number: 1, State: commerce.MessageWaiting, Untried: true,
		DueAt: time.Now()}}, commerce.DestinationHealth{}))
	list, err := s.db.Messages(t.Context(), mine, commerce.MailPartners, "", 0, 10)
	if s.must(err); len(list) != 1 || len(list[0].Tries) != commerce.MaxTries || list[0].Tries[0].TookMS != 1 {
		t.Errorf("%+v", list)
	}
}
