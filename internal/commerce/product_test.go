package commerce

import (
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/wire"
)

func TestProductsTellEveryRuleTheyBreak(t *testing.T) {
	t.Parallel()
	f := func(want string, change func(p *wire.Product)) {
		t.Helper()
		p := wire.Product{ProductID: "1", Name: "Shirt"}
		change(&p)
		bad, doubtful := CheckProduct(&p)
		if got := strings.Trim(told(bad)+" | "+told(doubtful), " |"); got != want {
			t.Errorf("%s; want %s", got, want)
		}
	}
	status := func(n int) func(*wire.Product) { return func(p *wire.Product) { p.Status = &n } }
	variants := func(list ...wire.Variant) func(*wire.Product) {
		return func(p *wire.Product) { p.Variants = list }
	}
	long := strings.Repeat("x", 3000)
	f("", func(*wire.Product) {})
	f("productId empty; productName empty", func(p *wire.Product) { *p = wire.Product{} })
	f("productId too_long; productName too_long", func(p *wire.Product) { p.ProductID, p.Name = long, long })
	f("", status(0))
	f("", status(MaxStatus))
	f("status out_of_range", status(-1))
	f("status out_of_range", status(MaxStatus+1))
	f("", variants(wire.Variant{VariantID: "1", Title: "M", SKU: "s", Price: "12.345", Currency: "BRL"},
		wire.Variant{VariantID: "2", Price: "1000000000000"}))
	f("variants[1].variantId empty; variants[1].currency invalid_value; variants[1].price out_of_range | variants[1].title too_long; "+
		"variants[1].sku too_long",
		variants(wire.Variant{VariantID: "1"}, wire.Variant{Title: long, SKU: long, Currency: "brl", Price: "-1"}))
	f("variants[0].price out_of_range", variants(wire.Variant{VariantID: "1", Price: "1000000000000.1"})) // without a currency it has no cents
	f("variants too_many", func(p *wire.Product) {
		for range MaxVariants + 1 {
			p.Variants = append(p.Variants, wire.Variant{VariantID: "1"})
		}
	})
	full := make([]wire.Variant, MaxVariants)
	for i := range full {
		full[i].VariantID = "1"
	}
	f("", variants(full...))
}

// The same bound holds in every currency, whatever its smallest unit.
func TestPricesAreBoundedInTheirCurrency(t *testing.T) {
	t.Parallel()
	f := func(price, currency, want string) {
		t.Helper()
		p := wire.Product{ProductID: "1", Name: "Shirt", Variants: []wire.Variant{{VariantID: "1", Price: price, Currency: currency}}}
		bad, _ := CheckProduct(&p)
		if got := told(bad); got != want {
			t.Errorf("%s %s: %s; want %s", price, currency, got, want)
		}
	}
	const refused = "variants[0].price out_of_range"
	f("10000000000", "BRL", "")
	f("10000000000.01", "BRL", refused)
	f("1000000000000", "JPY", "")
	f("1000000000001", "JPY", refused)
	f("1000000000", "KWD", "")
	f("1000000000.001", "KWD", refused)
	f("100000000", "CLF", "")
	f("100000001", "CLF", refused) // the shortest price that is too high
	f("99999999.9999", "CLF", "")
	f("-0.01", "BRL", refused)
	f(strings.Repeat("9", 65), "BRL", refused)
	f("0."+strings.Repeat("0", 100)+"1", "BRL", "") // any number of places
}
