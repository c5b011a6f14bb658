package mail

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"github.com/tributary-io/tributary/admin/statementlink"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/test/await"
)

// 200 orders begin to wait within an hour: each owner and each person of finance gets one mail, with how many wait when it is sent.
func TestTwoHundredReviewsAreOneMail(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for i := range 200 {
		s.review(fmt.Sprint("o", i))
	}
	if n := s.count(`select count(*) from outgoing`); n != 2 {
		t.Fatalf("%d messages", n)
	}
	if n := s.count(`select count(*) from outgoing where due_at between now() + interval '59 s' and now() + interval '62 min'`); n != 2 {
		t.Errorf("%d digests are within the next hour", n)
	}
	s.exec(`update payout set state = 'earned' where order_id = 'o7'`)
	s.due()
	s.run()
	s.wait("they are not sent", func() bool { return s.settled() })
	for _, role := range []string{account.RoleOwner, account.RoleFinance} {
		list := s.to(role + "@example.com")
		if len(list) != 1 || len(list[0].to) != 1 {
			t.Fatalf("%s got %d", role, len(list))
		}
		m := list[0]
		if !strings.Contains(m.text, "199 pedidos") || !strings.Contains(m.text, "2.455,66") ||
			!strings.Contains(m.text, origin+"/dashboard/reviews?company="+s.company) || !strings.Contains(m.text, "/dashboard/mails?") ||
			strings.Contains(m.subject, "2.455") || m.headers.Get("Bcc") != "" {
			t.Errorf("%s: %q\n%s", role, m.subject, m.text)
		}
	}
	if list := s.to("analyst@example.com"); len(list) != 0 {
		t.Error("an analyst got a mail")
	}
}

// Another order waits after a mail was sent: the next mail is an hour later, whatever is due. Where none waits any more, there is none.
func TestThereIsOneDigestInAnHour(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.review("a")
	s.due()
	stop := s.run()
	s.wait("the first is not sent", func() bool { return s.settled() })
	s.review("b")
	s.due()
	late := `select count(*) from outgoing where state = 'waiting' and due_at > now() + interval '55 minutes' and attempts = 0`
	s.wait("the second does not wait", func() bool { return s.count(late) == 2 })
	if n := len(s.inbox.got()); n != 2 {
		t.Errorf("%d mails", n)
	}
	stop()
	s.exec(`update outgoing set done_at = done_at - interval '61 minutes' where state = 'delivered'`)
	s.exec(`update payout set state = 'none'`)
	s.due()
	s.run()
	s.wait("it waits still", func() bool { return s.settled() })
	if n := len(s.inbox.got()); n != 2 {
		t.Errorf("%d mails, one of nothing", n)
	}
}

// The server fails at first, and the sender is killed after the server took a mail: what comes again is the same mail, which can be
// known by its Message-ID, and there is no other digest.
func TestASenderThatIsKilledMakesNoSecondDigest(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.exec(`delete from membership where role <> 'owner'`)
	s.must(s.db.EnsureMail(t.Context()))
	for i := range 50 {
		s.review(fmt.Sprint("o", i))
	}
	var refused atomic.Int32
	s.inbox.answer(func(string) error {
		if refused.Add(1) == 1 {
			return &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 0}, Message: "later"}
		}
		return nil
	})
	taken, goOn := make(chan struct{}, 10), make(chan struct{})
	s.inbox.mu.Lock()
	s.inbox.after = func() {
		taken <- struct{}{}
		<-goOn // the sender has no answer
	}
	s.inbox.mu.Unlock()
	start := func() *exec.Cmd {
		p := exec.CommandContext(t.Context(), os.Args[0])
		p.Env = append(os.Environ(), senderVariable+"="+s.dsn, smtpVariable+"="+schemeInsecure+"://"+s.inbox.addr)
		p.Stderr = os.Stderr
		s.must(p.Start())
		return p
	}
	s.due()
	killed := start()
	s.wait("nothing is refused", func() bool {
		return s.count(`select count(*) from outgoing where attempts = 1 and state = 'waiting'`) == 1
	})
	s.due()
	select {
	case <-taken:
	case <-time.After(await.Long):
		t.Fatal("nothing is taken")
	}
	s.must(killed.Process.Kill())
	_ = killed.Wait()
	s.review("meanwhile")
	close(goOn)
	s.due()
	second := start()
	s.wait("they are not sent", func() bool {
		return s.count(`select count(*) from outgoing where state = 'delivered'`) == 1
	})
	s.due()
	time.Sleep(500 * time.Millisecond) // what waits may not be sent
	s.must(second.Process.Kill())
	_ = second.Wait()
	ids := map[string]int{}
	for _, m := range s.to("owner@example.com") {
		ids[m.headers.Get("Message-Id")]++
	}
	if len(ids) != 1 {
		t.Errorf("mails by Message-ID: %v", ids)
	}
	for id, n := range ids {
		if n != 2 || !strings.Contains(id, "@example.com>") {
			t.Errorf("%s came %d times", id, n)
		}
	}
}

