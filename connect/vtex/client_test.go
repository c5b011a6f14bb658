package vtex

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/commerce"
)

// stand is a small VTEX account: what the tests need of its documented answers.
type stand struct {
	*httptest.Server
	mutex     sync.Mutex
	requests  []string
	feed      json.RawMessage // configuration; nil: none
	hook      json.RawMessage
	hookSent  int
	events    []event // not committed
	inFlight  int     // handed out
	committed []string
	created   []time.Time // of orders, by number
	status    int         // answered to orders where not 0
	coupon    string
	forbidden string // a path
}

func newStand(t *testing.T) (*stand, platform.Shop) {
	t.Helper()
	s := &stand{}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	client := platform.NewClient(platform.Limits{PerSecond: 10_000, Burst: 10_000, Hosts: New().Limits().Hosts},
		platform.Options{UserAgent: "Tributary (test@example.com)", Rewrite: map[string]string{"minhaloja.vtexcommercestable.com.br": s.URL}})
	t.Cleanup(client.Close)
	shop, err := New().Open(platform.Credentials{"account": "MinhaLoja", "app_key": "vtexappkey-x", "app_token": "token"}, client)
	if err != nil {
		t.Fatal(err)
	}
	return s, shop
}

func (s *stand) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.requests = append(s.requests, r.Method+" "+r.URL.Path)
	body, _ := io.ReadAll(r.Body)
	if r.Header.Get("X-VTEX-API-AppKey") != "vtexappkey-x" || r.Header.Get("X-VTEX-API-AppToken") != "token" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if s.forbidden != "" && strings.HasPrefix(r.URL.Path, s.forbidden) {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	id, one := strings.CutPrefix(r.URL.Path, "/api/oms/pvt/orders/")
	switch {
	case r.URL.Path == feedPath:
		s.configure(w, r.Method, body, &s.feed)
	case r.URL.Path == hookPath:
		s.configure(w, r.Method, body, &s.hook)
		s.hookSent += map[string]int{http.MethodPost: 1}[r.Method]
	case r.URL.Path == "/api/orders/feed" && r.Method == http.MethodPost:
		var commit struct{ Handles []string }
		_ = json.Unmarshal(body, &commit)
		s.committed = append(s.committed, commit.Handles...)
		s.events = slices.DeleteFunc(s.events, func(e event) bool { return slices.Contains(commit.Handles, e.Handle) })
		s.inFlight = 0
	case r.URL.Path == "/api/orders/feed":
		end := min(s.inFlight+10, len(s.events))
		_ = json.NewEncoder(w).Encode(s.events[s.inFlight:end])
		s.inFlight = end
	case r.URL.Path == "/api/oms/pvt/orders":
		s.list(w, r)
	case one && s.status != 0:
		w.WriteHeader(s.status)
	case one && id == "gone-01":
		w.WriteHeader(http.StatusNotFound)
	case one && id == "other-01":
		_, _ = io.WriteString(w, `{"orderId":"another-01","status":"invoiced"}`)
	case one && id == "null-01":
		_, _ = io.WriteString(w, `{"orderId":"null-01","status":null}`)
	case one:
		fmt.Fprintf(w, `{"orderId":%q,"status":"invoiced","value":1000,"creationDate":"2026-11-03T10:00:00Z",`+
			`"lastChange":"2026-11-03T10:00:00Z",`+
			`"storePreferencesData":{"currencyCode":"BRL"}}`, id)
	case s.coupon != "":
		_, _ = io.WriteString(w, s.coupon)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (s *stand) configure(w http.ResponseWriter, method string, body []byte, kept *json.RawMessage) {
	switch {
	case method == http.MethodPost:
		*kept = body
	case *kept == nil:
		w.WriteHeader(http.StatusNotFound)
	case method == http.MethodDelete:
		*kept = nil
	default:
		_, _ = w.Write(*kept)
	}
}

var span = regexp.MustCompile(`^creationDate:\[(.+) TO (.+)\]$`)

func (s *stand) list(w http.ResponseWriter, r *http.Request) {
	type one struct {
		OrderID      string    `json:"orderId"`
		CreationDate time.Time `json:"creationDate"`
		CurrencyCode string    `json:"currencyCode"`
	}
	var found []one
	bounds := span.FindStringSubmatch(r.URL.Query().Get("f_creationDate"))
	for n, at := range s.created {
		if bounds != nil {
			from, _ := time.Parse(time.RFC3339, bounds[1])
			to, _ := time.Parse(time.RFC3339, bounds[2])
			if at.Before(from) || at.Truncate(time.Millisecond).After(to) {
				continue
			}
		}
		found = append(found, one{fmt.Sprintf("%d-01", n), at, "BRL"})
	}
	per, _ := strconv.Atoi(r.URL.Query().Get("per_page"))
	page, _ := strconv.Atoi(r.URL.Query().Get("page"))
	pages := (len(found) + per - 1) / per
	part := found[min((page-1)*per, len(found)):min(page*per, len(found))]
	if page > mostPages {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"list": part, "paging": map[string]any{"total": len(found), "pages": pages,
		"currentPage": page}})
}

func reasonOf(err error) (reason, detail string, wait time.Duration) {
	told := new(platform.Error)
	if !errors.As(err, &told) {
		return "", "", 0
	}
	return told.Reason, told.Detail, told.RetryAfter
}

func TestEachOrderOfATimeComesOnceHoweverManyThereAre(t *testing.T) {
	s, shop := newStand(t)
	begin := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	for n := range 4000 { // more than 30 pages of 50; most within one hour
		at := begin.Add(time.Duration(n) * time.Second)
		if n%40 == 0 {
			at = begin.Add(time.Duration(n) * 2 * time.Minute)
		}
		s.created = append(s.created, at)
	}
	end := begin.AddDate(0, 0, 8)
	s.created = append(s.created, end, begin.Add(-time.Millisecond))
	seen, token, pages := map[string]int{}, "", 0
	for {
		page, err := shop.Created(t.Context(), begin, end, token)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			seen[item.ID]++
		}
		if pages++; pages == 1 && page.Total != 4000 {
			t.Errorf("total %d", page.Total)
		}
		if token = page.Next; token == "" {
			break
		}
	}
	if len(seen) != 4000 || seen["4000-01"]+seen["4001-01"] != 0 {
		t.Errorf("%d orders", len(seen))
	}
	for id, times := range seen {
		if times != 1 {
			t.Fatalf("%s comes %d times", id, times)
		}
	}
	if _, err := shop.Created(t.Context(), begin, end, "x"); err == nil {
		t.Error("a wrong token is taken")
	}
}

