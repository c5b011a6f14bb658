package core_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/sdk/core"
)

const (
	now = 1_780_000_000_123 // 2026-05-28T20:26:40.123Z
	id  = "0199f3a0-0000-7000-8000-000000000001"
	id2 = "0199f3a0-0000-7000-8000-000000000002"
)

func options() core.Options {
	return core.Options{Now: now, NewID: func() string { return id }}
}

// one parses a body of one event and gives its canonical form, or the code
// and field of its violation.
func one(t *testing.T, body string) string {
	t.Helper()
	b, v := core.ParseBatch(body, "loja", options())
	if v != nil {
		t.Fatalf("ParseBatch(%s): %v", body, v)
	}
	if len(b.Items) != 1 {
		t.Fatalf("ParseBatch(%s): %d items, want 1", body, len(b.Items))
	}
	item := &b.Items[0]
	if item.Err != nil {
		if !slices.Contains(core.Codes(), item.Err.Code) {
			t.Errorf("the code %q is not among Codes", item.Err.Code)
		}
		return string(item.Err.Code) + " " + item.Err.Field
	}
	return string(core.AppendEvent(nil, &item.Event))
}

func TestABodyIsRefusedWhole(t *testing.T) {
	f := func(body, company, want string) {
		t.Helper()
		_, v := core.ParseBatch(body, company, options())
		got := ""
		if v != nil {
			got = string(v.Code)
		}
		if got != want {
			t.Errorf("ParseBatch(%.80s, %q): %q, want %q", body, company, got, want)
		}
	}
	f(``, "loja", "invalid_json")
	f(`hello`, "loja", "invalid_json")
	f(`{`, "loja", "invalid_json")
	f(`{"events":[{"event":"PAGE_VIEW"}`, "loja", "invalid_json")
	f(`[{"event":"PAGE_VIEW"},]`, "loja", "invalid_json")
	f(`[{"event":"PAGE_VIEW"}]x`, "loja", "invalid_json")
	f(`[{"event":"PAGE_VIEW"} {"event":"PAGE_VIEW"}]`, "loja", "invalid_json")
	f(`{"event":"PAGE_VIEW"} {"event":"PAGE_VIEW"}`, "loja", "invalid_json")
	f(`{"companyId":"loja","events":{}}`, "", "invalid_field")
	f(`{"companyId":"loja","events":[]}`, "", "no_events")
	f(`[]`, "loja", "no_events")
	f(`{"event":"PAGE_VIEW"}`, "", "company_id_required")
	f(`{"event":"PAGE_VIEW","companyId":7}`, "", "company_id_required")
	f(`[{"event":"PAGE_VIEW"}]`, "", "company_id_required")
	f(`{"companyId":"a","events":[{"event":"PAGE_VIEW","companyId":"b"}]}`, "", "mixed_companies")
	f(`[{"event":"PAGE_VIEW","companyId":"a"},{"event":"PAGE_VIEW","companyId":"b"}]`, "", "mixed_companies")
	f(`{"companyId":"a","event":"PAGE_VIEW"}`, "b", "mixed_companies")
	f(`{"companyId":"a","sentAt":"yesterday","events":[{"event":"PAGE_VIEW"}]}`, "", "invalid_timestamp")
	f(`{"companyId":"a","sentAt":1780000000,"events":[{"event":"PAGE_VIEW"}]}`, "", "invalid_timestamp") // seconds
	f(`{"companyId":"a","sentAt":1780000000123,"events":[{"event":"PAGE_VIEW"}]}`, "", "")
	f("["+strings.Repeat(`{"event":"PAGE_VIEW"},`, 500)+`{"event":"PAGE_VIEW"}]`, "loja", "too_many_events")
	f("["+strings.Repeat(`{"event":"PAGE_VIEW"},`, 499)+`{"event":"PAGE_VIEW"}]`, "loja", "")
	f(` { "companyId" : "loja" , "event" : "PAGE_VIEW" } `, "", "")
	f(`[{"event":"PAGE_VIEW","companyId":"loja"}]`, "", "")
	f(`["r1",null,null,"PAGE_VIEW",null,null,{}]`, "loja", "")
}

