package dashboard_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

func TestPagesSpeakTheBrowsersLanguageUntilAnotherIsChosen(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ana := s.Influencer(s.live, "Ana Prado")
	s.Put(reporttest.Order{CompanyID: s.live, ID: "1001", TotalMinor: 18887273, InfluencerID: ana, Evidence: "coupon", CommissionMinor: 1000})
	client := s.loggedIn()
	f := func(accept string, want ...string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/dashboard/", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Accept-Language", accept)
		answer, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		page, err := io.ReadAll(answer.Body)
		if err != nil || !contains(string(page), want...) {
			t.Errorf("%q: the page has not all of %q, %v", accept, want, err)
		}
	}
	choose := func(tag, next, leads string) {
		t.Helper()
		answer, err := client.PostForm(s.url+"/dashboard/language", url.Values{"lang": {tag}, "next": {next}})
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if got := answer.Header.Get("Location"); answer.StatusCode != http.StatusSeeOther || got != leads {
			t.Errorf("choosing %s leads with %s to %q, want %q", tag, answer.Status, got, leads)
		}
	}
	f("pt-BR", `<html lang="pt-BR">`, "Vendas aprovadas", "R$\u00a0188.872,73")
	f("en-US", `<html lang="en">`, "Approved sales", "R$\u00a0188,872.73")
	choose("pt-BR", "/dashboard/?company="+s.live, "/dashboard/?company="+s.live)
	f("en-US", `<html lang="pt-BR">`, "Vendas aprovadas")
	choose("xx", "https://evil.example/", "/dashboard/")
	f("en-US", `<html lang="pt-BR">`)
	choose("en", "/dashboard/login", "/dashboard/login")
	f("pt-BR", `<html lang="en">`)
	choose(strings.Repeat("x", 5000), "//evil.example", "/dashboard/")
}
