package fakes_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tributary-io/tributary/test/fakes"
	"github.com/tributary-io/tributary/test/fakes/shop"
)

// start starts a shop that ends with the test.
func start(t *testing.T, options fakes.Options) *fakes.Shop {
	t.Helper()
	if options.RetryScale == 0 {
		options.RetryScale = 1e-6
	}
	s, err := fakes.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// signIn puts what each platform asks for on a request.
func signIn(s *fakes.Shop, r *http.Request) {
	r.Header.Set("User-Agent", "Test (nobody@example.com)")
	switch s.Platform().Name() {
	case "nuvemshop":
		r.Header.Set("Authentication", "bearer "+s.Key("access_token"))
	case "shopify":
		r.Header.Set("X-Shopify-Access-Token", s.Key("access_token"))
	case "vtex":
		r.Header.Set("X-VTEX-API-AppKey", s.Key("app_key"))
		r.Header.Set("X-VTEX-API-AppToken", s.Key("app_token"))
	case "yampi":
		r.Header.Set("User-Token", s.Key("user_token"))
		r.Header.Set("User-Secret-Key", s.Key("user_secret_key"))
	case "woocommerce":
		r.SetBasicAuth(s.Key("consumer_key"), s.Key("consumer_secret"))
	}
}

// call asks the API as an installed app does.
func call(t *testing.T, s *fakes.Shop, method, path, body string) (int, []byte, http.Header) {
	t.Helper()
	status, text, header, err := try(t, s, method, path, body)
	if err != nil {
		t.Fatal(err)
	}
	return status, text, header
}

// try is call for tests with faults.
func try(t *testing.T, s *fakes.Shop, method, path, body string) (int, []byte, http.Header, error) {
	t.Helper()
	path = strings.NewReplacer("STORE", s.Key("store_id"), "ALIAS", s.Key("alias")).Replace(path)
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	signIn(s, r)
	answer, err := s.Client().Do(r)
	if err != nil {
		return 0, nil, nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, text, answer.Header, err
}

// receiver takes notices.
type receiver struct {
	*httptest.Server
	mu      sync.Mutex
	answer  int
	headers []http.Header
	bodies  [][]byte
}

func receive(t *testing.T) *receiver {
	t.Helper()
	n := &receiver{answer: http.StatusOK}
	n.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		n.mu.Lock()
		defer n.mu.Unlock()
		n.headers, n.bodies = append(n.headers, r.Header), append(n.bodies, body)
		w.WriteHeader(n.answer)
	}))
	t.Cleanup(n.Close)
	return n
}

func (n *receiver) got() ([]http.Header, [][]byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return bytesOf(n.headers, n.bodies)
}

func bytesOf(headers []http.Header, bodies [][]byte) ([]http.Header, [][]byte) {
	return append([]http.Header{}, headers...), append([][]byte{}, bodies...)
}

func (n *receiver) answers(status int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.answer = status
}

func settle(t *testing.T, s *fakes.Shop) {
	t.Helper()
	if err := s.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// place places an order and pays it.
func place(t *testing.T, s *fakes.Shop, cart fakes.Cart) fakes.Order {
	t.Helper()
	o, err := s.Place(cart)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Pay(o.ID); err != nil {
		t.Fatal(err)
	}
	o, _ = s.Order(o.ID)
	return o
}

func TestMoneyIsReadAndWrittenExactly(t *testing.T) {
	for text, want := range map[string]string{
		"0": "0.00", "12": "12.00", "12.5": "12.50", "-0.01": "-0.01", "5190.00": "5190.00", "1.5000": "1.50",
		"1.234": "", "": "", "x": "", "1e3": "", "--1": "",
	} {
		money, err := shop.ParseMoney(text)
		if got := money.String(); err == nil && got != want || (err != nil) != (want == "") {
			t.Errorf("%q: %s, %v, want %q", text, got, err, want)
		}
	}
}

func TestDiscountsAreSharedWithoutLosingACent(t *testing.T) {
	s := lived(t, fakes.Options{Platform: "nuvemshop"})
	for _, o := range s.Find(func(shop.Order) bool { return true }) {
		sums := make([]fakes.Money, len(o.Discounts))
		for _, parts := range o.LineDiscounts() {
			for d, part := range parts {
				sums[d] += part
			}
		}
		for d, discount := range o.Discounts {
			if want := discount.Amount; discount.Kind != fakes.CouponShipping && sums[d] != want {
				t.Errorf("order %d, %s: lines sum to %s, want %s", o.ID, discount.Code, sums[d], want)
			}
		}
	}
}

func TestTheSameSeedLivesTheSameLives(t *testing.T) {
	now := func() time.Time { return time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC) }
	first := shop.JSON(lived(t, fakes.Options{Platform: "nuvemshop", Seed: 5, Now: now}).Orders())
	second := shop.JSON(lived(t, fakes.Options{Platform: "nuvemshop", Seed: 5, Now: now}).Orders())
	other := shop.JSON(lived(t, fakes.Options{Platform: "nuvemshop", Seed: 6, Now: now}).Orders())
	if !bytes.Equal(first, second) || bytes.Equal(first, other) {
		t.Error("seeds 5, 5 and 6: want the same, the same, another")
	}
}

