package shopify

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/commerce"
)

type asked struct {
	Query     string         `json:"query"`
	Variables map[string]any `json:"variables"`
	Token     string         `json:"-"`
}

// server answers each GraphQL query by answer; token requests get t-1, t-2, ….
type server struct {
	*httptest.Server
	mutex  sync.Mutex
	asked  []asked
	tokens int
}

func (s *server) all() []asked {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return slices.Clone(s.asked)
}

func serve(t *testing.T, answer func(a asked, nth int) (status int, body string)) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mutex.Lock()
		if r.URL.Path == "/admin/oauth/access_token" {
			s.tokens++
			token := "t-" + string(rune('0'+s.tokens))
			s.mutex.Unlock()
			if string(body) != "client_id=id&client_secret=secret&grant_type=client_credentials" {
				w.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(w, `Oauth error app_not_installed: maria@example.com`)
				return
			}
			_, _ = io.WriteString(w, `{"access_token":"`+token+`","scope":"read_orders","expires_in":86399}`)
			return
		}
		var a asked
		if r.URL.Path != "/admin/api/2026-10/graphql.json" || json.Unmarshal(body, &a) != nil {
			t.Errorf("asked for %s %s", r.URL.Path, body)
		}
		a.Token = r.Header.Get("X-Shopify-Access-Token")
		s.asked = append(s.asked, a)
		nth := len(s.asked)
		s.mutex.Unlock()
		status, text := answer(a, nth)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) open(t *testing.T, credentials platform.Credentials) platform.Shop {
	t.Helper()
	p := New()
	client := platform.NewClient(p.Limits(), platform.Options{UserAgent: "Tributary (test@example.com)",
		Rewrite: map[string]string{"minha-loja.myshopify.com": s.URL}})
	t.Cleanup(client.Close)
	shop, err := p.Open(credentials, client)
	if err != nil {
		t.Fatal(err)
	}
	return shop
}

var (
	pasted = platform.Credentials{"shop": "minha-loja", "token": "shpat_1", "client_secret": "secret"}
	grant  = platform.Credentials{"shop": "https://admin.shopify.com/store/minha-loja", "client_id": "id", "client_secret": "secret"}
)

func reasonOf(err error) (reason, detail string) {
	told := new(platform.Error)
	if !errors.As(err, &told) {
		return "", ""
	}
	return told.Reason, told.Detail
}

func page(next string, orders ...json.RawMessage) string {
	text, _ := json.Marshal(map[string]any{"data": map[string]any{
		"orders":      map[string]any{"pageInfo": map[string]any{"hasNextPage": next != "", "endCursor": next}, "nodes": orders},
		"ordersCount": map[string]any{"count": 77},
	}})
	return string(text)
}

func TestCredentials(t *testing.T) {
	f := func(c platform.Credentials, host, reason string) {
		t.Helper()
		opened, err := New().Open(c, nil)
		if got, _ := reasonOf(err); got != reason {
			t.Errorf("%v: %v", c, err)
		}
		if err == nil && opened.(*shop).host != host {
			t.Errorf("%v: %s", c, opened.(*shop).host)
		}
	}
	f(pasted, "minha-loja.myshopify.com", "")
	f(grant, "minha-loja.myshopify.com", "")
	f(platform.Credentials{"shop": " Minha-Loja.myshopify.com/ ", "token": "x"}, "minha-loja.myshopify.com", "")
	f(platform.Credentials{"shop": "evil.com/.myshopify.com", "token": "x"}, "", commerce.ShopAddress)
	f(platform.Credentials{"shop": "evil.com#.myshopify.com", "token": "x"}, "", commerce.ShopAddress)
	f(platform.Credentials{"shop": "a.b.myshopify.com", "token": "x"}, "", commerce.ShopAddress)
	f(platform.Credentials{"shop": "", "token": "x"}, "", commerce.ShopAddress)
	f(platform.Credentials{"shop": "minha-loja", "client_id": "id"}, "", commerce.ShopRefusedKey)
}

func TestATokenIsTakenOnceADayAndAnewWhenItIsRefused(t *testing.T) {
	s := serve(t, func(a asked, _ int) (int, string) {
		if a.Token == "t-1" {
			return 200, page("")
		}
		return 200, page("", example(t, nil))
	})
	shop := s.open(t, grant)
	for range 3 {
		if _, err := shop.Changed(t.Context(), time.Now(), ""); err != nil {
			t.Fatal(err)
		}
	}
	if s.tokens != 1 {
		t.Errorf("%d tokens", s.tokens)
	}
	refusing := serve(t, func(a asked, _ int) (int, string) {
		if a.Token == "t-1" {
			return 401, `{"errors":"[API] Invalid API key or access token"}`
		}
		return 200, page("", example(t, nil))
	})
	got, err := refusing.open(t, grant).Changed(t.Context(), time.Now(), "")
	if err != nil || len(got.Items) != 1 || refusing.tokens != 2 {
		t.Errorf("%v, %d tokens", err, refusing.tokens)
	}
	always := serve(t, func(asked, int) (int, string) { return 401, "" })
	if _, err := always.open(t, grant).Changed(t.Context(), time.Now(), ""); err == nil || len(always.all()) != 2 {
		t.Errorf("%v after %d requests", err, len(always.all()))
	}
	wrong := platform.Credentials{"shop": "minha-loja", "client_id": "other", "client_secret": "secret"}
	_, err = s.open(t, wrong).Changed(t.Context(), time.Now(), "")
	if reason, detail := reasonOf(err); reason != commerce.ShopRefusedKey || detail != "app_not_installed" {
		t.Errorf("%v", err)
	}
}

