package fakes_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/test/await"
	"github.com/tributary-io/tributary/test/fakes"
)

func TestVTEXAsksForItsKeys(t *testing.T) {
	s := start(t, fakes.Options{Platform: "vtex"})
	for _, c := range []struct {
		key, token string
		want       int
	}{{s.Key("app_key"), s.Key("app_token"), 200}, {"", "", 401}, {s.Key("app_key"), "x", 403}} {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL()+"/api/oms/pvt/orders", nil)
		r.Header.Set("X-VTEX-API-AppKey", c.key)
		r.Header.Set("X-VTEX-API-AppToken", c.token)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != c.want {
			t.Errorf("%q: %d, want %d", c.token, answer.StatusCode, c.want)
		}
	}
}

func TestVTEXShowsMoneyInHundredthsAndRefundsApart(t *testing.T) {
	s := start(t, fakes.Options{Platform: "vtex"})
	if _, err := s.AddCoupon(fakes.Coupon{Code: "ANA10", Kind: fakes.CouponPercent, Value: 1000}); err != nil {
		t.Fatal(err)
	}
	o := place(t, s, fakes.Cart{Lines: []fakes.CartLine{{Product: 0, Quantity: 2}}, Codes: []string{"ANA10"}, Shipping: 1000,
		Group: "1415461749731"})
	second := place(t, s, fakes.Cart{Group: "1415461749731"})
	if s.Truth(o).ID != "1415461749731-01" || s.Truth(second).ID != "1415461749731-02" {
		t.Errorf("%s, %s", s.Truth(o).ID, s.Truth(second).ID)
	}
	if err := s.RefundLine(o.ID, o.Lines[0].ID, 1); err != nil {
		t.Fatal(err)
	}
	if err := s.Deliver(o.ID); err != nil {
		t.Fatal(err)
	}
	_, body, _ := call(t, s, http.MethodGet, "/api/oms/pvt/orders/1415461749731-01", "")
	order := decode(t, body)
	for _, c := range []struct {
		want any
		path []any
	}{
		{json.Number("15382"), []any{"value"}}, {json.Number("15980"), []any{"totals", 0, "value"}}, {json.Number("-1598"), []any{"totals", 1,
			"value"}},
		{"invoiced", []any{"status"}}, {"ANA10", []any{"marketingData", "coupon"}}, {"Output", []any{"packageAttachment", "packages", 0, "type"}},
		{true, []any{"packageAttachment", "packages", 0, "courierStatus", "finished"}},
		{json.Number("7191"), []any{"packageAttachment", "packages", 1, "restitutions", "Refund", "value"}},
	} {
		if got := at(t, order, c.path...); got != c.want {
			t.Errorf("%v: %v, want %v", c.path, got, c.want)
		}
	}
	o, _ = s.Order(o.ID)
	if s.Truth(o).Total != "81.91" {
		t.Errorf("%s", s.Truth(o).Total)
	}
	_, body, _ = call(t, s, http.MethodGet, "/api/oms/pvt/orders/order-group/1415461749731", "")
	if group := decode(t, body).([]any); len(group) != 2 {
		t.Errorf("%d orders in the group", len(group))
	}
	_, body, _ = call(t, s, http.MethodGet, "/api/rnb/pvt/coupon/ANA10", "")
	if at(t, decode(t, body), "couponCode") != "ANA10" {
		t.Errorf("%s", body)
	}
}

func TestVTEXListsOrdersLateAndBounded(t *testing.T) {
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	s := start(t, fakes.Options{Platform: "vtex", Now: func() time.Time { return now }, RetryScale: 1})
	for range 20 {
		place(t, s, fakes.Cart{})
		now = now.Add(time.Minute)
	}
	list := func(query string) (int, any) {
		status, body, _ := call(t, s, http.MethodGet, "/api/oms/pvt/orders?"+query, "")
		return status, decode(t, body)
	}
	if _, answer := list("per_page=100"); len(at(t, answer, "list").([]any)) != 17 {
		t.Errorf("%d orders are known, want those older than 4 minutes", len(at(t, answer, "list").([]any)))
	}
	now = now.Add(time.Hour)
	_, answer := list("orderBy=creationDate,asc&page=2")
	if len(at(t, answer, "list").([]any)) != 5 || at(t, answer, "paging", "pages") != json.Number("2") {
		t.Errorf("%v", at(t, answer, "paging"))
	}
	_, answer = list("f_creationDate=creationDate%3A%5B2026-11-01T12%3A00%3A00.000Z%20TO%202026-11-01T12%3A04%3A30.000Z%5D")
	if len(at(t, answer, "list").([]any)) != 5 {
		t.Errorf("%d orders in the window", len(at(t, answer, "list").([]any)))
	}
	for query, want := range map[string]int{"page=31": 400, "f_creationDate=x": 400, "per_page=0": 400} {
		if status, _ := list(query); status != want {
			t.Errorf("%s: %d, want %d", query, status, want)
		}
	}
}

