package dashboard_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
)

// shopService stands in for the connect service: by the store's own statements it takes tasks and answers them, as the real one
// does.
type shopService struct {
	s     *site
	keys  *account.SealKeys
	lease commerce.ConnectLease
}

// answerTask answers a task of a connection; a reason is why it fails.
type answerTask func(c commerce.LeasedConnection, t commerce.ConnectTask) (answer any, reason, detail string)

// connectService runs from now on, and offers two platforms: one whose keys are pasted, and one where an app is installed.
func (s *site) connectService() *shopService {
	s.t.Helper()
	keys, err := account.NewSealKeys()
	if err != nil {
		s.t.Fatal(err)
	}
	service := &shopService{s, keys, commerce.ConnectLease{Holder: "test", For: time.Minute}}
	service.offer()
	return service
}

func (c *shopService) offer() {
	c.s.t.Helper()
	text := func(en, pt string) map[string]string { return map[string]string{"en": en, "pt-BR": pt} }
	lines := func(en, pt string) map[string][]string { return map[string][]string{"en": {en}, "pt-BR": {pt}} }
	id, public := c.keys.Newest()
	err := c.s.DB.OfferConnect(c.s.t.Context(), commerce.ConnectOffer{KeyID: id, PublicKey: public, SeenAt: time.Now(),
		Platforms: []commerce.OfferedPlatform{
			{Name: "nuvemshop", Title: "Nuvemshop", Install: "https://nuvem.example/apps/1/authorize?state={state}",
				Steps: lines("Install the app.", "Instale o aplicativo."), Brings: lines("Orders.", "Pedidos."),
				Fields: []commerce.CredentialField{{Name: "token", Secret: true, Pattern: "[A-Z]{10,200}", Label: text("Token", "Token")}}},
			{Name: "vtex", Title: "VTEX", Steps: lines("Open the settings of the account.", "Abra as configurações da conta."),
				Brings:  lines("Orders and returns.", "Pedidos e devoluções."),
				Without: map[string]map[string]string{"en": {"read_customers": "Orders have no customer."}}, Fields: []commerce.CredentialField{
					{Name: "account", Pattern: "[a-z0-9]{2,50}", Label: text("Account", "Conta"), Example: "myshop"},
					{Name: "statuses", Pattern: "[a-z]+=approved|", Label: text("Statuses", "Situações")}, // may be left out
					{Name: "token", Secret: true, Pattern: "[A-Z]{10,200}", Label: text("Token", "Token"),
						Help: text("It is shown once.", "Aparece uma vez.")},
					{Name: "notices", Secret: true, Pattern: "([A-Z]{10,200})?", Label: text("Secret of notices", "Segredo dos avisos")}}},
		}})
	if err != nil {
		c.s.t.Fatal(err)
	}
}

// work does all tasks that wait.
func (c *shopService) work(answer answerTask) (done []commerce.ConnectTask) {
	c.s.t.Helper()
	ctx := c.s.t.Context()
	list, err := c.s.DB.LeaseConnections(ctx, c.lease, time.Now(), 100)
	if err != nil {
		c.s.t.Fatal(err)
	}
	for _, one := range list {
		tasks, err := c.s.DB.TakeTasks(ctx, c.lease, one.CompanyID, one.ID, 10)
		if err != nil {
			c.s.t.Fatal(err)
		}
		for _, t := range tasks {
			found, reason, detail := answer(one, t)
			if preview, ok := found.(commerce.ShopPreview); ok {
				c.set(one.CompanyID, one.ID, commerce.ConnectStateChange{Shop: preview.Shop, ShopName: preview.Name, ShopURL: preview.URL,
					Currency: preview.Currency})
			}
			if t.Reason, t.Detail = reason, detail; found != nil {
				if t.Answer, err = json.Marshal(found); err != nil {
					c.s.t.Fatal(err)
				}
			}
			if err := c.s.DB.FinishTask(ctx, c.lease, t); err != nil {
				c.s.t.Fatal(err)
			}
			done = append(done, t)
		}
		if err := c.s.DB.ReleaseConnection(ctx, c.lease, one, time.Now().Add(time.Hour)); err != nil {
			c.s.t.Fatal(err)
		}
	}
	return done
}

func (c *shopService) set(companyID, id string, change commerce.ConnectStateChange) {
	c.s.t.Helper()
	if err := c.s.DB.SetConnectionState(c.s.t.Context(), c.lease, companyID, id, change); err != nil {
		c.s.t.Fatal(err)
	}
}

