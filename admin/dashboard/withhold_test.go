package dashboard_test

import (
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/wire"
)

// What is withheld is shown before it is saved. From then on what is paid is less everywhere: in the list, in what is paid
// together, in the Pix code, and on the influencer's page.
func TestWithholdingsAreEnteredAndNotPaid(t *testing.T) {
	t.Parallel()
	s := newLinkedSite(t, 1)
	author := commerce.Author{CompanyID: s.live, Actor: "test", At: mayDay}
	if err := s.DB.UpdateInfluencer(t.Context(), author, "Ana Prado", commerce.InfluencerChange{Details: commerce.DetailsChange{
		Pix: wire.Some(commerce.Pix{Type: commerce.PixEmail, Key: "ana@example.com"})}}); err != nil {
		t.Fatal(err)
	}
	s.exec(`update influencer_personal set pix_at = $1`, mayDay.Add(-72*time.Hour))
	s.Close(s.live)
	finance, at := s.join(account.RoleFinance, "bia@loja.example", s.Store.StoreID), "?company="+s.live
	s.inPortuguese(finance)
	path := "/dashboard/statements/withhold" + at + "&id=" + s.statement
	version := func() string {
		known, err := s.DB.Versions(t.Context(), s.live, []string{s.statement})
		if err != nil {
			t.Fatal(err)
		}
		return known[s.statement].String()
	}
	first := version()
	typed := func(change map[string]string) url.Values {
		values := url.Values{"name_1": {"IRRF"}, "amount_1": {"100,50"}, "name_3": {"ISS"}, "amount_3": {"R$ 34"}, "invoice": {"NF 1042"},
			"version": {first}, "typed_in": {"pt-BR"}}
		for name, value := range change {
			values.Set(name, value)
		}
		return values
	}
	send := func(values url.Values, want int, texts ...string) {
		t.Helper()
		status, text, _ := s.send(finance, path, values)
		text = strings.Join(strings.Fields(tags.ReplaceAllString(strings.ReplaceAll(text, "\u00a0", " "), " ")), " ")
		if status != want || !contains(text, texts...) {
			t.Errorf("%v: %d, want %d, and %q in %s", values, status, want, texts, text)
		}
	}
	if page := s.readAs(finance, path); !contains(page, "Retenções e nota", "Ana Prado, nº 1 · total R$ 1.234,50") {
		t.Errorf("the form: %s", page)
	}
	send(typed(map[string]string{"amount_1": "1,5.0"}), http.StatusUnprocessableEntity, "Valor 1")
	send(typed(map[string]string{"amount_1": ""}), http.StatusUnprocessableEntity, "Valor 1")
	send(typed(map[string]string{"name_1": ""}), http.StatusUnprocessableEntity, "Retenção 1")
	send(typed(map[string]string{"amount_1": "1.200,51"}), http.StatusUnprocessableEntity, "passam do total de R$ 1.234,50")
	send(typed(nil), http.StatusOK, "IRRF −R$ 100,50", "ISS −R$ 34,00", "Número da nota NF 1042", "A pagar R$ 1.100,00")
	send(typed(map[string]string{"step": "save", "typed_in": "en"}), http.StatusOK, "A pagar R$ 1.100,00") // read in another language: again
	if first != version() {
		t.Fatal("a page that asks has saved something")
	}
	shown := url.Values{"chosen": {first}, "paid_on": {"2026-05-01"}, "reference": {"PIX 1"}} // in another tab
	send(typed(map[string]string{"step": "save"}), http.StatusSeeOther)
	send(typed(map[string]string{"step": "save", "amount_1": "1,00"}), http.StatusConflict) // a stale tab
	if status, _, _ := s.send(finance, "/dashboard/statements/pay-chosen"+at, shown); status != http.StatusConflict {
		t.Errorf("a form that showed another amount pays: %d", status)
	}
	has := func(client *http.Client, path string, texts ...string) {
		t.Helper()
		page := strings.ReplaceAll(s.readAs(client, path), "\u00a0", " ")
		if !contains(page, texts...) {
			t.Errorf("%s: %q is not in %s", path, texts, page)
		}
	}
	has(finance, "/dashboard/statements"+at, "R$ 1.100,00", "R$ 1.234,50 menos R$ 134,50 de retenções", "1 extrato · A pagar: 1, R$ 1.100,00")
	has(finance, "/dashboard/payouts"+at, "A pagar R$ 1.100,00", "Retenções R$ 134,50")
	has(finance, "/dashboard/statements/pix"+at, "54071100.00")
	if _, page := s.get(s.path(s.link), "pt-BR"); !contains(page, "Total R$ 1.234,50 Retido: IRRF −R$ 100,50 Retido: ISS −R$ 34,00",
		"ISS −R$ 34,00 A pagar R$ 1.100,00",
		"Número da nota NF 1042") {
		t.Errorf("the influencer reads %s", page)
	}
	if file := s.readRaw(s.client(), s.path(s.link)+"/csv"); !contains(file, "withheld,IRRF,,,,,,,-100.50,BRL,") {
		t.Errorf("the file: %s", file)
	}
	if _, rows := s.download(s.loggedIn(), "/dashboard/statements/pix.csv"+at); len(rows) != 1 || rows[0]["amount"] != "1100.00" {
		t.Errorf("the bank's table: %v", rows)
	}
	has(s.loggedIn(), "/dashboard/audit"+at, "Withholding entered", "NF 1042")
	paid := commerce.StatementPayment{StatementID: s.statement, PaidAt: mayDay, Reference: "PIX"}
	if err := s.DB.PayStatement(t.Context(), author, paid); err != nil {
		t.Fatal(err)
	}
	send(typed(map[string]string{"version": version(), "step": "save", "amount_1": "1,00"}), http.StatusConflict) // it is paid
	analyst := s.join(account.RoleAnalyst, "caio@loja.example", s.Store.StoreID)
	if status, _, _ := s.send(analyst, path, typed(nil)); status != http.StatusForbidden {
		t.Errorf("an analyst withholds: %d", status)
	}
}

