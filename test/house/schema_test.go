package house_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/tributary-io/tributary/docs"
	"github.com/tributary-io/tributary/sdk/core"
	"github.com/tributary-io/tributary/test/fixtures/vectors"
)

// eventSchema compiles docs/event.schema.json; compiling holds it against the
// meta-schema of its draft.
func eventSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	schema, err := compiler.Compile(filepath.Join("docs", "event.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// agree holds the schema against the parser: an event passes both or neither.
func agree(t *testing.T, schema *jsonschema.Schema, name, event string) (valid bool) {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(event))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var violation error
	batch, refused := core.ParseBatch("["+event+"]", "c_1", core.Options{})
	switch {
	case refused != nil:
		violation = refused
	case batch.Items[0].Err != nil:
		violation = batch.Items[0].Err
	}
	invalid := schema.Validate(value)
	if (invalid == nil) != (violation == nil) {
		t.Errorf("%s: %s\nthe schema says %v, the parser %v", name, event, invalid, violation)
	}
	return invalid == nil
}

func TestEventSchemaAgreesWithTheGoldenEvents(t *testing.T) {
	atRoot(t)
	schema := eventSchema(t)
	files, err := filepath.Glob("testdata/events/*.txt")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d golden events, %v", len(files), err)
	}
	refused := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		raw, want, _ := strings.Cut(string(text), "\n----------\n")
		want = strings.TrimSpace(want)
		canonical := strings.HasPrefix(want, "{")
		if canonical && !agree(t, schema, file, want) {
			t.Errorf("%s: the canonical event does not pass the schema", file)
		}
		// The vector's envelope, written as an event object, meets the same fate.
		object, err := vectors.Object(raw)
		if err != nil {
			t.Fatal(err)
		}
		if agree(t, schema, file, object) != canonical {
			t.Errorf("%s: the schema judges the event otherwise than the vector", file)
		}
		if !canonical {
			refused++
		}
	}
	if refused < 3 {
		t.Errorf("only %d golden events are refused: nothing shows that the schema refuses any", refused)
	}
}

