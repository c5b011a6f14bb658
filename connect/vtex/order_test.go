package vtex

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/test/fixtures/shoptest"
)

// example is testdata/order.json with some fields replaced. The file has the fields of Get order as vtex/openapi-schemas, "VTEX -
// Orders API.json", describes them, with invented values.
func example(t testing.TB, changes map[string]any) json.RawMessage {
	t.Helper()
	return shoptest.Example(t, changes)
}

func read(t testing.TB, changes map[string]any) *platform.Order {
	t.Helper()
	item, there := readOrder(example(t, changes))
	if !there || item.Order == nil {
		t.Fatalf("set aside: %+v", item.Aside)
	}
	shoptest.CheckOrder(t, item.Order)
	return item.Order
}

func TestAnOrderIsReadWhole(t *testing.T) {
	o := read(t, nil)
	got, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"orderId":"1580014300123-01","number":500123,"orderStatus":0,"createdAt":"2026-11-03T14:05:09.1234567Z",` +
		`"updatedAt":"2026-11-06T10:17:40.5322681Z","deliveredAt":"2026-11-06T10:17:40.5322681Z","totalPrice":140.00,` +
		`"totalDiscounts":20.00,"shippingPrice":19.90,"taxPrice":0.00,"paymentMethod":1,"installments":6,"currency":"BRL",` +
		`"discountCodes":[{"code":"ANA10"}],"provinceCode":"RJ","utmSource":"instagram","utmMedium":"social","utmCampaign":"inverno",` +
		`"source":0,"refunds":[{"id":"24390","amount":49.90,"createdAt":"2026-11-06T10:10:20Z"}],` +
		`"customer":{"customerId":"5660c55f-714d-4b14-88a7-b03e9bfbdd20","name":"Maria Souza","email":"maria@example.com",` +
		`"phone":"+5511999990000"},` +
		`"items":[{"item_id":"18","productId":"6","variantId":"18","quantity":2,"price":45},` +
		`{"item_id":"21","productId":"7","variantId":"21","quantity":1,"price":90}]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if o.CartToken != "" {
		t.Errorf("a cart that anybody can share is no proof: %q", o.CartToken)
	}
}

func TestStatuses(t *testing.T) {
	f := func(status string, authorized any, want int) {
		t.Helper()
		if o := read(t, map[string]any{"status": status, "authorizedDate": authorized}); o.Status != want {
			t.Errorf("%s %v: %d", status, authorized, o.Status)
		}
	}
	for _, status := range []string{"payment-approved", "window-to-cancel", "ready-for-handling", "start-handling", "handling", "invoice",
		"invoiced"} {
		f(status, nil, 0)
	}
	for _, status := range []string{"order-created", "on-order-completed", "payment-pending", "waiting-for-sellers-confirmation",
		"order-accepted"} {
		f(status, "2026-11-03T14:20:00Z", 1)
	}
	f("canceled", "2026-11-03T14:20:00Z", 2)
	f("payment-denied", nil, 2)
	for _, status := range []string{"cancel", "request-cancel", "cancellation-requested", "window-to-change-seller"} {
		f(status, "2026-11-03T14:20:00Z", 0)
		f(status, nil, 1)
	}
}

func TestAnOrderWithoutAStatusIsNoneYet(t *testing.T) {
	for _, status := range []any{nil, "", "null", "Status Null"} {
		if item, there := readOrder(example(t, map[string]any{"status": status})); there || item.Order != nil || item.Aside != nil {
			t.Errorf("%v: %+v", status, item)
		}
	}
}

func TestWhatIsNotUnderstoodIsSetAsideWithoutValues(t *testing.T) {
	f := func(field string, changes map[string]any) {
		t.Helper()
		item, there := readOrder(example(t, changes))
		if !there || item.Aside == nil || item.Order != nil || !strings.Contains(item.Aside.Detail, field) {
			t.Fatalf("%s: %+v", field, item)
		}
		if item.ID != "1580014300123-01" || !slices.Contains(item.Aside.Fields, "packageAttachment") {
			t.Errorf("%s: %+v", field, item)
		}
		if text := fmt.Sprint(item.Aside); strings.Contains(text, "maria") || strings.Contains(text, "half") {
			t.Errorf("a value is told: %s", text)
		}
	}
	f("status", map[string]any{"status": "half-paid"})
	f("value", map[string]any{"value": nil})
	f("value", map[string]any{"value": json.Number("11.5")})
	f("currencyCode", map[string]any{"storePreferencesData": nil})
	f("updated", map[string]any{"lastChange": nil})
	f("type", map[string]any{"clientProfileData": "maria@example.com"})
}

func packages(values ...int64) any {
	var list []any
	for i, value := range values {
		list = append(list, map[string]any{"type": "Input", "invoiceNumber": fmt.Sprint(i),
			"restitutions": map[string]any{"Refund": map[string]any{"value": value}}})
	}
	return map[string]any{"packages": list}
}

