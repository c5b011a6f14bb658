package woocommerce

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/test/fixtures/shoptest"
)

func TestWhoTheShopIsAndWhatTheKeyMayDo(t *testing.T) {
	ctx := context.Background()
	want := platform.About{ID: "www.loja.example/loja", Name: "www.loja.example", URL: "https://www.loja.example/loja", Currency: "BRL",
		ProofKey: commerce.ProofCart, CanNotify: true}
	if got, err := open(t, &server{}, address).About(ctx); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	s := &server{drops: true}
	shop := open(t, s, address)
	if got, err := shop.About(ctx); err != nil || !reflect.DeepEqual(got, want) || s.requests != 4 {
		t.Errorf("a server that drops Authorization: %+v, %v after %d requests", got, err, s.requests)
	}
	lacking := want
	lacking.Lacks = []string{"coupons"}
	if got, err := open(t, &server{forbid: "coupons"}, address).About(ctx); err != nil || !reflect.DeepEqual(got, lacking) {
		t.Errorf("%+v, %v", got, err)
	}
	for want, shop := range map[string]platform.Shop{
		"lacks_scope Read of orders":                                         open(t, &server{forbid: "orders"}, address),
		"not_found WooCommerce does not answer there; are permalinks Plain?": open(t, &server{}, "https://www.loja.example/blog"),
		"address the site sends to another address: give that one":           open(t, &server{}, "https://www.loja.example/old"),
	} {
		if _, err := shop.About(ctx); reason(err) != want {
			t.Errorf("%v, not %s", err, want)
		}
	}
	wrong := &server{}
	web := httptest.NewServer(wrong)
	defer web.Close()
	client := platform.NewClient(New().Limits(), platform.Options{UserAgent: "x", Rewrite: map[string]string{"www.loja.example": web.URL}})
	defer client.Close()
	other, err := New().Open(platform.Credentials{fieldURL: address, fieldKey: "ck_other", fieldSecret: secret}, client)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.About(ctx); reason(err) != "refused_key 401" || strings.Contains(err.Error(), "ck_") {
		t.Error(err)
	}
}