func TestListsAskForWhatIsMeant(t *testing.T) {
	inside, outside := example(t, nil), example(t, map[string]any{"id": "gid://shopify/Order/2", "createdAt": "2026-11-04T00:00:00Z"})
	s := serve(t, func(asked, int) (int, string) { return 200, page("cursor-2", inside, outside) })
	shop := s.open(t, pasted)
	got, err := shop.Changed(t.Context(), time.Date(2026, 11, 3, 14, 5, 9, 5e8, time.FixedZone("", -3*3600)), "cursor-1")
	if err != nil || len(got.Items) != 2 || got.Next != "cursor-2" || !got.OldestFirst || got.Stored != nil {
		t.Fatalf("%+v %v", got, err)
	}
	if v := s.all()[0].Variables; v["query"] != "updated_at:>='2026-11-03T17:05:09Z'" || v["sort"] != "UPDATED_AT" ||
		v["after"] != "cursor-1" {
		t.Errorf("%v", v)
	}
	from, to := time.Date(2026, 11, 3, 0, 0, 0, 0, time.UTC), time.Date(2026, 11, 4, 0, 0, 0, 0, time.UTC)
	got, err = shop.Created(t.Context(), from, to, "")
	if err != nil || len(got.Items) != 1 || got.Total != 77 {
		t.Fatalf("%+v %v", got, err)
	}
	if v := s.all()[1].Variables; v["query"] != "created_at:>='2026-11-03T00:00:00Z' created_at:<='2026-11-04T00:00:00Z'" ||
		v["sort"] != "CREATED_AT" {
		t.Errorf("%v", v)
	}
	digests, next, err := shop.Digests(t.Context(), from, to, "")
	want := platform.Digest{ID: "9007199254740995", Total: "207.50", CreatedAt: time.Date(2026, 11, 3, 14, 5, 9, 0, time.UTC)}
	if err != nil || next != "cursor-2" || len(digests) != 1 || digests[0] != want {
		t.Errorf("%+v %s %v", digests, next, err)
	}
}

func TestOneOrder(t *testing.T) {
	long := example(t, map[string]any{"lineItems": map[string]any{"pageInfo": map[string]any{"hasNextPage": true, "endCursor": "l1"},
		"nodes": []any{}}})
	s := serve(t, func(a asked, _ int) (int, string) {
		switch {
		case a.Variables["id"] == "gid://shopify/Order/5":
			return 200, `{"data":{"order":null}}`
		case a.Query == linesQuery:
			return 200, `{"data":{"order":{"lineItems":{"pageInfo":{"hasNextPage":false},"nodes":[{"currentQuantity":3,"sku":"X",` +
				`"originalUnitPriceSet":{"shopMoney":{"amount":"1.0"}}}]}}}}`
		}
		return 200, `{"data":{"order":` + string(long) + `}}`
	})
	shop := s.open(t, pasted)
	item, err := shop.Order(t.Context(), "9007199254740995")
	if err != nil || item.Order == nil || len(item.Order.Items) != 1 || item.Order.Items[0].Quantity != 3 {
		t.Errorf("%+v %v", item, err)
	}
	for _, id := range []string{"5", "", "1 OR 1", "-1"} {
		_, err := shop.Order(t.Context(), id)
		if reason, _ := reasonOf(err); reason != commerce.ShopNotFound {
			t.Errorf("%q: %v", id, err)
		}
	}
}

