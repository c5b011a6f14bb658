package dashboard_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

// looks sends a form that is not saved yet, and returns what the page says before it is.
func (s *site) looks(client *http.Client, path string, form url.Values) string {
	s.t.Helper()
	status, text, to := s.send(client, path, form)
	if status == http.StatusSeeOther {
		return "saved: " + to
	}
	if status != http.StatusOK {
		s.t.Errorf("%s: %d %s", path, status, text)
	}
	return strings.ReplaceAll(text, "\u00a0", " ")
}

// Finding S3-6: a fee with a typing error is above what orders are worth. It is said before the agreement is saved, on the order's
// page and among the influencer's results; the money stays as it was agreed.
func TestAFeeAboveTheValueOfOrdersIsSaid(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	now := time.Now()
	owner, ana := s.loggedIn(), s.Influencer(s.live, "Ana Prado")
	at := "?company=" + s.live + "&id=" + ana
	fee := func(text string) url.Values {
		return url.Values{"fixed_fee": {text}, "cost_start": {now.Format(time.DateOnly)}}
	}
	const path, said = "/dashboard/influencer/costs", "the commission would be more than the sale"
	if text := s.looks(owner, path+at, fee("1244.56")); strings.Contains(text, said) {
		t.Errorf("without orders: %s", text)
	}
	for id, o := range map[string]reporttest.Order{
		"below": {TotalMinor: 10000}, "equal": {TotalMinor: 15000}, "above": {TotalMinor: 20000},
		"cancelled": {TotalMinor: 100, Status: commerce.OrderCancelled}, "dollars": {TotalMinor: 100, Currency: "USD"},
		"old":   {TotalMinor: 100, CreatedAt: now.AddDate(0, 0, -40)},
		"owing": {TotalMinor: 10000, InfluencerID: ana, Evidence: "coupon", State: "earned", CommissionMinor: 124456},
	} {
		o.CompanyID, o.ID = s.live, id
		if o.CreatedAt.IsZero() {
			o.CreatedAt = now
		}
		s.Put(o)
	}
	if text := s.looks(owner, path+at, fee("150")); !contains(text, "Is this meant?",
		"R$ 150.00 an order is above the value of 2 of the 4 orders", said) {
		t.Errorf("a fee above two of four: %s", text)
	}
	if text := s.looks(owner, path+at, fee("100")); strings.Contains(text, said) {
		t.Errorf("a fee as high as the least: %s", text)
	}
	if text := s.looks(owner, path+at, changed(fee("150"), "step", "save")); !strings.HasPrefix(text, "saved: ") {
		t.Errorf("it can be saved all the same: %s", text)
	}
	register := url.Values{"name": {"Beto"}, "code": {"BETO"}, "fixed_fee": {"150"}, "cost_start": {now.Format(time.DateOnly)}}
	if text := s.looks(owner, "/dashboard/influencers?company="+s.live, register); !contains(text, said) {
		t.Errorf("a registration: %s", text)
	}
	if text := s.readAs(owner, "/dashboard/influencer"+at); !contains(text, "The commission of 1 order is above the order’s value.") {
		t.Errorf("the results: %s", text)
	}
	if text := s.readAs(owner, "/dashboard/influencer"+at+"&from=2026-01-01&to=2026-01-31"); contains(text, "above the order’s value") {
		t.Errorf("the results of other days: %s", text)
	}
	if text := s.readAs(owner, "/dashboard/order?company="+s.live+"&id=owing"); !contains(text, "is above the order’s value of R$ 100.00") {
		t.Errorf("the order: %s", text)
	}
}

