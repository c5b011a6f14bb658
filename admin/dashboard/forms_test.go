package dashboard_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard/site/texttest"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

func ana() url.Values {
	return url.Values{"name": {"Ana Prado"}, "category": {"moda"}, "campaign": {"Outono"},
		"links": {"https://loja.example.com/a\r\nhttps://loja.example.com/b"},
		"code":  {"ana20"}, "coupon_start": {"2026-03-01"}, "coupon_end": {"2026-03-31"}, "var_fee": {"12,5"}, "fixed_fee": {"1.234,50"},
		"cost_start": {"2026-03-01"}, "coupon_only": {"yes"}, "step": {"save"}}
}

func changed(values url.Values, name, value string) url.Values {
	form := url.Values{}
	for key, list := range values {
		form[key] = list
	}
	form.Set(name, value)
	return form
}

func TestAnInfluencerIsRegisteredAndChanged(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner, at := s.loggedIn(), "?company="+s.live
	for name, c := range map[string]struct{ value, want string }{
		"name":       {" ", "is empty"},
		"links":      {"http://loja.example.com/", "must be an https URL"},
		"coupon_end": {"2026-02-01", "is before the start"},
		"var_fee":    {"101", "must be between 0 and 100"},
		"fixed_fee":  {"many", "must be an amount"},
		"value":      {"10", "is required where there is a fixed amount"},
		"cost_start": {"", "is required"},
	} {
		status, text, _ := s.send(owner, "/dashboard/influencers"+at, changed(ana(), name, c.value))
		field := name
		if name == "value" {
			field = "frequency"
		}
		if status != http.StatusUnprocessableEntity || !contains(text, c.want, `href="#f-`+field+`"`, "Ana Prado") && name != "name" {
			t.Errorf("%s %q: %d, without %q", name, c.value, status, c.want)
		}
	}
	if status, text, _ := s.send(owner, "/dashboard/influencers"+at, changed(ana(), "links", "https://private.example.com/")); status !=
		http.StatusUnprocessableEntity || !contains(text, "that is not public") {
		t.Errorf("a private host: %d", status)
	}
	status, _, to := s.send(owner, "/dashboard/influencers"+at, ana())
	if status != http.StatusSeeOther || !strings.HasPrefix(to, "/dashboard/influencer?") {
		t.Fatalf("%d to %q", status, to)
	}
	list, err := s.DB.Influencers(t.Context(), s.live, commerce.InfluencerCursor{}, 10)
	if err != nil || len(list) != 1 || len(list[0].Links) != 2 || list[0].Coupons[0].Code != "ANA20" ||
		list[0].Costs[0].FixedFeeMinor != 123450 || list[0].Costs[0].VarFee.String() != "12.5" || !list[0].Costs[0].CouponCost {
		t.Fatalf("%+v, %v", list, err)
	}
	page := s.readAs(owner, to)
	if !contains(page, "Ana Prado", "Campaign: Outono", "ANA20", "R$ 1,234.50 an order", "go.example.com/", "Registered.") {
		t.Errorf("the page reads %q", page)
	}
	conflict := changed(ana(), "name", "Beto Lima")
	conflict = changed(conflict, "coupon_start", "2026-03-31")
	conflict = changed(conflict, "coupon_end", "")
	if status, text, _ := s.send(owner, "/dashboard/influencers"+at, conflict); status != http.StatusUnprocessableEntity ||
		!contains(text, "ANA20 is already Ana Prado") {
		t.Errorf("an overlapping coupon: %d", status)
	}
	of, id := at+"&id="+list[0].InfluencerID, list[0].InfluencerID
	campaign := list[0].Campaigns[0].CampaignID
	f := func(what, path string, values url.Values, want int) {
		t.Helper()
		if status, text, _ := s.send(owner, "/dashboard/influencer"+path+of, values); status != want {
			t.Errorf("%s: %d, want %d\n%.300s", what, status, want, text)
		}
	}
	f("category", "/category", url.Values{"category": {"beleza"}}, http.StatusSeeOther)
	f("links", "/links", url.Values{"links": {"https://loja.example.com/c"}, "campaign": {"Inverno"}}, http.StatusSeeOther)
	f("no link", "/links", url.Values{"links": {""}}, http.StatusUnprocessableEntity)
	f("a coupon", "/coupons", url.Values{"campaign_id": {campaign}, "code": {"ANA30"}, "coupon_start": {"2026-04-01"}}, http.StatusSeeOther)
	f("a coupon of no campaign", "/coupons", url.Values{"campaign_id": {"x"}, "code": {"ANA40"}}, http.StatusUnprocessableEntity)
	f("a cost", "/costs",
		url.Values{"campaign_id": {campaign}, "value": {"400"}, "frequency": {"monthly"}, "cost_start": {"2026-03-01"},
			"step": {"save"}}, http.StatusSeeOther)
	f("a cost of nothing", "/costs", url.Values{"cost_start": {"2026-03-01"}}, http.StatusUnprocessableEntity)
	f("remove the coupon", "/coupons/remove", url.Values{"campaign_id": {campaign}, "code": {"ANA30"}}, http.StatusSeeOther)
	f("once more", "/coupons/remove", url.Values{"campaign_id": {campaign}, "code": {"ANA30"}}, http.StatusNotFound)
	f("remove a cost", "/costs/remove", url.Values{"cost": {list[0].Costs[0].CostID}}, http.StatusSeeOther)
	f("a cost of another", "/costs/remove", url.Values{"cost": {id}}, http.StatusNotFound)
	code := s.readRaw(owner, "/dashboard/influencer/qr.svg"+of+"&code="+list[0].Links[0].Code)
	if !strings.HasPrefix(code, "<svg ") {
		t.Errorf("the QR code is %.100q", code)
	}
	if text := s.readAs(owner, "/dashboard/influencers"+at+"&q=ana20&sort=sales"); !contains(text, "Ana Prado", "beleza", "3 links") {
		t.Errorf("searched by coupon: %q", text)
	}
	if text := s.readAs(owner, "/dashboard/influencers"+at+"&q=PRÁDO"); !contains(text, "Ana Prado") {
		t.Errorf("searched by name: %q", text)
	}
	f("archive a campaign", "/archive", url.Values{"campaign_id": {campaign}}, http.StatusSeeOther)
	f("archive", "/archive", nil, http.StatusSeeOther)
	f("an archived one", "/archive", nil, http.StatusNotFound)
	// Orders, channels and signs still lead to the page.
	if text := s.readAs(owner, "/dashboard/influencer"+of); !contains(text, "Ana Prado", "Archived on") || contains(text, "Add links") {
		t.Errorf("the archived one reads %q", text)
	}
}