// A form of the statements leads back to where it was sent from: the search and the state stay.
func TestFormsOfStatementsLeadBackToTheSearch(t *testing.T) {
	t.Parallel()
	s := newLinkedSite(t, 1)
	s.Close(s.live)
	owner, narrow := s.loggedIn(), "?company="+s.live+"&q=Ana&state=due"
	page := s.readRaw(owner, "/dashboard/statements"+narrow)
	_, form, _ := strings.Cut(page, `href="/dashboard/statements/withhold`)
	form, _, _ = strings.Cut(form, `"`)
	form = "/dashboard/statements/withhold" + html.UnescapeString(form)
	_, action, _ := strings.Cut(s.readRaw(owner, form), `method="post" action="/dashboard/statements/withhold`)
	action, _, _ = strings.Cut(action, `"`)
	action = "/dashboard/statements/withhold" + html.UnescapeString(action)
	f := func(what, path string, values url.Values) {
		t.Helper()
		status, text, to := s.send(owner, path, values)
		if status != http.StatusSeeOther || !strings.Contains(to, "&q=Ana&state=due") {
			t.Errorf("%s: %d, to %q: %s", what, status, to, text)
		}
	}
	if !strings.Contains(s.readRaw(owner, form), `href="/dashboard/statements`+html.EscapeString(narrow)+`">‹`) {
		t.Error("the way back is not the search")
	}
	f("what is withheld", action, url.Values{"name_1": {"ISS"}, "amount_1": {"1"}, "step": {"save"}, "typed_in": {"en"},
		"version": {s.versionAt(owner, form, "/dashboard/statements/withhold")}})
	f("a link", "/dashboard/statements/link"+narrow, url.Values{"statement": {s.statement}})
	status, text, _ := s.send(owner, "/dashboard/statements/chosen"+narrow,
		url.Values{"all": {"yes"}, "paid_on": {"2026-05-01"}, "reference": {"PIX"}})
	if status != http.StatusOK || !strings.Contains(text, `action="/dashboard/statements/pay-chosen`+html.EscapeString(narrow)+`"`) {
		t.Errorf("%d: %s", status, text)
	}
	f("a payment", "/dashboard/statements/pay"+narrow, url.Values{"statement": {s.statement}, "paid_on": {"2026-05-01"}, "reference": {"PIX"},
		"version": {s.versionAt(owner, "/dashboard/statements"+narrow, "/dashboard/statements/pay")}})
	f("its undo", "/dashboard/statements/undo"+narrow, url.Values{"statement": {s.statement}, "reason": {"x"},
		"version": {s.versionAt(owner, "/dashboard/statements?company="+s.live+"&q=Ana", "/dashboard/statements/undo")}})
	if _, text, _ := s.send(owner, "/dashboard/statements/pay"+narrow, url.Values{"statement": {s.statement}}); !strings.Contains(text,
		`name="q" value="Ana"`) {
		t.Error("a page that refuses has forgotten the search")
	}
	status, _, to := s.send(owner, "/dashboard/statements/link?company="+s.live+"&q=Ana&state=no&after=no",
		url.Values{"statement": {s.statement}})
	if status != http.StatusSeeOther || strings.Contains(to, "no") {
		t.Errorf("%d, %q", status, to)
	}
}
