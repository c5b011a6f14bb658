package nuvemshop

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/scrub"
	"github.com/tributary-io/tributary/test/fixtures/shoptest"
)

const store = "4420001"

// example is an order in the shape of TiendaNube/api-docs, "Order", "GET /orders", with values of ours.
func example(t testing.TB) []byte {
	t.Helper()
	body, err := os.ReadFile("testdata/order.json")
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func TestAnOrderOfTheDocumentedShapeIsRead(t *testing.T) {
	item := readItem(example(t), store)
	shoptest.CheckItem(t, item)
	got, err := json.MarshalIndent(item.Order, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	want := platform.Order{OrderID: "9007199254740993", Number: 1042, Name: "#1042", Status: 0,
		CreatedAt: shoptest.At(t, "2026-11-02T12:25:18Z"),
		UpdatedAt: shoptest.At(t, "2026-11-02T22:58:44Z"), TotalPrice: "192.90", Discounts: "20.00", Shipping: "12.90", PaymentMethod: 1,
		Installments: 3, Currency: "BRL", Codes: []platform.Code{{Code: "ANA10", Amount: "20.00"}}, Country: "BR", UTMSource: "instagram",
		UTMMedium: "social", UTMCampaign: "novémbro", UserAgent: "Mozilla/5.0 (Linux; Android 15)", BrowserIP: "192.0.2.17",
		CartToken: "4be1c07f39a85d2", Customer: &platform.Customer{ID: "880012", Name: "Carla Souza", Email: "carla@example.com",
			Phone: "+5511900000001"},
		Items: []platform.OrderItem{{ItemID: "700200", ProductID: "500100", VariantID: "700200", Quantity: 2, Price: "75"},
			{ItemID: "500101", ProductID: "500101", Quantity: 1, Price: "50"}}}
	text, err := json.MarshalIndent(want, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(text) {
		t.Errorf("got %s\nwant %s", got, text)
	}
}

func TestStatusesAreThoseOfTheDocumentation(t *testing.T) {
	for _, c := range []struct {
		status, payment string
		cancelled       any
		want            int
	}{
		{"open", "paid", nil, 0}, {"closed", "paid", nil, 0},
		{"open", "pending", nil, 1}, {"open", "authorized", nil, 1},
		{"open", "refunded", nil, 2}, {"closed", "voided", nil, 2}, {"open", "abandoned", nil, 2},
		{"cancelled", "paid", nil, 2}, {"cancelled", "what is new", nil, 2}, {"open", "paid", "2026-11-03T10:00:00+0000", 2},
	} {
		item := readItem(shoptest.With(t, example(t), map[string]any{"status": c.status, "payment_status": c.payment,
			"cancelled_at": c.cancelled}), store)
		shoptest.CheckItem(t, item)
		if item.Order == nil || item.Order.Status != c.want {
			t.Errorf("%+v: %+v, %+v", c, item.Order, item.Aside)
		}
	}
}

func TestWhatIsNotUnderstoodIsSetAsideByTheNameOfItsField(t *testing.T) {
	for _, c := range []struct {
		field, reason string
		changes       map[string]any
	}{
		{"status", "", map[string]any{"status": "archived"}},
		{"status", "", map[string]any{"status": nil}},
		{"payment_status", "", map[string]any{"payment_status": "in_mediation"}},
		{"payment_status", "", map[string]any{"payment_status": "partially_paid"}},
		{"total_paid_by_customer", "", map[string]any{"payment_status": "partially_refunded"}},
		{"payment_status", "", map[string]any{"payment_status": 7}},
		{"total", "", map[string]any{"total": "1.5e3"}},
		{"total", "", map[string]any{"total": "NaN"}},
		{"total", "", map[string]any{"total": "-5.00"}},
		{"total", "", map[string]any{"total": "10.005"}},
		{"total", "", map[string]any{"total": "10,00"}},
		{"total", "", map[string]any{"total": ""}},
		{"total", "", map[string]any{"total": nil}},
		{"total", "", map[string]any{"total": []int{1}}},
		{"total", "", map[string]any{"total": "10000000000.01"}},
		{"total", "", map[string]any{"total": "10.50", "currency": "CLP", "products": nil, "discount": nil, "shipping_cost_customer": nil}},
		{"discount", "", map[string]any{"discount": "-1"}},
		{"discount_coupon", "", map[string]any{"discount_coupon": "x"}},
		{"shipping_cost_customer", "", map[string]any{"shipping_cost_customer": "1.999"}},
		{"products[].price", "", map[string]any{"products": []any{map[string]any{"product_id": 1, "quantity": "1", "price": "free"}}}},
		{"products[].quantity", "", map[string]any{"products": []any{map[string]any{"product_id": 1, "quantity": "0.5", "price": "1"}}}},
		{"products", "", map[string]any{"products": "none"}},
		{"coupon", "", map[string]any{"coupon": map[string]any{"code": "ANA10"}}},
		{"coupon", "", map[string]any{"coupon": []any{map[string]any{"id": 1}}}},
		{"currency", "", map[string]any{"currency": "REAL"}},
		{"created_at", "", map[string]any{"created_at": "02/11/2026"}},
		{"updated_at", "", map[string]any{"updated_at": nil}},
		{"id", "", map[string]any{"id": "x1"}},
		{"store_id", commerce.ShopOtherShop, map[string]any{"store_id": 4420002}},
	} {
		item := readItem(shoptest.With(t, example(t), c.changes), store)
		shoptest.CheckItem(t, item)
		if c.reason == "" {
			c.reason = commerce.ShopUnknownShape
		}
		if item.Aside == nil || item.Aside.Reason != c.reason || !strings.Contains(item.Aside.Detail, c.field) {
			t.Errorf("%v: %+v", c.changes, item.Aside)
			continue
		}
		if !slices.Contains(item.Aside.Fields, "payment_details") {
			t.Errorf("%v: the names of the fields are missing: %v", c.changes, item.Aside.Fields)
		}
		for _, value := range []string{"carla", "archived", "mediation", "1.5e3", "x1"} {
			if strings.Contains(fmt.Sprint(item.Aside), value) {
				t.Errorf("%v: a value is told: %v", c.changes, item.Aside)
			}
		}
	}
}

func TestARefundOfAPartLowersTheTotal(t *testing.T) {
	for _, c := range []struct{ total, paid, want string }{
		{"192.90", "100.00", "100.00"}, {"100.00", "100.00", "100.00"}, {"100.00", "192.90", "100.00"}, {"192.90", "0.00", "0.00"},
	} {
		body := shoptest.With(t, example(t), map[string]any{"payment_status": partlyRefunded, "total": c.total, "total_paid_by_customer": c.paid})
		item := readItem(body, store)
		shoptest.CheckItem(t, item)
		if item.Order == nil || item.Order.Status != 0 || string(item.Order.TotalPrice) != c.want {
			t.Errorf("%+v: %+v, %+v", c, item.Order, item.Aside)
		}
	}
}

// Commissions are on the total without the delivery, which no example of version 2025-03 names.
func TestWhatTheDeliveryCostsIsWhatTheGoodsLeaveOfTheTotal(t *testing.T) {
	for _, c := range []struct {
		changed map[string]any
		want    json.Number
	}{
		{map[string]any{}, "12.90"},
		{map[string]any{"discount": "0.00", "total": "212.90"}, "12.90"},
		{map[string]any{"discount": nil, "total": "212.90"}, "12.90"},
		{map[string]any{"total": "180.00"}, "0.00"},
		{map[string]any{"total": "170.00"}, ""}, // less than the goods: something that is not told was taken off
		{map[string]any{"subtotal": nil}, ""}, {map[string]any{"subtotal": "much"}, ""},
		{map[string]any{"payment_status": partlyRefunded, "total_paid_by_customer": "192.90"}, ""},
		{map[string]any{"shipping_cost_customer": "5.00"}, "5.00"},
	} {
		changed := map[string]any{"shipping_cost_customer": nil}
		maps.Copy(changed, c.changed)
		item := readItem(shoptest.With(t, example(t), changed), store)
		shoptest.CheckItem(t, item)
		if item.Order == nil || item.Order.Shipping != c.want {
			t.Errorf("%v: %+v, want %q", c.changed, item.Order, c.want)
		}
	}
}

func TestMoneyLosesNoCent(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3_000 {
		minor := r.Int64N(1 << r.IntN(40))
		currency := []string{"BRL", "CLP", "KWD", "ARS"}[r.IntN(4)]
		text := commerce.FormatMinor(minor, currency)
		body := shoptest.With(t,
			[]byte(`{"id":1,"status":"open","payment_status":"paid","created_at":"2026-11-02T12:25:18+0000",`+
				`"updated_at":"2026-11-02T12:25:18+0000"}`),
			map[string]any{"total": text, "currency": currency})
		item := readItem(body, store)
		if item.Order == nil {
			t.Fatalf("%s %s: %+v", text, currency, item.Aside)
		}
		if back, err := commerce.ParseMinor(string(item.Order.TotalPrice), currency); err != nil || back != minor ||
			string(item.Order.TotalPrice) != text {
			t.Fatalf("%s %s became %s (%v)", text, currency, item.Order.TotalPrice, err)
		}
	}
}

func TestCouponsOfAnOrder(t *testing.T) {
	coupons := func(entries ...map[string]any) any { return entries }
	for name, c := range map[string]struct {
		coupon any
		off    string
		want   []platform.Code
	}{
		"none": {coupons(), "0.00", []platform.Code{}},
		"null": {nil, "0.00", []platform.Code{}},
		"one":  {coupons(map[string]any{"code": "ANA10"}), "5.00", []platform.Code{{Code: "ANA10", Amount: "5.00"}}},
		"one whose effect is told": {coupons(map[string]any{"code": "ANA10", "type": "percentage"}), "0.00", []platform.Code{{Code: "ANA10",
			Amount: "0.00"}}},
		"one whose effect is not": {coupons(map[string]any{"code": "ANA10"}), "0.00", []platform.Code{{Code: "ANA10"}}},
		"free shipping":           {coupons(map[string]any{"code": "FRETE", "type": "shipping"}), "0.00", []platform.Code{{Code: "FRETE"}}},
		"two": {coupons(map[string]any{"code": "ANA10"}, map[string]any{"code": "BIA5"}), "9.00",
			[]platform.Code{{Code: "ANA10"}, {Code: "BIA5"}}},
		"the same twice": {coupons(map[string]any{"code": "ANA10"}, map[string]any{"code": "ana10"}), "9.00",
			[]platform.Code{{Code: "ANA10"}}},
		"a code that is a number": {coupons(map[string]any{"code": 2026}), "9.00", []platform.Code{{Code: "2026", Amount: "9.00"}}},
	} {
		item := readItem(shoptest.With(t, example(t), map[string]any{"coupon": c.coupon, "discount_coupon": c.off}), store)
		shoptest.CheckItem(t, item)
		if item.Order == nil || !slices.Equal(item.Order.Codes, c.want) {
			t.Errorf("%s: %+v, %+v", name, item.Order, item.Aside)
		}
	}
}

func TestWhereAnOrderComesFrom(t *testing.T) {
	for storefront, want := range map[string]int{"store": 0, "mobile": 0, "meli": 1, "api": 3, "form": 3, "pos": 3, "what is new": 3} {
		if item := readItem(shoptest.With(t, example(t), map[string]any{"storefront": storefront}), store); item.Order.Source != want {
			t.Errorf("%s: %d", storefront, item.Order.Source)
		}
	}
}

func TestWhoBought(t *testing.T) {
	for name, c := range map[string]struct {
		changes map[string]any
		want    *platform.Customer
	}{
		"without the permission": {map[string]any{"customer": nil}, &platform.Customer{Name: "Carla Souza", Email: "carla@example.com",
			Phone: "+5511900000001"}},
		"nobody":                 {map[string]any{"customer": nil, "contact_email": nil, "contact_name": nil, "contact_phone": nil}, nil},
		"an empty object of PHP": {map[string]any{"customer": []int{}, "contact_email": nil, "contact_name": nil, "contact_phone": nil}, nil},
		"masked": {map[string]any{"customer": map[string]any{"id": 0, "email": "c***@example.com", "phone": "+55119****0001"},
			"contact_email": nil, "contact_name": "C", "contact_phone": nil},
			&platform.Customer{Name: "C"}},
		"ids beyond 2^53": {map[string]any{"customer": map[string]any{"id": json.Number("9007199254740995")}, "contact_email": nil,
			"contact_name": nil, "contact_phone": nil},
			&platform.Customer{ID: "9007199254740995"}},
	} {
		item := readItem(shoptest.With(t, example(t), c.changes), store)
		shoptest.CheckItem(t, item)
		switch got := item.Order; {
		case got == nil:
			t.Errorf("%s: %+v", name, item.Aside)
		case (got.Customer == nil) != (c.want == nil) || c.want != nil && *got.Customer != *c.want:
			t.Errorf("%s: %+v", name, got.Customer)
		}
	}
}

// The order's token stands in addresses, and that the page knows it is not documented: it must be no proof.
func TestTheTokenOfAnOrderProvesNothing(t *testing.T) {
	token := readItem(example(t), store).Order.CartToken
	if token == "" || scrub.SecretToken(token) {
		t.Errorf("%q would be a proof", token)
	}
	if got := readItem(shoptest.With(t, example(t), map[string]any{"token": "short"}), store).Order.CartToken; got != "" {
		t.Errorf("%q", got)
	}
}

func FuzzAnOrderIsReadOrSetAside(f *testing.F) {
	f.Add(example(f))
	f.Add([]byte(`{"id":1,"status":"open","payment_status":"paid","total":"1","currency":"BRL","coupon":[{}],"products":[{}]}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, body []byte) { shoptest.CheckItem(t, readItem(body, store)) })
}

func TestAnyFieldMayBeAnything(t *testing.T) {
	read := 0
	shoptest.EverySpoiled(t, example(t), func(body []byte) {
		item := readItem(body, store)
		if item.Order != nil {
			read++
		}
		shoptest.CheckItem(t, item)
	})
	if read == 0 {
		t.Error("no order was read")
	}
}