func TestOneBadEventDoesNotSinkItsBatch(t *testing.T) {
	deep := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
	body := `{"companyId":"loja","sentAt":"2026-05-28T20:26:41Z","events":[
		{"event":"PAGE_VIEW","eventId":"` + id + `"},
		{"event":"bad name","eventId":"` + id2 + `"},
		{"event":"PAGE_VIEW","payload":{"a":` + deep + `}},
		{"event":"PAGE_VIEW","payload":{"a":tru}},
		7,
		{"eventId":"` + id2 + `","event":"PAGE_VIEW","payload":{"a":"` + strings.Repeat("x", 33<<10) + `"}},
		["r9"],
		["r1","` + id2 + `",null,"PAGE_VIEW",null,null,{}]
	]}`
	b, v := core.ParseBatch(body, "", core.Options{Now: now})
	if v != nil {
		t.Fatal(v)
	}
	want := []string{"", "invalid_event_name", "too_deep", "invalid_json", "invalid_event", "event_too_large", "invalid_event", ""}
	if b.CompanyID != "loja" || b.SentAt != 1_780_000_001_000 || len(b.Items) != len(want) {
		t.Fatalf("company %q, sentAt %d, %d items", b.CompanyID, b.SentAt, len(b.Items))
	}
	for i, code := range want {
		got := ""
		if b.Items[i].Err != nil {
			got = string(b.Items[i].Err.Code)
		}
		if got != code {
			t.Errorf("item %d: %q, want %q", i, got, code)
		}
	}
	if b.Items[1].Event.ID != id2 || b.Items[5].Event.ID != id2 {
		t.Errorf("a refused event lost its id: %q, %q", b.Items[1].Event.ID, b.Items[5].Event.ID)
	}
	if !b.Items[7].Raw || b.Items[0].Raw {
		t.Error("Raw does not tell envelopes from objects")
	}
}

