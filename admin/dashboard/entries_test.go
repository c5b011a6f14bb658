package dashboard_test

import (
	"cmp"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
)

var entryIDInput = regexp.MustCompile(`name="entry_id" value="([^"]+)"`)

// Finding S1-4: a bonus, an adjustment, an advance or a product is added on the influencer's page, with a reason, and is
// said back before it is saved. To send the form twice adds one.
func TestAManualEntryIsAddedOnThePage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.setClock(time.Date(2026, 3, 10, 15, 0, 0, 0, time.UTC))
	owner := s.loggedIn()
	s.inPortuguese(owner)
	ana := s.Influencer(s.live, "Ana Prado")
	at := "?company=" + s.live + "&id=" + ana
	page, path := "/dashboard/influencer"+at, "/dashboard/influencer/entries"+at
	// form is the form as the page has it, filled in.
	form := func(kind, amount string) url.Values {
		t.Helper()
		id := entryIDInput.FindStringSubmatch(s.readRaw(owner, page))
		if id == nil {
			t.Fatal("the page has no form")
		}
		return url.Values{"entry_id": {id[1]}, "kind": {kind}, "amount": {amount}, "currency": {"BRL"}, "reason": {"live de sábado"},
			"day": {"09/03/2026"}, "version": {s.versionAt(owner, page, "/dashboard/influencer/entries")}, "typed_in": {"pt-BR"}}
	}
	send := func(form url.Values) (int, string) {
		t.Helper()
		status, text, _ := s.send(owner, path, form)
		return status, strings.ReplaceAll(html.UnescapeString(text), "\u00a0", " ")
	}
	stored := func() int { return s.Count(`select count(*) from ledger_entry`) }
	for _, bad := range [][3]string{{"amount", "1,500", "pode ser R$ 1.500,00 ou R$ 1,50"}, {"amount", "", "maior que 0"},
		{"amount", "-5", "sem o sinal de menos"}, {"currency", "XXZ", "Moeda"}, {"reason", " ", "Motivo"}, {"day", "11/03/2026", "futuro"},
		{"day", "31/02/2026", "A partir de"}, {"kind", "gift", "O que é"}, {"entry_id", "x", "UUID"}} {
		status, text := send(changed(form("bonus", "1.500"), bad[0], bad[1]))
		if status != http.StatusUnprocessableEntity || !contains(text, bad[2]) {
			t.Errorf("%s %q: %d %s", bad[0], bad[1], status, text)
		}
	}
	for _, ok := range []struct{ kind, typed, said string }{{"bonus", "1.500", "R$ 1.500,00"}, {"add", "10", "R$ 10,00"}, {"take", "7,50",
		"−R$ 7,50"},
		{"advance", "200", "−R$ 200,00"}, {"product", "", "R$ 0,00"}} {
		asked, before := form(ok.kind, ok.typed), stored()
		if status, text := send(asked); status != http.StatusOK || !contains(text, "O que seria salvo", ok.said, "live de sábado",
			"09/03/2026") ||
			stored() != before {
			t.Fatalf("%s, asked: %d %s", ok.kind, status, text)
		}
		if status, text := send(changed(asked, "step", "edit")); status != http.StatusUnprocessableEntity ||
			!contains(text, "Nada foi salvo ainda") {
			t.Errorf("%s, back: %d %s", ok.kind, status, text)
		}
		asked.Set("step", "save")
		for range 2 {
			if status, text := send(asked); status != http.StatusSeeOther || stored() != before+1 {
				t.Fatalf("%s, saved: %d %s", ok.kind, status, text)
			}
		}
		if status, text := send(changed(asked, "reason", "another")); status != http.StatusUnprocessableEntity ||
			!contains(text, "Este formulário já foi salvo") || contains(text, asked.Get("entry_id")) {
			t.Errorf("%s, saved otherwise: %d %s", ok.kind, status, text)
		}
		listed := map[string]string{"R$ 0,00": "Produto enviado"}
		if text := s.readAs(owner, page); !contains(strings.ReplaceAll(text, "\u00a0", " "), cmp.Or(listed[ok.said], ok.said), "live de sábado",
			"Próximo extrato") {
			t.Errorf("%s is not listed: %s", ok.kind, text)
		}
	}
	if n := s.Count(`select sum(amount_minor) from ledger_entry`); n != 150_000+1_000-750-20_000 {
		t.Errorf("%d cents are owed", n)
	}
	log := s.readAs(owner, "/dashboard/audit?company="+s.live)
	if text := strings.ReplaceAll(log, "\u00a0", " "); !contains(text, "Lançamento adicionado",
		"Ana Prado", "Valor: R$ 1.500,00", "Tipo: Bônus", "live de sábado") {
		t.Errorf("the audit log reads %s", text)
	}
	s.Ask(s.live, ana, "BRL", "2026-03-10", 0)
	s.Close(s.live)
	if text := s.readAs(owner, page); !contains(text, "Num extrato") || contains(text, "Próximo extrato") {
		t.Errorf("after the statement: %s", text)
	}
	// A form of a page from before is refused: somebody else may have added the same bonus.
	stale := form("bonus", "5")
	if err := s.AddEntry(t.Context(), commerce.Author{CompanyID: s.live, Actor: "test", At: s.clock()}, commerce.NewEntry{
		EntryID: "0195b2c0-0000-7000-8000-000000000001", InfluencerID: ana, Kind: commerce.EntryBonus, AmountMinor: 500, Currency: "BRL",
		Day: "2026-03-10", Reason: "the same"}); err != nil {
		t.Fatal(err)
	}
	before := stored()
	if status, text := send(changed(stale, "step", "save")); status != http.StatusConflict || stored() != before {
		t.Errorf("stale: %d %s", status, text)
	}
	analyst := s.join(account.RoleAnalyst, "bia@loja.example", s.Store.StoreID)
	if status, _, _ := s.send(analyst, path, changed(stale, "step", "save")); status != http.StatusForbidden {
		t.Errorf("an analyst: %d", status)
	}
	text := s.readRaw(analyst, page)
	if strings.Contains(text, "/dashboard/influencer/entries") || !strings.Contains(text, "live de sábado") {
		t.Error("an analyst is shown the form, or not shown the entries")
	}
}

