package core

import "testing"

// A payload that is canonical at first sight is what normalPayload leaves as it is,
// and reading it in this way finds the same faults.
func FuzzCanonicalPayload(f *testing.F) {
	for _, text := range []string{
		`{"items":[{"item_id":"SKU-1","name":"x","item_quantity":1,"price":89.00},{"item_id":"2","item_quantity":2}],"total":138.00}`,
		`{"items":[{"item_id":"1","item_quantity":1}],"items":[]}`, `{"items":[]}`, `{"items":{}}`, `{"items":[1]}`, `{}`, `[]`,
		`{"items":[{"item_id":"1","item_quantity":1}]`,
		`{"items":[`, `{"items":[{"item_id":" ","item_quantity":1}]}`, `{"items":[{"item_id":"1","item_quantity":0}]}`,
		`{"items":[{"item_id":"1","item_quantity":1e2}]}`,
		`{"items":[{"item_id":"1","item_quantity":1,"quantity":0}]}`, `{"items":[{"item_id":"1","item_id":"","item_quantity":1}]}`,
		`{"items":[{"item_id":"","item_id":"1","item_quantity":1}]}`,
		`{"items":[{"item_id":null,"item_id":"1","item_quantity":1}]}`, `{"items":[{"item_id":7,"item_quantity":1}]}`,
		`{"items":[{"variant":{"id":"1"},"item_id":"1","item_quantity":1}]}`,
		`{"items":[{"item_id":"1","item_quantity":null,"item_quantity":1}]}`, `{"items":[{"item\u005fid":"1","item_id":"1","item_quantity":1}]}`,
		`{"\u0069tems":1,"items":[{"item_id":"1","item_quantity":1}]}`,
		`{"products":[{"id":"1"}],"items":[{"item_id":"1","item_quantity":1}]}`,
		`{"checkout":{"lineItems":[]},"items":[{"item_id":"é","item_quantity":1}]}`,
		`{ "items" : [ { "item_id" : "1" , "item_quantity" : 1 } ] }`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		plain, s := Scan(text, 1), Scan(text, 1)
		if s.Kind() != Object {
			return
		}
		want := plain.Raw()
		raw, canonical := s.rawPayload()
		if raw != want || s.fault != plain.fault || s.fault == NoFault && s != plain {
			t.Fatalf("%q:\n%q %+v\n%q %+v", text, raw, s, want, plain)
		}
		if !canonical {
			return
		}
		for _, event := range []string{PageView, ProductView, CheckoutCompleted, "CUSTOM"} {
			var got string
			if unread, v := normalPayload(event, raw, &got); unread || v != nil || got != raw {
				t.Errorf("%s %q becomes %q, %v", event, raw, got, v)
			}
		}
	})
}

func TestAnOrdinaryPayloadIsCanonical(t *testing.T) {
	s := Scan(`{"items":[{"item_id":"SKU-1","name":"Lã","item_quantity":1,"price":89.00},{"item_quantity":2,"item_id":"2"}],"total":138.00}`,
		1)
	if raw, canonical := s.rawPayload(); !canonical || raw == "" {
		t.Errorf("%q is not", raw)
	}
}