func TestAFieldOfAnotherTypeIsNamed(t *testing.T) {
	f := func(members, want string) {
		t.Helper()
		event := `{"event":"PAGE_VIEW",` + members + `}`
		for _, body := range []string{event, "[" + event + "]"} {
			if got := one(t, body); got != want {
				t.Errorf("%s: %s, want %s", body, got, want)
			}
		}
	}
	f(`"eventId":7`, "invalid_event_id eventId")
	f(`"eventId":""`, "invalid_event_id eventId")
	f(`"eventId":"6ba7b810-9dad-41d1-80b4-00c04fd430c8"`, "invalid_event_id eventId")
	f(`"event":7`, "invalid_event_name event")
	f(`"event":null`, "invalid_event_name event")
	f(`"event":"LINK_CLICK"`, "invalid_event_name event")
	f(`"event":"lower_case"`, "invalid_event_name event")
	f(`"event":"A`+strings.Repeat("B", 64)+`"`, "invalid_event_name event")
	f(`"timestamp":1780000000`, "invalid_timestamp timestamp") // seconds
	f(`"timestamp":99999999999`, "invalid_timestamp timestamp")
	f(`"timestamp":1780000000000.5`, "invalid_timestamp timestamp")
	f(`"timestamp":7258118400000`, "invalid_timestamp timestamp")
	f(`"timestamp":"1780000000000"`, "invalid_timestamp timestamp")
	f(`"timestamp":"2026-02-29T00:00:00Z"`, "invalid_timestamp timestamp")
	f(`"timestamp":"1969-12-31T23:59:59Z"`, "invalid_timestamp timestamp")
	f(`"timestamp":"2200-01-01T00:00:00Z"`, "invalid_timestamp timestamp")
	f(`"eventId":"ffffffff-ffff-7000-8000-000000000000"`, "invalid_event_id eventId")
	f(`"payload":[]`, "invalid_payload payload")
	f(`"payload":"{}"`, "invalid_payload payload")
	f(`"payload":{"n":1e999}`, "number_out_of_range ")
	f(`"identity":"a@b.c"`, "invalid_identity identity")
	f(`"identity":{"email":7}`, "invalid_identity identity.email")
	f(`"identity":{"phone":[]}`, "invalid_identity identity.phone")
	f(`"context":[]`, "invalid_context context")
	f(`"context":{"page":"/"}`, "invalid_context context.page")
	f(`"context":{"page":{"url":{}}}`, "invalid_context context.page.url")
	f(`"context":{"url":7}`, "invalid_context context.url")
	f(`"context":{"campaign":{"name":1}}`, "invalid_context context.campaign.name")
	f(`"context":{"clickIds":{"gclid":1}}`, "invalid_context context.clickIds.gclid")
	f(`"identity":{"phone":5.5e1}`, "invalid_identity identity.phone")
	f(`"identity":{"customer_id":true}`, "invalid_identity identity.customer_id")
	f(`"visitorId":7.0`, "invalid_field visitorId")
	f(`"visitorId":{}`, "invalid_field visitorId")
	f(`"visitorId":"`+strings.Repeat("v", 129)+`"`, "invalid_field visitorId")
	f(`"seq":"1"`, "invalid_field seq")
	f(`"seq":-1`, "invalid_field seq")
	f(`"seq":1.5`, "invalid_field seq")
	f(`"consent":"yes"`, "invalid_field consent")
	f(`"consent":["granted"]`, "invalid_field consent")
	f(`"consent":"granted Meta"`, "invalid_field consent")
	f(`"consent":"granted a,b,c,d,e,f,g,h,i"`, "invalid_field consent")
	f(`"consent":"granted abcdefghijklmnopqrstu"`, "invalid_field consent")
	f(`"consent":"granted 5511988887777"`, "invalid_field consent")
	f(`"consent":"granted a1b"`, "invalid_field consent")
	f(`"consent":"granted tel5511"`, "invalid_field consent")
	f(`"consent":"denied meta"`, "invalid_field consent")
	f(`"consent":"unknown meta"`, "invalid_field consent")
}

