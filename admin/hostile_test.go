package admin_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/admin"
)

// Values that no client of the API means, as they stand in a query or path.
var hostileQueries = []string{
	"%00", "a%00b", "%ff", "%c3%28", "%ed%a0%80", "%0a", "'", "%25", "%F0%9F%92%A9", "-1", "0", "1e9", "NaN", "99999999999999999999",
	strings.Repeat("x", 10_000), strings.Repeat("%F0%9F%92%A9", 2_000),
	"0000-01-01", "0001-01-01", "9999-12-31", "10000-01-01", "-0044-03-15", "2026-02-30", "2026-11-21%00", "infinity",
	cursorOf("0.x"), cursorOf("1.\x00"), cursorOf("\xff.\xff"), cursorOf("-1.00000000-0000-0000-0000-000000000000"),
	cursorOf("1y2p0ij32e8e7.00000000-0000-0000-0000-000000000000"), cursorOf("1.{00000000-0000-0000-0000-000000000000}"),
	cursorOf("0.00000000-0000-0000-0000-000000000000"),
}

func cursorOf(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

func TestNoQueryBreaksTheAPI(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{RuleRate: admin.Rate{PerSecond: 1e6, Burst: 1e6}})
	f := func(method, path, body string, headers ...string) {
		t.Helper()
		if got := s.call(method, path, s.live, body, headers...); got.Status >= 500 {
			t.Errorf("%s %.200s %.200s: %d %+v", method, path, body, got.Status, got.Error)
		}
	}
	for path, parameters := range map[string][]string{
		"/admin/v1/influencers":       {"limit", "cursor"},
		"/admin/v1/influencers/costs": {"limit", "cursor"},
		"/admin/v1/costs":             {"frequency", "start_date", "end_date"},
		"/admin/v1/costs/historical":  {"start_date", "end_date"},
	} {
		for _, parameter := range parameters {
			for _, value := range hostileQueries {
				f(http.MethodGet, path+"?"+parameter+"="+value, "")
				f(http.MethodGet, path+"?start_date=2026-11-21&end_date=2026-11-21&limit=2&"+parameter+"="+value, "")
				f(http.MethodGet, path+"?"+parameter+"="+value+"&start_date=2026-11-21&end_date=2026-11-21&limit=2", "")
			}
		}
	}
	for _, value := range hostileQueries {
		f(http.MethodGet, "/admin/v1/order/"+value+"/attribution", "")
	}
}

// Each text of a body in turn is hostile, the rest of it is good.
func TestNoBodyBreaksTheAPI(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{RuleRate: admin.Rate{PerSecond: 1e6, Burst: 1e6}})
	values := []any{
		"a\x00b", "\u200b", "", "'", -1, json.Number("1e18"), json.Number("99999999999999999999.99"), nil, map[string]any{}, []any{nil},
		strings.Repeat("💩", 3_000), "0000-01-01", "9999-12-31", "9999-12-31T23:59:59Z", "00000000-0000-0000-0000-000000000000",
	}
	for _, operation := range []struct{ method, path, body string }{
		{"POST", "/influencers", `{"name":"Ana","campaign":"c","campaign_id":"c1","category":"x","links":[{"url":"https://loja.example.com/"}],
			"coupons":[{"cupom":"ANA10","start_date":"2026-11-01","end_date":"2026-11-30"}],
			"costs":[{"fixed_fee":1,"var_fee":1,"value":1,"frequency":"daily","start_date":"2026-11-01","end_date":"2026-11-30",
				"is_campaign_cost":true,"is_coupon_cost":true}]}`},
		{"PUT", "/influencers", `{"name":"Ana","category":"x"}`},
		{"POST", "/influencers/costs",
			`{"name":"Ana","campaign_id":"c1","fixed_fee":1,"var_fee":1,"value":1,"frequency":"daily","start_date":"2026-11-01",` +
				`"end_date":"2026-11-30"}`},
		{"DELETE", "/influencers/costs", `{"cost_id":"00000000-0000-0000-0000-000000000000"}`},
		{"DELETE", "/influencers/costs", `{"campaign_cost_id":"00000000-0000-0000-0000-000000000000"}`},
		{"POST", "/influencers/coupons", `{"campaign_id":"c1","cupom":"ANA20","start_date":"2026-11-01","end_date":"2026-11-30"}`},
		{"DELETE", "/influencers/coupons", `{"campaign_id":"c1","cupom":"ANA20"}`},
		{"POST", "/costs", `{"name":"rent","category":"x","value":1,"frequency":"daily","start_date":"2026-11-01","end_date":"2026-11-30"}`},
		{"PUT", "/costs", `{"additional_cost_id":"00000000-0000-0000-0000-000000000000","frequency":"daily","name":"rent","category":"x",` +
			`"value":1,"start_date":"2026-11-01","end_date":"2026-11-30","new_frequency":"weekly"}`},
		{"DELETE", "/costs", `{"additional_cost_id":"00000000-0000-0000-0000-000000000000","frequency":"daily"}`},
		{"POST", "/order", order1001},
		{"POST", "/product",
			`{"productId":"p1","productName":"x","status":1,"createdAt":"2026-11-01T00:00:00Z","variants":[{"variantId":"v1","title":"x",` +
				`"sku":"x","price":1,"currency":"BRL"}]}`},
		{"DELETE", "/influencers", `{"name":"Ana","campaign_id":"c1"}`},
	} {
		var headers []string
		if operation.path == "/order" || operation.path == "/product" {
			headers = []string{lenient, isLenient}
		}
		for _, body := range spoiled(t, operation.body, values) {
			if got := s.call(operation.method, "/admin/v1"+operation.path, s.live, body, headers...); got.Status >= 500 {
				t.Errorf("%s %s %.300s: %d %+v", operation.method, operation.path, body, got.Status, got.Error)
			}
		}
	}
	for _, key := range []string{"", "\x01", strings.Repeat("k", 10_000), "\xff", "é"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/admin/v1/order", strings.NewReader(order1001))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+s.live)
		request.Header["Idempotency-Key"] = []string{key}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			continue // the client refuses to send it
		}
		response.Body.Close()
		if response.StatusCode >= 500 {
			t.Errorf("Idempotency-Key %.20q: %s", key, response.Status)
		}
	}
}

// spoiled is a body with each of its fields, at any depth, replaced by each value.
func spoiled(t *testing.T, body string, values []any) (bodies []string) {
	t.Helper()
	var whole any
	if err := json.Unmarshal([]byte(body), &whole); err != nil {
		t.Fatal(err)
	}
	var walk func(at any)
	spoil := func(old any, set func(any)) {
		for _, value := range values {
			set(value)
			text, err := json.Marshal(whole)
			if err != nil {
				t.Fatal(fmt.Errorf("a body with %v: %w", value, err))
			}
			bodies = append(bodies, string(text))
		}
		set(old)
		walk(old)
	}
	walk = func(at any) {
		switch at := at.(type) {
		case map[string]any:
			for name, old := range at {
				spoil(old, func(value any) { at[name] = value })
			}
		case []any:
			for i, old := range at {
				spoil(old, func(value any) { at[i] = value })
			}
		}
	}
	walk(whole)
	return bodies
}