func TestEventSchemaAgreesWithTheParser(t *testing.T) {
	atRoot(t)
	schema := eventSchema(t)
	f := func(event string, want bool) {
		t.Helper()
		if agree(t, schema, "", event) != want {
			t.Errorf("%s: passes %v, want %v", event, !want, want)
		}
	}
	f(`{"event":"PAGE_VIEW"}`, true)
	f(`{"event":"PAGE_VIEW","eventId":null,"timestamp":null,"payload":null,"identity":null,"context":null,"consent":null,"seq":null,`+
		`"other":[7]}`, true)
	f(`{}`, false)
	f(`{"event":null}`, false)
	f(`[]`, false)
	for _, name := range []string{"page_view", "Loaded a Page", "view_item", "ViewContent", "add_to_cart", "Product Added", "begin_checkout",
		"InitiateCheckout", "MY_OWN_1"} {
		f(`{"event":"`+name+`"}`, true)
	}
	for _, name := range []string{"", "my_own", "_OWN", "OWN!", "LINK_CLICK", "page view", "A" + strings.Repeat("B", 64)} {
		f(`{"event":"`+name+`"}`, false)
	}
	f(`{"event":"PAGE_VIEW","eventId":"016D849D-dbe8-70d2-8876-38788d4e84f7","companyId":"c_1"}`, true)
	f(`{"event":"PAGE_VIEW","eventId":"016d849d-dbe8-40d2-8876-38788d4e84f7"}`, false)
	f(`{"event":"PAGE_VIEW","eventId":""}`, false)
	f(`{"event":"PAGE_VIEW","timestamp":"2026-03-15T09:00:00.123456-03:00"}`, true)
	f(`{"event":"PAGE_VIEW","timestamp":"1970-01-01T00:00:00Z"}`, true)
	f(`{"event":"PAGE_VIEW","timestamp":"2026-03-15T09:00:00+0000"}`, true)
	f(`{"event":"PAGE_VIEW","timestamp":"2026-03-15T09:00:00.5-0300"}`, true)
	f(`{"event":"PAGE_VIEW","timestamp":"2026-03-15T09:00:00-300"}`, false)
	f(`{"event":"purchase","payload":{"items":[{"item_id":"","sku":"s","quantity":""}]}}`, true)
	f(`{"event":"purchase","payload":{"items":[{"item_id":"","sku":" "}]}}`, false)
	f(`{"event":"PAGE_VIEW","timestamp":"1969-12-31T23:59:59Z"}`, false)
	f(`{"event":"PAGE_VIEW","timestamp":"2026-02-29T00:00:00Z"}`, false)
	f(`{"event":"PAGE_VIEW","timestamp":"2026-03-15T09:00:00"}`, false)
	f(`{"event":"PAGE_VIEW","timestamp":1773572400}`, false) // seconds
	f(`{"event":"PAGE_VIEW","timestamp":1773572400123}`, true)
	f(`{"event":"PAGE_VIEW","timestamp":7258118400000}`, false)
	f(`{"event":"PAGE_VIEW","visitorId":7,"sessionId":8}`, true)
	f(`{"event":"PAGE_VIEW","visitorId":7.5}`, false)
	f(`{"event":"PAGE_VIEW","sessionId":"`+strings.Repeat("s", 129)+`"}`, false)
	f(`{"event":"PAGE_VIEW","seq":-1}`, false)
	f(`{"event":"PAGE_VIEW","seq":1.5}`, false)
	f(`{"event":"PAGE_VIEW","consent":"maybe"}`, false)
	f(`{"event":"PAGE_VIEW","payload":[]}`, false)
	f(`{"event":"PAGE_VIEW","identity":{"email":7}}`, false)
	f(`{"event":"PAGE_VIEW","identity":{"phone":5511912345678,"customer_id":42,"cart_token":7}}`, true)
	f(`{"event":"PAGE_VIEW","identity":{"customer_id":4.2}}`, false)
	f(`{"event":"PAGE_VIEW","identity":{"cart_token":"`+strings.Repeat("c", 321)+`"}}`, false)
	f(`{"event":"PAGE_VIEW","context":{"page":{"title":"`+strings.Repeat("t",
		9999)+`"},"campaign":{"name":null},"clickIds":{"mine":7,"gclid":"g"}}}`, true)
	f(`{"event":"PAGE_VIEW","context":{"page":"https://l.example/"}}`, false)
	f(`{"event":"PAGE_VIEW","context":{"url":"https://l.example/","referrer":null,"title":"t"}}`, true)
	for _, name := range []string{"url", "referrer", "title"} {
		f(`{"event":"PAGE_VIEW","context":{"`+name+`":7}}`, false)
	}
	f(`{"event":"PAGE_VIEW","context":{"campaign":{"source":1}}}`, false)
	for _, name := range core.ClickIDs() {
		f(`{"event":"PAGE_VIEW","context":{"clickIds":{"`+name+`":7}}}`, false)
	}

	sale := func(payload string, want bool) {
		t.Helper()
		f(`{"event":"CHECKOUT_COMPLETED","payload":`+payload+`}`, want)
		f(`{"event":"Order Completed","payload":`+payload+`}`, want)
		f(`{"event":"PRODUCT_VIEW","payload":`+payload+`}`, strings.HasPrefix(payload, "{") || payload == "null")
	}
	sale(`null`, false)
	sale(`{}`, false)
	sale(`{"items":[]}`, false)
	sale(`{"items":{}}`, false)
	sale(`{"items":null,"products":[{"sku":"s","quantity":1}]}`, false)
	sale(`{"items":[{"item_id":"a","item_quantity":1,"price":0.1},{"item_id":"b","quantity":1000000000}]}`, true)
	sale(`{"items":[{"item_id":"a"}]}`, true)
	sale(`{"items":[{"item_quantity":1}]}`, false)
	sale(`{"items":[{"item_id":7,"quantity":1}]}`, true)
	sale(`{"items":[{"item_id":7.5,"id":"a","quantity":1}]}`, false)
	sale(`{"items":[{"item_id":null,"id":"a","quantity":1}]}`, true)
	sale(`{"items":[{"item_id":"  ","quantity":1}]}`, false)
	sale(`{"items":[{"item_id":"a","quantity":0}]}`, false)
	sale(`{"items":[{"item_id":"a","quantity":1.5}]}`, true)
	sale(`{"items":[{"item_id":"a","quantity":"1"}]}`, true)
	sale(`{"items":[{"item_id":"a","quantity":"two"}]}`, false)
	sale(`{"items":[{"item_id":"a","quantity":-1}]}`, false)
	sale(`{"items":["a"]}`, false)
	sale(`{"products":[{"product_id":"a","quantity":1}]}`, true)
	sale(`{"line_items":[{"variant_id":"a","quantity":1}]}`, true)
	sale(`{"checkout":{"lineItems":[{"variant":{"id":"a"},"quantity":1}]}}`, true)
	sale(`{"checkout":{}}`, false)
}

