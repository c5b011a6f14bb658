package fakes_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/test/fakes"
	"github.com/tributary-io/tributary/test/fakes/shopify"
)

// graphQL asks Shopify's GraphQL API.
func graphQL(t *testing.T, s *fakes.Shop, query string, variables map[string]any) map[string]any {
	t.Helper()
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		t.Fatal(err)
	}
	status, text, _ := call(t, s, http.MethodPost, "/admin/api/2026-07/graphql.json", string(body))
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	return decode(t, text).(map[string]any)
}

// at follows names and numbers into an answer.
func at(t *testing.T, v any, path ...any) any {
	t.Helper()
	for _, step := range path {
		switch step := step.(type) {
		case string:
			object, ok := v.(map[string]any)
			if !ok {
				t.Fatalf("%v: no %q in %v", path, step, v)
			}
			v = object[step]
		case int:
			list, ok := v.([]any)
			if !ok || step >= len(list) {
				t.Fatalf("%v: no %d in %v", path, step, v)
			}
			v = list[step]
		}
	}
	return v
}

func TestShopifyGrantsTokens(t *testing.T) {
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	s := start(t, fakes.Options{Platform: "shopify", Now: func() time.Time { return now }})
	grant := func(secret string) (int, map[string]any) {
		answer, err := http.PostForm(s.URL()+"/admin/oauth/access_token",
			url.Values{"grant_type": {"client_credentials"}, "client_id": {s.Key("client_id")}, "client_secret": {secret}})
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		var body map[string]any
		if err := json.NewDecoder(answer.Body).Decode(&body); err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, body
	}
	if status, _ := grant("x"); status != http.StatusUnauthorized {
		t.Errorf("wrong secret: %d", status)
	}
	status, body := grant(s.Key("client_secret"))
	if status != http.StatusOK || body["expires_in"] != 86399.0 {
		t.Fatalf("%d %v", status, body)
	}
	ask := func() int {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL()+"/admin/api/2026-07/shop.json", nil)
		r.Header.Set("X-Shopify-Access-Token", body["access_token"].(string))
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer.StatusCode
	}
	if status := ask(); status != http.StatusOK {
		t.Errorf("fresh token: %d", status)
	}
	now = now.Add(24 * time.Hour)
	if status := ask(); status != http.StatusUnauthorized {
		t.Errorf("after a day: %d", status)
	}
	if status, _, _ := call(t, s, http.MethodGet, "/admin/api/2026-13/shop.json", ""); status != http.StatusNotFound {
		t.Errorf("a version that is none: %d", status)
	}
}