// hold calls do while the service holds a connection.
func (c *shopService) hold(id string, do func(one commerce.LeasedConnection)) {
	c.s.t.Helper()
	c.s.exec("update connection_turn set next_at = now() where connection_id = $1", id)
	list, err := c.s.DB.LeaseConnections(c.s.t.Context(), c.lease, time.Now(), 100)
	if err != nil {
		c.s.t.Fatal(err)
	}
	found := false
	for _, one := range list {
		if one.ID == id {
			found = true
			do(one)
		}
		if err := c.s.DB.ReleaseConnection(c.s.t.Context(), c.lease, one, time.Now().Add(time.Hour)); err != nil {
			c.s.t.Fatal(err)
		}
	}
	if !found {
		c.s.t.Fatalf("the service does not get the connection %s", id)
	}
}

// become moves a connection to a state, as the service finds out.
func (c *shopService) become(id string, to commerce.ConnectionState, reason, detail string) {
	c.s.t.Helper()
	c.hold(id, func(one commerce.LeasedConnection) {
		c.set(one.CompanyID, one.ID, commerce.ConnectStateChange{From: one.State, State: to, Reason: reason, Detail: detail})
	})
}

func myShop(_ commerce.LeasedConnection, _ commerce.ConnectTask) (any, string, string) {
	return commerce.ShopPreview{Shop: "myshop", Name: "Vestidos da Ana", URL: "https://www.myshop.example", Currency: "BRL", Orders: 1243,
		Total: "184230.55", ProofKey: commerce.ProofCart, CanNotify: true, Lacks: []string{"read_customers"},
		Codes: []commerce.PreviewedCode{{Code: "ANA10", Orders: 120, Known: true}, {Code: "HELLO", Orders: 1}}}, "", ""
}

// secretToken is what nobody may read again.
const secretToken = "QWERTYSECRETTOKEN"

var idInAddress = regexp.MustCompile(`[?&]id=([a-z0-9]+)`)

// paste gives the keys of a shop, and returns the connection's id and the page that waits for the test.
func (s *site) paste(client *http.Client) (id, page string) {
	s.t.Helper()
	status, text, to := s.send(client, "/dashboard/shops/connect?company="+s.live,
		url.Values{"platform": {"vtex"}, "account": {"myshop"}, "token": {secretToken}})
	found := idInAddress.FindStringSubmatch(to)
	if status != http.StatusSeeOther || found == nil {
		s.t.Fatalf("the keys: %d to %q: %.2000s", status, to, text)
	}
	return found[1], to
}

// connected is a connection of the pages that was connected. The service then does what it is given.
func (s *site) connected(client *http.Client, service *shopService) (id string) {
	s.t.Helper()
	id, _ = s.paste(client)
	service.work(myShop)
	status, text, _ := s.send(client, "/dashboard/shops/start?company="+s.live,
		url.Values{"id": {id}, "days": {"60"}, "commissions_from": {s.today()}})
	if status != http.StatusSeeOther {
		s.t.Fatalf("start: %d %.2000s", status, text)
	}
	return id
}

func (s *site) shopPage(id string) string {
	return "/dashboard/shops/shop?company=" + s.live + "&id=" + id
}

// inputOf is a page's input of a name.
func inputOf(page, name string) string {
	return regexp.MustCompile(`<input [^>]*name="` + name + `"[^>]*>`).FindString(page)
}

// today is the day in the store's time zone.
func (s *site) today() string {
	zone, err := time.LoadLocation("America/Sao_Paulo")
	if err != nil {
		s.t.Fatal(err)
	}
	return s.clock().In(zone).Format(time.DateOnly)
}

// begin begins an installation, and returns the state that the platform is given.
func (s *site) begin(client *http.Client) (state string) {
	s.t.Helper()
	status, text, to := s.send(client, "/dashboard/shops/install?company="+s.live, url.Values{"platform": {"nuvemshop"}})
	if status != http.StatusSeeOther {
		s.t.Fatalf("%d %s", status, text)
	}
	answer, err := client.Get(s.url + to)
	if err != nil {
		s.t.Fatal(err)
	}
	answer.Body.Close()
	refresh, found := strings.CutPrefix(answer.Header.Get("Refresh"), "0;url=https://nuvem.example/apps/1/authorize?state=")
	if answer.StatusCode != http.StatusOK || !found {
		s.t.Fatalf("%s, Refresh %q", answer.Status, answer.Header.Get("Refresh"))
	}
	return refresh
}