func TestTheFeedIsCommittedOnlyWhenThePageIsStored(t *testing.T) {
	s, shop := newStand(t)
	s.feed, _ = json.Marshal(map[string]any{"filter": everything})
	for n := range 65 {
		s.events = append(s.events, event{Handle: fmt.Sprint("h", n), State: "invoiced", OrderID: fmt.Sprintf("%d-01", n%7)})
	}
	s.events = append(s.events, event{Handle: "null", State: "null", OrderID: "null-01"}, event{Handle: "path", State: "x", OrderID: "../1"},
		event{Handle: "gone", State: "canceled", OrderID: "gone-01"})
	page, err := shop.Changed(t.Context(), time.Time{}, "")
	if err != nil || len(page.Items) != 7 || page.Next == "" || page.OldestFirst || len(s.committed) != 0 {
		t.Fatalf("%d items, next %q, %v", len(page.Items), page.Next, err)
	}
	if err := page.Stored(t.Context()); err != nil || len(s.committed) != 50 {
		t.Fatalf("%d committed, %v", len(s.committed), err)
	}
	page, err = shop.Changed(t.Context(), time.Time{}, page.Next)
	if err != nil || len(page.Items) != 7 || page.Next != "" || page.Stored(t.Context()) != nil || len(s.events) != 0 {
		t.Errorf("%d items, next %q, %d events are left, %v", len(page.Items), page.Next, len(s.events), err)
	}
	if page, err = shop.Changed(t.Context(), time.Time{}, ""); err != nil || len(page.Items) != 0 || page.Stored != nil {
		t.Errorf("%+v %v", page, err)
	}
}

func TestAFeedThatIsNotThereIsMadeAndTheListReadInstead(t *testing.T) {
	s, shop := newStand(t)
	s.created = []time.Time{time.Now().Add(-time.Hour), time.Now().Add(-30 * 24 * time.Hour)}
	page, err := shop.Changed(t.Context(), time.Time{}, "")
	if err != nil || len(page.Items) != 1 || page.Items[0].ID != "0-01" {
		t.Fatalf("%+v %v", page, err)
	}
	var made struct {
		Filter filter
		Queue  map[string]int64
	}
	if json.Unmarshal(s.feed, &made) != nil || made.Filter != everything || made.Queue["MessageRetentionPeriodInSeconds"] != 1_209_600 {
		t.Errorf("%s", s.feed)
	}
	other, shop := newStand(t)
	other.feed = json.RawMessage(`{"filter":{"type":"FromWorkflow","status":["invoiced"]}}`)
	other.events = []event{{Handle: "h", State: "invoiced", OrderID: "1-01"}}
	_, err = shop.Changed(t.Context(), time.Time{}, "")
	if reason, detail, _ := reasonOf(err); reason != commerce.ShopLacksScope || !strings.Contains(detail, "feed") || other.inFlight != 0 {
		t.Errorf("another system's events are taken away: %v", err)
	}
}

