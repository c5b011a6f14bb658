package shopify

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/connect/platform"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/test/fixtures/shoptest"
)

// example is testdata/order.json with some fields replaced. The file has the fields of the Order object as
// shopify.dev/docs/api/admin-graphql/2026-10/objects/Order describes them, with invented values.
func example(t testing.TB, changes map[string]any) json.RawMessage {
	t.Helper()
	return shoptest.Example(t, changes)
}

func bag(amount, currency string) any {
	return map[string]any{"shopMoney": map[string]any{"amount": amount, "currencyCode": currency}}
}

func read(t testing.TB, changes map[string]any) *platform.Order {
	t.Helper()
	item := readOrder(example(t, changes))
	if item.Order == nil {
		t.Fatalf("set aside: %+v", item.Aside)
	}
	shoptest.CheckOrder(t, item.Order)
	return item.Order
}

func TestAnOrderIsReadWhole(t *testing.T) {
	item := readOrder(example(t, nil))
	got, err := json.Marshal(item.Order)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"orderId":"9007199254740995","number":1042,"name":"#1042","orderStatus":0,"createdAt":"2026-11-03T14:05:09Z",` +
		`"updatedAt":"2026-11-05T10:00:00Z","deliveredAt":"2026-11-05T09:30:00Z","totalPrice":207.50,"totalDiscounts":32.5,` +
		`"shippingPrice":20.00,"taxPrice":11.03,"paymentMethod":1,"currency":"BRL",` +
		`"discountCodes":[{"code":"ANA10","amount":20.00},{"code":"FRETE5","amount":5.00}],"provinceCode":"SP","countryCode":"BR",` +
		`"utmSource":"instagram","utmMedium":"social","utmCampaign":"inverno","utmContent":"ana","browserIp":"203.0.113.7",` +
		`"cartToken":"7f1c9d2e5b8a4036b1d4e7a0c3f69258","source":0,` +
		`"customer":{"customerId":"7000000000001","name":"Maria Souza","email":"maria@example.com","phone":"+5511999990000"},` +
		`"items":[{"item_id":"4500000000001","productId":"8100000000001","variantId":"4500000000001","quantity":2,"price":90},` +
		`{"item_id":"CINTO","quantity":1,"price":20}]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	shoptest.CheckOrder(t, item.Order)
	if !item.UpdatedAt.Equal(time.Date(2026, 11, 5, 10, 0, 0, 0, time.UTC)) || item.ID != item.Order.OrderID {
		t.Errorf("%+v", item)
	}
}

func TestStatuses(t *testing.T) {
	f := func(financial string, cancelled any, want int) {
		t.Helper()
		o := read(t, map[string]any{"displayFinancialStatus": financial, "cancelledAt": cancelled})
		if o.Status != want {
			t.Errorf("%s %v: %d", financial, cancelled, o.Status)
		}
	}
	f("PAID", nil, 0)
	f("PARTIALLY_REFUNDED", nil, 0)
	f("PENDING", nil, 1)
	f("AUTHORIZED", nil, 1)
	f("PARTIALLY_PAID", nil, 1)
	f("REFUNDED", nil, 2)
	f("VOIDED", nil, 2)
	f("EXPIRED", nil, 2)
	f("PAID", "2026-11-04T10:00:00Z", 2)
}

