package nuvemshop

import (
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/test/fixtures/shoptest"
)

func TestWhoTheShopIsAndWhatTheTokenMayDo(t *testing.T) {
	want := platform.About{ID: store, Name: "Loja da Carla", URL: "https://www.loja.example", Currency: "BRL", ProofKey: commerce.ProofClaim}
	for name, c := range map[string]struct {
		forbid  string
		more    platform.Credentials
		lacks   []string
		notify  bool
		refused string
	}{
		"pasted":                 {},
		"pasted, with the app's": {more: platform.Credentials{fieldSecret: "s"}, notify: true},
		"no customers":           {forbid: "customers", lacks: []string{"read_customers"}},
		"no coupons":             {forbid: "coupons", lacks: []string{"read_coupons", "write_coupons"}},
		"no orders":              {forbid: "orders", refused: "lacks_scope read_orders"},
		"installed":              {more: platform.Credentials{fieldScope: "read_orders,write_customers,write_coupons"}},
		"installed with less": {more: platform.Credentials{fieldScope: "write_orders,read_coupons"}, lacks: []string{"read_customers",
			"write_coupons"}},
		"installed without orders":    {more: platform.Credentials{fieldScope: "read_products"}, refused: "lacks_scope read_orders"},
		"a token that does not count": {more: platform.Credentials{fieldToken: "another"}, refused: "refused_key 401"},
		"no such shop":                {more: platform.Credentials{fieldStore: "99"}, refused: "not_found 404"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := open(t, &server{forbid: c.forbid, orders: map[int64][2]time.Time{}}, c.more).About(context.Background())
			if c.refused != "" {
				if reason(err) != c.refused {
					t.Errorf("%v", err)
				}
				return
			}
			want := want
			want.Lacks, want.CanNotify = c.lacks, c.notify
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func TestAListIsReadWholeInAnyOrder(t *testing.T) {
	s := &server{orders: many(900)}
	shop := open(t, s, nil)
	from, to := time.Now().Add(-10*24*time.Hour).UTC(), time.Now().Add(-2*24*time.Hour).UTC()
	var want []string
	for id, times := range s.orders {
		if !times[0].Before(from) && times[0].Before(to) {
			want = append(want, strconv.FormatInt(id, 10))
		}
	}
	ids, pages := read(t, func(token string) (platform.Page, error) { return shop.Created(context.Background(), from, to, token) })
	slices.Sort(ids)
	slices.Sort(want)
	if !slices.Equal(ids, want) {
		t.Errorf("%d orders of %d", len(ids), len(want))
	}
	if len(s.requests) > 3*pages {
		t.Errorf("%d requests for %d pages", len(s.requests), pages)
	}
	var digests []string
	for token := ""; ; {
		page, next, err := shop.Digests(context.Background(), from, to, token)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range page {
			digests = append(digests, d.ID)
			if d.Total != "192.90" || d.Status != 0 {
				t.Fatalf("%+v", d)
			}
		}
		if token = next; token == "" {
			break
		}
	}
	slices.Sort(digests)
	if !slices.Equal(digests, want) {
		t.Errorf("%d digests of %d", len(digests), len(want))
	}
}

// Between two pages an order is edited: it must still be read as it is in the end, and no other may be passed over.
func TestAnEditBetweenPagesLosesNoChange(t *testing.T) {
	s := &server{orders: many(600)}
	edited, last, r := map[int64]bool{}, map[int64]bool{}, rand.New(rand.NewPCG(5, 6))
	s.edit = func() {
		clear(last) // what is edited behind the last page comes with the next poll
		for range 3 {
			id := 1 + r.Int64N(600)
			last[id] = true
			s.orders[id] = [2]time.Time{s.orders[id][0], time.Now().UTC().Truncate(time.Second)}
			edited[id] = true
		}
	}
	shop := open(t, s, nil)
	after := time.Now().Add(-15 * 24 * time.Hour)
	seen := map[string]time.Time{}
	for token := ""; ; {
		page, err := shop.Changed(context.Background(), after, token)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.IsSortedFunc(page.Items, func(a, b platform.Item) int { return a.UpdatedAt.Compare(b.UpdatedAt) }) {
			t.Error("a page is not sorted")
		}
		for _, item := range page.Items {
			seen[item.ID] = item.UpdatedAt
		}
		if token = page.Next; token == "" {
			break
		}
		if len(s.requests) > 200 {
			t.Fatal("there is no last page")
		}
	}
	lost := 0
	for id, times := range s.orders {
		if last[id] {
			continue
		}
		at, found := seen[strconv.FormatInt(id, 10)]
		if !times[1].Before(after) && (!found || at.Before(times[1].Add(-10*time.Second))) {
			lost++
		}
	}
	if lost > 0 || len(edited) < 20 {
		t.Errorf("%d orders are missing or stale; %d were edited", lost, len(edited))
	}
}

func TestAPollOfAFewChangesIsOneRequest(t *testing.T) {
	s := &server{orders: many(50)}
	shop := open(t, s, nil)
	if _, pages := read(t, func(token string) (platform.Page, error) {
		return shop.Changed(context.Background(), time.Now().Add(-30*24*time.Hour), token)
	}); pages != 1 || len(s.requests) != 1 {
		t.Errorf("%d pages, %v", pages, s.requests)
	}
	s.orders = nil
	if page, err := shop.Changed(context.Background(), time.Now(), ""); err != nil || len(page.Items) != 0 || page.Next != "" {
		t.Errorf("nothing changed: %+v, %v", page, err)
	}
	if _, err := shop.Changed(context.Background(), time.Now(), "1.2"); reason(err) != "unknown_shape the page's token" {
		t.Error(err)
	}
}

func TestOneOrder(t *testing.T) {
	shop := open(t, &server{orders: many(3)}, nil)
	item, err := shop.Order(context.Background(), "2")
	if err != nil || item.ID != "2" || item.Order == nil {
		t.Errorf("%+v, %v", item, err)
	}
	for _, id := range []string{"77", "", "0", "../store", "2?fields=id"} {
		if _, err := shop.Order(context.Background(), id); !strings.HasPrefix(reason(err), commerce.ShopNotFound) {
			t.Errorf("%q: %v", id, err)
		}
	}
}

func TestNoticesAreAskedForOnceAndTakenBack(t *testing.T) {
	const address = "https://connect.example/connect/nuvemshop/abc"
	s := &server{hooks: []webhook{{ID: platform.Scalar{Text: "7"}, Event: "order/paid", URL: "https://another.example/"},
		{ID: platform.Scalar{Text: "8"}, Event: "order/paid", URL: address}}}
	shop := open(t, s, nil)
	for range 2 {
		if err := shop.Subscribe(context.Background(), address, "ignored"); err != nil {
			t.Fatal(err)
		}
	}
	var asked []string
	for _, hook := range s.hooks {
		if hook.URL == address {
			asked = append(asked, hook.Event)
		}
	}
	want := slices.DeleteFunc(slices.Concat(events, newerEvents), func(e string) bool { return e == "order/edited" }) // refused by this shop
	slices.Sort(asked)
	slices.Sort(want)
	if !slices.Equal(asked, want) {
		t.Errorf("%v", asked)
	}
	for range 2 {
		if err := shop.Unsubscribe(context.Background(), address); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.hooks) != 1 || s.hooks[0].URL == address {
		t.Errorf("%v", s.hooks)
	}
}

func TestCoupons(t *testing.T) {
	ctx := context.Background()
	s := &server{coupons: []map[string]any{
		{"code": "ANA100", "type": "percentage", "value": "99"}, {"code": "ANA10", "type": "percentage", "value": "10.00", "valid": true,
			"max_uses": 100, "end_date": "2026-12-24"},
		{"code": "FRETE", "type": "shipping", "value": nil, "valid": true}, {"code": "GONE", "type": "absolute", "value": "5",
			"deleted_at": "2026-01-01T00:00:00+0000"}}}
	shop := open(t, s, nil)
	got, found, err := shop.Coupon(ctx, "ana10")
	if want := (commerce.ShopCoupon{Code: "ANA10", Percent: "10", MaxUses: 100, Enabled: true, EndsAt: shoptest.At(t,
		"2026-12-24T23:59:59Z")}); err != nil || !found || got != want {
		t.Errorf("%+v %v %v", got, found, err)
	}
	if got, found, err := shop.Coupon(ctx, "FRETE"); err != nil || !found || got.Percent+got.Amount != "" {
		t.Errorf("%+v %v %v", got, found, err)
	}
	for _, code := range []string{"GONE", "NONE"} {
		if got, found, err := shop.Coupon(ctx, code); err != nil || found {
			t.Errorf("%s: %+v %v %v", code, got, found, err)
		}
	}
	wanted := commerce.ShopCoupon{Code: "BIA5", Amount: "5.50", MaxUses: 3, EndsAt: shoptest.At(t, "2027-01-05T23:59:59Z")}
	if err := shop.CreateCoupon(ctx, wanted); err != nil {
		t.Fatal(err)
	}
	wanted.Enabled, wanted.Amount = true, "5.5"
	if got, found, err := shop.Coupon(ctx, "BIA5"); err != nil || !found || got != wanted {
		t.Errorf("%+v %v %v", got, found, err)
	}
	for want, c := range map[string]commerce.ShopCoupon{
		"unknown_shape the shop refused code":                             {Code: "BIA5", Percent: "5"},
		"unknown_shape code: the platform takes letters and digits alone": {Code: "BIA-5", Percent: "5"},
		"unknown_shape one_per_person: the platform has no such limit":    {Code: "BIA6", Percent: "5", OnePerPerson: true},
		"unknown_shape percent, or amount":                                {Code: "BIA6", Percent: "5", Amount: "3"},
	} {
		if err := shop.CreateCoupon(ctx, c); reason(err) != want {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestACodeBecomesAToken(t *testing.T) {
	var sent map[string]string
	answers := map[string]string{
		"good":    `{"access_token":"61181d08b7e328d256736","token_type":"bearer","scope":"read_orders,write_coupons","user_id":"4420001"}`,
		"other":   `{"access_token":"61181d08b7e328d256736","token_type":"bearer","scope":"","store_id":4420001}`,
		"expired": `{"error":"invalid_grant","error_description":"The authorization code has expired"}`,
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/apps/authorize/token" || r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&sent) != nil {
			http.NotFound(w, r)
			return
		}
		io.WriteString(w, answers[sent["code"]])
	}))
	defer web.Close()
	client := platform.NewClient(New().Limits(), platform.Options{UserAgent: "x", Rewrite: map[string]string{"www.tiendanube.com": web.URL}})
	defer client.Close()
	installer, app := New().(platform.Installer), platform.App{ID: "12 3", Secret: "s"}
	if got := installer.InstallURL(app, "a&b"); got != "https://www.nuvemshop.com.br/apps/12%203/authorize?state=a%26b" {
		t.Error(got)
	}
	got, err := installer.Exchange(context.Background(), app, "good", client)
	if want := (platform.Credentials{fieldStore: store, fieldToken: "61181d08b7e328d256736", fieldSecret: "s",
		fieldScope: "read_orders,write_coupons"}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	if want := map[string]string{"client_id": "12 3", "client_secret": "s", "grant_type": "authorization_code",
		"code": "good"}; !reflect.DeepEqual(sent, want) {
		t.Errorf("%v", sent)
	}
	if got, err := installer.Exchange(context.Background(), app, "other", client); err != nil || got[fieldStore] != store {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := installer.Exchange(context.Background(), app, "expired", client); reason(err) != "refused_key the code" {
		t.Error(err)
	}
}

func TestWhatIsOfferedIsWhole(t *testing.T) { shoptest.CheckOffer(t, New()) }

func TestThePlatformsHeadersAreWaitedFor(t *testing.T) {
	for text, want := range map[string]time.Duration{"20000": 5 * time.Second, "0": 0, "": 0, "x": 0, "-4": 0,
		"99999999999": 15 * time.Minute} {
		if got := rateReset(http.Header{"X-Rate-Limit-Reset": {text}}); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