func TestOrdersAreFound(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner, at := s.loggedIn(), "?company="+s.live
	if text := s.readAs(owner, "/dashboard/orders"+at); !contains(text, "No order yet", "Prepare your shop") {
		t.Errorf("without an order: %s", text)
	}
	if text := s.readAs(owner, "/dashboard/orders"+at+"&status=2"); !contains(text, "No order for these filters") {
		t.Errorf("without an order for a filter: %s", text)
	}
	ana := s.Influencer(s.live, "Ana Prado")
	now := time.Now()
	s.Put(reporttest.Order{CompanyID: s.live, ID: "gid-1", Name: "#1001", TotalMinor: 100, InfluencerID: ana,
		Evidence: "coupon", CreatedAt: now})
	s.Put(reporttest.Order{CompanyID: s.live, ID: "gid-2", Name: "#1002", TotalMinor: 200, Status: commerce.OrderCancelled,
		CreatedAt: now.Add(-time.Hour)})
	s.Put(reporttest.Order{CompanyID: s.box, ID: "gid-3", Name: "#1001", TotalMinor: 300})
	s.Key(s.live, "gid-2",
		facts.Key{Kind: facts.KeyEmail, Value: s.hasher.Company(s.live, "BR").Email("maria@example.com")}, now.Add(-time.Hour))
	s.Key(s.live, "gid-2",
		facts.Key{Kind: facts.KeyPhone, Value: s.hasher.Company(s.live, "BR").Phone("+55 11 98765-4321")}, now.Add(-time.Hour))
	s.FindBy(s.live, "gid-1", "ANA10")
	f := func(query string, want ...string) {
		t.Helper()
		page := s.readAs(owner, "/dashboard/orders"+at+query)
		for _, name := range []string{"#1001", "#1002"} {
			has := false
			for _, w := range want {
				has = has || w == name
			}
			if contains(page, name) != has {
				t.Errorf("%s: has %s %t, want %t", query, name, !has, has)
			}
		}
	}
	f("", "#1001", "#1002")
	f("&credited=nobody", "#1002")
	f("&credited=nobody&status=0")
	f("&q=1001", "#1001")
	f("&q=%231002", "#1002")
	f("&q=gid-1", "#1001")
	f("&q=gid-3")
	f("&q=GID-1", "#1001")
	f("&q=11%2098765-4321", "#1002")
	f("&q=ana10", "#1001")
	f("&q=Maria@Example.com%20", "#1002")
	f("&q=joana@example.com")
	f("&status=2", "#1002")
	f("&from=2099-01-01")
	for _, bad := range []string{"&status=7", "&credited=x", "&from=x", "&influencer=x", "&after=x", "&q=%00"} {
		answer, err := owner.Get(s.url + "/dashboard/orders" + at + bad)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %s", bad, answer.Status)
		}
	}
	if strings.Contains(s.logged(), "maria") {
		t.Error("the log has an e-mail")
	}
}