func TestShopifyListsOrdersOverREST(t *testing.T) {
	s := start(t, fakes.Options{Platform: "shopify"})
	for i := range 7 {
		o := place(t, s, fakes.Cart{})
		if i == 0 {
			if err := s.Cancel(o.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	next := regexp.MustCompile(`<([^>]+)>; rel="next"`)
	read := func(path string) (ids []string) {
		for path != "" {
			status, body, header := call(t, s, http.MethodGet, path, "")
			if status != http.StatusOK || !strings.HasSuffix(header.Get("X-Shopify-Shop-Api-Call-Limit"), "/40") {
				t.Fatalf("%d %s %v", status, body, header)
			}
			for _, order := range at(t, decode(t, body), "orders").([]any) {
				ids = append(ids, string(at(t, order, "id").(json.Number)))
			}
			path = ""
			if match := next.FindStringSubmatch(header.Get("Link")); match != nil {
				path = strings.TrimPrefix(match[1], s.URL())
			}
		}
		return ids
	}
	if got := read("/admin/api/2026-07/orders.json?limit=2"); len(got) != 6 {
		t.Errorf("without a status %d orders, want the 6 open ones", len(got))
	}
	if got := read("/admin/api/2026-07/orders.json?limit=3&status=any"); len(got) != 7 {
		t.Errorf("%d orders, want 7", len(got))
	}
	if status, body, _ := call(t, s, http.MethodGet, "/admin/api/2026-07/orders.json?page_info=x&status=any", ""); status != 400 ||
		!strings.Contains(string(body), "cannot be passed when page_info is present") {
		t.Errorf("%d %s", status, body)
	}
	if status, _, _ := call(t, s, http.MethodGet, "/admin/api/2026-07/orders.json?limit=251", ""); status != 400 {
		t.Errorf("limit 251: %d", status)
	}
}

func TestShopifyLimitsRESTAndGraphQL(t *testing.T) {
	s := start(t, fakes.Options{Platform: "shopify"})
	var status int
	var header http.Header
	for range 1000 {
		if status, _, header = call(t, s, http.MethodGet, "/admin/api/2026-07/shop.json", ""); status == 429 {
			break
		}
	}
	if status != 429 || header.Get("Retry-After") == "" {
		t.Errorf("%d %v", status, header)
	}
	query := `{ orders(first: 100) { nodes { id totalPriceSet { shopMoney { amount } } lineItems(first: 100) { nodes { id } } } } }`
	answer := graphQL(t, s, query, nil)
	if at(t, answer, "extensions", "cost", "throttleStatus", "maximumAvailable") != json.Number("2000") {
		t.Errorf("%v", answer)
	}
	if answer = graphQL(t, s, strings.Replace(query, "100", "250", 1), nil); at(t, answer, "errors", 0, "extensions",
		"code") != "MAX_COST_EXCEEDED" {
		t.Errorf("%v", answer)
	}
	small := start(t, fakes.Options{Platform: "shopify", LimitScale: 0.01})
	graphQL(t, small, query, nil) // more than the bucket holds: taken while it is empty
	if answer = graphQL(t, small, query, nil); at(t, answer, "errors", 0, "extensions", "code") != "THROTTLED" || answer["data"] != nil {
		t.Errorf("%v", answer)
	}
	if stats := small.Stats(); stats.Beyond != 1 {
		t.Errorf("beyond: %d", stats.Beyond)
	}
}

func TestShopifyAnswersGraphQL(t *testing.T) {
	s := start(t, fakes.Options{Platform: "shopify"})
	create := `mutation($d: DiscountCodeBasicInput!) { discountCodeBasicCreate(basicCodeDiscount: $d) {
		codeDiscountNode { id codeDiscount { ... on DiscountCodeBasic { status codes(first: 1) { nodes { code } } customerGets { value {
		... on DiscountPercentage { percentage } } } } } } userErrors { field message code } } }`
	input := map[string]any{"title": "Ana", "code": "ANA10", "startsAt": "2020-01-01T00:00:00Z", "usageLimit": 5,
		"appliesOncePerCustomer": true,
		"context":                map[string]any{"all": "ALL"}, "customerGets": map[string]any{"value": map[string]any{"percentage": 0.1},
			"items": map[string]any{"all": true}}}
	answer := graphQL(t, s, create, map[string]any{"d": input})
	if at(t, answer, "data", "discountCodeBasicCreate", "codeDiscountNode", "codeDiscount", "customerGets", "value",
		"percentage") != json.Number("0.1") {
		t.Fatalf("%v", answer)
	}
	if answer = graphQL(t, s, create, map[string]any{"d": input}); at(t, answer, "data", "discountCodeBasicCreate", "userErrors", 0,
		"code") != "TAKEN" {
		t.Errorf("%v", answer)
	}
	o := place(t, s, fakes.Cart{Lines: []fakes.CartLine{{Product: 0, Quantity: 2}}, Codes: []string{"ana10"}, Shipping: 1000,
		Landing: "https://loja.example/p?utm_source=ana&ref=x", Attributes: []fakes.Attribute{{Name: "trb_id", Value: "v"}}})
	if err := s.RefundLine(o.ID, o.Lines[0].ID, 1); err != nil {
		t.Fatal(err)
	}
	answer = graphQL(t, s,
		`query($q: String!) { orders(first: 5, query: $q, sortKey: UPDATED_AT) { edges { cursor node { legacyResourceId displayFinancialStatus
		currentTotalPriceSet { shopMoney { amount currencyCode } } totalRefundedSet { shopMoney { amount } } discountCodes clientIp
		discountApplications(first: 5) { nodes { ... on DiscountCodeApplication { code } } } customAttributes { key value }
		customerJourneySummary { lastVisit { utmParameters { source } } } lineItems(first: 5) { nodes { currentQuantity } }
		refunds { refundLineItems(first: 5) { nodes { quantity } } } } } pageInfo { hasNextPage endCursor } } }`,
		map[string]any{"q": "updated_at:>='2020-01-01T00:00:00Z' AND financial_status:partially_refunded"})
	node := at(t, answer, "data", "orders", "edges", 0, "node")
	for _, c := range []struct {
		want any
		path []any
	}{
		{fmt.Sprint(o.ID), []any{"legacyResourceId"}}, {"PARTIALLY_REFUNDED", []any{"displayFinancialStatus"}},
		{"81.91", []any{"currentTotalPriceSet", "shopMoney", "amount"}}, {"71.91", []any{"totalRefundedSet", "shopMoney", "amount"}},
		{"ANA10", []any{"discountCodes", 0}}, {"ANA10", []any{"discountApplications", "nodes", 0, "code"}},
		{"v", []any{"customAttributes", 0, "value"}}, {"ana", []any{"customerJourneySummary", "lastVisit", "utmParameters", "source"}},
		{json.Number("1"), []any{"lineItems", "nodes", 0, "currentQuantity"}}, {json.Number("1"), []any{"refunds", 0, "refundLineItems",
			"nodes", 0, "quantity"}},
	} {
		if got := at(t, node, c.path...); got != c.want {
			t.Errorf("%v: %v, want %v", c.path, got, c.want)
		}
	}
	if answer = graphQL(t, s, `{ orders(first: 1) { nodes { userAgent } } }`, nil); at(t, answer, "errors", 0,
		"message") != "Field 'userAgent' doesn't exist on type 'Order'" {
		t.Errorf("%v", answer)
	}
	answer = graphQL(t, s,
		`{ codeDiscountNodeByCode(code: "ana10") { id codeDiscount { __typename
		... on DiscountCodeBasic { asyncUsageCount } } } shop { name currencyCode } }`, nil)
	if at(t, answer, "data", "codeDiscountNodeByCode", "codeDiscount", "asyncUsageCount") != json.Number("1") || at(t, answer, "data",
		"shop", "currencyCode") != "BRL" {
		t.Errorf("%v", answer)
	}
}

func TestShopifyPagesByCursorWhileOrdersChange(t *testing.T) {
	s := start(t, fakes.Options{Platform: "shopify", LimitScale: 100})
	for range 30 {
		place(t, s, fakes.Cart{})
	}
	s.SetFaults(fakes.Faults{Seed: 1, EditBetweenPages: 1})
	seen, after := map[string]int{}, any(nil)
	for pages := 0; pages < 20; pages++ {
		answer := graphQL(t, s,
			`query($a: String) { orders(first: 7, after: $a, sortKey: UPDATED_AT) { nodes { id } pageInfo { hasNextPage endCursor } } }`,
			map[string]any{"a": after})
		for _, node := range at(t, answer, "data", "orders", "nodes").([]any) {
			seen[at(t, node, "id").(string)]++
		}
		after = at(t, answer, "data", "orders", "pageInfo", "endCursor")
		if at(t, answer, "data", "orders", "pageInfo", "hasNextPage") == false {
			break
		}
	}
	if len(seen) != 30 || s.Stats().Faults["edited between pages"] == 0 {
		t.Errorf("%d orders of 30, faults %v", len(seen), s.Stats().Faults)
	}
}

func TestShopifySendsWebhooks(t *testing.T) {
	const want = "97yD9DBThCSxMpjmqm+xQ+9NWaFJRhdZl0edvC0aPNg="
	if got := shopify.Sign([]byte("The quick brown fox jumps over the lazy dog"), "key"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	s, n := start(t, fakes.Options{Platform: "shopify"}), receive(t)
	answer := graphQL(t, s, `mutation($u: String!) { webhookSubscriptionCreate(topic: REFUNDS_CREATE, webhookSubscription: {uri: $u}) {
		webhookSubscription { id topic uri } userErrors { message } } }`, map[string]any{"u": n.URL})
	if at(t, answer, "data", "webhookSubscriptionCreate", "webhookSubscription", "uri") != n.URL {
		t.Fatalf("%v", answer)
	}
	status, body, _ := call(t, s, http.MethodPost, "/admin/api/2026-07/webhooks.json",
		fmt.Sprintf(`{"webhook":{"topic":"orders/updated","address":%q,"format":"json"}}`, n.URL))
	if status != 201 {
		t.Fatalf("%d %s", status, body)
	}
	o := place(t, s, fakes.Cart{})
	settle(t, s)
	if err := s.RefundPart(o.ID, 100); err != nil {
		t.Fatal(err)
	}
	settle(t, s)
	headers, bodies := n.got()
	kinds := map[string]int{}
	for i := range bodies {
		kinds[headers[i].Get("X-Shopify-Topic")]++
		if headers[i].Get("X-Shopify-Hmac-Sha256") != shopify.Sign(bodies[i], s.Key("client_secret")) ||
			headers[i].Get("X-Shopify-Shop-Domain") != s.Key("shop") {
			t.Errorf("%v", headers[i])
		}
	}
	if kinds["orders/updated"] != 3 || kinds["refunds/create"] != 1 {
		t.Errorf("%v", kinds)
	}
	n.answers(500)
	if err := s.Touch(o.ID, "x"); err != nil {
		t.Fatal(err)
	}
	settle(t, s)
	after, _ := n.got()
	if len(after)-len(headers) != 9 || after[len(after)-1].Get("X-Shopify-Webhook-Id") != after[len(after)-2].Get("X-Shopify-Webhook-Id") {
		t.Errorf("%d attempts, want 9 with one id", len(after)-len(headers))
	}
	if subs := s.Subscriptions(); len(subs) != 1 || s.Stats().Ended != 1 {
		t.Errorf("%d subscriptions are left, want the one that did not fail", len(subs))
	}
}

func TestShopifyKeepsOldOrdersBack(t *testing.T) {
	s := start(t, fakes.Options{Platform: "shopify", Scope: "read_orders"})
	place(t, s, fakes.Cart{At: time.Now().Add(-61 * 24 * time.Hour)})
	place(t, s, fakes.Cart{})
	answer := graphQL(t, s,
		`{ ordersCount { count } orders(first: 5) { nodes { customer { email } } } codeDiscountNodeByCode(code: "X") { id } }`, nil)
	if at(t, answer, "data", "ordersCount", "count") != json.Number("1") || at(t, answer, "errors", 0, "extensions",
		"code") != "ACCESS_DENIED" {
		t.Errorf("%v", answer)
	}
	if at(t, answer, "data", "orders", "nodes", 0, "customer") != nil {
		t.Error("a customer without the right to read customers")
	}
}