// What the clients' types ask for is a part of what the edge takes.
func TestTheTypesOfTheSchemaAreTakenByTheParser(t *testing.T) {
	atRoot(t)
	schema := eventSchema(t)
	types, err := jsonschema.NewCompiler().Compile(filepath.Join("docs", "event.schema.json") + "#/$defs/Payloads")
	if err != nil {
		t.Fatal(err)
	}
	f := func(name, payload string, want bool) {
		t.Helper()
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(`{"CHECKOUT_COMPLETED":{"items":[{"item_id":1,"item_quantity":1}]},"` + name +
			`":` + payload + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if err := types.Validate(value); (err == nil) != want {
			t.Errorf("%s of %s: %v, want %v", name, payload, err, want)
		}
		if taken := agree(t, schema, name, `{"event":"`+name+`","payload":`+payload+`}`); want && !taken {
			t.Errorf("%s of %s has the types and is refused", name, payload)
		}
	}
	for _, name := range []string{core.PageView, core.ProductView, core.AddToCart, core.InitiateCheckout, core.CheckoutCompleted} {
		f(name, `{"items":[{"item_id":"a","item_quantity":2,"color":"red"},{"item_id":7,"item_quantity":1000000000}],"total":3}`, true)
		f(name, `{}`, name != core.CheckoutCompleted)
		f(name, `null`, name != core.CheckoutCompleted)
		f(name, `[]`, false)
	}
	f(core.CheckoutCompleted, `{"items":[]}`, false)
	f(core.CheckoutCompleted, `{"items":[{"item_id":"a"}]}`, false)
	f(core.CheckoutCompleted, `{"items":[{"item_id":"a","item_quantity":"1"}]}`, false)
	f(core.CheckoutCompleted, `{"items":[{"item_id":"a","item_quantity":0}]}`, false)
	f(core.CheckoutCompleted, `{"items":[{"item_quantity":1}]}`, false)
	f(core.AddToCart, `{"items":[{"item_id":true}]}`, false)
}

// The tables of docs/events.md have the schema's members, and no others.
func TestTheTablesOfTheEventsPageHaveTheSchemasMembers(t *testing.T) {
	atRoot(t)
	type shape struct {
		Properties map[string]shape `json:"properties"`
		AnyOf      []struct {
			Enum []string `json:"enum"`
		} `json:"anyOf"`
		Enum []any            `json:"enum"`
		Defs map[string]shape `json:"$defs"`
	}
	var schema shape
	if err := json.Unmarshal(docs.EventSchema, &schema); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join("docs", "events.md"))
	if err != nil {
		t.Fatal(err)
	}
	f := func(section string, column int, want []string) {
		t.Helper()
		_, text, _ := strings.Cut(string(page), section+"\n")
		text, _, _ = strings.Cut(text, "\n##")
		var got []string
		for row := range strings.Lines(text) {
			cells := strings.Split(row, "|")
			if !strings.HasPrefix(row, "| `") {
				continue
			}
			parent := ""
			for _, name := range inlineCode.FindAllString(cells[column], -1) {
				name = strings.Trim(name, "`")
				if before, _, nested := strings.Cut(name, "."); nested && before != "" {
					parent = before
				} else if nested {
					name = parent + name
				}
				got = append(got, name)
			}
		}
		slices.Sort(got)
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Errorf("%s has\n%q, the schema\n%q", section, got, want)
		}
	}
	f("## Fields", 1, slices.Collect(maps.Keys(schema.Properties)))
	f("### Identity", 1, slices.Collect(maps.Keys(schema.Defs["Identity"].Properties)))
	var context, clickIDs []string
	for name, member := range schema.Defs["Context"].Properties {
		nested := slices.Collect(maps.Keys(member.Properties))
		switch {
		case name == "clickIds":
			clickIDs = nested
		case nested != nil:
			for _, inner := range nested {
				context = append(context, name+"."+inner)
			}
			continue
		}
		context = append(context, name)
	}
	f("### Context", 1, context)
	wanted := core.ClickIDs()
	slices.Sort(wanted[:])
	if slices.Sort(clickIDs); !slices.Equal(clickIDs, wanted[:]) {
		t.Errorf("the schema has click ids %q, the core %q", clickIDs, wanted)
	}
	var spellings []string
	for _, of := range schema.Properties["event"].AnyOf {
		spellings = append(spellings, of.Enum...)
	}
	for _, name := range schema.Defs["checkoutCompleted"].Enum {
		spellings = append(spellings, name.(string))
	}
	f("### Names", 2, spellings)
	f("### Names", 1, slices.Collect(maps.Keys(schema.Defs["Payloads"].Properties)))
}