func TestAnothersHookIsNeverOverwritten(t *testing.T) {
	s, shop := newStand(t)
	const address = "https://connect.example.com/connect/vtex/abc"
	for range 2 {
		if err := shop.Subscribe(t.Context(), address, "secret"); err != nil || s.hookSent != 1 {
			t.Fatalf("%v, sent %d times", err, s.hookSent)
		}
	}
	if err := shop.Subscribe(t.Context(), address, "newer"); err != nil || !strings.Contains(string(s.hook), "newer") {
		t.Errorf("%v %s", err, s.hook)
	}
	err := shop.Subscribe(t.Context(), "https://connect.example.com/connect/vtex/other", "secret")
	if reason, detail, _ := reasonOf(err); reason != commerce.ShopLacksScope || !strings.Contains(detail, "hook") || s.hookSent != 2 {
		t.Errorf("%v", err)
	}
	if err := shop.Unsubscribe(t.Context(), "https://elsewhere.example.com/"); err != nil || s.hook == nil {
		t.Errorf("another's hook is deleted: %v", err)
	}
	for range 2 {
		if err := shop.Unsubscribe(t.Context(), address); err != nil || s.hook != nil {
			t.Errorf("%v %s", err, s.hook)
		}
	}
}

func TestErrorsOfOrders(t *testing.T) {
	s, shop := newStand(t)
	f := func(id, reason string) {
		t.Helper()
		_, err := shop.Order(t.Context(), id)
		if got, _, _ := reasonOf(err); got != reason {
			t.Errorf("%s: %v", id, err)
		}
	}
	f("1-01", "")
	f("gone-01", commerce.ShopNotFound)
	f("null-01", commerce.ShopNotFound)
	f("other-01", commerce.ShopUnknownShape)
	f("../feed", commerce.ShopNotFound)
	f("", commerce.ShopNotFound)
	s.status = http.StatusForbidden
	_, err := shop.Order(t.Context(), "1-01")
	if reason, detail, _ := reasonOf(err); reason != commerce.ShopLacksScope || detail != "View order" {
		t.Errorf("%v", err)
	}
	s.status = http.StatusTooManyRequests
	s.requests = nil
	_, err = shop.Order(t.Context(), "1-01")
	if reason, _, wait := reasonOf(err); reason != commerce.ShopLimited || wait != time.Minute {
		t.Errorf("after 429 a minute is waited: %v", err)
	}
	s.feed, _ = json.Marshal(map[string]any{"filter": everything})
	s.events = []event{{Handle: "h", State: "invoiced", OrderID: "1-01"}, {Handle: "i", State: "invoiced", OrderID: "2-01"}}
	s.status = http.StatusForbidden
	_, err = shop.Changed(t.Context(), time.Time{}, "")
	if reason, _, _ := reasonOf(err); reason != commerce.ShopLacksScope || len(s.committed) != 0 {
		t.Errorf("a page that is not whole is taken: %v", err)
	}
}

func TestAbout(t *testing.T) {
	s, shop := newStand(t)
	s.created = []time.Time{time.Now()}
	about, err := shop.About(t.Context())
	if err != nil || about.ID != "minhaloja" || about.Currency != "BRL" || about.ProofKey != commerce.ProofNone || about.Lacks != nil {
		t.Errorf("%+v %v", about, err)
	}
	s.forbidden = "/api/rnb"
	if about, err = shop.About(t.Context()); err != nil || !slices.Equal(about.Lacks, []string{"Manage benefits and rates"}) {
		t.Errorf("%+v %v", about, err)
	}
	for path, resource := range map[string]string{"/api/orders": feedAdmin, "/api/oms": "List Orders"} {
		s.forbidden = path
		_, err := shop.About(t.Context())
		if reason, detail, _ := reasonOf(err); reason != commerce.ShopLacksScope || detail != resource {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestCredentials(t *testing.T) {
	for _, account := range []string{"", "evil.com/", "a.b", "-x"} {
		if _, err := New().Open(platform.Credentials{"account": account, "app_key": "k", "app_token": "t"}, nil); err == nil {
			t.Errorf("%q is taken", account)
		}
	}
	if _, err := New().Open(platform.Credentials{"account": "loja"}, nil); err == nil {
		t.Error("no keys are taken")
	}
	offer := New().Offer()
	if len(offer.Steps["en"]) != len(offer.Steps["pt-BR"]) || len(offer.Brings["en"]) != len(offer.Brings["pt-BR"]) {
		t.Error("the languages differ")
	}
}

func TestCoupons(t *testing.T) {
	s, shop := newStand(t)
	if _, found, err := shop.Coupon(t.Context(), "a/b?c"); found || err != nil {
		t.Errorf("%v %v", found, err)
	}
	s.coupon = `{"couponCode":"ana10","isArchived":false,"maxUsage":5,"utmSource":"ana"}`
	if c, found, err := shop.Coupon(t.Context(), "ANA10"); err != nil || !found || c != (commerce.ShopCoupon{Code: "ANA10", MaxUses: 5,
		Enabled: true}) {
		t.Errorf("%+v %v %v", c, found, err)
	}
	s.coupon = `{"couponCode":"ana10","isArchived":true}`
	if c, found, _ := shop.Coupon(t.Context(), "ANA10"); !found || c.Enabled {
		t.Errorf("%+v", c)
	}
	_, detail, _ := reasonOf(shop.CreateCoupon(t.Context(), commerce.ShopCoupon{Code: "X", Percent: "10"}))
	if !strings.Contains(detail, "not supported") {
		t.Error(detail)
	}
}