// A partner gets a link to a closed statement. Who has no address, or is erased meanwhile, gets nothing, and a carried one is not told.
func TestAPartnerGetsTheStatement(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ana := s.partner("Ana\r\nX: y <b>", "ana@partner.example")
	id := s.statement(ana, 1, false)
	s.statement(s.partner("Bia", ""), 2, false)
	erased := s.partner("Caio", "caio@partner.example")
	s.statement(erased, 3, false)
	s.exec(`delete from influencer_personal where influencer_id = $1`, erased)
	s.statement(s.partner("Dora", "dora@partner.example"), 4, true)
	if n := s.count(`select count(*) from outgoing where outgoing::text like '%partner.example%' or outgoing::text like '%Ana%'`); n != 0 {
		t.Errorf("%d messages name a person", n)
	}
	s.run()
	s.wait("they are not sent", func() bool { return s.settled() })
	list := s.inbox.got()
	if len(list) != 1 || list[0].to[0] != "ana@partner.example" {
		t.Fatalf("%d mails: %+v", len(list), list)
	}
	m := list[0]
	_, rest, found := strings.Cut(m.text, origin+statementlink.Path)
	token, _, _ := strings.Cut(rest, "\n")
	links, err := statementlink.NewSigner(tokenSecret, nil)
	s.must(err)
	l, err := links.Read(token, time.Now())
	if !found || err != nil || l.StatementID != id || l.InfluencerID != ana || l.CompanyID != s.company {
		t.Errorf("the link: %+v, %v\n%s", l, err, m.text)
	}
	if strings.Contains(m.raw, "1.234") || m.headers.Get("X") != "" || strings.Contains(m.hm, "<b>") || strings.Contains(m.text, "/mails") {
		t.Errorf("%s", m.raw)
	}
	if n := s.count(`select count(*) from audit_log where action = 'statement.link' and actor = 'mail'`); n != 1 {
		t.Errorf("the audit log has %d links", n)
	}
	if n := s.count(`select count(*) from outgoing where state = 'parked' and tries -> 0 ->> 'failure' = 'no_recipient'`); n != 2 {
		t.Errorf("%d have no recipient", n)
	}
	if n := s.count(`select count(*) from outgoing where outgoing::text like '%partner.example%'`); n != 0 {
		t.Error("what was sent keeps an address")
	}
}

// An address that the server refuses parks its mail, and no other one; a server that is away disables nothing.
func TestARefusedAddressAndAServerThatIsAway(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.inbox.answer(func(to string) error {
		if strings.HasPrefix(to, "bad") {
			return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: to + " is unknown"}
		}
		return nil
	})
	for i := range 8 {
		s.statement(s.partner(fmt.Sprint("bad", i), fmt.Sprintf("bad%d@partner.example", i)), i+1, false)
	}
	s.statement(s.partner("Ana", "ana@partner.example"), 9, false)
	stop := s.run()
	s.wait("they are not sent", func() bool { return s.settled() })
	if len(s.to("ana@partner.example")) != 1 || s.count(`select count(*) from outgoing where state = 'parked' and attempts = 1`) != 8 ||
		s.count(`select count(*) from destination where failing_since is not null`) != 0 {
		t.Error("the others suffer")
	}
	stop()
	_ = s.inbox.server.Close()
	s.statement(s.partner("Eva", "eva@partner.example"), 10, false)
	s.exec(`update destination set failing_since = now() - interval '30 days', failures = 500`)
	s.due()
	s.run()
	s.wait("it is not tried", func() bool {
		return s.count(`select count(*) from outgoing where state = 'waiting' and attempts > 0`) == 1
	})
	if s.count(`select count(*) from destination where state <> 'active'`) != 0 {
		t.Error("a destination is disabled since the server is away")
	}
}

