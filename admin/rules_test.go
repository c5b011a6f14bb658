package admin

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/identity"
	"github.com/tributary-io/tributary/internal/wire"
)

var testNow = time.Date(2026, 3, 9, 12, 0, 0, 0, time.UTC)

// rulesServer checks bodies: it has a clock and names, and nothing to write to.
func rulesServer() *Server {
	return &Server{now: func() time.Time { return testNow }, links: newLinkPolicy(publicNames, false)}
}

// parse reads a body as readObject does.
func parse(t *testing.T, body string) object {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(body))
	decoder.UseNumber()
	var values map[string]any
	if err := decoder.Decode(&values); err != nil {
		t.Fatalf("test body %s: %v", body, err)
	}
	return newBody(values)
}

// found lists violations as "field code" lines.
func found(bad *commerce.Violations) string {
	var lines []string
	for _, d := range bad.List {
		lines = append(lines, d.Field+" "+d.Code)
	}
	return strings.Join(lines, "; ")
}

// edited is a JSON object with some fields replaced, or left out where the value is "-".
func edited(base string, edits ...string) string {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(base), &fields); err != nil {
		panic(err)
	}
	for _, edit := range edits {
		name, value, _ := strings.Cut(edit, "=")
		if value == "-" {
			delete(fields, name)
		} else {
			fields[name] = json.RawMessage(value)
		}
	}
	body, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return string(body)
}

