package yampi

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/test/fixtures/shoptest"
)

// example is testdata/order.json with some fields replaced. The file has the fields of the payloads in docs.yampi.com.br, "Webhooks",
// with invented values.
func example(t testing.TB, changes map[string]any) json.RawMessage {
	t.Helper()
	return shoptest.Example(t, changes)
}

func TestAnOrderIsReadWhole(t *testing.T) {
	item := readOrder(example(t, nil))
	got, err := json.Marshal(item.Order)
	if err != nil || item.Order == nil {
		t.Fatalf("%+v %v", item.Aside, err)
	}
	want := `{"orderId":"102850001","number":739383970900001,"orderStatus":0,"createdAt":"2026-11-03T14:05:09Z",` +
		`"updatedAt":"2026-11-04T11:00:00Z","totalPrice":123.84,"totalDiscounts":12.45,"shippingPrice":11.77,"taxPrice":0.00,` +
		`"paymentMethod":4,"installments":1,"currency":"BRL","discountCodes":[{"code":"ANA10"}],"provinceCode":"SP","countryCode":"BR",` +
		`"utmSource":"instagram","utmMedium":"social","utmCampaign":"inverno","browserIp":"203.0.113.7","source":0,` +
		`"customer":{"customerId":"179120001","name":"Maria Souza","email":"maria@example.com","phone":"11999990000"},` +
		`"items":[{"item_id":"151463001","productId":"22194001","variantId":"151463001","quantity":1,"price":124.52}]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	shoptest.CheckOrder(t, item.Order)
}

func TestStatuses(t *testing.T) {
	for alias, want := range statuses {
		if o := readOrder(example(t, map[string]any{"status": map[string]any{"data": map[string]any{"alias": alias}}})).Order; o.Status != want {
			t.Errorf("%s: %d", alias, o.Status)
		}
	}
	f := func(field string, changes map[string]any) {
		t.Helper()
		item := readOrder(example(t, changes))
		if item.Aside == nil || !strings.Contains(item.Aside.Detail, field) || strings.Contains(fmt.Sprint(item.Aside), "half") {
			t.Errorf("%s: %+v", field, item)
		}
	}
	f("status", map[string]any{"status": map[string]any{"data": map[string]any{"alias": "half_paid"}}})
	f("status", map[string]any{"status": map[string]any{"data": []any{}}})
	f("total", map[string]any{"value_total": 10.005})
	f("total", map[string]any{"value_total": nil})
	f("created", map[string]any{"created_at": nil})
	f("type", map[string]any{"customer": "half"})
	f("type", map[string]any{"id": "../1"})
	f("id", map[string]any{"id": -1})
}

func TestWhatYampiWritesWhereThereIsNothing(t *testing.T) {
	nothing := map[string]any{"data": []any{}}
	o := readOrder(example(t, map[string]any{"promocode": nothing, "customer": nothing, "shipping_address": nothing, "items": nothing,
		"transactions": nothing})).Order
	if o == nil || o.Codes == nil || len(o.Codes) != 0 || o.Customer != nil {
		t.Fatalf("%+v", o)
	}
	shoptest.CheckOrder(t, o)
	if o := readOrder(example(t, map[string]any{"marketplace": map[string]any{"data": map[string]any{"id": 1}}})).Order; o.Source != 1 {
		t.Error("an order of a marketplace is none")
	}
}

func TestNoCentIsLost(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		cents := random.Int64N(1_000_000_000)
		text := commerce.FormatMinor(cents, "BRL")
		o := readOrder(example(t, map[string]any{"value_total": json.Number(text)})).Order
		if got, err := commerce.ParseMinor(string(o.TotalPrice), "BRL"); err != nil || got != cents {
			t.Fatalf("%s became %s", text, o.TotalPrice)
		}
	}
}

func FuzzReadOrder(f *testing.F) {
	f.Add([]byte(example(f, nil)))
	f.Add([]byte(`{"id":1,"status":{"data":{"alias":"paid"}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		item := readOrder(raw)
		if (item.Order == nil) == (item.Aside == nil) {
			t.Fatalf("%+v", item)
		}
		if item.Order != nil {
			shoptest.CheckOrder(t, item.Order)
		}
	})
}

func TestNotices(t *testing.T) {
	const body = `{"event":"order.paid","time":"2026-11-03 12:11:19","merchant":{"id":1,"alias":"minha-loja"},"resource":{"id":102850001}}`
	sign := func(body, secret string) []byte {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(body))
		return mac.Sum(nil)
	}
	send := func(body, signature string) ([]platform.Notice, error) {
		return New().Notices(platform.Delivery{
			Header: http.Header{"X-Yampi-Hmac-Sha256": {signature}}, Body: []byte(body), Secret: "wh_1", Shop: "minha-loja",
		})
	}
	right := base64.StdEncoding.EncodeToString(sign(body, "wh_1"))
	if got, err := send(body, right); err != nil || len(got) != 1 || got[0].OrderID != "102850001" || got[0].Kind != platform.NoticeOrder {
		t.Errorf("%+v %v", got, err)
	}
	for _, wrong := range []string{"", hex.EncodeToString(sign(body, "wh_1")), base64.StdEncoding.EncodeToString(sign(body, "wh_2"))} {
		if got, err := send(body, wrong); !errors.Is(err, platform.ErrForged) || got != nil {
			t.Errorf("%q: %+v %v", wrong, got, err)
		}
	}
	other := strings.Replace(body, "minha-loja", "outra", 1)
	if _, err := send(other, base64.StdEncoding.EncodeToString(sign(other, "wh_1"))); !errors.Is(err, platform.ErrForged) {
		t.Errorf("another shop: %v", err)
	}
	for _, nothing := range []string{strings.Replace(body, "order.paid", "order.invoice.created", 1), strings.Replace(body, "102850001",
		`"x"`, 1), "x"} {
		if got, err := send(nothing, base64.StdEncoding.EncodeToString(sign(nothing, "wh_1"))); err != nil || got != nil {
			t.Errorf("%s: %+v %v", nothing, got, err)
		}
	}
}

