package dashboard_test

import (
	"html"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/devtest"
)

var mailTo = regexp.MustCompile(`href="(mailto:[^"]+)"`)

// message is the ready message of a page: to whom, its subject and its text. All are empty where the page has none.
func message(t *testing.T, page string) (to, subject, body string) {
	t.Helper()
	found := mailTo.FindStringSubmatch(page)
	if found == nil {
		return "", "", ""
	}
	u, err := url.Parse(html.UnescapeString(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	if to, err = url.PathUnescape(u.Opaque); err != nil {
		t.Fatal(err)
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil || len(query) != 2 {
		t.Fatalf("%s, %v", u.RawQuery, err)
	}
	return to, query.Get("subject"), query.Get("body")
}

func (s *payeeSite) setEmail(email string) {
	s.t.Helper()
	if err := s.DB.UpdateInfluencer(s.t.Context(), commerce.Author{CompanyID: s.live, Actor: "cli", At: s.now}, "Ana Prado",
		commerce.InfluencerChange{Details: commerce.DetailsChange{Email: wire.Some(email)}}); err != nil {
		s.t.Fatal(err)
	}
}

// Who takes over an influencer's payments first changes the e-mail: the former one is told, however often it is changed.
func TestTheFormerEmailIsTold(t *testing.T) {
	t.Parallel()
	s := newPayeeSite(t)
	owner, at := s.loggedIn(), "?company="+s.live
	page := "/dashboard/influencer" + at + "&id=" + s.ana
	f := func(what, path, want string) (subject, body string) {
		t.Helper()
		to, subject, body := message(t, s.readRaw(owner, path))
		if to != want {
			t.Errorf("%s: to %q, want %q", what, to, want)
		}
		return subject, body
	}
	s.setEmail("ana+1@example.com")
	f("the first e-mail", page, "")
	s.exec(`update influencer_personal set email_at = $1`, s.now.AddDate(0, 0, -60))
	form := url.Values{"email": {"thief@example.com"}, "document": {"52998224725"}, "pix_type": {"cpf"}, "pix_key": {"52998224725"},
		"version": {s.versionAt(owner, page, "/dashboard/influencer/details")}}
	if status, text, _ := s.send(owner, "/dashboard/influencer/details"+at+"&id="+s.ana, form); status != http.StatusSeeOther {
		t.Fatalf("%d %s", status, text)
	}
	subject, body := f("after the change", page, "ana+1@example.com")
	if !contains(subject+body, "Loja Exemplo", "Ana Prado", "Pix key", "CPF or CNPJ", "the e-mail, now t…@example.com", "…4725") ||
		contains(body, "52998224725") || contains(body, "529.982.247-25") || contains(body, "thief@example.com") {
		t.Errorf("%s\n%s", subject, body)
	}
	if text := s.readAs(owner, page); !contains(text, "Tributary sends no e-mail itself") {
		t.Errorf("the page reads %s", text)
	}
	f("the second person", "/dashboard/statements/pix"+at, "ana+1@example.com")
	s.setEmail("thief2@example.com")
	s.setEmail("")
	s.setKey("cli", "k3@example.com")
	f("after more changes", page, "ana+1@example.com")
	log, err := s.DB.AuditLog(t.Context(), s.live, "", "influencer.update", 10)
	if err != nil {
		t.Fatal(err)
	}
	offered := 0
	for _, e := range log {
		offered += strings.Count(e.Detail, `"message_offered": true`)
	}
	if offered != 1 { // the command line offers none
		t.Errorf("%d changes say that a message was offered: %+v", offered, log)
	}
	if text := s.readAs(owner, "/dashboard/audit"+at); !contains(text, "Message to the former e-mail: yes") {
		t.Errorf("the audit log: %s", text)
	}
	for role, email := range map[string]string{account.RoleAnalyst: "caio@loja.example", account.RoleFinance: "bia@loja.example"} {
		if to, _, _ := message(t, s.readRaw(s.join(role, email, s.Store.StoreID), page)); to != "" {
			t.Errorf("%s is shown %q", role, to)
		}
	}
	s.setClock(s.now.Add(commerce.PixRest + time.Minute))
	f("two days later", page, "")
	s.setClock(s.now)
	if err := s.DB.EraseInfluencer(t.Context(), commerce.Author{CompanyID: s.live, Actor: "cli", At: s.now}, s.ana, "Ana Prado"); err != nil {
		t.Fatal(err)
	}
	f("erased", page, "")
}

// A name or an address adds no header to the message, and no other receiver.
func TestTheMessageHasOneReceiver(t *testing.T) {
	t.Parallel()
	s := newPayeeSite(t)
	owner, at := s.loggedIn(), "?company="+s.live
	s.exec(`update influencer set name = $1`, "Ana&bcc=x@example.com\r\nBcc: y@example.com \"<b>")
	s.exec(`update influencer_personal set email = $1, email_at = $2`, "a?bcc=x%26&,b@example.com", s.now.AddDate(0, 0, -60))
	s.exec(`update influencer_personal set pix_at = $1`, s.now)
	page := s.readRaw(owner, "/dashboard/influencer"+at+"&id="+s.ana)
	to, subject, body := message(t, page)
	if to != "a?bcc=x%26&,b@example.com" || strings.ContainsAny(subject, "\r\n") || !contains(body, "Ana&bcc=x@example.com") {
		t.Errorf("%q %q %q", to, subject, body)
	}
	if link := html.UnescapeString(mailTo.FindStringSubmatch(page)[1]); strings.Contains(link, ",b@") || strings.Count(link, "?") != 1 ||
		strings.Count(link, "&") != 1 || strings.Contains(body, "\r\nBcc:") {
		t.Error(link)
	}
}

// The same as people see it, in Portuguese: the message, the notes, and the form by which a second person confirms the key.
func TestANewKeyIsToldAndConfirmedInPortuguese(t *testing.T) {
	s := newPayeeSite(t)
	s.setEmail("ana@example.com")
	s.exec(`update influencer_personal set email_at = $1`, s.now.AddDate(0, 0, -60))
	s.exec(`insert into statement_payment (company_id, statement_id, rev, paid_at, reference, recorded_at, actor)
		values ($1, $2, 1, $3, 'x', $3, 'cli')`, s.live, s.Ask(s.live, s.ana, "USD", "2026-04-30", 0), s.now.AddDate(0, 0, -3))
	first, _ := s.member("carla@loja.example")
	s.setKey(first, "k2@example.com")
	page := devtest.Shell(t).MustPage("").Timeout(3 * time.Minute)
	shots := shooter{t: t, page: page, dir: os.Getenv("TRIBUTARY_SHOTS")}
	s.enter(page)
	at := "?company=" + s.live
	page.MustNavigate(s.url + "/dashboard/influencer" + at + "&id=" + s.ana).MustWaitLoad()
	page.MustElement(`button[value="pt-BR"]`).MustEval(`() => this.click()`)
	page.MustElementR("a", "Escrever a mensagem")
	page.MustEval(`() => document.querySelector('.tell details').open = true`)
	axeInBothSchemes(t, page, "the influencer's page")
	shots.take("tell-influencer")
	page.MustNavigate(s.url + "/dashboard/statements" + at).MustWaitLoad()
	page.MustEval(`() => document.querySelectorAll('input[name=reference]').forEach(i => i.value = 'PIX')`)
	page.MustElement(`[name=all]`).MustEval(`() => this.click()`)
	page.MustElementR("small", "A chave mudou desde o último pagamento.")
	axeInBothSchemes(t, page, "paid together")
	shots.take("tell-chosen")
	page.MustNavigate(s.url + "/dashboard/statements/pix" + at).MustWaitLoad()
	page.MustElementR("summary", "Confirmar a nova chave").MustClick()
	axeInBothSchemes(t, page, "the second person")
	shots.take("tell-pix")
	button := page.MustElementR("button", "A chave está certa")
	if !button.MustEval(`() => this.getBoundingClientRect().bottom <= this.closest('.card').getBoundingClientRect().bottom`).Bool() {
		t.Error("the card cuts off the button that confirms")
	}
	button.MustEval(`() => this.click()`)
	page.MustElementR("p", "A chave está confirmada.")
}
