package dashboard_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/admin/dashboard"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/reports"
	"github.com/tributary-io/tributary/internal/wire"
	"github.com/tributary-io/tributary/test/fixtures/reporttest"
)

// docs/security.md, "What proves": no page, file or answer for scripts shows an analyst by what
// a sale can be claimed, also where the buyer is in the checkout and its address has the token.
func TestNoPageShowsWhatProvesASale(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	places := fillSite(s)
	pay := "https://loja.example.com/pay/" + reporttest.TokenOfOrders + "?t=" + reporttest.TokenOfOrders
	s.event(s.live, "INITIATE_CHECKOUT", pay, func(e *wire.Event) {
		e.VisitorID, e.CookieID, e.SessionID = reporttest.VisitorOfOrders, reporttest.VisitorOfOrders, reporttest.VisitorOfOrders
		e.Identity.CartKey = "k1:Y2FydC1vZi1ldmVyeS1zdG9yZWQtb3JkZXItb2YtdGhlbQ"
		e.Context.Page.Title, e.Context.Page.Referrer = reporttest.TokenOfOrders, pay
		e.Payload = json.RawMessage(`{"` + reporttest.TokenOfOrders + `":"` + reporttest.TokenOfOrders + `"}`)
	})
	s.kafka.put(wire.TopicRejected, s.live, wire.Rejected{
		V: 1, CompanyID: s.live, Topic: wire.TopicEvents, Code: "invalid_payload", Reason: "payload is not JSON", At: time.Now().UTC(),
		Body: `{"event":"X","context":{"page":{"url":"` + pay + `","title":"` + reporttest.TokenOfOrders + `"}},"payload":{"t":["` +
			reporttest.TokenOfOrders + `"]}}`,
	})
	paths := append(places.member, "/dashboard/events?show=rejected&company="+s.live, "/dashboard/events?show=event&company="+s.live)
	for _, route := range dashboard.MemberRoutes() {
		if method, path, _ := strings.Cut(route.Pattern, " "); method == http.MethodGet && !needsMore[path] {
			paths = append(paths, strings.TrimSuffix(path, "{$}")+"?company="+s.live)
		}
	}
	for _, kind := range []reports.Name{reports.Sales, reports.Influencers, reports.Coupons, reports.Channels, reports.Products,
		reports.Funnel, reports.Paths, reports.Costs, reports.Delivery, reports.Sources} {
		paths = append(paths, "/dashboard/report.csv?company="+s.live+"&report="+string(kind))
	}
	for _, path := range places.member {
		if strings.HasPrefix(path, "/dashboard/statement?") || strings.HasPrefix(path, "/dashboard/influencer?") {
			paths = append(paths, strings.Replace(path, "?", ".csv?", 1))
		}
	}
	paths = append(paths, "/dashboard/events/feed?after=0.0.&company="+s.live, places.open[len(places.open)-1]+"/csv")
	for _, client := range []*http.Client{s.loggedIn(), s.join(account.RoleAnalyst, "bia@loja.example", s.Store.StoreID)} {
		shown, lines := 0, 0
		for _, path := range append(places.open, paths...) {
			answer, err := client.Get(s.url + path) // which looks at the answer
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(answer.Body)
			answer.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			if answer.StatusCode == http.StatusOK {
				shown++
			}
			lines += strings.Count(string(body), "INITIATE_CHECKOUT") + strings.Count(string(body), "invalid_payload")
		}
		if shown < 40 || lines < 6 {
			t.Errorf("%d pages of %d were shown, with %d lines of the buyer", shown, len(paths), lines)
		}
	}
}
