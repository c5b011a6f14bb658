package mail

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"github.com/tributary-io/tributary/admin/statementlink"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
)

// A program of before the digest writes each order for mails too, due at once: a person gets one mail, and what began to wait after it is
// in the mail of an hour later.
func TestWhatAnOlderProgramWritesIsOneMail(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.exec(`delete from membership where role <> 'owner'`)
	s.must(s.db.EnsureMail(t.Context()))
	s.exec(`insert into payout (company_id, order_id, total_minor, base_minor, commission_minor, day, status, currency, state)
		values ($1, 'o1', 10000, 10000, 1234, '2026-11-01', 0, 'BRL', 'review')`, s.company)
	older := func(from, to int) {
		s.exec(`insert into outgoing (company_id, destination_id, number, key, type, at, message_id, data, due_at)
			select $1, $2, n, 'order:' || n, 'payout.review', now(), 'msg_' || n, '{}', now() from generate_series($3::int, $4::int) n`,
			s.company, commerce.MailPrefix+s.people[account.RoleOwner], from, to)
	}
	older(1, 200)
	s.run()
	s.wait("they are not sent", s.settled)
	older(201, 300)
	s.exec(`update destination set next_at = now()`)
	s.wait("they do not wait", func() bool {
		return s.count(`select count(*) from outgoing where state = 'waiting' and due_at > now() + interval '55 minutes'`) == 100
	})
	if n := len(s.to("owner@example.com")); n != 1 {
		t.Errorf("%d mails", n)
	}
}

// The audit log says once that a link was made, and once the server has it. Who revokes the links before that gets no valid one mailed.
func TestALinkIsToldOnceItIsMailed(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	var refused atomic.Int32
	s.inbox.answer(func(string) error {
		if refused.Add(1) <= 2 {
			return &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 0}, Message: "later"}
		}
		return nil
	})
	mailed := s.statement(s.partner("Ana", "ana@partner.example"), 1, false)
	revoked := s.statement(s.partner("Bia", "bia@partner.example"), 2, false)
	links := `select count(*) from audit_log where action = 'statement.link' and actor = 'mail' and subject = $1`
	s.run()
	s.wait("they are not refused", func() bool { return s.count(`select count(*) from outgoing where attempts = 1`) == 2 })
	if n := s.count(`select count(*) from audit_log where actor = 'mail'`); n != 0 {
		t.Errorf("%d links are told that nobody has", n)
	}
	_, err := s.db.LinkNumber(t.Context(), commerce.Author{CompanyID: s.company, Actor: "cli", At: time.Now()}, revoked, true)
	s.must(err)
	s.due()
	s.wait("they are not sent", s.settled)
	if n, other := s.count(links, mailed), s.count(links, revoked); n != 1 || other != 0 {
		t.Errorf("%d links are told, and %d of what was revoked", n, other)
	}
	list := s.inbox.got()
	if len(list) != 1 || list[0].to[0] != "ana@partner.example" || !strings.Contains(list[0].text, statementlink.Path) {
		t.Errorf("%+v", list)
	}
}

// That nothing is to be told says nothing of the server. Facts that cannot be read are tried as often as a mail that fails, not for ever,
// and say nothing of it either.
func TestWhatIsNotSentSaysNothingOfTheServer(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.exec(`delete from membership where role <> 'owner'`)
	s.must(s.db.EnsureMail(t.Context()))
	s.exec(`insert into outgoing (company_id, destination_id, number, key, type, at, message_id, data, due_at)
		select $1, $2, n, 'k' || n, type, now(), 'msg_' || n, data::json, now()
		from (values (1, 'payout.review', '{}'), (2, 'connection.failing', '[]')) o (n, type, data)`, s.company,
		commerce.MailPrefix+s.people[account.RoleOwner])
	s.exec(`update destination set failures = 3, failing_since = now()`)
	stop := s.run()
	s.wait("they are not looked at", func() bool {
		return s.count(`select count(*) from outgoing where state = 'skipped' and number = 1`) == 1 && s.count(`select count(*) from outgoing
			where state = 'waiting' and attempts = 1 and tries -> 0 ->> 'failure' = 'unread'`) == 1
	})
	stop()
	if s.count(`select count(*) from destination where destination_id <> 'partners' and failures = 3 and failing_since is not null
		and delivered_at is null`) != 1 {
		t.Error("the server is told to be well, or worse")
	}
	s.exec(`update outgoing set attempts = 9 where state = 'waiting'`)
	s.due()
	s.run()
	s.wait("it is tried for ever", func() bool { return s.count(`select count(*) from outgoing where state = 'parked'`) == 1 })
	if n := len(s.inbox.got()); n != 0 {
		t.Errorf("%d mails", n)
	}
}
