package admin_test

import (
	"encoding/json"
	"testing"

	"github.com/tributary-io/tributary/admin"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
)

// docs/attribution.md, "Keys that join": names of influencers and campaigns in an
// order's UTM values stay whatever they look like, and so does its discount code.
func TestNamesAndCodesOfAnOrderAreNotScrubbed(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	s.want(s.call("POST", "/admin/v1/influencers", s.live,
		`{"name":"Ana ana@prado.com","campaign":"Live 11 98765-4321","links":[{"url":"https://loja.example.com/"}]}`), 200, "")
	s.want(s.call("POST", "/admin/v1/influencers", s.live, `{"name":"Bia bia@lima.com","links":[{"url":"https://loja.example.com/"}]}`), 200,
		"")
	s.want(s.call("DELETE", "/admin/v1/influencers", s.live, `{"name":"Bia bia@lima.com"}`), 200, "")
	order := func(id, fields string) string {
		return `{"orderId":"` + id + `","orderStatus":0,"createdAt":"2026-03-09T11:00:00Z","totalPrice":1,"currency":"BRL",` + fields + `}`
	}
	const utms = `"utmSource":"c@x.com","utmMedium":"Black 20251128","utmCampaign":"ANA ana@prado.com","utmContent":"live  11 98765-4321",` +
		`"utmTerm":"Ana ana@prado.com.br"`
	f := func(path, key, body string, want ...string) {
		t.Helper()
		s.want(s.call("POST", path, key, body), 200, "")
		var sent struct{ OrderID string }
		if err := json.Unmarshal([]byte(body), &sent); err != nil {
			t.Fatal(err)
		}
		s.read(wire.TopicCommerce, 8, func(r kafka.Record) bool {
			var c wire.Commerce
			var o wire.Order
			if json.Unmarshal(r.Value, &c) != nil || c.ID != sent.OrderID {
				return false
			}
			if err := json.Unmarshal(c.Body, &o); err != nil {
				t.Error(err)
			}
			for i, got := range []string{o.UTMSource.Value, o.UTMMedium.Value, o.UTMCampaign.Value, o.UTMContent.Value, o.UTMTerm.Value,
				o.DiscountCode.Value} {
				if got != want[i] {
					t.Errorf("%s: %q, want %q", sent.OrderID, got, want[i])
				}
			}
			return true
		})
	}
	f("/admin/v1/order", s.live, order("o1", utms), "(email)", "Black 20251128", "ANA ana@prado.com", "live  11 98765-4321", "Ana (email)", "")
	// another company
	f("/sandbox/admin/v1/order", s.test, order("o2", utms), "(email)", "Black 20251128", "ANA (email)", "live  (phone)", "Ana (email)", "")
	f("/admin/v1/order", s.live, order("o3", `"utmCampaign":"bia bia@lima.com","discountCode":"11 98765-4321"`), "", "", "bia bia@lima.com",
		"", "", "11 98765-4321")
	f("/admin/v1/order", s.live, order("o4", `"discountCode":"X@LOJA.COM"`), "", "", "", "", "", "X@LOJA.COM")
}