func TestRegistrationRules(t *testing.T) {
	t.Parallel()
	const base = `{"name":"Ana Prado","links":[{"url":"https://loja.example.com/"}]}`
	f := func(want string, edits ...string) {
		t.Helper()
		o := parse(t, edited(base, edits...))
		rulesServer().readRegistration(t.Context(), o)
		if got := found(o.bad); got != want {
			t.Errorf("%v:\n got %s\nwant %s", edits, got, want)
		}
	}
	cost := func(edits ...string) string {
		return "costs=[" + edited(`{"fixed_fee":1,"start_date":"2026-01-01"}`, edits...) + "]"
	}
	coupon := func(edits ...string) string {
		return "coupons=[" + edited(`{"cupom":"ANA10"}`, edits...) + "]"
	}
	f("")
	f("", `campaign=null`, `category=null`, `campaign_id=null`, `coupons=null`, `costs=null`)
	f("", `unknown={"deep":[1,2]}`)
	f("name required", `name=-`)
	f("name required", `name=null`)
	f("name empty", `name="  "`)
	f("name empty", `name="\u200b"`)
	f("name invalid_type", `name=7`)
	f("name too_long", `name="`+strings.Repeat("a", commerce.MaxName+1)+`"`)
	f("name invalid_characters", `name="a\u0000b"`)
	f("name invalid_characters", `name="a\ud800"`)
	f("campaign invalid_type", `campaign=[]`)
	f("category too_long", `category="`+strings.Repeat("a", commerce.MaxCategory+1)+`"`)

	f("links required", `links=-`)
	f("links required", `links=null`)
	f("links too_few", `links=[]`)
	f("links invalid_type", `links="https://loja.example.com/"`)
	f("links too_many", `links=[`+strings.TrimSuffix(strings.Repeat(`{"url":"https://loja.example.com/"},`, 101), ",")+`]`)
	f("links[1] invalid_type", `links=[{"url":"https://loja.example.com/"},"x"]`)
	f("links[0].url required", `links=[{}]`)
	f("links[0].url invalid_type", `links=[{"url":1}]`)
	f("links[1].url invalid_url", `links=[{"url":"https://loja.example.com/"},{"url":"http://loja.example.com/"}]`)

	f("", coupon())
	f("", coupon(`start_date="2026-01-01"`, `end_date="2026-01-01"`))
	f("coupons too_many", `coupons=[`+strings.TrimSuffix(strings.Repeat(`{"cupom":"A"},`, 101), ",")+`]`)
	f("costs too_many", `costs=[`+strings.TrimSuffix(strings.Repeat(`{"fixed_fee":1,"start_date":"2026-01-01"},`, 101), ",")+`]`)
	f("", `costs=[`+strings.TrimSuffix(strings.Repeat(`{"fixed_fee":1,"start_date":"2026-01-01"},`, 100), ",")+`]`)
	f("coupons[0].cupom required", coupon(`cupom=-`))
	f("coupons[0].cupom empty", coupon(`cupom=" "`))
	f("coupons[0].cupom empty", coupon(`cupom="\u200b"`))
	f("coupons[0].start_date invalid_date", coupon(`start_date="2026-02-30"`))
	f("coupons[0].start_date invalid_date", coupon(`start_date="01/02/2026"`))
	f("coupons[0].start_date invalid_date", coupon(`start_date="2026-2-3"`))
	f("coupons[0].start_date invalid_date", coupon(`start_date=""`))
	f("coupons[0].start_date invalid_type", coupon(`start_date=20260101`))
	f("coupons[0].end_date invalid_date", coupon(`start_date="2026-01-02"`, `end_date="2026-01-01"`))

	f("", cost())
	f("", cost(`fixed_fee=0`, `var_fee=12.5`))
	f("", cost(`value=10.50`, `frequency="weekly"`))
	f("", cost(`value=0`, `frequency=null`))
	f("costs[0] no_rate", cost(`fixed_fee=0`))
	f("costs[0] no_rate", cost(`fixed_fee=-`))
	f("costs[0] no_rate", cost(`fixed_fee=0.00`, `var_fee=0`, `value=null`))
	f("costs[0].frequency required", cost(`value=1`))
	f("costs[0].frequency required", cost(`value=1`, `frequency=null`))
	f("costs[0].frequency invalid_value", cost(`value=1`, `frequency="yearly"`))
	f("costs[0].start_date required", cost(`start_date=-`))
	f("costs[0].end_date invalid_date", cost(`end_date="2025-12-31"`))
	f("campaign_id required", cost(`is_campaign_cost=true`))
	f("", cost(`is_campaign_cost=true`), `campaign_id="c1"`)
	f("costs[0].is_campaign_cost invalid_type", cost(`is_campaign_cost="true"`))
	f("costs[0].is_coupon_cost invalid_type", cost(`is_coupon_cost=1`))
	f("", cost(`fixed_fee="1"`, `var_fee="12.5"`))
	f("costs[0].fixed_fee invalid_format; costs[0].var_fee invalid_format", cost(`fixed_fee="1,5"`, `var_fee="12.500"`))
	f("costs[0].fixed_fee invalid_type", cost(`fixed_fee=true`))
	f("costs[0].fixed_fee too_many_digits", cost(`fixed_fee=1.001`))
	f("costs[0].fixed_fee out_of_range", cost(`fixed_fee=-1`))
	f("costs[0].fixed_fee out_of_range", cost(`fixed_fee=1e300`))
	f("", cost(`fixed_fee=10000000000.00`))
	f("costs[0].fixed_fee out_of_range", cost(`fixed_fee=10000000000.01`))
	f("costs[0].value out_of_range", cost(`value=10000000000.01`, `frequency="daily"`))
	f("costs[0].var_fee out_of_range", cost(`var_fee=100.01`))
	f("costs[0].var_fee out_of_range", cost(`var_fee=-0.1`))
	f("costs[0].var_fee too_many_digits", cost(`var_fee=0.0000001`))

	// All violations are told at once.
	f("name required; costs[1].start_date required; links[0].url invalid_url; coupons[0].end_date invalid_date; campaign_id required; "+
		"costs[1].frequency required",
		`name=-`, `links=[{"url":"https://10.0.0.1/"}]`, coupon(`start_date="2026-01-02"`, `end_date="2026-01-01"`),
		`costs=[{"fixed_fee":1,"start_date":"2026-01-01","is_campaign_cost":true},{"value":1}]`)
}