func TestWhatWaitsIsDecided(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner, at := s.loggedIn(), "?company="+s.live
	putOdd(s)
	if text := s.readAs(owner, "/dashboard/payouts"+at); !contains(text, "1 commission waits for your decision", "Ana Prado",
		"In review", "R$ 10.00") {
		t.Errorf("payouts read %q", text)
	}
	if text := s.readAs(owner, "/dashboard/reviews"+at); !contains(text, "Order waits", "Ana Prado would get R$ 10.00", "Accept and pay") {
		t.Errorf("reviews read %q", text)
	}
	list, err := s.DB.Reviews(t.Context(), s.live, commerce.Cursor{}, 10)
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	decide := func(id, influencer, decision string, want int) {
		t.Helper()
		status, _, to := s.send(owner, "/dashboard/order/evidence"+at+"&id="+id,
			url.Values{"influencer": {influencer}, "decision": {decision}, "from": {"reviews"}})
		if status != want || want == http.StatusSeeOther && !strings.HasPrefix(to, "/dashboard/reviews?") {
			t.Errorf("%s %s: %d to %q, want %d", decision, id, status, to, want)
		}
	}
	decide("waits", list[0].InfluencerID, "perhaps", http.StatusBadRequest)
	decide("waits", "x", "accept", http.StatusBadRequest)
	decide("nowhere", list[0].InfluencerID, "accept", http.StatusNotFound)
	decide("waits", "0195b2c0-0000-7000-8000-00000000000f", "accept", http.StatusNotFound)
	decide("waits", strings.ToUpper(list[0].InfluencerID), "accept", http.StatusSeeOther)
	s.Decisions(s.live, "waits", list[0].InfluencerID, commerce.MaxDecisions)
	decide("waits", list[0].InfluencerID, "accept", http.StatusConflict)
	if text := s.readAs(owner, "/dashboard/audit"+at+"&kind=order."); !contains(text, "Decision about a link", "accept") {
		t.Errorf("the audit log reads %q", text)
	}
	status, _, _ := s.send(owner, "/dashboard/statements"+at, url.Values{"end_date": {"2099-01-01"}})
	if status != http.StatusUnprocessableEntity {
		t.Errorf("a period of the future: %d", status)
	}
	s.Put(reporttest.Order{CompanyID: s.live, ID: "old", TotalMinor: 10000, CommissionMinor: 1000, Evidence: "coupon",
		InfluencerID: list[0].InfluencerID, CreatedAt: time.Now().AddDate(0, 0, -40)}) // it may be paid: its hold is over
	if status, _, _ := s.send(owner, "/dashboard/statements"+at,
		url.Values{"end_date": {time.Now().AddDate(0, 0, -1).Format(time.DateOnly)}}); status != http.StatusSeeOther {
		t.Errorf("close: %d", status)
	}
}

func TestCostsAreKept(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner, at := s.loggedIn(), "?company="+s.live
	rent := url.Values{"name": {"Aluguel"}, "category": {"rent"}, "value": {"3.100,00"}, "frequency": {"monthly"},
		"start_date": {"2026-01-01"}, "step": {"save"}}
	for name, c := range map[string]struct{ value, want string }{
		"name": {"", "is empty"}, "value": {"0", "must be greater than 0"}, "frequency": {"yearly", "must be one of"},
		"start_date": {"", "is required"}, "end_date": {"2025-01-01", "is before the start"},
	} {
		if status, text, _ := s.send(owner, "/dashboard/costs"+at, changed(rent, name, c.value)); status != http.StatusUnprocessableEntity ||
			!contains(text, c.want) {
			t.Errorf("%s %q: %d, without %q", name, c.value, status, c.want)
		}
	}
	if status, _, _ := s.send(owner, "/dashboard/costs"+at, rent); status != http.StatusSeeOther {
		t.Fatalf("%d", status)
	}
	list, err := s.DB.AdditionalCosts(t.Context(), s.live, commerce.CostFilter{}, 10)
	if err != nil || len(list) != 1 || list[0].ValueMinor != 310000 {
		t.Fatalf("%+v, %v", list, err)
	}
	if text := s.readAs(owner, "/dashboard/costs"+at+"&edit="+list[0].ID); !contains(text, "Change a cost", "The numbers", "R$ 3,100.00") {
		t.Errorf("the page reads %q", text)
	}
	edit := changed(changed(rent, "id", list[0].ID), "was", "monthly")
	if status, _, _ := s.send(owner, "/dashboard/costs"+at, changed(edit, "value", "3200")); status != http.StatusSeeOther {
		t.Errorf("change: %d", status)
	}
	if status, _, _ := s.send(owner, "/dashboard/costs/remove"+at,
		url.Values{"id": {list[0].ID}, "frequency": {"weekly"}}); status != http.StatusNotFound {
		t.Errorf("remove another pair: %d", status)
	}
	if status, _, _ := s.send(owner, "/dashboard/costs/remove"+at,
		url.Values{"id": {list[0].ID}, "frequency": {"monthly"}}); status != http.StatusSeeOther {
		t.Errorf("remove: %d", status)
	}
}