func TestWhatIsNotUnderstoodIsSetAsideWithoutValues(t *testing.T) {
	f := func(field string, changes map[string]any) {
		t.Helper()
		item := readOrder(example(t, changes))
		if item.Aside == nil || item.Order != nil || item.Aside.Reason != commerce.ShopUnknownShape || !strings.Contains(item.Aside.Detail,
			field) {
			t.Fatalf("%s: %+v", field, item)
		}
		if item.ID != "9007199254740995" || !slices.Contains(item.Aside.Fields, "displayFinancialStatus") {
			t.Errorf("%s: %+v %+v", field, item, item.Aside)
		}
		if text := fmt.Sprint(item.Aside); strings.Contains(text, "maria") || strings.Contains(text, "HALF") {
			t.Errorf("a value is told: %s", text)
		}
	}
	f("displayFinancialStatus", map[string]any{"displayFinancialStatus": "HALF_PAID"})
	f("displayFinancialStatus", map[string]any{"displayFinancialStatus": nil})
	f("currentTotalPriceSet", map[string]any{"currentTotalPriceSet": nil})
	f("currentTotalPriceSet", map[string]any{"currentTotalPriceSet": bag("10.005", "BRL")})
	f("currentTotalPriceSet", map[string]any{"currentTotalPriceSet": bag("10.00", "XXXX")})
	f("created", map[string]any{"createdAt": nil})
	f("type", map[string]any{"customer": "maria@example.com"})
	f("type", map[string]any{"discountCodes": "ANA10"})
}

// TestWhatIsLeft: refunds and edits lower the total, whichever way the money was given back, and never below nothing.
func TestWhatIsLeft(t *testing.T) {
	f := func(name, current, refunded, net, want string) {
		t.Helper()
		o := read(t, map[string]any{
			"displayFinancialStatus": "PARTIALLY_REFUNDED", "currentTotalPriceSet": bag(current, "BRL"),
			"totalRefundedSet": bag(refunded, "BRL"), "netPaymentSet": bag(net, "BRL"),
		})
		if string(o.TotalPrice) != want {
			t.Errorf("%s: %s", name, o.TotalPrice)
		}
	}
	f("a line was returned and paid back", "117.50", "90.00", "117.50", "117.50")
	f("a line was returned, money was not given back", "117.50", "0.0", "207.50", "117.50")
	f("money was given back without a line", "207.50", "10.00", "197.50", "197.50")
	f("exchanged for another of the same price", "207.50", "90.00", "207.50", "207.50")
	f("more was given back than was paid", "0.00", "210.00", "-2.50", "0.00")
	f("edited before it was paid", "150.00", "0.00", "0.00", "150.00")
	o := read(t, map[string]any{"refunds": []any{
		map[string]any{"id": "gid://shopify/Refund/77", "createdAt": "2026-11-04T10:00:00.500Z", "totalRefundedSet": bag("10.0", "BRL")},
		map[string]any{"id": "gid://shopify/Refund/78", "createdAt": nil, "totalRefundedSet": bag("0.0", "BRL")},
	}})
	if len(o.Refunds) != 1 || o.Refunds[0].ID != "77" || o.Refunds[0].Amount != "10.00" {
		t.Errorf("%+v", o.Refunds)
	}
}

func TestAGiftCardPaysAndTakesNothingOff(t *testing.T) {
	o := read(t, map[string]any{"paymentGatewayNames": []string{"gift_card", "shopify_payments"}, "discountCodes": []string{}})
	if o.TotalPrice != "207.50" || o.PaymentMethod != 1 || o.Codes == nil || len(o.Codes) != 0 {
		t.Errorf("%+v", o)
	}
}

func TestTheShopsCurrencyCountsNotTheBuyers(t *testing.T) {
	both := map[string]any{"shopMoney": map[string]any{"amount": "1000", "currencyCode": "JPY"},
		"presentmentMoney": map[string]any{"amount": "38.40", "currencyCode": "BRL"}}
	o := read(t, map[string]any{"currentTotalPriceSet": both, "currentShippingPriceSet": bag("0.0", "JPY")})
	if o.TotalPrice != "1000" || o.Currency != "JPY" {
		t.Errorf("%s %s", o.TotalPrice, o.Currency)
	}
}