// A fixed amount is owed from the day that was typed, which the agreement then says.
func TestAnAgreementSaysFromWhenItIsOwed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner := s.loggedIn()
	ana := s.Influencer(s.live, "Ana Prado")
	at := "?company=" + s.live + "&id=" + ana
	path, day := "/dashboard/influencer/costs"+at, time.Now().UTC().AddDate(0, 0, -9)
	form := url.Values{"value": {"500"}, "frequency": {"monthly"}, "cost_start": {"2026-01-01"}, "owed_from": {day.Format(time.DateOnly)}}
	for _, bad := range [][2]string{{"owed_from", "2020-01-01"}, {"owed_from", "2026-02-30"}, {"value", ""}} {
		form := changed(changed(form, bad[0], bad[1]), "var_fee", "5")
		form.Set("step", "save")
		if status, text, _ := s.send(owner, path, form); status != http.StatusUnprocessableEntity || !contains(text, `id="c-owed_from-error"`) {
			t.Errorf("%s %q: %d %s", bad[0], bad[1], status, text)
		}
	}
	if status, text, _ := s.send(owner, path, form); status != http.StatusOK || !contains(text, "R$\u00a0500.00 a month", "Owed from") {
		t.Fatalf("asked: %d %s", status, text)
	}
	form.Set("step", "save")
	if status, _, _ := s.send(owner, path, form); status != http.StatusSeeOther {
		t.Fatal(status)
	}
	text := strings.ReplaceAll(s.readAs(owner, "/dashboard/influencer"+at), "\u00a0", " ")
	if !contains(text, "R$ 500.00 a month", "owed from "+day.Format("2 Jan 2006")) {
		t.Errorf("the page reads %s", text)
	}
	// What is owed by it is listed with the manual entries.
	s.Count(fmt.Sprintf(`with posted as (insert into ledger_entry (company_id, order_id, entry, at, kind, influencer_id, cost_id, amount_minor,
		currency, rule_rev, cause, payable_on) values ('%s', chr(1) || 'agreement/k', 1, now(), 'earned', '%s', '%[2]s', 50000, 'BRL', 1,
		'rule 1 settings', '2026-01-31') returning 1) select count(*) from posted`, s.live, ana))
	text = strings.ReplaceAll(s.readAs(owner, "/dashboard/influencer"+at), "\u00a0", " ")
	if !contains(text, "Fixed amount: R$ 500.00 Next statement 31 Jan 2026") {
		t.Errorf("what is owed is not listed: %s", text)
	}
}
