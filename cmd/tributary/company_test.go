package main

import (
	"github.com/tributary-io/tributary/internal/postgres/cases"
	"strings"
	"testing"
	"time"
)

func TestCompaniesAreListedWithTheirSettings(t *testing.T) {
	live, _ := installation(t)
	out, status := command(t, "company", "create", "Tienda\u202e", "--country", "AR", "--timezone", "America/Argentina/Buenos_Aires",
		"--currency", "ARS", "--origin", "https://tienda.example.com", "--host", "tienda.example.com")
	if status != 0 {
		t.Fatal(out)
	}
	out, status = command(t, "company", "list")
	if status != 0 || strings.Count(out, "\n") != 5 || strings.Contains(out, "\u202e") {
		t.Errorf("exit status %d and\n%s\nwant a title and 4 companies", status, out)
	}
	for _, want := range []string{live.CompanyID, live.StoreID, "Loja Exemplo", "America/Argentina/Buenos_Aires", "ARS", "https://tienda.example.com"} {
		if !strings.Contains(out, want) {
			t.Errorf("the list does not show %s:\n%s", want, out)
		}
	}
}

func TestACompanyHasTheSettingsItWasMadeWith(t *testing.T) {
	live, dsn := installation(t)
	db, err := openStores(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	f := func(companyID, consent, payout string, window, halfLife time.Duration, ignoreDirect, payRecurring bool) {
		t.Helper()
		company, err := db.Company(t.Context(), companyID)
		if err != nil || company.ConsentPolicy != consent {
			t.Errorf("consent policy %q, %v; want %q", company.ConsentPolicy, err, consent)
		}
		rules, err := cases.NewReader(db.db).Rules(t.Context(), companyID)
		if err != nil || rules.PayoutRule != payout || rules.Window != window || rules.HalfLife != halfLife ||
			rules.IgnoreDirect != ignoreDirect || rules.PayRecurring != payRecurring {
			t.Errorf("%+v, %v", rules, err)
		}
	}
	const day = 24 * time.Hour
	f(live.CompanyID, "none", "coupon_first", 30*day, 7*day, true, false)
	out, status := command(t, "company", "create", "Outra", "--consent", "required", "--payout-rule", "last_touch",
		"--window-days", "60", "--half-life-days", "14", "--count-direct", "--pay-recurring")
	if status != 0 {
		t.Fatal(out)
	}
	f(strings.Fields(out)[3], "required", "last_touch", 60*day, 14*day, false, true)
}
