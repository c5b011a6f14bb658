package main

import (
	"crypto/rand"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/edge"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres/cases"
	"github.com/tributary-io/tributary/internal/uuidtext"
	"github.com/tributary-io/tributary/internal/wire"
)

func TestCompaniesAreListedWithTheirSettings(t *testing.T) {
	live, _ := installation(t)
	if out, status := command(t, "company", "create", "Tienda\u202e"); status != statusUsage ||
		!strings.Contains(out, "marks that turn the text") {
		t.Errorf("a name that turns the text: exit status %d and\n%s", status, out)
	}
	out, status := command(t, "company", "create", "Tienda", "--country", "AR", "--timezone", "America/Argentina/Buenos_Aires",
		"--currency", "ARS", "--origin", "https://tienda.example.com", "--host", "tienda.example.com")
	if status != 0 {
		t.Fatal(out)
	}
	out, status = command(t, "company", "list")
	if status != 0 || strings.Count(out, "\n") != 5 {
		t.Errorf("exit status %d and\n%s\nwant a title and 4 companies", status, out)
	}
	for _, want := range []string{live.CompanyID, live.StoreID, "Loja Exemplo", "America/Argentina/Buenos_Aires", "ARS",
		"https://tienda.example.com"} {
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

// shown is what `company show --json` says of a company's settings.
func shown(t *testing.T, companyID string) (settings map[string]any) {
	t.Helper()
	out, status := command(t, "company", "show", companyID, "--json")
	var company struct {
		CompanyID string         `json:"company_id"`
		Settings  map[string]any `json:"settings"`
	}
	if err := json.Unmarshal([]byte(out), &company); err != nil || status != 0 || company.CompanyID != companyID {
		t.Fatalf("exit status %d, %v in\n%s", status, err, out)
	}
	return company.Settings
}

func TestSettingsOfACompanyAreChangedOneByOne(t *testing.T) {
	live, dsn := installation(t)
	want := shown(t, live.CompanyID)
	// f sets what args say and wants the settings in changed to differ, and no others.
	f := func(said string, changed map[string]any, args ...string) {
		t.Helper()
		out, status := command(t, append([]string{"company", "set", live.CompanyID}, args...)...)
		if status != 0 || !strings.Contains(out, said) {
			t.Errorf("%v: exit status %d and\n%s", args, status, out)
		}
		for name, value := range changed {
			want[name] = value
		}
		got, expected := text(t, shown(t, live.CompanyID)), text(t, want)
		if got != expected {
			t.Errorf("%v:\n got %s\nwant %s", args, got, expected)
		}
	}
	f("origin: https://a.example,https://b.example, before -", map[string]any{"origins": []string{"https://a.example", "https://b.example"}},
		"--origin", "https://a.example", "--origin", "https://b.example")
	f("origin: https://c.example, before https://a.example,https://b.example", map[string]any{"origins": []string{"https://c.example"}},
		"--origin", "https://c.example")
	f("Nothing was changed", nil, "--origin", "https://c.example")
	f("removed, their pages may send no more: https://c.example; --add-origin", map[string]any{"origins": []string{"https://a.example"}},
		"--origin", "https://a.example")
	f("origin: https://a.example,https://c.example,https://d.example, before https://a.example",
		map[string]any{"origins": []string{"https://a.example", "https://c.example", "https://d.example"}}, "--add-origin", "https://c.example",
		"--add-origin", "https://d.example")
	f("Nothing was changed", nil, "--add-origin", "https://a.example")
	f("was not listed, so it was not removed: https://z.example,https://a.example/", nil, "--remove-origin",
		"https://z.example,https://a.example/")
	f("removed, their pages may send no more: https://d.example",
		map[string]any{"origins": []string{"https://a.example", "https://c.example"}},
		"--remove-origin", "https://d.example,https://d.example")
	f("was not listed, so it was not removed: https://d.example",
		map[string]any{"origins": []string{"https://a.example", "https://c.example", "https://e.example"}},
		"--remove-origin", "https://d.example", "--add-origin", "https://e.example")
	f("origin: https://a.example,https://c.example,https://d.example, before",
		map[string]any{"origins": []string{"https://a.example", "https://c.example", "https://d.example"}},
		"--remove-origin", "https://e.example", "--add-origin", "https://d.example")
	f("removed, their pages may send no more: https://a.example,https://d.example", map[string]any{"origins": []string{"https://c.example"}},
		"--remove-origin", "https://d.example,https://a.example")
	f("origin: -, before https://c.example", map[string]any{"origins": []string{}}, "--origin", "")
	f("host: a.example", map[string]any{"hosts": []string{"a.example", "b.example"}}, "--host", "a.example,b.example")
	f("events-per-second: 1000000, before the edge's default\nburst: 512", map[string]any{"events_per_second": 1000000, "burst": 512},
		"--events-per-second", "1000000", "--burst", "512")
	f("events-per-second: the edge's default, before 1000000", map[string]any{"events_per_second": 0}, "--events-per-second", "0")
	f("consent: required, before none", map[string]any{"consent_policy": "required"}, "--consent", "required")
	f("payout-rule: last_touch, before coupon_first\nwindow-days: 60, before 30\nhalf-life-days: 14",
		map[string]any{"payout_rule": "last_touch", "window_days": 60, "half_life_days": 14},
		"--payout-rule", "last_touch", "--window-days", "60", "--half-life-days", "14")
	f("unproven: ignore, before review\nhold-days: 0, before 30",
		map[string]any{"unproven": "ignore", "hold_days": 0, "count_direct": true, "pay_recurring": true},
		"--unproven", "ignore", "--hold-days", "0", "--count-direct", "--pay-recurring")
	f("retention-days: 90, before for ever", map[string]any{"retention_days": 90}, "--retention-days", "90d")
	for _, short := range []string{"69d", "5d", "-1"} { // the least is told as it is beside the company's own settings
		if out, status := command(t, "company", "set", live.CompanyID, "--retention-days", short); status == 0 ||
			!strings.Contains(out, "--retention-days must be from 70 ") {
			t.Errorf("--retention-days %s: exit status %d\n%s", short, status, out)
		}
	}
	f("retention-days: for ever, before 90", map[string]any{"retention_days": 0}, "--retention-days", "0")
	f("minimum-payout: 49.9, before 0", map[string]any{"minimum_payout": "49.9"}, "--minimum-payout", "49.90")
	f("Nothing was changed", nil, "--minimum-payout", "49.900")
	f("payout-rule: coupon_first", map[string]any{"payout_rule": "coupon_first"}, "--payout-rule", "coupon_first")
	f("timezone: America/Argentina/Buenos_Aires",
		map[string]any{"country": "AR", "timezone": "America/Argentina/Buenos_Aires", "currency": "ARS"},
		"--country", "AR", "--timezone", "America/Argentina/Buenos_Aires", "--currency", "ARS")

	out, status := command(t, "company", "show", live.CompanyID)
	for _, want := range []string{live.CompanyID, live.StoreID, "Loja Exemplo", "a.example,b.example", "required", "the edge's default", "512",
		"ARS", "coupon_first"} {
		if status != 0 || !strings.Contains(out, want) {
			t.Errorf("exit status %d, and %q is not in\n%s", status, want, out)
		}
	}
	outboxAndAudit(t, dsn, live.CompanyID, 20, 5) // of orders: host, time zone, and what decides about payouts

	// From the first order on, what is stored was made with these three.
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(),
		`insert into orders (company_id, order_id, created_at, processed_at, day, status, currency, total_minor, body)
		values ($1, 'o', now(), now(), '2026-03-10', 0, 'BRL', 1000, '')`, live.CompanyID); err != nil {
		t.Fatal(err)
	}
	refused := func(want string, args ...string) {
		t.Helper()
		out, status := command(t, append([]string{"company", "set", live.CompanyID}, args...)...)
		if !refused(status) || strings.Count(out, "\n") != strings.Count(want, "\n")+1 || !strings.Contains(out, want) {
			t.Errorf("%v: exit status %d and\n%s\nwant 1 and %q", args, status, out, want)
		}
	}
	refused("--country is AR and cannot become BR: the company has orders already", "--country", "BR", "--origin", "https://d.example")
	refused("--timezone is America/Argentina/Buenos_Aires and cannot become UTC", "--timezone", "UTC")
	refused("--currency is ARS and cannot become BRL", "--currency", "BRL")
	f("Nothing was changed", nil, "--currency", "ARS") // nor was the origin beside a refused country
	f("origin: https://d.example", map[string]any{"origins": []string{"https://d.example"}}, "--origin",
		"https://d.example", "--currency", "ARS")
}

func text(t *testing.T, value any) string {
	t.Helper()
	out, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// outboxAndAudit wants changes of a company's settings in the outbox for edges, in
// the audit log, and those that concern orders in the outbox for the processor.
func outboxAndAudit(t *testing.T, dsn, companyID string, changes, ofOrders int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var directory, settings, audited int
	var last []byte
	var from, to, actor string
	if err := conn.QueryRow(t.Context(), `select
			(select count(*) from outbox where topic = $2 and key = 'company/' || $1),
			(select count(*) from outbox where topic = $3 and key = $1 and convert_from(value, 'utf8')::jsonb ->> 'kind' = 'settings'),
			(select count(*) from audit_log where company_id = $1 and action = 'company.settings'),
			(select value from outbox where topic = $2 and key = 'company/' || $1 order by outbox_id desc limit 1)`,
		companyID, wire.TopicDirectory, wire.TopicCommerce).Scan(&directory, &settings, &audited, &last); err != nil {
		t.Fatal(err)
	}
	if directory != changes+1 || settings != ofOrders || audited != changes { // one of the company's creation
		t.Errorf("%d records of the directory, %d of settings, %d lines of the audit log for %d changes", directory, settings, audited, changes)
	}
	var c wire.Company
	if err := json.Unmarshal(last, &c); err != nil || c.Limits != (wire.Limits{Burst: 512}) || c.ConsentPolicy != "required" ||
		c.Country != "AR" || len(c.Hosts) != 2 || !uuidtext.Is(c.StoreID) {
		t.Errorf("the directory gets %s, %v", last, err)
	}
	if err := conn.QueryRow(t.Context(), `select detail -> 'country' ->> 'from', detail -> 'country' ->> 'to', actor from audit_log
		where company_id = $1 and action = 'company.settings' order by audit_id desc limit 1`, companyID).Scan(&from, &to, &actor); err != nil ||
		from != "BR" || to != "AR" || actor != "cli" {
		t.Errorf("the audit log says from %q to %q by %q, %v", from, to, actor, err)
	}
}

func TestMistakenSettingsAreRefusedByTheirFlags(t *testing.T) {
	live, _ := installation(t)
	before := text(t, shown(t, live.CompanyID))
	f := func(want string, args ...string) {
		t.Helper()
		out, status := command(t, append([]string{"company", "set"}, args...)...)
		if !refused(status) || !strings.Contains(out, want) || strings.Count(out, "\n") != 1 {
			t.Errorf("%v: exit status %d and\n%s\nwant a line with %q", args, status, out, want)
		}
	}
	f("COMPANY is missing: tributary company set COMPANY", "--origin", "https://a.example")
	f("give what to change: --country, --timezone", live.CompanyID)
	f("no such company: c_zz; `tributary company list`", "c_zz", "--consent", "none")
	f("--consent must be one of", live.CompanyID, "--consent", "maybe")
	f("--consent", live.CompanyID, "--consent", "")
	f(`--origin "https://*.example.com" is no origin`, live.CompanyID, "--origin", "https://*.example.com")
	f(`--origin "https://loja.example.com/" is no origin`, live.CompanyID, "--origin", "https://a.example", "--origin",
		"https://loja.example.com/")
	f(`--add-origin "https://*.example.com" is no origin`, live.CompanyID, "--add-origin", "https://*.example.com")
	f(`--add-origin "https://x/" is no origin`, live.CompanyID, "--add-origin", "https://x/", "--remove-origin", "https://b.example")
	f("--origin and --add-origin cannot be given together", live.CompanyID, "--origin", "https://a.example",
		"--add-origin", "https://b.example")
	f("--origin and --remove-origin cannot be given together", live.CompanyID, "--origin", "https://a.example",
		"--remove-origin", "https://b.example")
	f(`--host "https://loja.example.com" is no host`, live.CompanyID, "--host", "https://loja.example.com")
	f("--events-per-second must be from 1 to 1000000", live.CompanyID, "--events-per-second", "-1")
	f("--events-per-second must be from 1 to 1000000", live.CompanyID, "--events-per-second", "NaN")
	f("--burst must be from 512", live.CompanyID, "--burst", "511")
	f("--country is no ISO 3166-1", live.CompanyID, "--country", "Brasil")
	out, status := command(t, "company", "show", "c_zz")
	if status != 1 || !strings.Contains(out, "no such company: c_zz") {
		t.Errorf("exit status %d and %s", status, out)
	}
	if after := text(t, shown(t, live.CompanyID)); after != before {
		t.Errorf("after nothing but refusals:\n%s\nbefore\n%s", after, before)
	}
}

// A burst below a full request's cost would refuse it for ever.
func TestTheLeastBurstIsAFullRequest(t *testing.T) {
	if commerce.MinBurst != edge.LeastBurst {
		t.Errorf("%d, and a request costs up to %d", commerce.MinBurst, edge.LeastBurst)
	}
}

func TestAnInfluencerMayHaveASettingOfItsOwn(t *testing.T) {
	live, _ := installation(t)
	f := func(wantStatus int, want string, args ...string) {
		t.Helper()
		out, status := command(t, append([]string{"company", "set", live.CompanyID}, args...)...)
		if status != wantStatus || !strings.Contains(out, want) {
			t.Errorf("%v: exit status %d and\n%s\nwant %q", args, status, out, want)
		}
	}
	f(1, `has no influencer "Ana"`, "--influencer", "Ana", "--unproven", "pay")
	f(statusUsage, "--unproven must be one of review, ignore, pay, or empty", "--influencer", "Ana", "--unproven", "perhaps")
	f(statusUsage, "--influencer goes with --unproven, and with no other setting", "--influencer", "Ana", "--unproven",
		"pay", "--hold-days", "3")
	f(statusUsage, "--influencer goes with --unproven, and with no other setting", "--influencer", "Ana")
}

// The influencers' own settings are shown beside the company's.
func TestACompanyIsShownWithItsInfluencersOwnSettings(t *testing.T) {
	live, dsn := installation(t)
	db, err := openStores(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	author := commerce.Author{CompanyID: live.CompanyID, Actor: "test", At: time.Now()}
	for name, unproven := range map[string]string{"Ana": "pay", "Beto": "", "Caio": "ignore"} {
		if _, err := db.RegisterInfluencer(t.Context(), author, commerce.Registration{Name: name}, rand.Reader); err != nil {
			t.Fatal(err)
		}
		for _, set := range []string{"ignore", unproven} { // the last counts
			if out, status := command(t, "company", "set", live.CompanyID, "--influencer", name, "--unproven", set); status != 0 {
				t.Fatal(out)
			}
		}
	}
	if _, err := db.ArchiveInfluencer(t.Context(), author, "Caio", ""); err != nil {
		t.Fatal(err)
	}
	out, status := command(t, "company", "show", live.CompanyID)
	if status != 0 || !regexp.MustCompile(`(?m)^unproven of Ana +pay$`).MatchString(out) || strings.Count(out, "unproven of") != 1 {
		t.Errorf("exit status %d and\n%s", status, out)
	}
	out, status = command(t, "company", "show", live.CompanyID, "--json")
	var shown struct {
		Own []influencerUnproven `json:"influencers_unproven"`
	}
	if err := json.Unmarshal([]byte(out), &shown); err != nil || status != 0 || len(shown.Own) != 1 ||
		shown.Own[0] != (influencerUnproven{"Ana", "pay"}) {
		t.Errorf("exit status %d, %v, %+v", status, err, shown)
	}
}