func TestVTEXFeedsUntilCommitted(t *testing.T) {
	s := start(t, fakes.Options{Platform: "vtex", RetryScale: 1})
	if status, _, _ := call(t, s, http.MethodGet, "/api/orders/feed?maxlot=10", ""); status != http.StatusNotFound {
		t.Errorf("no feed: %d", status)
	}
	config := `{"filter":{"type":"FromWorkflow","status":["order-created","payment-approved","invoiced","canceled"]},
		"queue":{"visibilityTimeoutInSeconds":3,"MessageRetentionPeriodInSeconds":345600}}`
	if status, body, _ := call(t, s, http.MethodPost, "/api/orders/feed/config", config); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	for range 6 {
		place(t, s, fakes.Cart{})
	}
	read := func() []any {
		status, body, _ := call(t, s, http.MethodGet, "/api/orders/feed?maxlot=10", "")
		if status != http.StatusOK {
			t.Fatalf("%d %s", status, body)
		}
		return decode(t, body).([]any)
	}
	first := read()
	if len(first) != 10 || at(t, first[0], "state") != "order-created" {
		t.Fatalf("%d events, %v", len(first), first[0])
	}
	if rest := read(); len(rest) != 2 {
		t.Errorf("%d events beside the hidden ones, want 2", len(rest))
	}
	handles := []string{}
	for _, event := range first[:4] {
		handles = append(handles, fmt.Sprintf("%q", at(t, event, "handle")))
	}
	if status, body, _ := call(t, s, http.MethodPost, "/api/orders/feed", `{"handles":[`+strings.Join(handles,
		",")+`]}`); status != http.StatusOK {
		t.Errorf("%d %s", status, body)
	}
	var again []any
	await.Until(t, await.Long, func() bool { again = append(again, read()...); return len(again) >= 8 },
		func() string { return fmt.Sprintf("%d events came again, want 8", len(again)) })
	if len(again) != 8 || at(t, again[0], "eventId") != at(t, first[4], "eventId") {
		t.Errorf("%d events come again, want 8", len(again))
	}
	if status, _, _ := call(t, s, http.MethodGet, "/api/orders/feed?maxlot=11", ""); status != http.StatusBadRequest {
		t.Errorf("maxlot 11: %d", status)
	}
	if status, _, _ := call(t, s, http.MethodPost, "/api/orders/hook/config",
		`{"filter":{"type":"FromOrders","expression":"true"},"hook":{"url":"https://x.example"}}`); status != http.StatusConflict {
		t.Errorf("both kinds of filter: %d", status)
	}
}

func TestVTEXHooks(t *testing.T) {
	s, n := start(t, fakes.Options{Platform: "vtex"}), receive(t)
	config := fmt.Sprintf(`{"filter":{"type":"FromWorkflow","status":["payment-approved","canceled"]},
		"hook":{"url":%q,"headers":{"x-tributary-hook":"s3cret"}}}`, n.URL)
	n.answers(500)
	if status, _, _ := call(t, s, http.MethodPost, "/api/orders/hook/config", config); status != http.StatusBadRequest {
		t.Errorf("a ping that fails: %d", status)
	}
	n.answers(200)
	if status, body, _ := call(t, s, http.MethodPost, "/api/orders/hook/config", config); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	o := place(t, s, fakes.Cart{})
	settle(t, s)
	headers, bodies := n.got()
	last := len(bodies) - 1
	if string(bodies[1]) != `{"hookConfig":"ping"}` || last != 2 || headers[last].Get("x-tributary-hook") != "s3cret" {
		t.Fatalf("%q %v", bodies, headers)
	}
	notice := decode(t, bodies[last])
	if at(t, notice, "OrderId") != s.Truth(o).ID || at(t, notice, "State") != "payment-approved" || at(t, notice, "Origin",
		"Account") != s.Key("account") {
		t.Errorf("%v", notice)
	}
	for how := 1; how <= 3; how++ {
		s.Forge("payment-approved", o, how)
	}
	settle(t, s)
	headers, bodies = n.got()
	for i := last + 1; i < len(bodies); i++ {
		if headers[i].Get("x-tributary-hook") == "s3cret" && at(t, decode(t, bodies[i]), "Origin", "Account") == s.Key("account") {
			t.Errorf("forgery %d is not one", i-last)
		}
	}
}
