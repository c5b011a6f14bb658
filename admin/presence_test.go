package admin

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// Of every optional field that the document names, an empty text is as absent, without a
// word, but for discountCode; and null is no fault. A new field cannot be forgotten.
func TestAnEmptyTextIsAbsentInEveryOptionalField(t *testing.T) {
	t.Parallel()
	text, err := openapiJSON(openapiText)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatal(err)
	}
	optional := func(s *openapi3.SchemaRef) (names []string) {
		for name := range s.Value.Properties {
			if !slices.Contains(s.Value.Required, name) {
				names = append(names, name)
			}
		}
		if len(names) == 0 {
			t.Fatal("no optional fields: the test says nothing")
		}
		return names
	}
	of := func(s *openapi3.SchemaRef, name string) *openapi3.SchemaRef {
		return s.Value.Properties[name].Value.Items
	}
	// body puts a field ("" for none) into a body; record is what becomes of that.
	f := func(what string, names []string, record func(field string) (string, object)) {
		t.Helper()
		without, _ := record("")
		for _, name := range names {
			for _, value := range []string{`""`, `" "`} {
				got, o := record(`"` + name + `":` + value)
				if all(o) != "" || got != without && name != "discountCode" {
					t.Errorf("%s.%s = %s: %s, want %s; %s", what, name, value, got, without, all(o))
				}
			}
			if _, o := record(`"` + name + `":null`); all(o) != "" {
				t.Errorf("%s.%s = null: %s", what, name, all(o))
			}
		}
	}
	within := func(base string) func(field string) (string, object) {
		return func(field string) (string, object) {
			if field != "" && !strings.Contains(base, "{@") {
				field = "," + field
			}
			order, o := readTestBody(t, strings.Replace(base, "@", field, 1))
			raw, err := json.Marshal(&order)
			if err != nil {
				t.Fatal(err)
			}
			return string(raw), o
		}
	}
	order := doc.Components.Schemas["Order"]
	f("order", optional(order), func(field string) (string, object) {
		var edits []string
		if name, value, found := strings.Cut(field, ":"); found {
			edits = append(edits, strings.Trim(name, `"`)+"="+value)
		}
		record, o := readTestBody(t, edits...)
		raw, err := json.Marshal(&record)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw), o
	})
	f("customer", optional(doc.Components.Schemas["Customer"]), within(`customer={@}`))
	f("items[]", optional(doc.Components.Schemas["OrderItem"]), within(`items=[{@}]`))
	f("discountCodes[]", optional(of(order, "discountCodes")), within(`discountCodes=[{"code":"a"@}]`))
	f("refunds[]", optional(of(order, "refunds")), within(`refunds=[{"amount":1@}]`))
	f("refunds[].items[]", optional(of(of(order, "refunds"), "items")), within(`refunds=[{"amount":1,"items":[{@}]}]`))
	f("subscription", []string{"isRecurring"}, within(`subscription={@}`))

	product := doc.Components.Schemas["Product"]
	read := func(base string) func(field string) (string, object) {
		return func(field string) (string, object) {
			if field != "" {
				field = "," + field
			}
			o := parse(t, strings.Replace(base, "@", field, 1))
			record := readProduct(o)
			if err := o.broken(); err != nil {
				return err.Error(), o
			}
			raw, err := json.Marshal(record)
			if err != nil {
				t.Fatal(err)
			}
			return string(raw), o
		}
	}
	f("product", optional(product), read(`{"productId":"p","productName":"x"@}`))
	f("variants[]", optional(of(product, "variants")), read(`{"productId":"p","productName":"x","variants":[{"variantId":"v"@}]}`))
}