func TestRandomLivesMeetEverything(t *testing.T) {
	s := lived(t, fakes.Options{Platform: "nuvemshop"})
	kinds := map[shop.Kind]int{}
	statuses := map[string]int{}
	for _, o := range s.Find(func(shop.Order) bool { return true }) {
		statuses[o.Status()]++
		for _, change := range o.History {
			kinds[change.Kind]++
		}
		if o.Rest() < 0 {
			t.Errorf("order %d: rest %s", o.ID, o.Rest())
		}
	}
	for _, kind := range []shop.Kind{
		shop.Placed, shop.PaidNow, shop.AuthorizedNow, shop.Edited, shop.Touched, shop.PartlyRefunded, shop.FullyRefunded,
		shop.Cancelled, shop.Shipped, shop.Delivered,
	} {
		if kinds[kind] == 0 {
			t.Errorf("no order was %s: %v", kind, kinds)
		}
	}
	if len(statuses) != 3 {
		t.Errorf("statuses %v", statuses)
	}
}

func TestFaultsOfNoticesComeAtTheirRate(t *testing.T) {
	n := receive(t)
	s := start(t, fakes.Options{Platform: "nuvemshop", Faults: fakes.Faults{Seed: 1, Lost: 0.10, Doubled: 0.10, Reversed: 0.10}})
	s.Subscribe(fakes.Subscription{Topics: []string{"order/created"}, URL: n.URL})
	const orders = 600
	for range orders {
		if _, err := s.Place(fakes.Cart{}); err != nil {
			t.Fatal(err)
		}
	}
	settle(t, s)
	_, bodies := n.got()
	times, swapped, last := map[float64]int{}, 0, 0.0
	for _, body := range bodies {
		var notice struct{ ID float64 }
		if err := json.Unmarshal(body, &notice); err != nil {
			t.Fatal(err)
		}
		if times[notice.ID]++; notice.ID < last {
			swapped++
		}
		last = notice.ID
	}
	lost, doubled := orders-len(times), 0
	for _, n := range times {
		doubled += n - 1
	}
	faults := s.Stats().Faults
	if lost < 30 || lost > 90 || doubled < 30 || doubled > 90 || swapped < 20 {
		t.Errorf("of %d orders %d lost, %d doubled, %d swapped: %v", orders, lost, doubled, swapped, faults)
	}
}

func TestFaultsOfRequestsAreWhatTheySay(t *testing.T) {
	s := start(t, fakes.Options{Platform: "nuvemshop", LimitScale: 1000})
	place(t, s, fakes.Cart{})
	one := func(faults fakes.Faults) (int, error) {
		faults.Seed, faults.Hang = 1, time.Millisecond
		s.SetFaults(faults)
		status, _, _, err := try(t, s, http.MethodGet, "/2025-03/STORE/orders", "")
		return status, err
	}
	if status, err := one(fakes.Faults{TooMany: 1}); status != 429 || err != nil {
		t.Errorf("too many: %d, %v", status, err)
	}
	if status, err := one(fakes.Faults{ServerError: 1}); status < 500 || status > 504 || err != nil {
		t.Errorf("server error: %d, %v", status, err)
	}
	if status, err := one(fakes.Faults{Torn: 1}); status != 200 || err == nil {
		t.Errorf("torn: %d, %v; want 200 and a body that ends too early", status, err)
	}
	if _, err := one(fakes.Faults{Timeout: 1}); err == nil {
		t.Error("timeout: want no answer")
	}
	if status, err := one(fakes.Faults{}); status != 200 || err != nil {
		t.Errorf("none: %d, %v", status, err)
	}
}

func TestAWriteThatIsTornIsDone(t *testing.T) {
	s := start(t, fakes.Options{Platform: "nuvemshop", Faults: fakes.Faults{Torn: 1}})
	if _, _, _, err := try(t, s, http.MethodPost, "/2025-03/STORE/coupons",
		`{"code":"ANA10","type":"percentage","value":"10.00"}`); err == nil {
		t.Fatal("want a torn answer")
	}
	if _, ok := s.Coupon("ana10"); !ok {
		t.Error("the coupon is not there")
	}
}

func TestAnUnknownPlatformIsNamed(t *testing.T) {
	if _, err := fakes.Start(t.Context(), fakes.Options{Platform: "x"}); err == nil || !strings.Contains(err.Error(), "nuvemshop") {
		t.Errorf("%v: want the names that can be given", err)
	}
}

func TestTheShopCanServeTLS(t *testing.T) {
	s := start(t, fakes.Options{Platform: "nuvemshop", TLS: true})
	if status, _, _ := call(t, s, http.MethodGet, "/2025-03/STORE/store", ""); status != http.StatusOK ||
		!strings.Contains(s.CertificatePEM(), "CERTIFICATE") {
		t.Errorf("%d over %s", status, s.URL())
	}
}
