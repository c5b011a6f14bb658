package admin_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tributary-io/tributary/admin"
	"github.com/tributary-io/tributary/internal/account"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/kafka"
	"github.com/tributary-io/tributary/internal/wire"
)

// lenient says that a request is not written as the document says.
const lenient, isLenient = "Prefer", "handling=lenient"

// What every platform and language sends by nature is taken, with exactly its meaning.
func TestOrdersAreTakenAsPlatformsAndLanguagesSendThem(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	orders := map[string]wire.Order{}
	sent := 0
	f := func(what, fields, wantWarned string, check func(o wire.Order) bool) {
		t.Helper()
		id := fmt.Sprint(what, " ", sent)
		sent++
		body := map[string]json.RawMessage{}
		for _, part := range []string{`{"orderId":"` + id +
			`","orderStatus":0,"createdAt":"2026-03-09T11:00:00Z","totalPrice":100.50,"currency":"BRL"}`, "{" + fields + "}"} {
			if err := json.Unmarshal([]byte(part), &body); err != nil {
				t.Fatal(err)
			}
		}
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		got := s.call("POST", "/admin/v1/order", s.live, string(text), lenient, isLenient)
		s.want(got, 200, "")
		var warned []string
		for _, w := range got.Warnings {
			warned = append(warned, w.Field+" "+w.Code)
		}
		if strings.Join(warned, "; ") != wantWarned || got.Header.Get("Preference-Applied") != isLenient {
			t.Errorf("%s: warnings %v, want %s; %s", what, got.Warnings, wantWarned, got.Header.Get("Preference-Applied"))
		}
		id = strings.Trim(string(body["orderId"]), `"`) // a text or a number
		s.read(wire.TopicCommerce, 8, func(r kafka.Record) bool {
			var c wire.Commerce
			var o wire.Order
			if json.Unmarshal(r.Value, &c) == nil && c.Kind == wire.KindOrder && json.Unmarshal(c.Body, &o) == nil {
				orders[c.ID] = o
			}
			_, came := orders[id]
			return came
		})
		if !check(orders[id]) {
			t.Errorf("%s: %+v", what, orders[id])
		}
	}
	created := func(text string) func(wire.Order) bool {
		want, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			t.Fatal(err)
		}
		return func(o wire.Order) bool { return o.CreatedAt.Equal(want) }
	}
	f("Shopify", `"createdAt":"2026-11-23T10:00:00-03:00"`, "", created("2026-11-23T13:00:00Z"))
	f("JavaScript", `"createdAt":"2026-11-23T10:00:00.123Z"`, "", created("2026-11-23T10:00:00.123Z"))
	f("the Python client of our own document", `"createdAt":"2026-11-23T10:00:00.359780+00:00"`, "", created("2026-11-23T10:00:00.35978Z"))
	f("Nuvemshop", `"createdAt":"2026-11-23T10:00:00+0000","totalPrice":"199.90"`, "", func(o wire.Order) bool {
		return o.TotalMinor == 19990
	})
	f("VTEX", `"createdAt":"2026-11-23T10:00:00.0000000+00:00","origin":"Marketplace","countryCode":"BRA"`, "origin invalid_type",
		func(o wire.Order) bool {
			return o.CountryCode == wire.Some("BR") && !o.Source.Present
		})
	f("a number as an id",
		`"orderId":820982911946154509,"items":[{"variantId":9007199254740993,"quantity":"1","price":"19.90"}],"customer":{"customerId":42}`, "",
		func(o wire.Order) bool {
			return o.OrderID == "820982911946154509" && o.Items.Value[0].VariantID == "9007199254740993" &&
				o.Items.Value[0].Quantity == 1 && o.CustomerKey.Valid
		})
	f("Australia", `"provinceCode":"NSW","countryCode":"au"`, "provinceCode invalid_format", func(o wire.Order) bool {
		return o.CountryCode == wire.Some("AU") && !o.ProvinceCode.Present
	})
	f("a point of sale", `"browserIp":"","currency":"brl"`, "", func(o wire.Order) bool { return o.Currency == "BRL" && !o.NetKey.Present })
	f("what decides money is left as it was",
		`"browserIp":"unknown","userId":{},"cartToken":[],"discountCode":1.5,"utmSource":false,"source":"web","deliveredAt":"soon"`,
		"deliveredAt invalid_timestamp; discountCode invalid_type; utmSource invalid_type; userId invalid_type; source invalid_type; "+
			"browserIp invalid_format; cartToken invalid_type",
		func(o wire.Order) bool {
			return !o.NetKey.Present && !o.VisitorID.Present && !o.CartKey.Present && !o.CartNoKey.Present && !o.DiscountCode.Present &&
				!o.UTMSource.Present &&
				!o.Source.Present && !o.DeliveredAt.Present
		})

	// The order's id and name are shown to others, so what is in them is no secret.
	secret := func(o wire.Order) bool { return o.CartKey.Valid }
	none := func(o wire.Order) bool { return !o.CartKey.Present && !o.CartNoKey.Present }
	const token = "9f3b5c0e7a1d4f26"
	f("a cart's token", `"cartToken":"`+token+`"`, "", secret)
	f("a cart's number that is the order's", `"orderId":"1001","cartToken":"1001"`, "", func(o wire.Order) bool { return o.CartNoKey.Valid })
	f("the order's id as its cart's token", `"orderId":"`+token+`","cartToken":"`+token+`"`, "cartToken conflict", none)
	f("… with more of it", `"orderId":"WEB-`+strings.ToUpper(token)+`-1","cartToken":" `+token+` "`, "cartToken conflict", none)
	f("the order's name as its cart's token", `"name":"#`+token+`","cartToken":"`+token+`"`, "cartToken conflict", none)
}