func TestReturnsLowerTheTotalNeverBelowNothing(t *testing.T) {
	f := func(want string, refunds int, values ...int64) {
		t.Helper()
		o := read(t, map[string]any{"packageAttachment": packages(values...)})
		if string(o.TotalPrice) != want || len(o.Refunds) != refunds {
			t.Errorf("%v: %s, %d refunds", values, o.TotalPrice, len(o.Refunds))
		}
	}
	f("189.90", 0)
	f("189.90", 0, 0)
	f("139.90", 2, 4990, 10)
	f("0.00", 1, 18990)
	f("0.00", 1, 99999)
}

func TestCurrenciesWithoutCents(t *testing.T) {
	o := read(t, map[string]any{
		"storePreferencesData": map[string]any{"currencyCode": "CLP"}, "value": 1899000, "packageAttachment": packages(100000),
		"totals": []any{map[string]any{"id": "Shipping", "value": 199000}},
	})
	if o.TotalPrice != "17990" || o.Shipping != "1990" || o.Currency != "CLP" {
		t.Errorf("%s %s", o.TotalPrice, o.Shipping)
	}
	item, _ := readOrder(example(t, map[string]any{"storePreferencesData": map[string]any{"currencyCode": "CLP"}, "value": 1899050}))
	if item.Aside == nil {
		t.Error("half a peso is taken")
	}
}

func TestNoCentIsLost(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		value := random.Int64N(commerce.MaxAmountMinor)
		back := random.Int64N(value + 1)
		item, _ := readOrder(example(t, map[string]any{"value": value, "packageAttachment": packages(back)}))
		if got, err := commerce.ParseMinor(string(item.Order.TotalPrice), "BRL"); err != nil || got != value-back {
			t.Fatalf("%d less %d became %s", value, back, item.Order.TotalPrice)
		}
	}
}

func TestWhereAnOrderWasSold(t *testing.T) {
	f := func(origin string, operator any, want int) {
		t.Helper()
		if o := read(t, map[string]any{"origin": origin, "callCenterOperatorData": operator}); o.Source != want {
			t.Errorf("%s %v: %d", origin, operator, o.Source)
		}
	}
	f("Marketplace", nil, 0)
	f("Fulfillment", nil, 1)
	f("Chain", nil, 1)
	f("Marketplace", map[string]any{"userName": "sandra"}, 3)
}

func TestAMaskedEMailIsNobodys(t *testing.T) {
	o := read(t, map[string]any{"clientProfileData": map[string]any{"email": "0df1ee8d7f58@ct.vtex.com.br", "userProfileId": "u-1"}})
	if o.Customer.Email != "" || o.Customer.ID != "u-1" {
		t.Errorf("%+v", o.Customer)
	}
	if o := read(t, map[string]any{"clientProfileData": nil, "marketingData": nil}); o.Customer != nil || o.Codes == nil || len(o.Codes) != 0 {
		t.Errorf("%+v", o)
	}
}

func TestPaymentsAndDeliveries(t *testing.T) {
	pay := func(group, name string) any {
		return map[string]any{"transactions": []any{map[string]any{"payments": []any{map[string]any{"group": group, "paymentSystemName": name}}}}}
	}
	for group, want := range map[string]int{"creditCard": 1, "bankInvoice": 3, "instantPayment": 4, "promissory": 15, "giftCard": 0} {
		if o := read(t, map[string]any{"paymentData": pay(group, "")}); o.PaymentMethod != want {
			t.Errorf("%s: %d", group, o.PaymentMethod)
		}
	}
	if o := read(t, map[string]any{"paymentData": pay("other", "Pix")}); o.PaymentMethod != 4 {
		t.Error(o.PaymentMethod)
	}
	one := map[string]any{"type": "Output", "courierStatus": map[string]any{"finished": true, "deliveredDate": "2026-11-05T10:00:00Z"}}
	two := map[string]any{"type": "Output", "courierStatus": nil}
	if o := read(t, map[string]any{"packageAttachment": map[string]any{"packages": []any{one, two}}}); !o.DeliveredAt.IsZero() {
		t.Error("one of two parcels has come")
	}
	renewal := map[string]any{"Subscriptions": []any{map[string]any{"ExecutionCount": 2}}}
	if o := read(t, map[string]any{"subscriptionData": renewal}); o.Subscription == nil || !o.Subscription.Recurring {
		t.Error("the second delivery of a subscription renews it")
	}
}

func FuzzReadOrder(f *testing.F) {
	f.Add([]byte(example(f, nil)))
	f.Add([]byte(example(f, map[string]any{"status": "canceled", "packageAttachment": nil, "value": -5})))
	f.Add([]byte(`{"orderId":1}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		item, there := readOrder(raw)
		if there && (item.Order == nil) == (item.Aside == nil) || !there && (item.Order != nil || item.Aside != nil) {
			t.Fatalf("%+v", item)
		}
		if item.Order != nil {
			shoptest.CheckOrder(t, item.Order)
		}
	})
}