// What is told of leaks, shops and endpoints: owners alone get it, several leaks are one mail, and what is over is not told.
func TestWhatOwnersAreTold(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ana := s.partner("Ana", "")
	var leaks []commerce.Event
	for i := range 30 {
		code := fmt.Sprint("ANA", i)
		leaks = append(leaks, commerce.Event{Type: commerce.CouponLeaking, Key: "coupon:" + code, At: time.Now().Truncate(time.Microsecond),
			Data: commerce.LeakTold{Code: code, InfluencerID: ana, Since: "2026-11-02"}})
	}
	s.tell(leaks...)
	s.tell(leaks...) // once in 30 days
	_, secret, err := account.NewWebhookSecret(rand.Reader, offer(t), s.company, "whe_1")
	s.must(err)
	author := commerce.Author{CompanyID: s.company, Actor: "cli", At: time.Now()}
	s.must(s.db.AddEndpoint(t.Context(), author, commerce.Endpoint{ID: "whe_1", Name: "ERP", URL: "https://erp.example.com",
		Types: commerce.EventTypes, Active: true}, secret))
	l := commerce.ConnectLease{Holder: "x", For: time.Minute}
	leased, err := s.db.LeaseDestinations(t.Context(), []commerce.DestinationKind{commerce.ToWebhook}, l, 10)
	if s.must(err); len(leased) != 1 || leased[0].ID != "whe_1" {
		t.Fatalf("who sends webhooks gets %+v", leased)
	}
	s.must(s.db.StoreSent(t.Context(), l, leased[0], []commerce.Sent{{Number: 1, State: commerce.MessageParked}},
		commerce.DestinationHealth{Disable: commerce.EndpointGone}))
	s.run()
	s.wait("they are not sent", func() bool {
		return s.count(`select count(*) from outgoing where state = 'waiting' and destination_id <> 'whe_1'`) == 0
	})
	var subjects []string
	for _, m := range s.to("owner@example.com") {
		subjects = append(subjects, m.subject)
		if strings.Contains(m.subject, "vazado") && (strings.Count(m.text, "\n* ANA") != commerce.MaxMailShown ||
			!strings.Contains(m.text, "e mais 10") || !strings.Contains(m.text, "de Ana, desde 02/11/2026")) {
			t.Errorf("leaks: %s", m.text)
		}
		if strings.Contains(m.subject, "webhook") && !strings.Contains(m.text, "410") {
			t.Errorf("endpoint: %s", m.text)
		}
	}
	if len(subjects) != 2 || len(s.to("finance@example.com")) != 0 {
		t.Errorf("the owner got %q, finance %d", subjects, len(s.to("finance@example.com")))
	}
}

func offer(t *testing.T) (o commerce.ConnectOffer) {
	t.Helper()
	keys, err := account.NewSealKeys()
	if err != nil {
		t.Fatal(err)
	}
	o.KeyID, o.PublicKey = keys.Newest()
	return o
}

// Who switched a mail off, left the store, or has another role now, gets none; what could not be sent for a day is not sent.
func TestWhoGetsNoMail(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	owner := commerce.MailPrefix + s.people[account.RoleOwner]
	s.review("a") // waits for both
	author := commerce.Author{CompanyID: s.company, Actor: "cli", At: time.Now()}
	leaks := commerce.MailDestination{ID: owner, Types: []commerce.EventType{commerce.CouponLeaking}, Language: "en"}
	s.must(s.db.ChangeMail(t.Context(), author, leaks))
	s.must(s.db.SetMembership(t.Context(), s.storeID, s.people[account.RoleFinance], account.RoleAnalyst))
	s.statement(s.partner("Ana", "ana@partner.example"), 1, false)
	s.exec(`update outgoing set due_at = now() - interval '25 hours' where type = 'statement.closed'`)
	s.exec(`update outgoing set due_at = now() where type <> 'statement.closed'`)
	s.exec(`update destination set next_at = now() - interval '25 hours' where destination_id = 'partners'`)
	stop := s.run()
	s.wait("they wait still", func() bool {
		return s.count(`select count(*) from outgoing o join destination d using (company_id, destination_id) where o.state = 'waiting'`) == 0
	})
	stop()
	if n := len(s.inbox.got()); n != 0 {
		t.Errorf("%d mails", n)
	}
	if s.count(`select count(*) from outgoing where state = 'parked' and tries -> 0 ->> 'failure' = 'late'`) != 1 {
		t.Error("what is old is not given up")
	}
	d, err := s.db.MailDestination(t.Context(), s.company, owner)
	if s.must(err); len(d.Types) != 1 || d.Language != "en" {
		t.Errorf("%+v", d)
	}
	_, err = s.db.MailDestination(t.Context(), s.company, commerce.MailPrefix+s.people[account.RoleFinance])
	if !errors.Is(err, commerce.ErrNotFound) {
		t.Errorf("the analyst: %v", err)
	}
	// Nobody looks after mails any more: nothing is written for them.
	s.exec(`update destination set next_at = now() - interval '25 hours'`)
	before := s.count(`select count(*) from outgoing`)
	s.statement(s.partner("Bia", "bia@partner.example"), 2, false)
	if n := s.count(`select count(*) from outgoing`); n != before {
		t.Error("a message is written that nobody will send")
	}
}