func TestErrorsInsideAnAnswerOf200(t *testing.T) {
	f := func(body, reason, detail string) {
		t.Helper()
		s := serve(t, func(asked, int) (int, string) { return 200, body })
		_, err := s.open(t, pasted).Changed(t.Context(), time.Now(), "")
		if gotReason, gotDetail := reasonOf(err); gotReason != reason || gotDetail != detail {
			t.Errorf("%s: %v", body, err)
		}
	}
	denied := `{"data":null,"errors":[{"message":"Access denied for orders field.","path":["orders"],` +
		`"extensions":{"code":"ACCESS_DENIED","requiredAccess":"` + "`read_orders` access scope." + `"}}]}`
	f(denied, commerce.ShopLacksScope, "read_orders")
	f(`{"errors":[{"message":"x","extensions":{"code":"SHOP_INACTIVE"}}]}`, commerce.ShopSuspended, "SHOP_INACTIVE")
	f(`{"errors":[{"message":"x","extensions":{"code":"INTERNAL_SERVER_ERROR"}}]}`, commerce.ShopUnavailable, "INTERNAL_SERVER_ERROR")
	f(`{"errors":[{"message":"maria@example.com"}]}`, commerce.ShopUnknownShape, "an error")
	f(`{"data":{"orders":{"nodes":[],"pageInfo":{"hasNextPage":true}}}}`, commerce.ShopUnknownShape, "pageInfo.endCursor")
	f(`{}`, commerce.ShopUnknownShape, "data")
	f(`<html>`, commerce.ShopUnknownShape, "the answer is no JSON")
	partly := strings.Replace(page("", example(t, map[string]any{"customer": nil})), `{"data"`,
		`{"errors":[{"path":["orders","nodes",0,"customer"],"extensions":{"code":"ACCESS_DENIED"}}],"data"`, 1)
	f(partly, "", "")
	f(strings.Replace(partly, "ACCESS_DENIED", "SOMETHING", 1), commerce.ShopUnknownShape, "an error SOMETHING")
	f(`{"data":{"orders":{"nodes":[null],"pageInfo":{}}},"errors":[{"extensions":{"code":"ACCESS_DENIED"}}]}`, commerce.ShopLacksScope,
		"read_orders")
}

const throttled = `{"errors":[{"message":"Throttled","extensions":{"code":"THROTTLED"}}],"extensions":{"cost":{"requestedQueryCost":`

func TestAThrottledQueryWaitsForItsPoints(t *testing.T) {
	s := serve(t, func(_ asked, nth int) (int, string) {
		if nth == 1 {
			return 200, throttled + `100,"throttleStatus":{"maximumAvailable":2000,"currentlyAvailable":40,"restoreRate":100}}}}`
		}
		return 200, page("")
	})
	begun := time.Now()
	if _, err := s.open(t, pasted).Changed(t.Context(), time.Now(), ""); err != nil || time.Since(begun) < 600*time.Millisecond {
		t.Errorf("%v after %s", err, time.Since(begun))
	}
	long := serve(t, func(asked, int) (int, string) {
		return 200, throttled + `1000,"throttleStatus":{"maximumAvailable":2000,"currentlyAvailable":0,"restoreRate":10}}}}`
	})
	_, err := long.open(t, pasted).Changed(t.Context(), time.Now(), "")
	told := new(platform.Error)
	if !errors.As(err, &told) || told.Reason != commerce.ShopLimited || told.RetryAfter != 100*time.Second || len(long.all()) != 1 {
		t.Errorf("%v after %d requests", err, len(long.all()))
	}
}

func TestAQueryIsNotSentBeforeItsPointsAreThere(t *testing.T) {
	s := serve(t, func(asked, int) (int, string) {
		return 200, strings.TrimSuffix(page(""), "}") +
			`,"extensions":{"cost":{"requestedQueryCost":100,"actualQueryCost":90,"throttleStatus":{"maximumAvailable":2000,` +
			`"currentlyAvailable":50,"restoreRate":100}}}}`
	})
	shop := s.open(t, pasted)
	begun := time.Now()
	for range 2 {
		if _, err := shop.Changed(t.Context(), time.Now(), ""); err != nil {
			t.Fatal(err)
		}
	}
	if time.Since(begun) < 400*time.Millisecond {
		t.Errorf("the second was sent after %s", time.Since(begun))
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := shop.Changed(ended, time.Now(), ""); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestAPageThatCostsTooMuchIsAskedForSmaller(t *testing.T) {
	s := serve(t, func(a asked, _ int) (int, string) {
		if a.Variables["first"].(float64) > 12 {
			return 200, `{"errors":[{"message":"Query cost is 1502","extensions":{"code":"MAX_COST_EXCEEDED","cost":1502,"maxCost":1000}}]}`
		}
		return 200, page("")
	})
	shop := s.open(t, pasted)
	for range 2 {
		if _, err := shop.Changed(t.Context(), time.Now(), ""); err != nil {
			t.Fatal(err)
		}
	}
	if all := s.all(); len(all) != 4 || all[3].Variables["first"].(float64) != 12 {
		t.Errorf("%d requests", len(all))
	}
}

func TestALockedShopIsSuspended(t *testing.T) {
	f := func(status int, reason string) {
		t.Helper()
		s := serve(t, func(asked, int) (int, string) { return status, "" })
		_, err := s.open(t, pasted).About(t.Context())
		if got, _ := reasonOf(err); got != reason {
			t.Errorf("%d: %v", status, err)
		}
	}
	f(423, commerce.ShopSuspended)
	f(402, commerce.ShopSuspended)
	f(401, commerce.ShopRefusedKey)
	f(403, commerce.ShopLacksScope)
	f(404, commerce.ShopNotFound)
}

// A query whose answer is lost has used points all the same.
func TestAQueryWithoutAnAnswerCostsTheMost(t *testing.T) {
	a := &account{left: startPoints, most: startPoints, restored: startRestored, cost: map[string]float64{}}
	if err := a.wait(t.Context(), "orders"); err != nil {
		t.Fatal(err)
	}
	soon, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := a.wait(soon, "orders"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the second attempt: %v", err)
	}
}
