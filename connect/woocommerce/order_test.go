package woocommerce

import (
	"encoding/json"
	"fmt"
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

// example is an order in the shape of the repository woocommerce/woocommerce-rest-api-docs, "Orders", with values of ours.
func example(t testing.TB) []byte {
	t.Helper()
	body, err := os.ReadFile("testdata/order.json")
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func TestAnOrderOfTheDocumentedShapeIsRead(t *testing.T) {
	item := readItem(example(t))
	shoptest.CheckItem(t, item)
	got, err := json.MarshalIndent(item.Order, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	want, err := json.MarshalIndent(platform.Order{OrderID: "9007199254740993", Number: 727, CreatedAt: shoptest.At(t, "2026-11-02T19:28:02Z"),
		UpdatedAt: shoptest.At(t, "2026-11-02T19:28:08Z"), TotalPrice: "195.40", Discounts: "20.00", Shipping: "10.00", Tax: "5.40",
		PaymentMethod: 2, Currency: "BRL", Codes: []platform.Code{{Code: "ana10", Amount: "20.00"}}, Province: "SP", Country: "BR",
		UTMSource: "instagram", UTMCampaign: "novembro", UserAgent: "Mozilla/5.0 (Windows NT 10.0)", BrowserIP: "192.0.2.18",
		CartToken: "wc_order_58d2d042d1D7x", Customer: &platform.Customer{ID: "26", Name: "Davi Lima", Email: "davi@example.com",
			Phone: "(13) 90000-0001"},
		Items: []platform.OrderItem{{ItemID: "93", ProductID: "93", Quantity: 3, Price: "33.333333"},
			{ItemID: "23", ProductID: "22", VariantID: "23", Quantity: 1, Price: "80"}}}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func readItem(body []byte) platform.Item { return states{}.item(body) }

// What a merchant says a plug-in's status means is so, and changes none of WooCommerce's own.
func TestAPlugInsStatusIsWhatTheMerchantSays(t *testing.T) {
	own := readStates("em-separacao=approved, aguardando=pending,devolvido=cancelled,completed=cancelled")
	for status, want := range map[string]int{"em-separacao": 0, "aguardando": 1, "devolvido": 2, "completed": 0} {
		item := own.item(shoptest.With(t, example(t), map[string]any{"status": status}))
		shoptest.CheckItem(t, item)
		if item.Order == nil || item.Order.Status != want {
			t.Errorf("%s: %+v, %+v", status, item.Order, item.Aside)
		}
	}
	if item := own.item(shoptest.With(t, example(t), map[string]any{"status": "em"})); item.Aside == nil {
		t.Error("a status of which nothing is said is read")
	}
}

func TestStatusesAreThoseOfTheDocumentation(t *testing.T) {
	for status, want := range map[string]int{"processing": 0, "completed": 0, "pending": 1, "on-hold": 1, "checkout-draft": 1,
		"cancelled": 2, "refunded": 2, "failed": 2, "trash": 2} {
		item := readItem(shoptest.With(t, example(t), map[string]any{"status": status}))
		shoptest.CheckItem(t, item)
		if item.Order == nil || item.Order.Status != want {
			t.Errorf("%s: %+v, %+v", status, item.Order, item.Aside)
		}
	}
}

func TestWhatIsNotUnderstoodIsSetAsideByTheNameOfItsField(t *testing.T) {
	for _, c := range []struct {
		field   string
		changes map[string]any
	}{
		{"status", map[string]any{"status": "wc-awaiting-sculptor"}}, {"status", map[string]any{"status": nil}}, {"status",
			map[string]any{"status": 1}},
		{"total", map[string]any{"total": "1.5e3"}}, {"total", map[string]any{"total": "NaN"}}, {"total", map[string]any{"total": "-0.01"}},
		{"total", map[string]any{"total": "10.005"}}, {"total", map[string]any{"total": nil}}, {"total", map[string]any{"total": "1,99"}},
		{"total_tax", map[string]any{"total_tax": "x"}}, {"shipping_total", map[string]any{"shipping_total": "-1"}},
		{"discount_total", map[string]any{"discount_total": "0.001"}},
		{"refunds[].total", map[string]any{"refunds": []any{map[string]any{"id": 1, "total": "--1.00"}}}},
		{"refunds[].total", map[string]any{"refunds": []any{map[string]any{"id": 1}}}},
		{"refunds", map[string]any{"refunds": map[string]any{"1": "x"}}},
		{"coupon_lines[].discount", map[string]any{"coupon_lines": []any{map[string]any{"code": "ana10", "discount": "free"}}}},
		{"coupon_lines[].code", map[string]any{"coupon_lines": []any{map[string]any{"discount": "1"}}}},
		{"coupon_lines", map[string]any{"coupon_lines": "ana10"}},
		{"line_items[].total", map[string]any{"line_items": []any{map[string]any{"product_id": 1, "quantity": 1, "total": "-3.00"}}}},
		{"line_items[].quantity", map[string]any{"line_items": []any{map[string]any{"product_id": 1, "quantity": "some", "total": "3"}}}},
		{"line_items", map[string]any{"line_items": 3}},
		{"currency", map[string]any{"currency": "R$"}},
		{"date_created_gmt", map[string]any{"date_created_gmt": "2026-11-02"}}, {"date_modified_gmt", map[string]any{"date_modified_gmt": nil}},
		{"id", map[string]any{"id": -4}},
	} {
		item := readItem(shoptest.With(t, example(t), c.changes))
		shoptest.CheckItem(t, item)
		if item.Aside == nil || item.Aside.Reason != commerce.ShopUnknownShape || !strings.Contains(item.Aside.Detail, c.field) {
			t.Errorf("%v: %+v", c.changes, item.Aside)
			continue
		}
		if !slices.Contains(item.Aside.Fields, "payment_method") {
			t.Errorf("%v: the names of the fields are missing: %v", c.changes, item.Aside.Fields)
		}
		for _, value := range []string{"davi", "sculptor", "1.5e3", "--1", "free", "wc_order_"} {
			if strings.Contains(fmt.Sprint(item.Aside), value) {
				t.Errorf("%v: a value is told: %v", c.changes, item.Aside)
			}
		}
	}
}

func TestARefundLowersTheTotalAndNeverBelowNothing(t *testing.T) {
	for name, c := range map[string]struct {
		refunds    []string
		total, tax string
	}{
		"none":            {nil, "195.40", "5.40"},
		"a part":          {[]string{"-95.40"}, "100.00", "2.76"},
		"two parts":       {[]string{"-50.00", "-45.40"}, "100.00", "2.76"},
		"without a sign":  {[]string{"95.40"}, "100.00", "2.76"},
		"all":             {[]string{"-195.40"}, "0.00", "0.00"},
		"more than there": {[]string{"-195.40", "-10.00"}, "0.00", "0.00"},
	} {
		list := []any{}
		for i, total := range c.refunds {
			list = append(list, map[string]any{"id": 900 + i, "reason": "", "total": total})
		}
		item := readItem(shoptest.With(t, example(t), map[string]any{"refunds": list}))
		shoptest.CheckItem(t, item)
		if o := item.Order; o == nil || string(o.TotalPrice) != c.total || string(o.Tax) != c.tax || len(o.Refunds) != len(c.refunds) ||
			o.Status != 0 {
			t.Errorf("%s: %+v, %+v", name, o, item.Aside)
		}
	}
}

func TestMoneyLosesNoCent(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 3000 {
		minor := r.Int64N(1 << r.IntN(40))
		back := r.Int64N(minor + 2)
		currency := []string{"BRL", "CLP", "KWD", "USD"}[r.IntN(4)]
		body := fmt.Sprintf(`{"id":1,"status":"completed","date_created_gmt":"2026-11-02T19:28:02","date_modified_gmt":"2026-11-02T19:28:02",`+
			`"currency":%q,`+
			`"total":%q,"refunds":[{"id":2,"total":"-%s"}]}`, currency, commerce.FormatMinor(minor, currency), commerce.FormatMinor(back, currency))
		item := readItem([]byte(body))
		if item.Order == nil {
			t.Fatalf("%s: %+v", body, item.Aside)
		}
		if left, err := commerce.ParseMinor(string(item.Order.TotalPrice), currency); err != nil || left != max(minor-back, 0) {
			t.Fatalf("%s became %s (%v)", body, item.Order.TotalPrice, err)
		}
	}
}

func TestCouponsOfAnOrder(t *testing.T) {
	for name, c := range map[string]struct {
		lines []any
		want  []platform.Code
	}{
		"none": {[]any{}, []platform.Code{}},
		"two": {[]any{map[string]any{"code": "ana10", "discount": "9.99"}, map[string]any{"code": "bia5", "discount": "0.01"}},
			[]platform.Code{{Code: "ana10", Amount: "9.99"}, {Code: "bia5", Amount: "0.01"}}},
		"took nothing off": {[]any{map[string]any{"code": "ana10", "discount": "0.00", "free_shipping": false}},
			[]platform.Code{{Code: "ana10", Amount: "0.00"}}},
		"freed the shipping": {[]any{map[string]any{"code": "frete", "discount": "0.00", "free_shipping": true}},
			[]platform.Code{{Code: "frete"}}},
		"may have, older shops": {[]any{map[string]any{"code": "frete", "discount": "0"}}, []platform.Code{{Code: "frete"}}},
	} {
		item := readItem(shoptest.With(t, example(t), map[string]any{"coupon_lines": c.lines}))
		shoptest.CheckItem(t, item)
		if item.Order == nil || !slices.Equal(item.Order.Codes, c.want) {
			t.Errorf("%s: %+v, %+v", name, item.Order, item.Aside)
		}
	}
}

func TestWhereAnOrderComesFrom(t *testing.T) {
	for via, want := range map[string]int{"checkout": 0, "store-api": 0, "": 0, "admin": 3, "rest-api": 3, "pos-rest-api": 3,
		"what is new": 3} {
		if item := readItem(shoptest.With(t, example(t), map[string]any{"created_via": via})); item.Order.Source != want {
			t.Errorf("%s: %d", via, item.Order.Source)
		}
	}
	direct := []any{map[string]any{"key": "_wc_order_attribution_utm_source", "value": "(direct)"},
		map[string]any{"key": "_wc_order_attribution_session_entry", "value": "https://loja.example/?utm_source=ana&utm_term=x"}}
	if o := readItem(shoptest.With(t, example(t), map[string]any{"meta_data": direct})).Order; o.UTMSource != "ana" || o.UTMTerm != "x" {
		t.Errorf("%+v", o)
	}
}

func TestAGuestAndAnOrderNumberOfAPlugIn(t *testing.T) {
	item := readItem(shoptest.With(t, example(t), map[string]any{"customer_id": 0, "number": "A-1042", "billing": []int{}}))
	shoptest.CheckItem(t, item)
	if o := item.Order; o.Customer != nil || o.Number != 0 || o.Name != "A-1042" {
		t.Errorf("%+v", o)
	}
}

// An order's key is 13 random letters and digits (wc_generate_order_key). It is a proof, so it must not stay in an address.
func TestAnOrdersKeyIsAProofAndIsTakenOutOfAddresses(t *testing.T) {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	r, proofs := rand.New(rand.NewPCG(9, 10)), 0
	for range 2000 {
		key := "wc_order_"
		for range 13 {
			key += string(letters[r.IntN(len(letters))])
		}
		if scrub.SecretToken(key) {
			proofs++
		}
		if kept := scrub.Text("https://loja.example/finalizar/order-received/727/?key=" + key + "&utm_source=ana"); strings.Contains(kept, key) {
			t.Fatalf("%s stays in %s", key, kept)
		}
	}
	if proofs < 1900 {
		t.Errorf("only %d of 2000 keys are proofs", proofs)
	}
}

func TestAnyFieldMayBeAnything(t *testing.T) {
	read := 0
	shoptest.EverySpoiled(t, example(t), func(body []byte) {
		item := readItem(body)
		if item.Order != nil {
			read++
		}
		shoptest.CheckItem(t, item)
	})
	if read == 0 {
		t.Error("no order was read")
	}
}

func FuzzAnOrderIsReadOrSetAside(f *testing.F) {
	f.Add(example(f))
	f.Add([]byte(`{"id":1,"status":"trash","total":"1","currency":"BRL","coupon_lines":[{}],"line_items":[{}],"refunds":[null]}`))
	f.Fuzz(func(t *testing.T, body []byte) { shoptest.CheckItem(t, readItem(body)) })
}