const baseOrder = `{"orderId":"1001","orderStatus":0,"createdAt":"2026-03-09T11:00:00Z","totalPrice":100.50,"currency":"BRL"}`

func readTestOrder(t *testing.T, edits ...string) (wire.Order, *commerce.Violations) {
	t.Helper()
	order, o := readTestBody(t, edits...)
	return order, o.bad
}

func readTestBody(t *testing.T, edits ...string) (wire.Order, object) {
	t.Helper()
	hasher, err := identity.NewHasher(bytes.Repeat([]byte("s"), 32))
	if err != nil {
		t.Fatal(err)
	}
	o := parse(t, edited(baseOrder, edits...))
	taken, _ := takeOrder(o, testNow, hasher.Company("c_test", "BR"), identity.NewSigner(hasher, nil)) // o has what is wrong
	return taken.order, o
}

// all is what is found of a body: the rules that it breaks, then "|" and its warnings.
func all(o object) string {
	var warned []string
	for _, w := range o.notes.warnings {
		warned = append(warned, w.Field+" "+w.Code)
	}
	return strings.TrimSpace(strings.TrimSuffix(found(o.bad)+" | "+strings.Join(warned, "; "), " | "))
}

func TestOrderRules(t *testing.T) {
	t.Parallel()
	f := func(want string, edits ...string) {
		t.Helper()
		_, o := readTestBody(t, edits...)
		if got := all(o); got != want {
			t.Errorf("%v:\n got %s\nwant %s", edits, got, want)
		}
	}
	item := func(fields string) string { return `items=[{` + fields + `}]` }
	f("")
	f("orderId required", `orderId=-`)
	f("orderId invalid_characters", `orderId="\ud800"`)
	f("orderId invalid_characters", `orderId="1001\udfff"`)
	f("orderId required", `orderId=null`)
	f("orderId empty", `orderId=""`)
	f("", `orderId=1001`)
	f("orderId invalid_type", `orderId=1001.5`)
	f("orderId invalid_type", `orderId=1e3`)
	f("orderId invalid_type", `orderId=true`)
	f("orderStatus required", `orderStatus=-`)
	f("orderStatus invalid_value", `orderStatus=3`)
	f("orderStatus invalid_value", `orderStatus=0.5`)
	f("orderStatus invalid_value", `orderStatus="3"`)
	f("orderStatus invalid_value", `orderStatus="paid"`)
	f("orderStatus invalid_value", `orderStatus=""`)
	f("orderStatus invalid_type", `orderStatus=true`)
	f("", `orderStatus="0"`)
	f("", `orderStatus="2"`)
	f("createdAt required", `createdAt=-`)
	f("createdAt invalid_timestamp", `createdAt="2026-03-09T11:00:00"`)
	f("createdAt invalid_timestamp", `createdAt="2026-03-09T11:00:00.123"`)
	f("createdAt invalid_timestamp", `createdAt="2026-03-09T11:00:00+3"`)
	f("createdAt invalid_timestamp", `createdAt="2026-03-09T11:00:00+2500"`)
	f("createdAt invalid_timestamp", `createdAt="2026-03-09"`)
	f("createdAt invalid_timestamp", `createdAt=""`)
	f("createdAt invalid_timestamp", `createdAt="2026-03-09 11:00:00Z"`)
	f("createdAt invalid_timestamp", `createdAt="2026-02-30T11:00:00Z"`)
	f("createdAt out_of_range", `createdAt="1969-12-31T23:59:59Z"`)
	f("createdAt out_of_range", `createdAt="2200-01-01T00:00:00Z"`)
	f("updatedAt out_of_range", `updatedAt="0001-01-01T00:00:01Z"`)
	f("createdAt invalid_timestamp", `createdAt="2026-03-09T24:00:00Z"`)
	f("createdAt invalid_timestamp", `createdAt="2026-03-09T11:00:60Z"`)
	f("createdAt out_of_range", `createdAt="0000-01-01T00:00:00Z"`)
	f("createdAt out_of_range", `createdAt="1969-12-31T23:59:59Z"`)
	f("", `createdAt="1970-01-01T00:00:00Z"`)
	f("createdAt out_of_range", `createdAt="9999-12-31T23:59:59Z"`)
	f("createdAt invalid_type", `createdAt=1741514400`)
	f("totalPrice required", `totalPrice=-`)
	f("", `totalPrice="100.50"`)
	f("", `totalPrice="100"`)
	f("", `totalPrice="100.5000"`)
	f("totalPrice invalid_format", `totalPrice="1.500"`)
	f("totalPrice invalid_format", `totalPrice="1.500"`, `currency="JPY"`)
	f("", `totalPrice="1.500"`, `currency="KWD"`)
	f("totalPrice too_many_digits", `totalPrice=59.97000000000001`)
	f("totalPrice too_many_digits", `totalPrice="59.97000000000001"`)
	f("totalPrice invalid_format", `totalPrice="100,50"`)
	f("totalPrice invalid_format", `totalPrice="1,000.50"`)
	f("totalPrice invalid_format", `totalPrice="R$ 100.50"`)
	f("totalPrice invalid_format", `totalPrice="1e2"`)
	f("totalPrice invalid_format", `totalPrice="1."`)
	f("totalPrice invalid_format", `totalPrice=".5"`)
	f("totalPrice invalid_format", `totalPrice="1.-5"`)
	f("totalPrice invalid_format", `totalPrice=""`)
	f("totalPrice out_of_range", `totalPrice="-1"`)
	f("totalPrice out_of_range", `totalPrice="`+strings.Repeat("9", 65)+`"`)
	f("totalPrice invalid_type", `totalPrice=true`)
	f("totalPrice too_many_digits", `totalPrice=100.505`)
	f("", `totalPrice=100.500`)
	f("", `totalPrice=1.005e2`)
	f("totalPrice out_of_range", `totalPrice=-1`)
	f("totalPrice out_of_range", `totalPrice=1e18`)
	f("", `totalPrice=10000000000.00`)
	f("totalPrice out_of_range", `totalPrice=10000000000.01`)
	f("", `totalPrice=1000000000000`, `currency="JPY"`)
	f("totalPrice out_of_range", `totalPrice=1000000000001`, `currency="JPY"`)
	f("totalDiscounts out_of_range; shippingPrice out_of_range", `totalDiscounts=1e11`, `shippingPrice=1e11`)
	f("", item(`"price":10000000000,"discount":10000000000`))
	f("items[0].price out_of_range; items[0].discount out_of_range", item(`"price":10000000000.001,"discount":1e15`))
	f("totalPrice too_many_digits", `totalPrice=100.5`, `currency="JPY"`)
	f("", `totalPrice=100.505`, `currency="KWD"`)
	f("currency required", `currency=-`)
	f("", `currency="brl"`)
	f("currency invalid_value", `currency="R$"`)
	f("currency invalid_value", `currency=""`)
	f("currency invalid_value", `currency="ZZZ"`)
	f("currency invalid_value", `currency="BR"`)
	f("totalDiscounts too_many_digits", `totalDiscounts=0.001`)
	f("shippingPrice invalid_type", `shippingPrice=true`)
	f("", `updatedAt="2026-03-10T12:00:00Z"`)
	f("updatedAt out_of_range", `updatedAt="2026-03-10T12:00:01Z"`)
	f("| number invalid_type", `number=1.5`)
	f("| number invalid_format", `number="#1001"`)
	f("", `number="1001"`)
	f("", `number=1001`)
	f("| paymentMethod invalid_value", `paymentMethod=5`)
	f("", `paymentMethod=15`)
	f("", `installments="2"`)
	f("| installments invalid_format", `installments="2x"`)
	f("", `provinceCode="sp"`)
	f("| provinceCode invalid_format", `provinceCode="NSW"`)
	f("| provinceCode invalid_format", `provinceCode="São Paulo"`)
	f("| provinceCode invalid_type", `provinceCode=35`)
	f("| countryCode invalid_value", `countryCode="XX"`)
	f("| countryCode invalid_value", `countryCode="UK"`)
	f("", `countryCode="BRA"`)
	f("", `countryCode="bra"`)
	f("| countryCode invalid_format", `countryCode="XXX"`)
	f("| countryCode invalid_format", `countryCode="076"`)
	f("| countryCode invalid_format", `countryCode="Brasil"`)
	f("", `countryCode="BR"`, `provinceCode="SP"`)
	f("| browserIp invalid_format", `browserIp="1.2.3"`)
	f("", `browserIp=""`)
	f("", `browserIp="2001:db8::1"`)
	f("| isFirstOrder invalid_type", `isFirstOrder=1`)
	f("| subscription invalid_type", `subscription=true`)
	f("| subscription.isRecurring invalid_type", `subscription={"isRecurring":"yes"}`)
	f("", `source=1`)
	f("", `orderSource=1`)
	f("", `origin=1`)
	f("| source invalid_value", `source=4`)
	f("| source conflict", `source=1`, `origin=2`)
	f("| customer invalid_type", `customer="Ana"`)
	f("| customer.email invalid_type", `customer={"email":1}`)
	f("", `customer={"customerId":42,"phone":5511988887777,"zip":1310100,"email":""}`)
	f("| origin invalid_type", `origin="Marketplace"`)
	f("| origin invalid_type", `origin="Marketplace"`, `source=2`)
	f("| deliveredAt invalid_timestamp; discountCode invalid_type; utmSource invalid_type; userId invalid_type; cartToken invalid_type",
		`cartToken=[]`, `userId={}`, `discountCode=false`, `utmSource=[1]`, `deliveredAt="tomorrow"`)
	f("| deliveredAt out_of_range", `deliveredAt="2199-12-01T00:00:00Z"`)
	f("", `createdAt="2026-03-10T12:00:00Z"`) // 24 hours ahead
	f("| createdAt out_of_range", `createdAt="2026-03-10T12:00:00.001Z"`)
	f("| createdAt out_of_range", `createdAt="2027-03-09T12:00:00Z"`)
	f("createdAt out_of_range", `createdAt="2200-01-01T00:00:00Z"`)
	f("| customer.birthdate invalid_date", `customer={"birthdate":"1990-02-30"}`)
	f("| customer.createdAt invalid_timestamp", `customer={"createdAt":"2026"}`)
	f("| items invalid_type", `items={}`)
	f("| items invalid_type", `items=[{"item_id":"a"},"b"]`)
	f("", `items=""`)
	f("| items too_many", `items=[`+strings.TrimSuffix(strings.Repeat(`{},`, 501), ",")+`]`)
	f("| items too_many", `items=[`+strings.TrimSuffix(strings.Repeat(`{"item_id":[]},`, 10_000), ",")+`]`)
	f("", `items=[`+strings.TrimSuffix(strings.Repeat(`{},`, 500), ",")+`]`)
	f("", item(`"item_id":"a","quantity":2,"price":0.123456`))
	f("", item(`"item_id":"a","itemId":"a"`))
	f("items[0].itemId conflict", item(`"item_id":"a","itemId":"b"`))
	f("| items[0].quantity out_of_range", item(`"quantity":-1`))
	f("| items[0].quantity out_of_range", item(`"quantity":-0.5`))
	f("| items[0].quantity out_of_range", item(`"quantity":1000000.5`))
	f("| items[0].quantity out_of_range", item(`"quantity":9007199254740993`))
	f("| items[0].quantity out_of_range", item(`"quantity":1e999999999`))
	f("", item(`"quantity":1.5`))
	f("", item(`"quantity":"1.500"`)) // a kilogram and a half
	f("", item(`"quantity":0`))
	f("", item(`"quantity":"-0"`))
	f("| items[0].quantity invalid_format", item(`"quantity":"1,5"`))
	f("| items[0].quantity invalid_format", item(`"quantity":"１２"`))
	f("items[0].item_id invalid_characters; items[0].productId invalid_characters; items[0].variantId invalid_characters",
		item(`"item_id":"a\ud800","productId":"a\ud801","variantId":"\udfff"`))
	f("", item(`"price":"1"`))
	f("items[0].price invalid_format; items[0].discount invalid_format", item(`"price":"1.500","discount":"10,00"`))
	f("", item(`"item_id":1,"productId":820982911946154500,"variantId":"","quantity":"2"`))
	f("items[0].variantId invalid_type", item(`"variantId":[]`))
	f("| items[0].quantity invalid_format", item(`"quantity":"two"`))
	f("| items[0].createdAt invalid_timestamp", item(`"createdAt":"2026-03-09"`))
	f("orderId required; currency required | items[0].quantity invalid_type", `orderId=-`, `currency=-`, item(`"quantity":true`))
	f("| cartToken invalid_value; customer.email invalid_value; customer.phone invalid_value; customer.customerId invalid_value; userId "+
		"invalid_value",
		`cartToken="null"`, `userId="[object Object]"`, `customer={"email":"ana","phone":"12","customerId":"undefined"}`)
	f("", `cartToken=0`, `userId="0"`, `customer={"email":"0","phone":"0","customerId":0}`) // as platforms write a guest
}