// fillConnection gives a connection orders set aside, days and coupons that differ.
func (c *shopService) fill(id string, asideOrders int) {
	c.hold(id, func(one commerce.LeasedConnection) {
		page := commerce.ConnectPage{PolledAt: time.Now(), LastOrderAt: time.Now(), Orders: 4311, Tests: 3, Reconciled: time.Now()}
		for n := range asideOrders {
			page.Aside = append(page.Aside, commerce.AsideOrder{OrderID: fmt.Sprintf("order-%03d", n), Reason: commerce.ShopUnknownShape,
				Detail: "status: is none of the documented", Fields: strings.Fields("orderId sequence status value totals items origin"),
				At: time.Now(), Attempts: 2})
		}
		if err := c.s.DB.StorePage(c.s.t.Context(), c.lease, one.CompanyID, id, page); err != nil {
			c.s.t.Fatal(err)
		}
		for n := range 40 {
			day := commerce.ConnectionDay{Day: time.Now().AddDate(0, 0, -n).Format(time.DateOnly), ShopOrders: 70, Orders: 70,
				ShopTotal: "12345.60", Total: "12345.60", ComparedAt: time.Now()}
			if n == 3 {
				day.Orders, day.Total, day.Missing, day.Differ = 69, "12000.10", 1, 2
			}
			if err := c.s.DB.StoreDay(c.s.t.Context(), c.lease, one.CompanyID, id, day); err != nil {
				c.s.t.Fatal(err)
			}
		}
		if err := c.s.DB.StoreCoupons(c.s.t.Context(), c.lease, one.CompanyID, id, []commerce.ShopCoupon{
			{Code: "ANA10", Percent: "15", OnTheirSide: true, OnOurSide: true, Difference: "discount",
				InfluencerOur: "Ana Prado", OurDiscount: "10%"},
			{Code: "BIA10", OnOurSide: true, Difference: "missing", InfluencerOur: "Bia Lima"},
			{Code: "SAME", Percent: "10", OnTheirSide: true, OnOurSide: true}}); err != nil {
			c.s.t.Fatal(err)
		}
	})
}

// fillShops makes connections of each kind, and returns their pages.
func (s *site) fillShops() (paths []string) {
	s.t.Helper()
	service, owner := s.connectService(), s.loggedIn()
	id := s.connected(owner, service)
	service.become(id, commerce.ConnectionLive, "", "")
	service.fill(id, 60)
	paths = append(paths, s.shopPage(id), "/dashboard/shops/coupon?company="+s.live+"&id="+id)
	other := func(answer answerTask) (id, page string) {
		id, page = s.paste(owner)
		service.work(answer)
		return id, page
	}
	second := func(_ commerce.LeasedConnection, _ commerce.ConnectTask) (any, string, string) {
		return commerce.ShopPreview{Shop: "second", Name: "Segunda Loja", Currency: "BRL"}, "", ""
	}
	id, _ = other(second)
	if status, text, _ := s.send(owner, "/dashboard/shops/start?company="+s.live,
		url.Values{"id": {id}, "days": {"60"}, "commissions_from": {s.today()}}); status != http.StatusSeeOther {
		s.t.Fatalf("%d %s", status, text)
	}
	service.become(id, commerce.ConnectionFailing, commerce.ShopLacksScope, "read_orders")
	s.exec("update connection set since = since - interval '2 hours' where connection_id = $1", id)
	paths = append(paths, s.shopPage(id))
	_, page := other(func(_ commerce.LeasedConnection, _ commerce.ConnectTask) (any, string, string) {
		preview := commerce.ShopPreview{Shop: "third", Name: "Terceira Loja", URL: "https://third.example", Currency: "BRL", Orders: 1243,
			Total: "184230.55", ProofKey: commerce.ProofCart, Lacks: []string{"read_customers"}}
		for n := range 50 {
			preview.Codes = append(preview.Codes, commerce.PreviewedCode{Code: fmt.Sprintf("CODE%d", n), Orders: 3, Known: n%2 == 0})
		}
		return preview, "", ""
	})
	paths = append(paths, page)
	_, page = other(func(commerce.LeasedConnection, commerce.ConnectTask) (any, string, string) {
		return nil, commerce.ShopRefusedKey, "401"
	})
	_, waits := s.paste(owner)
	at := "/dashboard/shops/connect?company=" + s.live + "&platform="
	return append(paths, page, waits, at+"vtex", at+"nuvemshop")
}
