package fakes_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/test/fakes"
)

// free names objects whose members a shop chooses.
var free = map[string]bool{"extra": true, "fields": true, "matchedParameters": true}

// undocumented lists members of got that the example does not have, by their paths.
func undocumented(path string, got, example any) (found []string) {
	switch got := got.(type) {
	case map[string]any:
		example, ok := example.(map[string]any)
		if !ok {
			return []string{path + " is an object"}
		}
		for name, value := range got {
			there, ok := example[name]
			switch {
			case !ok:
				found = append(found, path+"."+name)
			case !free[name]:
				found = append(found, undocumented(path+"."+name, value, there)...)
			}
		}
	case []any:
		example, ok := example.([]any)
		if !ok && len(got) > 0 {
			return []string{path + " is a list"}
		}
		for _, value := range got {
			if len(example) == 0 {
				return []string{path + "[] is empty in the example"}
			}
			found = append(found, undocumented(path+"[]", value, example[0])...)
		}
	}
	return found
}

// example reads an example file.
func example(t *testing.T, name string) any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, text)
}

func decode(t *testing.T, text []byte) (value any) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("%v in %.300s", err, text)
	}
	return value
}

// lived is a shop of a platform in which much has happened.
func lived(t *testing.T, options fakes.Options) *fakes.Shop {
	t.Helper()
	s := start(t, options)
	for _, coupon := range []fakes.Coupon{
		{Code: "ANA10", Kind: fakes.CouponPercent, Value: 1000}, {Code: "MENOS5", Kind: fakes.CouponAmount, Value: 500},
		{Code: "FRETE", Kind: fakes.CouponShipping},
	} {
		if _, err := s.AddCoupon(coupon); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Live(t.Context(), 3, 80, 0); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestOrdersHaveOnlyDocumentedMembers(t *testing.T) {
	for _, c := range []struct {
		platform, path, file string
		list                 func(any) []any
	}{
		{"nuvemshop", "/v1/STORE/orders?per_page=200", "nuvemshop_order_v1.json", plain},
		{"nuvemshop", "/2025-03/STORE/orders?per_page=200&aggregates=fulfillment_orders", "nuvemshop_order_2025-03.json", plain},
		{"woocommerce", "/wp-json/wc/v3/orders?per_page=100", "woocommerce_order.json", plain},
		{"shopify", "/admin/api/2026-07/orders.json?status=any&limit=250", "shopify_order.json", member("orders")},
		{"yampi", "/v2/ALIAS/orders?limit=100&include=items.sku,customer,status,statuses,shipping_address,transactions,metadata",
			"yampi_order.json", member("data")},
	} {
		t.Run(c.file, func(t *testing.T) {
			s := lived(t, fakes.Options{Platform: c.platform, LimitScale: 1000})
			status, body, _ := call(t, s, http.MethodGet, c.path, "")
			if status != http.StatusOK {
				t.Fatalf("%d %s", status, body)
			}
			orders := c.list(decode(t, body))
			if len(orders) < 10 {
				t.Fatalf("only %d orders", len(orders))
			}
			wanted, names := example(t, c.file), map[string]bool{}
			for _, order := range orders {
				for _, path := range undocumented("order", order, wanted) {
					names[path] = true
				}
			}
			for path := range names {
				t.Errorf("%s is not in the documentation's example", path)
			}
		})
	}
}

func plain(v any) []any { return v.([]any) }

// member gives the list that is a member of the answer.
func member(name string) func(any) []any {
	return func(v any) []any { return v.(map[string]any)[name].([]any) }
}

func TestVTEXOrdersHaveOnlyDocumentedMembers(t *testing.T) {
	s := lived(t, fakes.Options{Platform: "vtex"})
	wanted, names := example(t, "vtex_order.json"), map[string]bool{}
	for _, truth := range s.Orders() {
		status, body, _ := call(t, s, http.MethodGet, "/api/oms/pvt/orders/"+truth.ID, "")
		if status != http.StatusOK {
			t.Fatalf("%s: %d %s", truth.ID, status, body)
		}
		for _, path := range undocumented("order", decode(t, body), wanted) {
			names[path] = true
		}
	}
	for path := range names {
		t.Errorf("%s is not in the documentation's example", path)
	}
}
