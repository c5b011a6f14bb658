package admin_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/tributary-io/tributary/admin"
	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
)

// An order names the influencer as its own customer by the same keys as the influencer's details have, however a shop and its
// customer write the e-mail, the phone and the document.
func TestAnOrderHasTheKeysOfTheInfluencersDetails(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	register := `{"name":"Ana Prado","links":[{"url":"https://loja.example.com/"}],"details":` + anasDetails + `}`
	s.want(s.call("POST", "/admin/v1/influencers", s.live, register), 200, "")
	bought := map[string]string{ // by the order's id
		"mail": `{"email":" ZQ.prado@EXAMPLE.com"}`, "phone": `{"phone":"+55 11 98888 7766"}`,
		"cpf": `{"customerId":"529.982.247-25"}`, "digits": `{"customerId":"52998224725"}`,
		"other": `{"email":"zq.prado@example.org","phone":"+55 11 98888 7767","customerId":"529982247-25"}`,
	}
	for id, customer := range bought {
		s.want(s.call("POST", "/admin/v1/order", s.live, fmt.Sprintf(`{"orderId":%q,"createdAt":"2026-03-10T12:00:00Z","totalPrice":10,
			"currency":"BRL","orderStatus":0,"customer":%s}`, id, customer)), 200, "")
	}
	s.read(wire.TopicCommerce, 8, func(r kafka.Record) bool {
		var c wire.Commerce
		var order wire.Order
		if json.Unmarshal(r.Value, &c) != nil || c.Kind != wire.KindOrder {
			return false
		}
		if err := json.Unmarshal(c.Body, &order); err != nil {
			t.Fatal(err)
		}
		known := 0
		for _, k := range facts.PersonKeys(&order) {
			known += s.count(`select count(*) from influencer_identity where company_id = $1 and kind = $2 and key = $3`,
				s.store.Live.CompanyID, k.Kind.Code(), k.Pack())
		}
		if want := map[bool]int{true: 0, false: 1}[order.OrderID == "other"]; known != want {
			t.Errorf("%s: %d keys are the influencer's, want %d", order.OrderID, known, want)
		}
		delete(bought, order.OrderID)
		return len(bought) == 0
	})
}
