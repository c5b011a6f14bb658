package fakes_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/test/fakes"
	"github.com/tributary-io/tributary/test/fakes/woocommerce"
)

func TestWooCommerceAsksForItsKeys(t *testing.T) {
	s := start(t, fakes.Options{Platform: "woocommerce"})
	for _, c := range []struct {
		key, secret string
		query       bool
		want        int
		code        string
	}{
		{s.Key("consumer_key"), s.Key("consumer_secret"), false, 200, ""},
		{s.Key("consumer_key"), s.Key("consumer_secret"), true, 200, ""},
		{"", "", false, 401, "woocommerce_rest_cannot_view"},
		{"ck_x", s.Key("consumer_secret"), false, 401, "woocommerce_rest_authentication_error"},
		{s.Key("consumer_key"), "cs_x", false, 401, "woocommerce_rest_authentication_error"},
	} {
		r := httptest.NewRequest(http.MethodGet, s.URL()+"/wp-json/wc/v3/orders", nil)
		r.RequestURI = ""
		if c.query {
			r.URL.RawQuery = url.Values{"consumer_key": {c.key}, "consumer_secret": {c.secret}}.Encode()
		} else if c.key != "" {
			r.SetBasicAuth(c.key, c.secret)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var body any
		_ = json.NewDecoder(answer.Body).Decode(&body)
		answer.Body.Close()
		if answer.StatusCode != c.want || c.code != "" && body.(map[string]any)["code"] != c.code {
			t.Errorf("%q %q: %d %v", c.key, c.secret, answer.StatusCode, body)
		}
	}
}

func TestWooCommercePagesAndFilters(t *testing.T) {
	at := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	s := start(t, fakes.Options{Platform: "woocommerce", Now: func() time.Time { return at }})
	var ids []string
	for range 25 {
		ids = append(ids, fmt.Sprint(place(t, s, fakes.Cart{}).ID))
		at = at.Add(time.Minute)
	}
	get := func(query string) (found []string, header http.Header, status int) {
		status, body, header := call(t, s, http.MethodGet, "/wp-json/wc/v3/orders?_fields=id&"+query, "")
		if status == http.StatusOK {
			for _, order := range decode(t, body).([]any) {
				found = append(found, string(order.(map[string]any)["id"].(json.Number)))
			}
		}
		return found, header, status
	}
	found, header, _ := get("")
	if len(found) != 10 || found[0] != ids[24] || header.Get("X-WP-Total") != "25" || header.Get("X-WP-TotalPages") != "3" ||
		!strings.Contains(header.Get("Link"), `page=2>; rel="next"`) {
		t.Errorf("first page: %v %v", found, header)
	}
	if found, _, status := get("page=9"); len(found) != 0 || status != 200 {
		t.Errorf("a page after the last: %v %d", found, status)
	}
	for query, want := range map[string]int{"per_page=101": 400, "orderby=total": 400, "modified_after=x": 400, "order=up": 400} {
		if _, _, status := get(query); status != want {
			t.Errorf("%s: %d, want %d", query, status, want)
		}
	}
	if found, _, _ = get("orderby=modified&order=asc&per_page=3"); strings.Join(found, " ") != strings.Join(ids[:3], " ") {
		t.Errorf("by modified: %v", found)
	}
	// The 21st was paid at 12:20 GMT, 9:20 in the site's zone; the bound leaves out its own second.
	if found, _, _ = get("modified_after=2026-11-01T12:20:00&dates_are_gmt=true"); len(found) != 4 {
		t.Errorf("modified after 12:20 GMT: %d orders", len(found))
	}
	if found, _, _ = get("modified_after=2026-11-01T09:20:00"); len(found) != 4 {
		t.Errorf("modified after 9:20 of the site: %d orders", len(found))
	}
	if found, _, _ = get("include=" + ids[3] + "," + ids[4]); len(found) != 2 {
		t.Errorf("include: %v", found)
	}
}

func TestWooCommerceShowsRefundsAndCoupons(t *testing.T) {
	s := start(t, fakes.Options{Platform: "woocommerce"})
	status, body, _ := call(t, s, http.MethodPost, "/wp-json/wc/v3/coupons",
		`{"code":"Ana10","discount_type":"percent","amount":"10","usage_limit":1,"usage_limit_per_user":1}`)
	if status != 201 || decode(t, body).(map[string]any)["code"] != "ana10" {
		t.Fatalf("%d %s", status, body)
	}
	if status, body, _ = call(t, s, http.MethodPost, "/wp-json/wc/v3/coupons", `{"code":"ANA10","amount":"1"}`); status != 400 ||
		!strings.Contains(string(body), "woocommerce_rest_coupon_code_already_exists") {
		t.Errorf("twice: %d %s", status, body)
	}
	if status, body, _ = call(t, s, http.MethodPost, "/wp-json/wc/v3/coupons", `{}`); status != 400 || !strings.Contains(string(body),
		"rest_missing_callback_param") {
		t.Errorf("no code: %d %s", status, body)
	}
	o := place(t, s, fakes.Cart{
		Lines: []fakes.CartLine{{Product: 0, Quantity: 2}}, Codes: []string{"ANA10"}, Shipping: 1000,
		Landing: "https://loja.example/?utm_source=ana", Attributes: []fakes.Attribute{{Name: "_trb_id", Value: "v1"}},
	})
	if err := s.RefundLine(o.ID, o.Lines[0].ID, 1); err != nil {
		t.Fatal(err)
	}
	_, body, _ = call(t, s, http.MethodGet, fmt.Sprintf("/wp-json/wc/v3/orders/%d", o.ID), "")
	order := decode(t, body).(map[string]any)
	coupon := order["coupon_lines"].([]any)[0].(map[string]any)
	refund := order["refunds"].([]any)[0].(map[string]any)
	// 159.80 less 15.98, and 10.00; half of 143.82 went back.
	if order["total"] != "153.82" || order["status"] != "processing" || coupon["code"] != "ana10" || coupon["discount"] != "15.98" ||
		refund["total"] != "-71.91" {
		t.Errorf("%v %v %v %v", order["total"], order["status"], coupon, refund)
	}
	if !strings.Contains(string(body), `"key":"_wc_order_attribution_utm_source","value":"ana"`) || !strings.Contains(string(body),
		`"key":"_trb_id"`) {
		t.Error("no attribution or no meta of ours")
	}
	if truth := s.Truth(o); truth.Total != "153.82" {
		t.Error("a copy of an order changed")
	}
	o, _ = s.Order(o.ID)
	if s.Truth(o).Total != "81.91" {
		t.Errorf("truth %s", s.Truth(o).Total)
	}
	_, body, _ = call(t, s, http.MethodGet, fmt.Sprintf("/wp-json/wc/v3/orders/%d/refunds", o.ID), "")
	if refunds := decode(t, body).([]any); len(refunds) != 1 || refunds[0].(map[string]any)["amount"] != "71.91" {
		t.Errorf("%s", body)
	}
	if err := s.RefundAll(o.ID); err != nil {
		t.Fatal(err)
	}
	_, body, _ = call(t, s, http.MethodGet, fmt.Sprintf("/wp-json/wc/v3/orders/%d", o.ID), "")
	if status := decode(t, body).(map[string]any)["status"]; status != "refunded" {
		t.Errorf("all money back: %v", status)
	}
}

func TestWooCommerceSendsWebhooks(t *testing.T) {
	const want = "97yD9DBThCSxMpjmqm+xQ+9NWaFJRhdZl0edvC0aPNg="
	if got := woocommerce.Sign([]byte("The quick brown fox jumps over the lazy dog"), "key"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	s, n := start(t, fakes.Options{Platform: "woocommerce"}), receive(t)
	status, body, _ := call(t, s, http.MethodPost, "/wp-json/wc/v3/webhooks",
		fmt.Sprintf(`{"topic":"order.updated","delivery_url":%q,"secret":"s3cret"}`, n.URL))
	if status != 201 {
		t.Fatalf("%d %s", status, body)
	}
	headers, bodies := n.got()
	if len(bodies) != 1 || !strings.HasPrefix(string(bodies[0]), "webhook_id=") || headers[0].Get("X-WC-Webhook-Signature") != "" {
		t.Fatalf("ping %s %v", bodies, headers)
	}
	o := place(t, s, fakes.Cart{})
	settle(t, s)
	headers, bodies = n.got()
	if len(bodies) != 2 || headers[1].Get("X-WC-Webhook-Topic") != "order.updated" ||
		headers[1].Get("X-WC-Webhook-Signature") != woocommerce.Sign(bodies[1], "s3cret") ||
		decode(t, bodies[1]).(map[string]any)["status"] != "processing" {
		t.Fatalf("%d notices, %v", len(bodies), headers)
	}
	n.answers(500)
	for i := range 9 {
		if err := s.Touch(o.ID, fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
		settle(t, s)
	}
	if _, bodies = n.got(); len(bodies) != 2+7 {
		t.Errorf("%d notices after failures, want 7: nothing is tried again, the seventh failure ends it", len(bodies)-2)
	}
	_, body, _ = call(t, s, http.MethodGet, "/wp-json/wc/v3/webhooks", "")
	if hook := decode(t, body).([]any)[0].(map[string]any); hook["status"] != "disabled" {
		t.Errorf("%v", hook["status"])
	}
}

func TestWooCommerceGivesKeysToAnApp(t *testing.T) {
	s, n := start(t, fakes.Options{Platform: "woocommerce"}), receive(t)
	old := s.Key("consumer_key")
	query := url.Values{"app_name": {"Tributary"}, "scope": {"read_write"}, "user_id": {"7"}, "return_url": {"https://app.example/back"},
		"callback_url": {n.URL}}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.PostForm(s.URL()+"/wc-auth/v1/authorize?"+query.Encode(), nil)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	_, bodies := n.got()
	if answer.Header.Get("Location") != "https://app.example/back?success=1&user_id=7" || len(bodies) != 1 {
		t.Fatalf("%d %v", answer.StatusCode, answer.Header)
	}
	if got := decode(t, bodies[0]).(map[string]any); got["consumer_key"] != s.Key("consumer_key") || got["consumer_key"] == old ||
		got["user_id"] != "7" {
		t.Errorf("%v", got)
	}
}
