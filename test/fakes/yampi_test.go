package fakes_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/test/fakes"
	"github.com/tributary-io/tributary/test/fakes/yampi"
)

func TestYampiListsOrdersWithIncludes(t *testing.T) {
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	s := start(t, fakes.Options{Platform: "yampi", Now: func() time.Time { return now }})
	if _, err := s.AddCoupon(fakes.Coupon{Code: "ANA10", Kind: fakes.CouponPercent, Value: 1000}); err != nil {
		t.Fatal(err)
	}
	o := place(t, s, fakes.Cart{Lines: []fakes.CartLine{{Product: 0, Quantity: 2}}, Codes: []string{"ANA10"}, Shipping: 1000})
	for range 14 {
		now = now.Add(12 * time.Hour)
		place(t, s, fakes.Cart{})
	}
	get := func(query string) any {
		status, body, _ := call(t, s, http.MethodGet, "/v2/ALIAS/orders"+query, "")
		if status != http.StatusOK {
			t.Fatalf("%s: %d %s", query, status, body)
		}
		return decode(t, body)
	}
	first := get("")
	if len(at(t, first, "data").([]any)) != 10 || at(t, first, "meta", "pagination", "total_pages") != json.Number("2") ||
		!strings.Contains(at(t, first, "meta", "pagination", "links", "next").(string), "page=2") || at(t, first, "data", 0, "items") != nil {
		t.Errorf("%v", at(t, first, "meta"))
	}
	one := get(fmt.Sprintf("/%d?include=promocode,status,items.sku", o.ID))
	for _, c := range []struct {
		want any
		path []any
	}{
		{json.Number("153.82"), []any{"data", "value_total"}}, {json.Number("15.98"), []any{"data", "value_discount"}},
		{"ANA10", []any{"data", "promocode", "data", "code"}}, {"paid", []any{"data", "status", "data", "alias"}},
		{json.Number("79.9"), []any{"data", "items", "data", 0, "price"}},
		{"2026-11-01 09:00:00.000000", []any{"data", "created_at", "date"}},
	} {
		if got := at(t, one, c.path...); got != c.want {
			t.Errorf("%v: %v, want %v", c.path, got, c.want)
		}
	}
	if some := get("?date=updated_at:2026-11-02|2026-11-03"); len(at(t, some, "data").([]any)) != 4 {
		t.Errorf("%d orders on two days, want 4", len(at(t, some, "data").([]any)))
	}
	if some := get("?orderBy=updated_at&sortedBy=asc"); at(t, some, "data", 0, "id") != json.Number(fmt.Sprint(o.ID)) {
		t.Errorf("%v", at(t, some, "data", 0, "id"))
	}
	if err := s.RefundPart(o.ID, 100); err == nil {
		t.Error("a partial refund, which the platform does not document")
	}
}

func TestYampiLimitsAndSigns(t *testing.T) {
	const want = "97yD9DBThCSxMpjmqm+xQ+9NWaFJRhdZl0edvC0aPNg="
	if got := yampi.Sign([]byte("The quick brown fox jumps over the lazy dog"), "key"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	s, n := start(t, fakes.Options{Platform: "yampi"}), receive(t)
	if status, body, _ := call(t, s, http.MethodPost, "/v2/auth/me", "{}"); status != 200 || !strings.Contains(string(body), s.Key("alias")) {
		t.Errorf("%d %s", status, body)
	}
	if status, _, _ := call(t, s, http.MethodPost, "/v2/ALIAS/webhooks", `{"name":"x","url":"x","events":["order.x"]}`); status != 422 {
		t.Errorf("%d", status)
	}
	status, body, _ := call(t, s, http.MethodPost, "/v2/ALIAS/webhooks", fmt.Sprintf(`{"name":"x","url":%q,"events":["order.paid"]}`, n.URL))
	if status != 201 {
		t.Fatalf("%d %s", status, body)
	}
	secret := at(t, decode(t, body), "data", "secret").(string)
	o := place(t, s, fakes.Cart{})
	settle(t, s)
	headers, bodies := n.got()
	if len(bodies) != 1 || headers[0].Get("X-Yampi-Hmac-SHA256") != yampi.Sign(bodies[0], secret) ||
		at(t, decode(t, bodies[0]), "resource", "id") != json.Number(fmt.Sprint(o.ID)) || at(t, decode(t, bodies[0]), "merchant",
		"alias") != s.Key("alias") {
		t.Errorf("%d %v", len(bodies), headers)
	}
	n.answers(500)
	for range 33 {
		place(t, s, fakes.Cart{})
	}
	settle(t, s)
	if subs := s.Subscriptions(); !subs[0].Disabled || s.Stats().Ended != 1 {
		t.Errorf("after 33 failures the webhook is on: %+v", subs)
	}
	last := 0
	for n := 0; n < 1000 && last != http.StatusTooManyRequests; n++ {
		last, _, _ = call(t, s, http.MethodGet, "/v2/ALIAS/orders?limit=1", "")
	}
	if last != 429 || s.Stats().Beyond == 0 {
		t.Errorf("after 1000 requests at once: %d", last)
	}
}