// wireRecord is the record that an order without a fault becomes.
func wireRecord(t *testing.T, edits ...string) string {
	t.Helper()
	order, bad := readTestOrder(t, edits...)
	if bad.Any() {
		t.Fatalf("%v: %s", edits, found(bad))
	}
	raw, err := json.Marshal(order)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestOrderFieldsKeepPresence(t *testing.T) {
	t.Parallel()
	f := func(want string, edits ...string) {
		t.Helper()
		raw := wireRecord(t, edits...)
		const always = `{"orderId":"1001","orderStatus":0,"createdAt":"2026-03-09T11:00:00Z","currency":"BRL","totalMinor":10050`
		if got := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(raw, always), ","), "}"); got != want {
			t.Errorf("%v:\n got %s\nwant %s", edits, got, want)
		}
	}
	f(``)
	f(`"shippingMinor":1200`, `shippingPrice=12`)
	f(`"shippingMinor":null`, `shippingPrice=null`)
	f(`"discountCode":"ANA10"`, `discountCode="ANA10"`)
	f(`"discountCode":null`, `discountCode=null`)
	f(`"discountCode":null`, `discountCode=""`)
	f(`"discountCode":null`, `discountCode=" "`)
	f(``, `discountCode=false`)
	f(`"discountCode":"2026"`, `discountCode=2026`)
	f(``, `utmSource=""`, `userId=""`, `cartToken=""`, `name=""`, `browserIp=""`, `updatedAt=""`, `shippingPrice=""`, `source=""`,
		`customer=""`, `subscription=""`)
	f(`"countryCode":"BR"`, `countryCode="bra"`)
	f(`"source":2`, `origin="Marketplace"`, `source=2`)
	f(``, `source=1`, `origin=2`)
	f(`"updatedAt":"2026-03-09T14:00:00.123456Z"`, `updatedAt="2026-03-09T11:00:00.1234567-03:00"`)
	f(`"items":[{"itemId":"820982911946154501","quantity":2,"price":"19.9"}]`,
		`items=[{"item_id":820982911946154501,"quantity":"2","price":"19.90"}]`)
	f(`"isRecurring":true`, `subscription={"isRecurring":true}`)
	f(`"isRecurring":null`, `subscription=null`)
	f(``, `subscription={}`)
	f(`"source":2`, `orderSource=2`)
	f(`"source":null`, `source=null`)
	f(`"items":null`, `items=null`)
	f(``, `items={}`)
	f(`"items":[{"quantity":1}]`, `items=[{"quantity":"two"}]`)
	f(`"items":[{"quantity":2,"measure":"1.5","price":"10"},{"quantity":1,"measure":"0.001"},{"quantity":3}]`,
		`items=[{"quantity":1.50,"price":10},{"quantity":"0.001"},{"quantity":3.00}]`)
	f(`"items":[]`, `items=[]`)
	f(`"items":[{"itemId":"a","quantity":1,"price":"0.12345"}]`, `items=[{"itemId":"a","price":0.12345}]`)
	f(`"userId":"018f3f5e-7b2a-7c3d-8e4f-0123456789ab"`, `userId="018F3F5E-7B2A-7C3D-8E4F-0123456789AB"`)
	f(`"userId":null`, `userId=null`)
	f(``, `userId="undefined"`, `cartToken="null"`)
	f(`"emailKey":null,"phoneKey":null,"customerKey":null,"personal":{"customer":null}`, `customer=null`)
	f(`"emailKey":null,"personal":{"customer":{"email":null}}`, `customer={"email":null}`)
	f(`"personal":{"customer":{}}`, `customer={"email":"null","phone":"12","customerId":0}`)
	f(`"personal":{"customer":{"name":"Ana"}}`, `customer={"name":"Ana"}`)
	f(`"cartKey":null,"cartNoKey":null,"personal":{"cartToken":null}`, `cartToken=null`)
}

