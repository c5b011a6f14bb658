package core_test

import (
	"strings"
	"testing"
)

// payload is that of the canonical form of an event, or why the event is refused.
func payload(t *testing.T, event, payload string) string {
	t.Helper()
	got := one(t, `{"event":"`+event+`","payload":`+payload+`}`)
	if _, after, ok := strings.Cut(got, `"payload":`); ok {
		return strings.TrimSuffix(after, "}")
	}
	return got
}

// Where a payload has several lists, ours counts, then the last; a checkout's
// counts where no other is.
func TestWhichListOfItemsCounts(t *testing.T) {
	f := func(members, want string) {
		t.Helper()
		got := payload(t, "CHECKOUT_COMPLETED", "{"+members+"}")
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s…", members, got, want)
		}
	}
	list := func(id string) string { return `[{"item_id":"` + id + `","item_quantity":1}]` }
	of := func(id string) string { return `{"items":` + list(id) }
	a, b := list("a"), list("b")
	f(`"items":`+a+`,"products":`+b, of("a"))
	f(`"products":`+b+`,"items":`+a, `{"products":`+b+`,"items":`+a) // as it is
	f(`"items":{},"products":`+b, "payload_items_required")
	f(`"products":`+b+`,"items":{}`, "payload_items_required")
	f(`"lineItems":`+a+`,"products":"x"`, of("a"))
	f(`"products":"x","line_items":`+a, of("a"))
	f(`"products":`+a+`,"line_items":`+b, of("b"))
	f(`"checkout":{"lineItems":`+a+`},"checkout":{"lineItems":`+b+`}`, of("a"))
	f(`"checkout":{"x":1},"checkout":{"lineItems":`+b+`}`, of("b"))
	f(`"checkout":{"lineItems":`+a+`},"products":`+b, of("b"))
	f(`"products":`+b+`,"checkout":{"lineItems":`+a+`}`, of("b"))
	f(`"checkout":[`+a+`]`, "payload_items_required")
	f(`"checkout":{"lineItems":{}}`, "payload_items_required")
	f(`"checkout":{"lineItems":`+a+`,"lineItems":7}`, of("a"))
}

func TestWhichMemberNamesAnItem(t *testing.T) {
	f := func(members, want string) {
		t.Helper()
		got := payload(t, "CHECKOUT_COMPLETED", `{"items":[{`+members+`}]}`)
		got = strings.TrimSuffix(strings.TrimPrefix(got, `{"items":[`), `]}`)
		if got != want {
			t.Errorf("%s: %s, want %s", members, got, want)
		}
	}
	const quantity = `,"quantity":1`
	f(`"item_id":"a","variant_id":"b"`+quantity, `{"item_id":"a","item_quantity":1,"variant_id":"b"}`)
	f(`"variant_id":"b","item_id":"a"`+quantity, `{"item_id":"a","item_quantity":1,"variant_id":"b"}`)
	f(`"variant_id":"a","variant":{"id":"b"}`+quantity, `{"item_id":"a","item_quantity":1,"variant":{"id":"b"}}`)
	f(`"product_id":"a","variant":{"id":"b"}`+quantity, `{"item_id":"b","item_quantity":1,"product_id":"a","variant":{"id":"b"}}`)
	f(`"product_id":"a","variant":{"id":7}`+quantity, `{"item_id":"7","item_quantity":1,"product_id":"a","variant":{"id":7}}`)
	f(`"product_id":"a","variant":"b"`+quantity, `{"item_id":"a","item_quantity":1,"variant":"b"}`)
	f(`"product_id":7,"sku":"s"`+quantity, `{"item_id":"7","item_quantity":1,"sku":"s"}`)
	f(`"product_id":7.5,"sku":"s"`+quantity, `{"item_id":"s","item_quantity":1,"product_id":7.5}`)
	f(`"id":null,"sku":"s"`+quantity, `{"item_id":"s","item_quantity":1,"id":null}`)
	f(`"sku":"s","id":"i"`+quantity, `{"item_id":"i","item_quantity":1,"sku":"s"}`)
	f(`"sku":" s "`+quantity, `{"item_id":"s","item_quantity":1}`)
	f(`"item_id":null,"sku":"s"`+quantity, `{"item_id":"s","item_quantity":1}`)
	f(`"item_id":7,"sku":"s"`+quantity, `{"item_id":"7","item_quantity":1,"sku":"s"}`)
	f(`"item_id":"","sku":"s"`+quantity, `{"item_id":"s","item_quantity":1}`)
	f(`"item_id":" ","variant_id":""`+quantity, "invalid_payload payload.items[0].item_id")
	f(`"item_id":"a","item_quantity":"","quantity":2`, `{"item_id":"a","item_quantity":2}`)
	f(`"item_id":"a","item_quantity":" "`, `{"item_id":"a","item_quantity":1}`)
	f(`"item_id":"a","item_quantity":"0"`, "invalid_payload payload.items[0].item_quantity")
	f(`"item_id":[],"sku":"s"`+quantity, "invalid_payload payload.items[0].item_id")
	f(`"item_id":"a","quantity":2,"item_quantity":3`, `{"item_id":"a","quantity":2,"item_quantity":3}`)
	f(`"item_id":"a","item_quantity":3,"quantity":2`, `{"item_id":"a","item_quantity":3,"quantity":2}`)
	f(`"item_id":"a","item_quantity":null,"quantity":2`, `{"item_id":"a","item_quantity":2}`)
	f(`"item_id":"a","item_quantity":1000000000`, `{"item_id":"a","item_quantity":1000000000}`)
	f(`"item_id":"a","item_quantity":1000000001`, "invalid_payload payload.items[0].item_quantity")
	f(`"item_id":"a","quantity":0`, "invalid_payload payload.items[0].quantity")
	f(`"item_id":"a","quantity":1`, `{"item_id":"a","item_quantity":1}`)
}

// Nobody is credited by the items of other events: they have one item of each
// where no quantity is, and stay as they are where they cannot be read.
func TestItemsOfOtherEventsMayBeAnything(t *testing.T) {
	f := func(event, text, want string) {
		t.Helper()
		if got := payload(t, event, text); got != want {
			t.Errorf("%s %s: %s, want %s", event, text, got, want)
		}
	}
	f("PRODUCT_VIEW", `{"items":[{"item_id":"a"}]}`, `{"items":[{"item_id":"a","item_quantity":1}]}`)
	f("ADD_TO_CART", `{"products":[{"sku":"a"},{"sku":"b","quantity":2}]}`,
		`{"items":[{"item_id":"a","item_quantity":1},{"item_id":"b","item_quantity":2}]}`)
	f("INITIATE_CHECKOUT", `{"items":[{"item_id":"a"},7]}`, `{"items":[{"item_id":"a"},7]}`)
	f("ADD_TO_CART", `{"items":[]}`, `{"items":[]}`)
	f("ADD_TO_CART", `{"products":[]}`, `{"items":[]}`)
	f("ADD_TO_CART", `{"items":7}`, `{"items":7}`)
	f("ADD_TO_CART", `{"value":7}`, `{"value":7}`)
	f("PAGE_VIEW", `{"products":[{"sku":"a"}]}`, `{"products":[{"sku":"a"}]}`)
}