// The total marketing cost is what commissions, agreements and additional costs amount to
// in the days that the page shows.
func TestTheTotalMarketingCost(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner, now := s.loggedIn(), time.Now()
	if text := s.readAs(owner, "/dashboard/costs?company="+s.live); contains(text, "Costs and commission") {
		t.Errorf("nothing was spent: %s", text)
	}
	long := now.AddDate(0, -3, 0).Format(time.DateOnly)
	ana := s.Influencer(s.live, "Ana")
	s.Cost(s.live, ana, "", 1000, commerce.Daily, long)
	cost := commerce.AdditionalCost{ID: "0199f3a0-0000-7000-8000-00000000000c", Name: "Aluguel", ValueMinor: 100,
		Frequency: commerce.Daily, StartDate: long}
	if err := s.DB.AddAdditionalCost(t.Context(),
		commerce.Author{CompanyID: s.live, Actor: "cli", At: now.AddDate(0, -3, 0)}, cost); err != nil {
		t.Fatal(err)
	}
	s.sumDay(now.AddDate(0, 0, -2).Format(time.DateOnly)) // R$ 125.00 commission
	text := s.readAs(owner, "/dashboard/costs?company="+s.live)
	if !contains(text, "Costs and commission R$ 455.00", "Commission R$ 125.00", "Fixed amounts of influencers R$ 300.00",
		"Other costs R$ 30.00") {
		t.Errorf("%s", text)
	}
	for kind, minor := range map[string]int{"bonus": 2000, "adjustment": -500, "advance": -9000} {
		s.exec(`insert into ledger_entry (company_id, order_id, entry, at, kind, influencer_id, cost_id, amount_minor, currency, payable_on,
			rule_rev, cause) values ($1, E'\x01entry/' || $2, 1, now(), $2, $3, gen_random_uuid(), $4, 'BRL', $5, 1, 'entry')`,
			s.live, kind, ana, minor, now.AddDate(0, 0, -3))
	}
	text = s.readAs(owner, "/dashboard/costs?company="+s.live)
	if !contains(text, "Costs and commission R$ 470.00", "Bonuses and adjustments R$ 15.00") {
		t.Errorf("with what was entered by hand: %s", text)
	}
	words := texttest.English(t)
	day := func(ago int) string { return now.AddDate(0, 0, -ago).Format(time.DateOnly) }
	text = s.readAs(owner, "/dashboard/costs?company="+s.live+"&from="+day(50)+"&to="+day(46))
	if !contains(text, "Costs and commission R$ 55.00", "Fixed amounts of influencers R$ 50.00", "Other costs R$ 5.00",
		"Other costs by day "+words.Day(day(50))+" – "+words.Day(day(46))+": R$ 5.00") {
		t.Errorf("other days: %s", text)
	}
	text = s.readAs(owner, "/dashboard/costs?company="+s.live+"&from="+day(89)+"&to="+day(80))
	if !contains(text, "by day", "R$ 10.00") || contains(text, "R$ 125.00") {
		t.Errorf("days before the sales: %s", text)
	}
	text = s.readAs(owner, "/dashboard/costs?company="+s.live+"&from="+day(1)+"&to="+day(2))
	if !contains(text, "These days cannot be shown") {
		t.Errorf("days that are none: %s", text)
	}
}

// Finding S2-14: what is paid once is paid on a day, not from a day on.
func TestWhatIsPaidOnceHasADay(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner := s.loggedIn()
	if err := s.DB.AddAdditionalCost(t.Context(), commerce.Author{CompanyID: s.live, Actor: "cli", At: time.Now()},
		commerce.AdditionalCost{ID: "0199f3a0-0000-7000-8000-00000000000c", Name: "Fotos", ValueMinor: 100, Frequency: commerce.Specific,
			StartDate: "2026-11-23"}); err != nil {
		t.Fatal(err)
	}
	ana := s.Influencer(s.live, "Ana")
	s.Cost(s.live, ana, "", 1000, commerce.Specific, "2026-11-24")
	if text := s.readAs(owner, "/dashboard/costs?company="+s.live); !contains(text, "Once on 23 Nov 2026") {
		t.Errorf("the costs: %s", text)
	}
	if text := s.readAs(owner, "/dashboard/influencer?company="+s.live+"&id="+ana); !contains(text, "once", "on 24 Nov 2026") ||
		contains(text, "· from 24 Nov 2026") {
		t.Errorf("the agreement: %s", text)
	}
}
