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
	"github.com/tributary-io/tributary/test/fakes/nuvemshop"
)

func TestNuvemshopAsksForItsHeaders(t *testing.T) {
	s := start(t, fakes.Options{Platform: "nuvemshop"})
	good := map[string]string{
		"Authentication": "bearer " + s.Key("access_token"), "User-Agent": "Test (nobody@example.com)", "Content-Type": "application/json",
	}
	for _, c := range []struct {
		name, value string
		want        int
	}{
		{"Accept", "*/*", 200}, {"User-Agent", "Go-http-client/1.1", 400}, {"User-Agent", "", 400}, {"Authentication", "", 401},
		{"Authentication", "Bearer " + s.Key("access_token"), 401}, {"Authentication", "bearer x", 401}, {"Content-Type", "text/plain", 415},
	} {
		method, body := http.MethodGet, ""
		if c.name == "Content-Type" {
			method, body = http.MethodPost, "{}"
		}
		r, _ := http.NewRequestWithContext(t.Context(), method, s.URL()+"/v1/"+s.Key("store_id")+"/coupons?valid=x", strings.NewReader(body))
		for name, value := range good {
			r.Header.Set(name, value)
		}
		r.Header.Set(c.name, c.value)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if c.want == 200 {
			c.want = 404 // no coupons: "Last page is 0"
		}
		if answer.StatusCode != c.want {
			t.Errorf("%s %q: %d, want %d", c.name, c.value, answer.StatusCode, c.want)
		}
	}
	s.Suspend()
	if status, _, _ := call(t, s, http.MethodGet, "/v1/STORE/store", ""); status != http.StatusPaymentRequired {
		t.Errorf("suspended: %d", status)
	}
	s.Resume()
	s.Uninstall()
	if status, _, _ := call(t, s, http.MethodGet, "/v1/STORE/store", ""); status != http.StatusUnauthorized {
		t.Errorf("uninstalled: %d", status)
	}
}

func TestNuvemshopInstallsAnApp(t *testing.T) {
	at := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	s := start(t, fakes.Options{Platform: "nuvemshop", Now: func() time.Time { return at }, Redirect: "https://app.example/back?x=1"})
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	click := func() (code string) {
		answer, err := client.PostForm(s.URL()+"/apps/"+s.Key("app_id")+"/authorize", url.Values{"state": {"abc"}})
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		to, err := answer.Location()
		if err != nil || to.Host != "app.example" || to.Query().Get("state") != "abc" || to.Query().Get("x") != "1" {
			t.Fatalf("sent to %v, %v", to, err)
		}
		return to.Query().Get("code")
	}
	exchange := func(code, secret string) (int, map[string]any) {
		body := fmt.Sprintf(`{"client_id":%q,"client_secret":%q,"grant_type":"authorization_code","code":%q}`, s.Key("app_id"), secret, code)
		status, text, _ := call(t, s, http.MethodPost, "/apps/authorize/token", body)
		var answer map[string]any
		if err := json.Unmarshal(text, &answer); err != nil {
			t.Fatal(err)
		}
		return status, answer
	}
	old, code := s.Key("access_token"), click()
	if status, _ := exchange(code, "wrong"); status != http.StatusUnauthorized {
		t.Errorf("wrong secret: %d", status)
	}
	status, answer := exchange(code, s.Key("client_secret"))
	if status != http.StatusOK || answer["user_id"] != s.Key("store_id") || answer["token_type"] != "bearer" || answer["access_token"] == old {
		t.Errorf("%d %v", status, answer)
	}
	if status, _ = exchange(code, s.Key("client_secret")); status != http.StatusBadRequest {
		t.Errorf("the second time: %d", status)
	}
	code = click()
	at = at.Add(31 * time.Second)
	if status, _ = exchange(code, s.Key("client_secret")); status != http.StatusBadRequest {
		t.Errorf("after 31 s: %d", status)
	}
}

var nextLink = regexp.MustCompile(`<([^>]+)>; rel="next"`)

