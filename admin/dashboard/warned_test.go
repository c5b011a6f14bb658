package dashboard_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/wire"
)

// Finding S1-5: a field of an order that is not read is in no log but the sender's. The page of events says so, in its language.
func TestAnOrdersWarningsAreAmongTheEvents(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner := s.loggedIn()
	put := func(id string, kind wire.Kind, warnings ...wire.Warning) {
		s.kafka.put(wire.TopicCommerce, s.live, wire.Commerce{V: wire.CommerceVersion, Kind: kind, ID: id, CompanyID: s.live,
			AcceptedAt: time.Now().UTC(), Actor: "key/1", Body: []byte(`{"personal":{"email":"maria@example.com"}}`), Warnings: warnings})
	}
	put("1001", wire.KindOrder, wire.Warning{Field: "discount_code", Code: "unknown_field",
		Message: "is not known here and was not read; did you mean discountCode?", Near: "discountCode"},
		wire.Warning{Field: "customer.phone", Code: "a_newer_code", Message: "is odd"})
	put("1002", wire.KindOrder)
	_, news := s.feed(owner, nil)
	if !contains(news.HTML, "Order 1001", "taken, 2 fields do not count", "discount_code, customer.phone",
		"did you mean discountCode?", "is odd",
		`href="/dashboard/order?company=`+s.live+`&amp;id=1001"`) || contains(news.HTML, "1002") || contains(news.HTML, "maria") {
		t.Errorf("%s", news.HTML)
	}
	put("1003", wire.KindOrder, wire.Warning{Field: "number", Code: "invalid_format", Message: "x"})
	_, later := s.feed(owner, url.Values{"after": {news.Cursor}, "show": {"order"}})
	if later.Count != 1 || !contains(later.HTML, "Order 1003") {
		t.Errorf("%+v", later)
	}
	s.event(s.live, "ADD_TO_CART", "https://loja.example.com/", nil)
	s.event(s.live, "MEU_EVENTO", "https://loja.example.com/", nil)
	s.reject(s.live, "too_deep", "is too deep", 1)
	s.inPortuguese(owner)
	text := s.readAs(owner, "/dashboard/events?company="+s.live)
	if !contains(text, "aceito, 2 campos não contam", "não é conhecido aqui e não foi lido Seria discountCode?", "não conta como foi enviado",
		"Posto no carrinho", "MEU_EVENTO", "Níveis demais") || strings.Contains(text, "did you mean") {
		t.Errorf("in Portuguese: %s", text)
	}
}