func TestSources(t *testing.T) {
	f := func(name string, marketplace bool, token any, want int, cart bool) {
		t.Helper()
		o := read(t, map[string]any{"sourceName": name, "checkoutToken": token,
			"channelInformation": map[string]any{"channelDefinition": map[string]any{"isMarketplace": marketplace}}})
		if o.Source != want || (o.CartToken != "") != cart {
			t.Errorf("%s: source %d, cart token %q", name, o.Source, o.CartToken)
		}
	}
	const token = "7f1c9d2e5b8a4036b1d4e7a0c3f69258"
	f("web", false, token, 0, true)
	f("mobile_app", false, token, 2, true)
	f("pos", false, nil, 3, false)
	f("shopify_draft_order", false, nil, 3, false)
	f("shopify_draft_order", false, token, 3, false)
	f("amazon-us", true, nil, 1, false)
	f("1424624", false, token, 0, true)
	f("1424624", false, nil, 3, false)
	if o := read(t, map[string]any{"test": true, "channelInformation": nil}); !o.Test {
		t.Error("a test order is none")
	}
}

func TestSeveralCodes(t *testing.T) {
	o := read(t, map[string]any{"discountCodes": []string{"NADA", "ana10", "ANA10", "FRETE5"}})
	want := []platform.Code{{Code: "NADA", Amount: "0.00"}, {Code: "ana10", Amount: "20.00"}, {Code: "FRETE5", Amount: "5.00"}}
	if !slices.Equal(o.Codes, want) {
		t.Errorf("%+v", o.Codes)
	}
	further := lineItem{Allocations: []allocation{{Amount: &money{}}}}
	further.Allocations[0].Amount.ShopMoney.Amount, further.Allocations[0].Application.Code = "1.25", "ANA10"
	if o := readOrder(example(t, nil), further).Order; o.Codes[0].Amount != "21.25" {
		t.Errorf("the lines of further pages: %+v", o.Codes)
	}
	empty := map[string]any{"nodes": []any{}}
	o = read(t, map[string]any{"shippingLines": empty, "lineItems": empty})
	if o.Codes[0].Amount != "" {
		t.Errorf("what no line tells is not known, and not 0: %+v", o.Codes)
	}
}

func TestDeliveredIsTheLastOfAllParcels(t *testing.T) {
	if o := read(t, map[string]any{"displayFulfillmentStatus": "PARTIALLY_FULFILLED"}); !o.DeliveredAt.IsZero() {
		t.Error(o.DeliveredAt)
	}
	one := map[string]any{"status": "SUCCESS", "deliveredAt": "2026-11-04T18:00:00Z"}
	if o := read(t, map[string]any{"fulfillments": []any{one, map[string]any{"status": "SUCCESS"}}}); !o.DeliveredAt.IsZero() {
		t.Error(o.DeliveredAt)
	}
}

// TestNoCentIsLost writes amounts as Shopify may (10, 10.5, 10.50) and reads them back, exactly.
func TestNoCentIsLost(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		cents := random.Int64N(commerce.MaxAmountMinor)
		text := commerce.FormatMinor(cents, "BRL")
		if random.IntN(2) == 0 {
			text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
		}
		o := readOrder(example(t, map[string]any{"currentTotalPriceSet": bag(text, "BRL")})).Order
		if got, err := commerce.ParseMinor(string(o.TotalPrice), "BRL"); err != nil || got != cents {
			t.Fatalf("%s became %s", text, o.TotalPrice)
		}
	}
}

func TestGlobalIDs(t *testing.T) {
	for gid, want := range maps.All(map[string]string{
		"gid://shopify/Order/820982911946154508": "820982911946154508", "gid://shopify/Order/1?x=2": "1", "820982911946154508": "",
		"gid://shopify/Order/": "", "gid://shopify/Order/1e9": "", "gid://shopify/Order": "",
	}) {
		if got := number(gid); got != want {
			t.Errorf("%s: %q", gid, got)
		}
	}
}

func FuzzReadOrder(f *testing.F) {
	f.Add([]byte(example(f, nil)))
	f.Add([]byte(example(f, map[string]any{"displayFinancialStatus": "REFUNDED", "refunds": nil, "customer": nil})))
	f.Add([]byte(`{"id":1}`))
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