// A refusal says how to write it rightly.
func TestARefusalSaysTheRightSpelling(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	f := func(field, value, code, hint string) {
		t.Helper()
		body := strings.Replace(`{"orderId":"1","orderStatus":0,"createdAt":"2026-03-09T11:00:00Z","totalPrice":100.50,"currency":"BRL"}`, "{",
			`{"x`+field+`":`+value+`,`, 1)
		body = strings.Replace(strings.Replace(body, `"`+field+`":`, `"_`+field+`":`, 1), `"x`+field+`":`, `"`+field+`":`, 1)
		got := s.call("POST", "/admin/v1/order", s.live, body)
		s.want(got, 400, "validation_error")
		if d := got.Error.Details[0]; len(got.Error.Details) != 1 || d.Field != field || d.Code != code || !strings.Contains(d.Message, hint) {
			t.Errorf("%s: %+v", value, got.Error.Details)
		}
	}
	f("createdAt", `"2026-11-23T10:00:00"`, "invalid_timestamp",
		"no time zone: end it with Z for UTC, or with an offset, such as 2026-03-15T12:00:00-03:00")
	f("totalPrice", `59.97000000000001`, "too_many_digits", "round it before you send it, to an amount such as 199.90")
	f("totalPrice", `"1.500"`, "invalid_format", `write "1500.00" or "1.50"`)
	f("totalPrice", `"199,90"`, "invalid_format", `such as "1234.50"`)
	f("createdAt", `1773057600`, "invalid_type", "must be a string such as 2026-03-15T12:00:00Z or 2026-03-15T09:00:00-03:00, not a number")
	f("orderStatus", `"paid"`, "invalid_value", "must be 0 (approved), 1 (pending) or 2 (cancelled)")
	f("orderStatus", `7`, "invalid_value", "must be 0 (approved), 1 (pending) or 2 (cancelled)")
	f("orderStatus", `false`, "invalid_type", "must be 0 (approved), 1 (pending) or 2 (cancelled), not a boolean")
	f("orderId", `1.5`, "invalid_type", "must be a string or an integer")
}

func TestStrictHandlingRefusesWhatWouldBeWarnedOf(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	doubtful := strings.Replace(order1001, "{", `{"provinceCode":"NSW","discount_code":"ANA10",`, 1)
	got := s.call("POST", "/admin/v1/order", s.live, doubtful, "Prefer", "respond-async, handling=strict")
	s.want(got, 400, "validation_error")
	if len(got.Error.Details) != 2 || got.Error.Details[0].Field != "provinceCode" || got.Error.Details[1].Field != "discount_code" ||
		!strings.Contains(got.Error.Details[1].Message, "did you mean discountCode?") ||
		got.Header.Get("Preference-Applied") != "handling=strict" {
		t.Errorf("%+v %s", got.Error, got.Header.Get("Preference-Applied"))
	}
	got = s.call("POST", "/admin/v1/order", s.live, order1001, "Prefer", "handling=strict")
	if s.want(got, 200, ""); got.Header.Get("Preference-Applied") != "handling=strict" || got.Warnings != nil {
		t.Errorf("%+v", got)
	}
	got = s.call("POST", "/admin/v1/order", s.live, doubtful)
	if s.want(got, 200, ""); got.Header.Get("Preference-Applied") != "" || len(got.Warnings) != 2 {
		t.Errorf("%+v", got)
	}
	for header, want := range map[string]string{ // a text in quotes may have commas and escaped quotes
		`x="a,handling=strict"`:             "",
		`x="a\",handling=strict"`:           "",
		`x="a,handling=strict`:              "",
		`x="a,b", handling=strict`:          "handling=strict",
		`x="a\\",handling="strict";y="1,2"`: "handling=strict",
		`x=",", handling=lenient`:           "handling=lenient",
	} {
		if got := s.call("POST", "/admin/v1/order", s.live, order1001, "Prefer", header).Header.Get("Preference-Applied"); got != want {
			t.Errorf("Prefer: %s: applied %q, want %q", header, got, want)
		}
	}
}