// Finding S3-2: what people type and copy as their shop's address.
func TestAnAddressIsTakenWithoutItsScheme(t *testing.T) {
	pattern := regexp.MustCompile("^(?:" + New().Offer().Fields[0].Pattern + ")$")
	f := func(typed, id string) {
		t.Helper()
		opened, err := New().Open(platform.Credentials{fieldURL: typed, fieldKey: key, fieldSecret: secret}, nil)
		if !pattern.MatchString(typed) || err != nil || opened.(*shop).id() != id {
			t.Errorf("%q: %v", typed, err)
		}
	}
	f("www.minhaloja.com.br", "www.minhaloja.com.br")
	f("www.minhaloja.com.br/", "www.minhaloja.com.br")
	f("https://www.minhaloja.com.br", "www.minhaloja.com.br")
	f("Https://WWW.minhaloja.com.br/loja/", "www.minhaloja.com.br/loja")
	f("minhaloja.com.br:8443/loja", "minhaloja.com.br:8443/loja")
	for _, bad := range []string{"http://www.minhaloja.com.br", "eu@minhaloja.com.br", "https://", "minhaloja.com.br?a=b"} {
		if pattern.MatchString(bad) {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestAnAddressThatIsNoShopsIsRefused(t *testing.T) {
	for _, address := range []string{"", "http://www.loja.example", "https://user@loja.example", "https://10.0.0.1", "https://[::1]/",
		"https://localhost",
		"https://loja.example/?a=b", "https://loja.example/#x", "ftp://loja.example", "javascript:alert(1)", "loja", "https://"} {
		if _, err := New().Open(platform.Credentials{fieldURL: address, fieldKey: key, fieldSecret: secret},
			nil); !strings.HasPrefix(reason(err), commerce.ShopAddress) {
			t.Errorf("%q: %v", address, err)
		}
	}
	client := platform.NewClient(New().Limits(), platform.Options{UserAgent: "x"}) // as in production: the address is looked up
	defer client.Close()
	shop, err := New().Open(platform.Credentials{fieldURL: "https://localhost.localdomain", fieldKey: key, fieldSecret: secret}, client)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if _, err := shop.About(ctx); err == nil {
		t.Error("a private address was asked")
	}
}

func TestAListIsReadWhole(t *testing.T) {
	s := &server{orders: many(500)}
	shop := open(t, s, address)
	from, to := time.Now().Add(-10*24*time.Hour).UTC(), time.Now().Add(-2*24*time.Hour).UTC()
	var want, got, short []string
	for id, times := range s.orders {
		if !times[0].Before(from) && times[0].Before(to) {
			want = append(want, strconv.FormatInt(id, 10))
		}
	}
	for token := ""; ; {
		page, err := shop.Created(context.Background(), from, to, token)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			got = append(got, item.ID)
		}
		if token = page.Next; token == "" {
			break
		}
	}
	for token := ""; ; {
		page, next, err := shop.Digests(context.Background(), from, to, token)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range page {
			short = append(short, d.ID)
		}
		if token = next; token == "" {
			break
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	slices.Sort(short)
	if !slices.Equal(got, want) || !slices.Equal(short, want) {
		t.Errorf("%d orders and %d digests of %d", len(got), len(short), len(want))
	}
}

// Between two pages orders are edited: each must still be read as it is in the end, and no other may be passed over.
func TestAnEditBetweenPagesLosesNoChange(t *testing.T) {
	s := &server{orders: many(300)}
	last, r := map[int64]bool{}, rand.New(rand.NewPCG(5, 6))
	s.edit = func() {
		clear(last) // what is edited behind the last page comes with the next poll
		id := 1 + r.Int64N(300)
		last[id] = true
		s.orders[id] = [2]time.Time{s.orders[id][0], time.Now().UTC().Truncate(time.Second)}
	}
	shop := open(t, s, address)
	after := time.Now().Add(-15 * 24 * time.Hour)
	seen := map[string]time.Time{}
	for token := ""; ; {
		page, err := shop.Changed(context.Background(), after, token)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			seen[item.ID] = item.UpdatedAt
		}
		if token = page.Next; token == "" {
			break
		}
		if s.requests > 200 {
			t.Fatal("there is no last page")
		}
	}
	for id, times := range s.orders {
		at, found := seen[strconv.FormatInt(id, 10)]
		if !last[id] && !times[1].Before(after) && (!found || at.Before(times[1].Add(-10*time.Second))) {
			t.Errorf("order %d is missing or stale", id)
		}
	}
}

func TestOneOrder(t *testing.T) {
	shop := open(t, &server{orders: many(3)}, address)
	if item, err := shop.Order(context.Background(), "2"); err != nil || item.ID != "2" || item.Order == nil {
		t.Errorf("%+v, %v", item, err)
	}
	for _, id := range []string{"77", "", "0", "../coupons"} {
		if _, err := shop.Order(context.Background(), id); !strings.HasPrefix(reason(err), commerce.ShopNotFound) {
			t.Errorf("%q: %v", id, err)
		}
	}
}

func TestNoticesAreAskedForOnceAndAgainWhereTheyWereDisabled(t *testing.T) {
	const here = "https://connect.example/connect/woocommerce/abc"
	s := &server{hooks: map[int]map[string]string{
		1: {"topic": "order.updated", "delivery_url": here, "status": "disabled"}, 2: {"topic": "order.updated",
			"delivery_url": "https://another.example", "status": "disabled"}}}
	shop := open(t, s, address)
	for range 2 {
		if err := shop.Subscribe(context.Background(), here, "whsec"); err != nil {
			t.Fatal(err)
		}
	}
	var asked []string
	for _, hook := range s.hooks {
		if hook["delivery_url"] == here && hook["status"] == "active" && hook["secret"] == "whsec" {
			asked = append(asked, hook["topic"])
		}
	}
	slices.Sort(asked)
	if !slices.Equal(asked, topics[:3]) && !slices.Equal(asked, []string{"order.created", "order.deleted", "order.updated"}) {
		t.Errorf("%v", s.hooks)
	}
	for range 2 {
		if err := shop.Unsubscribe(context.Background(), here); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.hooks) != 1 || s.hooks[2]["status"] != "disabled" {
		t.Errorf("%v", s.hooks)
	}
	if err := open(t, &server{readOnly: true, hooks: map[int]map[string]string{}}, address).Subscribe(context.Background(), here,
		"x"); reason(err) != "lacks_scope Read/Write" {
		t.Error(err)
	}
}

func TestCoupons(t *testing.T) {
	ctx := context.Background()
	s := &server{}
	shop := open(t, s, address)
	wanted := commerce.ShopCoupon{Code: "ANA-10", Percent: "10", MaxUses: 5, OnePerPerson: true, EndsAt: shoptest.At(t,
		"2027-01-05T23:59:59Z")}
	if err := shop.CreateCoupon(ctx, wanted); err != nil {
		t.Fatal(err)
	}
	wanted.Code, wanted.Enabled = "ana-10", true
	if got, found, err := shop.Coupon(ctx, "ANA-10"); err != nil || !found || got != wanted {
		t.Errorf("%+v %v %v", got, found, err)
	}
	if err := shop.CreateCoupon(ctx, wanted); reason(err) != "unknown_shape the shop refused it: woocommerce_rest_coupon_code_already_exists" {
		t.Error(err)
	}
	if err := shop.CreateCoupon(ctx, commerce.ShopCoupon{Code: "x", Percent: "1", Amount: "1"}); err == nil {
		t.Error("percent and amount")
	}
	if _, found, err := shop.Coupon(ctx, "none"); err != nil || found {
		t.Errorf("%v %v", found, err)
	}
	s.coupons = append(s.coupons, map[string]any{"code": "five", "discount_type": "fixed_cart", "amount": "5.00", "status": "draft",
		"usage_limit": nil, "date_expires_gmt": nil},
		map[string]any{"code": "each", "discount_type": "fixed_product", "amount": "5.00"})
	if got, _, err := shop.Coupon(ctx, "five"); err != nil || got != (commerce.ShopCoupon{Code: "five", Amount: "5"}) {
		t.Errorf("%+v %v", got, err)
	}
	if got, _, err := shop.Coupon(ctx, "each"); err != nil || got != (commerce.ShopCoupon{Code: "each", Enabled: true}) {
		t.Errorf("%+v %v", got, err)
	}
}

func TestWhatWooCommerceSigns(t *testing.T) {
	// A vector made with openssl: printf %s "$body" | openssl dgst -sha256 -hmac whsec -binary | base64
	const body, vector = `{"id":727,"status":"processing"}`, "3ripW+T3a802djLh+mlrmdc9WL+mQ2l/5A5ILvVKCpw="
	sum := func(secret, body string) []byte {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(body))
		return mac.Sum(nil)
	}
	deliver := func(signed, topicOf, body string) ([]platform.Notice, error) {
		header := http.Header{}
		if signed != "" {
			header.Set(signature, signed)
		}
		header.Set(topic, topicOf)
		return New().Notices(platform.Delivery{Header: header, Body: []byte(body), Secret: "whsec", Shop: "www.loja.example"})
	}
	for _, c := range []struct{ signed, topic, body, order string }{
		{vector, "order.updated", body, "727"}, {vector, "order.deleted", body, "727"}, {vector, "product.updated", body, ""}, {vector, "", body,
			""},
		{base64.StdEncoding.EncodeToString(sum("whsec", `{"id":9007199254740993}`)), "order.created", `{"id":9007199254740993}`,
			"9007199254740993"},
		{base64.StdEncoding.EncodeToString(sum("whsec", `[]`)), "order.created", `[]`, ""},
		{"", "", "webhook_id=142", ""}, // the ping is not signed, and does nothing
	} {
		var want []platform.Notice
		if c.order != "" {
			want = []platform.Notice{{Kind: platform.NoticeOrder, OrderID: c.order}}
		}
		if notices, err := deliver(c.signed, c.topic, c.body); err != nil || !reflect.DeepEqual(notices, want) {
			t.Errorf("%+v: %v, %v", c, notices, err)
		}
	}
	for name, c := range map[string]struct{ signed, body string }{
		"hexadecimal":         {hex.EncodeToString(sum("whsec", body)), body},
		"another secret":      {base64.StdEncoding.EncodeToString(sum("other", body)), body},
		"an empty secret":     {base64.StdEncoding.EncodeToString(sum("", body)), body},
		"another body":        {vector, body + " "},
		"no signature":        {"", body},
		"more than a ping":    {"", "webhook_id=142&id=7"},
		"a ping with a wrong": {"AAAA", "webhook_id=142"},
	} {
		if notices, err := deliver(c.signed, "order.updated", c.body); !errors.Is(err, platform.ErrForged) {
			t.Errorf("%s: %v, %v", name, notices, err)
		}
	}
}

func TestWhatIsOfferedIsWhole(t *testing.T) { shoptest.CheckOffer(t, New()) }