func TestCheckoutNeedsItems(t *testing.T) {
	f := func(payload, want string) {
		t.Helper()
		got := one(t, `{"event":"CHECKOUT_COMPLETED","timestamp":"2026-05-28T20:26:40Z","payload":`+payload+`}`)
		if i := strings.Index(got, `"payload":`); i >= 0 {
			got = strings.TrimSuffix(got[i+len(`"payload":`):], "}")
		}
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", payload, got, want)
		}
	}
	f(`null`, "payload_items_required payload.items")
	f(`{}`, "payload_items_required payload.items")
	f(`{"items":{}}`, "payload_items_required payload.items")
	f(`{"items":[]}`, "payload_items_required payload.items")
	f(`{"items":["1"]}`, "invalid_payload payload.items[0]")
	f(`{"items":[{"item_id":"1","item_quantity":1},{"item_id":2,"item_quantity":1}]}`,
		`{"items":[{"item_id":"1","item_quantity":1},{"item_id":"2","item_quantity":1}]}`)
	f(`{"items":[{"item_id":820982911946154500,"item_quantity":1}]}`, `{"items":[{"item_id":"820982911946154500","item_quantity":1}]}`)
	f(`{"items":[{"item_id":2.5,"item_quantity":1}]}`, "invalid_payload payload.items[0].item_id")
	f(`{"items":[{"item_id":true,"item_quantity":1}]}`, "invalid_payload payload.items[0].item_id")
	f(`{"items":[{"item_id":"  ","item_quantity":1}]}`, "invalid_payload payload.items[0].item_id")
	f(`{"items":[{"item_quantity":1}]}`, "invalid_payload payload.items[0].item_id")
	f(`{"items":[{"item_id":"1"}]}`, `{"items":[{"item_id":"1","item_quantity":1}]}`)
	f(`{"items":[{"item_id":"1","item_quantity":0}]}`, "invalid_payload payload.items[0].item_quantity")
	f(`{"items":[{"item_id":"1","item_quantity":-1}]}`, "invalid_payload payload.items[0].item_quantity")
	f(`{"items":[{"item_id":"1","item_quantity":"2"}]}`, `{"items":[{"item_id":"1","item_quantity":2}]}`)
	for _, part := range []string{"1.5", `"1.5"`, "2.0", "0.2e1", `" 2 "`, "1.0000001"} { // half a kilogram more is one more
		f(`{"items":[{"price":3,"quantity":`+part+`,"item_id":"1"}]}`, `{"items":[{"item_id":"1","item_quantity":2,"price":3}]}`)
	}
	f(`{"items":[{"item_id":"1","quantity":0.001}]}`, `{"items":[{"item_id":"1","item_quantity":1}]}`)
	for _, none := range []string{"0.0", `"two"`, `"inf"`, `"0x2"`, "-1.5", "1e10", "true", "{}"} {
		f(`{"items":[{"item_id":"1","quantity":`+none+`}]}`, "invalid_payload payload.items[0].quantity")
	}
	f(`{"items":[{"item_id":"1","item_quantity":99999999999}]}`, "invalid_payload payload.items[0].item_quantity")
	f(`{"items":[{"item_id":"1","item_quantity":2}]}`, `{"items":[{"item_id":"1","item_quantity":2}]}`)
	f(`{ "items" : [ { "item_id" : "1", "item_quantity" : 2, "price": 1.50 } ] }`,
		`{"items":[{"item_id":"1","item_quantity":2,"price":1.50}]}`)
	// GA4
	f(`{"transaction_id":"T","items":[{"item_id":"1","quantity":2,"price":9.99}]}`,
		`{"items":[{"item_id":"1","item_quantity":2,"price":9.99}],"transaction_id":"T"}`)
	f(`{"items":[{"item_id":"1","item_quantity":1},{"quantity":3,"item_id":"2"}]}`,
		`{"items":[{"item_id":"1","item_quantity":1},{"item_id":"2","item_quantity":3}]}`)
	// Segment
	f(`{"order_id":"9","products":[{"product_id":"p","sku":"s","quantity":1}]}`,
		`{"items":[{"item_id":"p","item_quantity":1,"sku":"s"}],"order_id":"9"}`)
	// Shopify
	f(`{"checkout":{"currencyCode":"BRL","lineItems":[{"id":"l","quantity":2,"variant":{"id":"v","product":{"id":"p"}}}]}}`,
		`{"items":[{"item_id":"v","item_quantity":2,"id":"l","variant":{"id":"v","product":{"id":"p"}}}],`+
			`"checkout":{"currencyCode":"BRL","lineItems":[{"id":"l","quantity":2,"variant":{"id":"v","product":{"id":"p"}}}]}}`)
	f(`{"lineItems":[{"id":"l","variantId":"v","quantity":1}]}`, `{"items":[{"item_id":"v","item_quantity":1,"id":"l"}]}`)
}

func TestEventNamesOfOthersAreUnderstood(t *testing.T) {
	f := func(name, want string) {
		t.Helper()
		got := one(t, `{"event":"`+name+`","payload":{"items":[{"item_id":"1","item_quantity":1}]}}`)
		if !strings.Contains(got, `"event":"`+want+`"`) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	f("page_view", core.PageView)
	f("page_viewed", core.PageView)
	f("view_item", core.ProductView)
	f("product_viewed", core.ProductView)
	f("Product Viewed", core.ProductView)
	f("add_to_cart", core.AddToCart)
	f("product_added_to_cart", core.AddToCart)
	f("Product Added", core.AddToCart)
	f("begin_checkout", core.InitiateCheckout)
	f("checkout_started", core.InitiateCheckout)
	f("Checkout Started", core.InitiateCheckout)
	f("purchase", core.CheckoutCompleted)
	f("checkout_completed", core.CheckoutCompleted)
	f("Order Completed", core.CheckoutCompleted)
	f("NEWSLETTER_2", "NEWSLETTER_2")
}
