package dashboard_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/commerce"
)

// inPortuguese chooses the language of a person's pages.
func (s *site) inPortuguese(client *http.Client) { s.choose(client, "pt-BR") }

func (s *site) inEnglish(client *http.Client) { s.choose(client, "en") }

func (s *site) choose(client *http.Client, tag string) {
	s.t.Helper()
	choice := url.Values{"lang": {tag}, "next": {"/dashboard/"}}
	if status, _, _ := s.send(client, "/dashboard/language", choice); status != http.StatusSeeOther {
		s.t.Fatal(status)
	}
}

// Finding S1-1: every amount that a Brazilian types with a point for its thousands is what
// they meant, and is said back before it is saved, also where no order moves.
func TestMoneyIsReadInTheLanguageOfThePage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner := s.loggedIn()
	s.inPortuguese(owner)
	ana := s.Influencer(s.live, "Ana Prado")
	typed := typedSettings(map[string]string{"minimum_payout": "1.000"})
	typed.Del("step")
	rent := url.Values{"name": {"Aluguel"}, "value": {"3.100"}, "frequency": {"monthly"}, "start_date": {"01/11/2026"}}
	agreed := url.Values{"value": {"1.500"}, "frequency": {"monthly"}, "cost_start": {"01/11/2026"}, "var_fee": {"12,5%"}}
	send := func(at string, form url.Values) (int, string, string) {
		t.Helper()
		status, text, to := s.send(owner, at, form)
		return status, strings.ReplaceAll(text, "\u00a0", " "), to
	}
	f := func(path string, form url.Values, field, refused string, said ...string) {
		t.Helper()
		at := path + "?company=" + s.live + "&id=" + ana
		status, text, _ := send(at, changed(form, field, refused))
		if status != http.StatusUnprocessableEntity || !contains(text, refused+" pode ser R$ 1.500,00 ou R$ 1,50: digite um dos dois") {
			t.Errorf("%s %s: %d %s", path, refused, status, text)
		}
		if status, text, _ := send(at, changed(form, field, "10%")); status != http.StatusUnprocessableEntity ||
			!contains(text, "não uma porcentagem") {
			t.Errorf("%s 10%%: %d %s", path, status, text)
		}
		status, text, _ = send(at, form)
		if status != http.StatusOK || !contains(text, append(said, "O que seria salvo", "Nada foi salvo ainda.")...) {
			t.Fatalf("%s: %d %s", path, status, text)
		}
		if status, text, _ := send(at, changed(form, "step", "edit")); status != http.StatusUnprocessableEntity ||
			!contains(text, "Nada foi salvo ainda", `value="`+form.Get(field)) {
			t.Errorf("%s, back: %d %s", path, status, text)
		}
		// What was looked at in another language would be another amount.
		other := changed(changed(form, "step", "save"), "typed_in", "en")
		if status, text, _ := send(at, other); status != http.StatusOK || !contains(text, said...) {
			t.Errorf("%s, looked at in English: %d %s", path, status, text)
		}
		if status, text, _ := send(at, changed(changed(form, "step", "save"), "typed_in", "pt-BR")); status != http.StatusSeeOther {
			t.Errorf("%s, saved: %d %s", path, status, text)
		}
	}
	f("/dashboard/costs", rent, "value", "1,500", "R$ 3.100,00 por mês", "01/11/2026", "Aluguel")
	f("/dashboard/influencer/costs", agreed, "value", "1,500", "R$ 1.500,00 por mês", "12,5% das vendas")
	f("/dashboard/settings", typed, "minimum_payout", "1,500", "R$ 1.000,00")
	costs, err := s.DB.AdditionalCosts(t.Context(), s.live, commerce.CostFilter{}, 10)
	if err != nil || len(costs) != 1 || costs[0].ValueMinor != 310000 || costs[0].StartDate != "2026-11-01" {
		t.Errorf("%+v, %v", costs, err)
	}
	of, err := s.DB.Influencer(t.Context(), s.live, ana)
	if err != nil || len(of.Costs) != 1 || of.Costs[0].ValueMinor != 150000 || of.Costs[0].StartDate != "2026-11-01" {
		t.Errorf("%+v, %v", of.Costs, err)
	}
	company, err := s.DB.Company(t.Context(), s.live)
	if err != nil || company.MinimumPayout != "1000" {
		t.Errorf("%+v, %v", company, err)
	}
	// What the form shows is what it reads: to save it again changes nothing and asks nothing.
	if text := s.readRaw(owner, "/dashboard/settings?company="+s.live); !strings.Contains(text, `value="1.000,00"`) {
		t.Error("the settings do not show the minimum as it is typed")
	}
	if status, text, _ := s.send(owner, "/dashboard/settings?company="+s.live, changed(typed, "minimum_payout", "1.000,00")); status !=
		http.StatusSeeOther {
		t.Errorf("saved again: %d %s", status, text)
	}
}

// Finding S3-4, and the other way round: what Portuguese writes with a comma is thousands
// in English.
func TestMoneyIsReadInEnglish(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner, at := s.loggedIn(), "/dashboard/influencers?company="+s.live
	send := func(form url.Values) (int, string) {
		t.Helper()
		status, text, _ := s.send(owner, at, form)
		return status, strings.ReplaceAll(text, "\u00a0", " ")
	}
	form := changed(ana(), "coupon_end", "")
	form.Del("step")
	for text, want := range map[string]string{"1,500": "R$ 1,500.00", "R$ 5.00": "R$ 5.00", "R$5": "R$ 5.00", "1.500,00": "R$ 1,500.00"} {
		if status, page := send(changed(form, "fixed_fee", text)); status != http.StatusOK || !contains(page, want) {
			t.Errorf("%q: %d, without %q: %s", text, status, want, page)
		}
	}
	if status, page := send(changed(form, "fixed_fee", "1.500")); status != http.StatusUnprocessableEntity ||
		!contains(page, "1.500 can be R$ 1,500.00 or R$ 1.50") {
		t.Errorf("%d %s", status, page)
	}
	if status, page := send(changed(form, "coupon_start", "11/01/2026")); status != http.StatusUnprocessableEntity ||
		!contains(page, "11/01/2026 can be 2026-01-11 or 2026-11-01") {
		t.Errorf("%d %s", status, page)
	}
}