// A replay tells the warnings again. A strict request is another one than the same lenient one.
func TestAReplayHasTheSameWarnings(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	for path, body := range map[string]string{
		"/order":   strings.Replace(order1001, "{", `{"provinceCode":"NSW","note":1,`, 1),
		"/product": `{"productId":"p1","productName":"Camiseta","createdAt":"yesterday","note":1}`,
		"/costs":   `{"name":"Aluguel","value":"1.50","frequency":"monthly","start_date":"2026-01-01","endDate":"2026-02-01","note":1}`,
	} {
		first := s.call("POST", "/admin/v1"+path, s.live, body, "Idempotency-Key", path)
		again := s.call("POST", "/admin/v1"+path, s.live, body, "Idempotency-Key", path)
		s.want(again, 200, "")
		if again.Header.Get("Idempotent-Replayed") != "true" || len(first.Warnings) != 2 ||
			fmt.Sprint(again.Warnings) != fmt.Sprint(first.Warnings) || string(again.Data) != string(first.Data) {
			t.Errorf("%s: %+v, then %+v", path, first, again)
		}
		s.want(s.call("POST", "/admin/v1"+path, s.live, body, "Idempotency-Key", path, "Prefer", "handling=strict"), 422,
			"idempotency_key_mismatch")
	}
}

// Every write warns of what it does not know, and refuses it where that is asked.
func TestEveryWriteTellsUnknownFields(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	f := func(method, path, body string) answer {
		t.Helper()
		unknown := strings.Replace(body, "{", `{"surprise":1,`, 1)
		got := s.call(method, "/admin/v1"+path, s.live, unknown, "Prefer", "handling=strict")
		s.want(got, 400, "validation_error")
		if len(got.Error.Details) != 1 || got.Error.Details[0].Code != "unknown_field" ||
			got.Header.Get("Preference-Applied") != "handling=strict" {
			t.Errorf("%s %s: %+v", method, path, got.Error)
		}
		if got := s.call(method, "/admin/v1"+path, s.live, body, "Prefer", "handling=strict"); got.Status != 200 || got.Warnings != nil {
			t.Errorf("%s %s: %d %+v %+v", method, path, got.Status, got.Error, got.Warnings)
		}
		return got
	}
	f("POST", "/influencers", anaPrado)
	f("PUT", "/influencers", `{"name":"Ana Prado","category":"viagem"}`)
	f("POST", "/influencers/costs", `{"name":"Ana Prado","var_fee":5,"start_date":"2026-02-01"}`)
	f("POST", "/influencers/coupons", `{"campaign_id":"inv26","cupom":"ANA20"}`)
	f("DELETE", "/influencers/coupons", `{"campaign_id":"inv26","cupom":"ANA20"}`)
	f("POST", "/costs", `{"name":"Aluguel","value":1,"frequency":"monthly","start_date":"2026-01-01"}`)
	f("POST", "/statements", `{"end_date":"2026-01-31"}`)
	f("POST", "/order", order1001)
	f("POST", "/product", `{"productId":"p1","productName":"Camiseta"}`)
	f("POST", "/preview", `{"change":{"type":"coupon.create","campaign_id":"inv26","cupom":"ANA30"}}`)
	f("DELETE", "/influencers", `{"name":"Ana Prado"}`)
}

// No operation that takes a body reads past a field that it does not know.
func TestEveryOperationWithABodyRefusesUnknownFieldsWhereAsked(t *testing.T) {
	t.Parallel()
	s := start(t, admin.Config{})
	doc, err := contract()
	if err != nil {
		t.Fatal(err)
	}
	key, asked := s.key(s.store.Live.CompanyID, account.Scopes...), 0
	for path, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			if operation.RequestBody == nil || operation.RequestBody.Value.Content.Get("application/json") == nil { // lines: TestManyOrders…
				continue
			}
			asked++
			id := "01938a4e-6f5a-7c11-a6c1-0d3cf5a0a5b2"
			switch strings.Split(path, "/")[1] {
			case "conversions":
				id = commerce.NetworkPrefix + "1"
			case "webhooks":
				id = commerce.EndpointPrefix + "1"
			}
			target := strings.NewReplacer("{orderId}", "1", "{id}", id).Replace(path)
			got := s.call(method, "/admin/v1"+target, key, `{"surprise":1}`, "Prefer", "handling=strict")
			s.want(got, 400, "validation_error")
			if !strings.Contains(fmt.Sprint(got.Error.Details), "{surprise unknown_field ") ||
				got.Header.Get("Preference-Applied") != "handling=strict" {
				t.Errorf("%s %s: %+v %s", method, path, got.Error.Details, got.Header.Get("Preference-Applied"))
			}
			if operation.Parameters.GetByInAndName("header", "Prefer") == nil {
				t.Errorf("%s %s: Prefer is not in the document", method, path)
			}
		}
	}
	if asked < 18 {
		t.Errorf("%d operations: the test has missed some", asked)
	}
}