func TestNuvemshopPages(t *testing.T) {
	s := start(t, fakes.Options{Platform: "nuvemshop"})
	status, body, _ := call(t, s, http.MethodGet, "/2025-03/STORE/orders", "")
	if status != http.StatusNotFound || !strings.Contains(string(body), "Last page is 0") {
		t.Errorf("no orders: %d %s", status, body)
	}
	const orders = 65
	for range orders {
		place(t, s, fakes.Cart{})
	}
	seen := map[string]bool{}
	path := "/2025-03/STORE/orders?fields=id,number"
	for pages := 0; path != ""; pages++ {
		status, body, header := call(t, s, http.MethodGet, path, "")
		if status != http.StatusOK || header.Get("X-Total-Count") != "65" || pages > 3 {
			t.Fatalf("%s: %d %s", path, status, header)
		}
		for _, order := range decode(t, body).([]any) {
			order := order.(map[string]any)
			seen[string(order["id"].(json.Number))] = true
			if len(order) != 2 {
				t.Fatalf("fields=id,number gives %v", order)
			}
		}
		path = ""
		if match := nextLink.FindStringSubmatch(header.Get("Link")); match != nil {
			path = strings.TrimPrefix(match[1], s.URL())
		}
	}
	if len(seen) != orders {
		t.Errorf("%d of %d orders on the pages", len(seen), orders)
	}
	if status, body, _ = call(t, s, http.MethodGet, "/2025-03/STORE/orders?page=4", ""); status != 404 || !strings.Contains(string(body),
		"Last page is 3") {
		t.Errorf("page 4: %d %s", status, body)
	}
	if status, _, _ = call(t, s, http.MethodGet, "/2025-03/STORE/orders?page=51&per_page=200", ""); status != 422 {
		t.Errorf("beyond 10,000 items: %d", status)
	}
}