func TestOrderHashesWhatNamesAPersonAndKeepsItOnlyInPersonal(t *testing.T) {
	t.Parallel()
	order, bad := readTestOrder(t, `customer={"customerId":"cust-77","email":"Ana@Example.com","phone":"(11) 98888-7777"}`,
		`cartToken="cart-123"`, `userId="ana@example.com"`, `utmContent="ana@example.com"`, `name="ana@example.com"`, `browserIp="203.0.113.7"`)
	if bad.Any() {
		t.Fatal(found(bad))
	}
	for name, key := range map[string]wire.Optional[string]{"email": order.EmailKey, "phone": order.PhoneKey, "customer": order.CustomerKey,
		"cart number": order.CartNoKey, "network": order.NetKey} {
		if !strings.HasPrefix(key.Value, "k1:") {
			t.Errorf("%s key is %q, want k1:…", name, key.Value)
		}
	}
	order.Personal = nil
	raw, err := json.Marshal(order)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"ana@", "Ana@", "98888", "cust-77", "cart-123", "203.0.113.7"} {
		if bytes.Contains(raw, []byte(secret)) {
			t.Errorf("%q stands outside personal: %s", secret, raw)
		}
	}
}

func quoted(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out.String())
}

func TestProductRules(t *testing.T) {
	t.Parallel()
	const base = `{"productId":"p1","productName":"Camiseta"}`
	f := func(want string, edits ...string) {
		t.Helper()
		o := parse(t, edited(base, edits...))
		product := readProduct(o)
		o.check(commerce.CheckProduct(&product))
		if got := all(o); got != want {
			t.Errorf("%v:\n got %s\nwant %s", edits, got, want)
		}
	}
	f("")
	f("productId required", `productId=-`)
	f("productName required", `productName=-`)
	f("status invalid_type", `status="1"`)
	f("| createdAt invalid_timestamp", `createdAt="yesterday"`)
	f("", `productId=7`, `status=""`, `createdAt="2026-03-09T08:00:00.5-0300"`)
	f("variants[0].variantId required", `variants=[{}]`)
	f("variants[0].currency invalid_value", `variants=[{"variantId":"v","currency":"real"}]`)
	f("", `variants=[{"variantId":"v","currency":"BRL","price":19.9999}]`)
	f("", `variants=[{"variantId":1,"sku":2,"currency":"brl","price":"19.90"}]`)
	f("variants[0].price invalid_format", `variants=[{"variantId":"v","currency":"BRL","price":"1.999"}]`)
}