func open(t *testing.T, credentials platform.Credentials, handle http.HandlerFunc) platform.Shop {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	client := platform.NewClient(New().Limits(), platform.Options{Rewrite: map[string]string{"api.dooki.com.br": server.URL}})
	t.Cleanup(client.Close)
	opened, err := New().Open(credentials, client)
	if err != nil {
		t.Fatal(err)
	}
	return opened
}

var keys = platform.Credentials{"alias": "Minha-Loja", "user_token": "token", "secret_key": "key"}

func TestPages(t *testing.T) {
	var asked []url.Values
	opened := open(t, keys, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("User-Token") != "token" || r.Header.Get("User-Secret-Key") != "key" || r.URL.Path != "/v2/minha-loja/orders" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		asked = append(asked, r.URL.Query())
		outside := example(t, map[string]any{"id": 2, "created_at": map[string]any{"date": "2026-11-04 21:00:00.000000",
			"timezone": "America/Sao_Paulo"}})
		_ = json.NewEncoder(w).Encode(map[string]any{
			"data": []json.RawMessage{example(t, nil), outside}, "meta": map[string]any{"pagination": map[string]any{"total": 51, "total_pages": 2}},
		})
	})
	from, to := time.Date(2026, 11, 3, 2, 0, 0, 0, time.UTC), time.Date(2026, 11, 5, 0, 0, 0, 0, time.UTC)
	page, err := opened.Created(t.Context(), from, to, "")
	if err != nil || len(page.Items) != 1 || page.Next != "2" || page.Total != 51 || page.OldestFirst {
		t.Fatalf("%+v %v", page, err)
	}
	if q := asked[0]; q.Get("date") != "created_at:2026-11-02|2026-11-04" || q.Get("skipCache") != "true" || q.Get("page") != "1" {
		t.Errorf("%v", q)
	}
	digests, next, err := opened.Digests(t.Context(), from, to, "2")
	if err != nil || next != "" || len(digests) != 1 || digests[0].Total != "123.84" {
		t.Errorf("%+v %q %v", digests, next, err)
	}
	if page, err = opened.Changed(t.Context(), from, ""); err != nil || len(page.Items) != 2 || !strings.HasPrefix(asked[2].Get("date"),
		"updated_at:2026-11-02|") {
		t.Errorf("%d %v %v", len(page.Items), err, asked[2])
	}
	if about, err := opened.About(t.Context()); err != nil || about.ID != "minha-loja" || about.Currency != "BRL" || about.CanNotify {
		t.Errorf("%+v %v", about, err)
	}
	if _, err := opened.Changed(t.Context(), from, "x"); err == nil {
		t.Error("a wrong token is taken")
	}
}

func TestOneOrderAndItsWebhook(t *testing.T) {
	signed := platform.Credentials{"alias": "minha-loja", "user_token": "t", "secret_key": "k", "webhook_secret": "wh_1"}
	opened := open(t, signed, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v2/minha-loja/orders/102850001":
			_, _ = fmt.Fprintf(w, `{"data":%s}`, example(t, nil))
		case "/v2/minha-loja/webhooks":
			_, _ = io.WriteString(w, `{"data":[{"id":1,"url":"https://connect.example.com/a"}]}`)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	})
	if item, err := opened.Order(t.Context(), "102850001"); err != nil || item.Order == nil {
		t.Errorf("%+v %v", item, err)
	}
	for _, id := range []string{"5", "", "../1"} {
		told := new(platform.Error)
		if _, err := opened.Order(t.Context(), id); !errors.As(err, &told) || told.Reason != commerce.ShopNotFound {
			t.Errorf("%q: %v", id, err)
		}
	}
	if err := opened.Subscribe(t.Context(), "https://connect.example.com/a", ""); err != nil {
		t.Error(err)
	}
	if err := opened.Subscribe(t.Context(), "https://connect.example.com/b", ""); err == nil {
		t.Error("a webhook that is not there is taken for one")
	}
}

func TestCoupons(t *testing.T) {
	var made string
	opened := open(t, keys, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, _ := io.ReadAll(r.Body)
			made = string(body)
			return
		}
		_, _ = io.WriteString(w, `{"data":[{"code":"ANA100","value":1,"discount_type":"v","active":true},`+
			`{"code":"ana10","value":10,"discount_type":"p","quantity":5,"once_per_customer":true,"active":true,"expired":false}]}`)
	})
	got, found, err := opened.Coupon(t.Context(), "ANA10")
	if err != nil || !found || got != (commerce.ShopCoupon{Code: "ANA10", Percent: "10", MaxUses: 5, OnePerPerson: true, Enabled: true}) {
		t.Errorf("%+v %v %v", got, found, err)
	}
	if _, found, err := opened.Coupon(t.Context(), "ANA1"); found || err != nil {
		t.Errorf("%v %v", found, err)
	}
	if err := opened.CreateCoupon(t.Context(), commerce.ShopCoupon{Code: "X", Amount: "5.50", MaxUses: 3}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(made, `"value":5.50`) || !strings.Contains(made, `"discount_type":"v"`) || !strings.Contains(made, `"quantity":3`) {
		t.Error(made)
	}
	if err := opened.CreateCoupon(t.Context(), commerce.ShopCoupon{Code: "X", Amount: "-5"}); err == nil {
		t.Error("a coupon that adds is made")
	}
}
