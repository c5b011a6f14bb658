package storefront

import "fmt"

// Product of the demo catalogue.
type Product struct {
	ID         string // also the only variant's id and SKU
	Name       string
	PriceCents int64 // of currency
	Hue        int   // of its picture's background, degrees
}

// currency is in which the shop sells.
const currency = "BRL"

// Products returns the catalogue, in the order of the pages. The line under a product's
// name is the text "line.<id>".
func Products() []Product {
	return []Product{
		{"vestido", "Vestido Brisa", 18990, 165},
		{"camiseta", "Camiseta Maré", 7990, 205},
		{"bolsa", "Bolsa Areia", 24900, 35},
		{"chapeu", "Chapéu Sol", 9990, 48},
		{"oculos", "Óculos Píer", 15900, 280},
		{"sandalia", "Sandália Duna", 21990, 12},
	}
}

func productByID(id string) (Product, bool) {
	for _, p := range Products() {
		if p.ID == id {
			return p, true
		}
	}
	return Product{}, false
}

// decimal is an amount in cents that becomes a JSON number, without a float.
type decimal int64

func (d decimal) MarshalJSON() ([]byte, error) {
	sign := ""
	if d < 0 {
		sign, d = "-", -d
	}
	return fmt.Appendf(nil, "%s%d.%02d", sign, d/100, d%100), nil
}
