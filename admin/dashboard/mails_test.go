package dashboard_test

import (
	"net/http"
	"net/url"
	"regexp"
	"testing"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
)

// fillMails lets mails be sent, and some of them fail.
func (s *site) fillMails() {
	s.t.Helper()
	if err := s.DB.EnsureMail(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	s.exec(`insert into outgoing (company_id, destination_id, number, key, type, at, message_id, data, state, due_at, attempts, tries, done_at)
		select $1, d.destination_id, n, 'reviews', 'payout.review', now(), 'msg', '{}', 'waiting', now() + interval '1 hour', 1,
			'[{"at":"2026-11-05T12:00:00Z","failure":"no_answer","took_ms":1}]'::jsonb || jsonb_build_array(jsonb_build_object('at', now(),
			'status', 451, 'failure', 'status', 'took_ms', 1)), null
		from destination d, generate_series(1, 2) n where d.company_id = $1 and d.kind = 'mail' and d.destination_id <> 'partners'
		union all
		select $1, 'partners', 1, 'statement:x', 'statement.closed', now(), 'msg',
			json_build_object('statement_id', 'x', 'number', 41, 'total', 12), 'parked', now(), 1,
			jsonb_build_array(jsonb_build_object('at', now(), 'status', 550, 'failure', 'status', 'took_ms', 1)), now()`, s.live)
}

var versionOnPage = regexp.MustCompile(`name="version" value="([^"]+)"`)

// Each person chooses their own mails, an owner those to influencers, and all see what was not delivered to them.
func TestMailsAreChosenOnThePage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner, at := s.loggedIn(), "?company="+s.live
	if text := s.readAs(owner, "/dashboard/mails"+at); !contains(text, "No mails are sent here.") {
		t.Errorf("without a server: %s", text)
	}
	choice := url.Values{"type": {"payout.review"}, "language": {"en"}}
	if status, _, _ := s.send(owner, "/dashboard/mails/own"+at, choice); status != http.StatusNotFound {
		t.Errorf("chosen without a server: %d", status)
	}
	finance := s.join(account.RoleFinance, "duda@loja.example", s.Store.StoreID)
	analyst := s.join(account.RoleAnalyst, "ivo@loja.example", s.Store.StoreID)
	s.fillMails()
	if text := s.readAs(owner, "/dashboard/mails"+at); !contains(text, "To you", "To influencers", "A webhook endpoint is disabled",
		"answered 451: it takes none just now", "tried again", "Statement 41", "answered 550") || contains(text, "No mails") {
		t.Errorf("the owner's page: %s", text)
	}
	text := s.readAs(finance, "/dashboard/mails"+at)
	for _, not := range []string{"To influencers", "Statement 41", "A webhook endpoint is disabled", "answered 550"} {
		if !contains(text, "Orders in review", "answered 451") || contains(text, not) {
			t.Errorf("finance's page: %s", text)
		}
	}
	if text := s.readAs(analyst, "/dashboard/mails"+at); !contains(text, "Analysts get no mails.") {
		t.Errorf("an analyst's page: %s", text)
	}
	for what, client := range map[string]*http.Client{"analyst": analyst, "finance": finance} {
		if status, _, _ := s.send(client, "/dashboard/mails/partners"+at, url.Values{"language": {"en"}}); status != http.StatusForbidden {
			t.Errorf("%s changes what influencers get: %d", what, status)
		}
	}
	if status, _, _ := s.send(analyst, "/dashboard/mails/own"+at, choice); status != http.StatusForbidden {
		t.Errorf("an analyst chooses: %d", status)
	}
	for _, bad := range []url.Values{{"type": {"coupon.leaking"}, "language": {"en"}}, {"type": {"payout.review"}, "language": {"xx"}}} {
		if status, _, _ := s.send(finance, "/dashboard/mails/own"+at, bad); status != http.StatusBadRequest {
			t.Errorf("finance chooses %v: %d", bad, status)
		}
	}
	versions := versionOnPage.FindAllStringSubmatch(s.readRaw(owner, "/dashboard/mails"+at), -1)
	if len(versions) != 2 {
		t.Fatalf("%d forms have a version", len(versions))
	}
	choice.Set("version", versions[0][1])
	if status, text, _ := s.send(owner, "/dashboard/mails/own"+at, choice); status != http.StatusSeeOther {
		t.Errorf("the owner chooses: %d %s", status, text)
	}
	// An old form overwrites nothing.
	old := url.Values{"language": {"pt-BR"}, "version": {versions[0][1]}}
	if status, _, _ := s.send(owner, "/dashboard/mails/own"+at, old); status != http.StatusConflict {
		t.Errorf("an old form: %d", status)
	}
	off := url.Values{"language": {"en"}, "version": {versions[1][1]}}
	if status, _, _ := s.send(owner, "/dashboard/mails/partners"+at, off); status != http.StatusSeeOther {
		t.Errorf("influencers get none: %d", status)
	}
	p, err := s.DB.PersonByEmail(t.Context(), testEmail)
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.DB.MailDestination(t.Context(), s.live, commerce.MailPrefix+p.ID)
	if err != nil || len(d.Types) != 1 || d.Types[0] != commerce.PayoutReview || d.Language != "en" {
		t.Errorf("%+v, %v", d, err)
	}
	d, err = s.DB.MailDestination(t.Context(), s.live, commerce.MailPartners)
	if err != nil || len(d.Types) != 0 || d.Language != "en" {
		t.Errorf("%+v, %v", d, err)
	}
	if text := s.readAs(owner, "/dashboard/audit"+at); !contains(text, "Mails changed") {
		t.Errorf("the audit log: %s", text)
	}
	// What finance cannot have, it keeps: the person may become an owner.
	if status, _, _ := s.send(finance, "/dashboard/mails/own"+at, url.Values{"language": {"pt-BR"}}); status != http.StatusSeeOther {
		t.Errorf("finance switches off: %d", status)
	}
	p, err = s.DB.PersonByEmail(t.Context(), "duda@loja.example")
	if err != nil {
		t.Fatal(err)
	}
	d, err = s.DB.MailDestination(t.Context(), s.live, commerce.MailPrefix+p.ID)
	if err != nil || len(d.Types) != 3 || d.Language != "pt-BR" {
		t.Errorf("%+v, %v", d, err)
	}
	s.exec(`update destination set state = 'disabled', reason = 'overflow' where kind = 'mail'`)
	if text := s.readAs(finance, "/dashboard/mails"+at); !contains(text, "Too many mails waited") {
		t.Errorf("a full one: %s", text)
	}
}