// Finding S3-8: a short link to another's host is said before it is saved, and its host is shown as it is looked up.
func TestALinkThatLeavesTheShopIsSaid(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner, ana := s.loggedIn(), s.Influencer(s.live, "Ana Prado")
	path := "/dashboard/influencer/links?company=" + s.live + "&id=" + ana
	add := func(links string) url.Values { return url.Values{"links": {links}} }
	const said = "Whoever opens this link leaves your shop"
	if text := s.looks(owner, path, add("https://outra.example.com/")); !strings.HasPrefix(text, "saved: ") {
		t.Errorf("of a store without an address: %s", text)
	}
	if _, _, err := s.DB.ChangeSettings(t.Context(), commerce.SettingsChange{CompanyID: s.live, Actor: "test",
		Change: func(c *commerce.Settings) {
			c.Origins, c.Hosts = []string{"https://www.minhaloja.com.br"}, []string{"minhaloja.net"}
		}}); err != nil {
		t.Fatal(err)
	}
	text := s.looks(owner, path, add("https://minhaloja.com.br/a\r\nhttps://www.concorrente.com.br/x\r\nhttps://minhalоja.com.br/b"))
	if !contains(text, said, "Is this meant?", "www.concorrente.com.br, xn--minhalja-sbh.com.br") {
		t.Errorf("two hosts that are not the shop's: %s", text)
	}
	for _, own := range []string{"https://minhaloja.com.br/", "https://blog.minhaloja.com.br/1", "https://promo.minhaloja.net/"} {
		if text := s.looks(owner, path, add(own)); !strings.HasPrefix(text, "saved: ") {
			t.Errorf("%s: %s", own, text)
		}
	}
	if text := s.looks(owner, path, changed(add("https://www.concorrente.com.br/x"), "step", "save")); !strings.HasPrefix(text, "saved: ") {
		t.Errorf("it can be saved all the same: %s", text)
	}
	status, text := s.upload(owner, "Nome;Links;Cupom;Comissão (%)\r\nBeto;https://loja-do-beto.com.br/;BETO;10\r\n")
	if status != http.StatusOK || !contains(text, "Is this meant?", "Not an address of your shop: loja-do-beto.com.br", said) {
		t.Errorf("an import: %d %s", status, text)
	}
}

// Finding S3-9: a coupon that works before the agreement begins pays nothing until then. It is said before it is saved.
func TestAnAgreementAfterItsCouponIsSaid(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner, at := s.loggedIn(), "?company="+s.live
	form := url.Values{"name": {"Beto"}, "code": {"BETO"}, "coupon_start": {"2026-03-01"}, "var_fee": {"10"}, "cost_start": {"2026-03-15"}}
	const said = "The coupon BETO works from 1 Mar 2026 on, and the agreement from 15 Mar 2026 on"
	if text := s.looks(owner, "/dashboard/influencers"+at, form); !contains(text, "Is this meant?", said) {
		t.Errorf("an agreement that begins later: %s", text)
	}
	status, text := s.upload(owner, "name,coupon,coupon_start,var_fee,cost_start\r\n"+
		"Beto,BETO,2026-03-01,10,2026-03-15\r\nDora,DORA,2026-03-01,10,2026-03-01\r\n")
	if status != http.StatusOK || !contains(text, "Is this meant?", said) ||
		contains(text, "coupon DORA works") {
		t.Errorf("an import: %d %s", status, text)
	}
	for what, other := range map[string]url.Values{
		"begins with it":       changed(form, "cost_start", "2026-03-01"),
		"begins before it":     changed(form, "cost_start", "2026-02-01"),
		"is of a fixed amount": changed(changed(changed(form, "var_fee", ""), "value", "10"), "frequency", "monthly"),
		"has no coupon":        changed(changed(changed(form, "code", ""), "coupon_start", ""), "links", "https://loja.example.com/"),
	} {
		if other.Get("code") != "" {
			other = changed(other, "code", strings.ToUpper(strings.ReplaceAll(what, " ", "")))
		}
		if text := s.looks(owner, "/dashboard/influencers"+at, changed(other, "name", "Caio "+what)); contains(text, "and the agreement from") {
			t.Errorf("an agreement that %s: %s", what, text)
		}
	}
}

// A registration under the name of an influencer who is archived makes a second one. Whether that is meant is asked before it is saved.
func TestASecondInfluencerOfANameIsSaid(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner, at := s.loggedIn(), "?company="+s.live
	form := func(name string) url.Values {
		return url.Values{"name": {name}, "links": {"https://loja.example.com/"}}
	}
	const said = "is archived: this makes a second influencer of that name"
	s.Archive(s.live, s.Influencer(s.live, "Ana Prado"))
	if text := s.looks(owner, "/dashboard/influencers"+at, form("ana prado")); !contains(text, "Is this meant?", "ana prado "+said) {
		t.Errorf("before it is saved: %s", text)
	}
	if text := s.looks(owner, "/dashboard/influencers"+at, form("Ana")); !strings.HasPrefix(text, "saved: ") {
		t.Errorf("another name: %s", text)
	}
	if text := s.looks(owner, "/dashboard/influencers"+at, changed(form("Ana Prado"), "step", "save")); !strings.HasPrefix(text, "saved: ") {
		t.Errorf("it can be saved all the same: %s", text)
	}
	if text := s.looks(owner, "/dashboard/influencers"+at, form("Ana Prado")); !strings.HasPrefix(text, "saved: ") {
		t.Errorf("what is added to the second one: %s", text)
	}
}