func TestNuvemshopFilters(t *testing.T) {
	at := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	s := start(t, fakes.Options{Platform: "nuvemshop", Now: func() time.Time { return at }})
	first, err := s.Place(fakes.Cart{})
	if err != nil {
		t.Fatal(err)
	}
	at = at.Add(time.Hour)
	second := place(t, s, fakes.Cart{Channel: "marketplace"})
	ids := func(query string) (found []string) {
		status, body, _ := call(t, s, http.MethodGet, "/2025-03/STORE/orders?fields=id&"+query, "")
		if status == http.StatusOK {
			for _, order := range decode(t, body).([]any) {
				found = append(found, string(order.(map[string]any)["id"].(json.Number)))
			}
		}
		return found
	}
	one, two := fmt.Sprint(first.ID), fmt.Sprint(second.ID)
	for query, want := range map[string][]string{
		"": {two, one}, "since_id=1": {one, two}, "since_id=" + one: {two}, "payment_status=paid": {two}, "channels=meli": {two},
		"updated_at_min=2026-11-01T12:00:00%2B0000": {two}, "updated_at_min=2026-11-01T08:59:59-03:00": {two, one},
		"updated_at_max=2026-11-01T12:30:00Z": {one}, "created_at_min=2026-11-02": nil, "updated_at_min=yesterday": nil,
		"status=cancelled": nil, "q=" + fmt.Sprint(second.Number): {two},
	} {
		if got := ids(query); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
}

func TestNuvemshopLimits(t *testing.T) {
	s := start(t, fakes.Options{Platform: "nuvemshop"})
	status, served := 0, 0
	for ; served < 1000; served++ {
		var header http.Header
		status, _, header = call(t, s, http.MethodGet, "/2025-03/STORE/store", "")
		if header.Get("X-Rate-Limit-Limit") != "40" || header.Get("X-Rate-Limit-Reset") == "" {
			t.Fatalf("headers %v", header)
		}
		if status == http.StatusTooManyRequests {
			break
		}
	}
	stats := s.Stats()
	if served < 40 || served == 1000 || stats.Beyond != 1 || stats.Requests != served+1 || stats.LongestBurst < 2 {
		t.Errorf("%d requests are served, then %d: %+v", served, status, stats)
	}
}

// The vector is that of RFC-like test lists of HMAC-SHA256.
func TestNuvemshopSignsInLowerCaseHex(t *testing.T) {
	const want = "f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8"
	if got := nuvemshop.Sign([]byte("The quick brown fox jumps over the lazy dog"), "key"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestNuvemshopSendsNotices(t *testing.T) {
	s, n := start(t, fakes.Options{Platform: "nuvemshop"}), receive(t)
	status, body, _ := call(t, s, http.MethodPost, "/2025-03/STORE/webhooks", `{"event":"invalid_event","url":"foobar"}`)
	if status != 422 || !strings.Contains(string(body), `"url":["invalid url specified"]`) {
		t.Errorf("%d %s", status, body)
	}
	status, body, _ = call(t, s, http.MethodPost, "/2025-03/STORE/webhooks", fmt.Sprintf(`{"event":"order\/paid","url":%q}`, n.URL))
	if status != 201 {
		t.Fatalf("%d %s", status, body)
	}
	n.answers(500)
	o := place(t, s, fakes.Cart{})
	settle(t, s)
	headers, bodies := n.got()
	if len(bodies) != 18 {
		t.Fatalf("%d attempts, want 18", len(bodies))
	}
	want := fmt.Sprintf(`{"store_id":%s,"event":"order\/paid","id":%d}`, s.Key("store_id"), o.ID)
	if string(bodies[0]) != want || headers[0].Get("X-Linkedstore-HMAC-SHA256") != nuvemshop.Sign(bodies[0], s.Key("client_secret")) {
		t.Errorf("%s %v, want %s", bodies[0], headers[0], want)
	}
	n.answers(200)
	for how := 1; how <= 3; how++ {
		s.Forge("order/paid", o, how)
		settle(t, s)
		headers, bodies = n.got()
		last := len(bodies) - 1
		if headers[last].Get("X-Linkedstore-HMAC-SHA256") == nuvemshop.Sign(bodies[last], s.Key("client_secret")) {
			t.Errorf("forgery %d has a good signature", how)
		}
	}
	if stats := s.Stats(); stats.Forged != 3 || stats.ForgedTaken != 3 {
		t.Errorf("%+v", stats)
	}
	s.SetAddress("customers/redact", n.URL)
	s.Platform().(*nuvemshop.Platform).RedactCustomer(s, o)
	settle(t, s)
	_, bodies = n.got()
	if last := string(bodies[len(bodies)-1]); !strings.Contains(last, fmt.Sprintf(`"orders_to_redact":[%d]`, o.ID)) {
		t.Error(last)
	}
}

func TestNuvemshopShowsRefundsEditsAndCancellations(t *testing.T) {
	s := start(t, fakes.Options{Platform: "nuvemshop", LimitScale: 100})
	get := func(id int64, path string) map[string]any {
		_, body, _ := call(t, s, http.MethodGet, fmt.Sprintf("/%s/STORE/orders/%d", path, id), "")
		return decode(t, body).(map[string]any)
	}
	o := place(t, s, fakes.Cart{Lines: []fakes.CartLine{{Product: 0, Quantity: 2}}, Shipping: 1000}) // 2 × 79.90 + 10
	if err := s.RefundPart(o.ID, 2000); err != nil {
		t.Fatal(err)
	}
	if order := get(o.ID, "2025-03"); order["total"] != "149.80" || order["payment_status"] != "partially_refunded" {
		t.Errorf("after a refund of 20.00 of 169.80: %v, %v", order["total"], order["payment_status"])
	}
	if order := get(o.ID, "v1"); order["total"] != "149.80" || order["payment_status"] != "paid" {
		t.Errorf("v1: %v, %v", order["total"], order["payment_status"])
	}
	if err := s.Edit(o.ID, 3); err != nil {
		t.Fatal(err)
	}
	if order := get(o.ID, "2025-03"); order["total"] != "229.70" {
		t.Errorf("after one more: %v", order["total"])
	}
	_, body, _ := call(t, s, http.MethodGet, fmt.Sprintf("/2025-03/STORE/orders/%d/history/values", o.ID), "")
	if values := decode(t, body).([]any); len(values) != 2 || values[0].(map[string]any)["total_delta"] != json.Number("-20.00") {
		t.Errorf("history: %s", body)
	}
	if err := s.Cancel(o.ID); err != nil {
		t.Fatal(err)
	}
	if order := get(o.ID, "v1"); order["status"] != "cancelled" || order["payment_status"] != "paid" || order["cancelled_at"] == nil {
		t.Errorf("a cancelled order stays %v, is %v", order["payment_status"], order["status"])
	}
}

func TestNuvemshopMakesCoupons(t *testing.T) {
	s := start(t, fakes.Options{Platform: "nuvemshop"})
	const body = `{"code":"ANA10","type":"percentage","value":"10.00","max_uses":2,"start_date":"2020-01-01","end_date":"2099-01-01"}`
	if status, text, _ := call(t, s, http.MethodPost, "/2025-03/STORE/coupons", body); status != 201 {
		t.Fatalf("%d %s", status, text)
	}
	if status, text, _ := call(t, s, http.MethodPost, "/2025-03/STORE/coupons", body); status != 422 {
		t.Errorf("twice: %d %s", status, text)
	}
	for _, bad := range []string{`{"code":"A-B","type":"percentage","value":"10"}`, `{"code":"AB","type":"x","value":"1"}`,
		`{"code":"AB","type":"absolute"}`} {
		if status, _, _ := call(t, s, http.MethodPost, "/2025-03/STORE/coupons", bad); status != 422 {
			t.Errorf("%s: %d", bad, status)
		}
	}
	o := place(t, s, fakes.Cart{Codes: []string{"ana10"}, Lines: []fakes.CartLine{{Product: 0, Quantity: 1}}})
	place(t, s, fakes.Cart{Codes: []string{"ANA10"}})
	if o.Discount().String() != "7.99" {
		t.Errorf("10 %% of 79.90 is %s", o.Discount())
	}
	if _, err := s.Place(fakes.Cart{Codes: []string{"ANA10"}}); err == nil {
		t.Error("a third use of two")
	}
	status, text, _ := call(t, s, http.MethodGet, "/2025-03/STORE/coupons?q=ana", "")
	coupon := decode(t, text).([]any)[0].(map[string]any)
	if status != 200 || coupon["valid"] != false || coupon["used"] != json.Number("2") {
		t.Errorf("%v", coupon)
	}
}
