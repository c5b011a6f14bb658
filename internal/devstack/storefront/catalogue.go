package storefront

import (
	"fmt"
	"strconv"
)

// Product of the demo catalogue.
type Product struct {
	ID         string // also the only variant's id and SKU
	Name       string
	Line       string // one line under the name
	PriceCents int64  // BRL
	Hue        int    // of its picture's background, degrees
}

// Price returns the price as the pages show it.
func (p Product) Price() string { return reais(p.PriceCents) }

// Products returns the catalogue, in the order of the pages.
func Products() []Product {
	return []Product{
		{"vestido", "Vestido Brisa", "Linen dress, sea green", 18990, 165},
		{"camiseta", "Camiseta Maré", "Organic cotton T-shirt", 7990, 205},
		{"bolsa", "Bolsa Areia", "Canvas tote with leather handles", 24900, 35},
		{"chapeu", "Chapéu Sol", "Straw hat, wide brim", 9990, 48},
		{"oculos", "Óculos Píer", "Sunglasses, polarised", 15900, 280},
		{"sandalia", "Sandália Duna", "Sandals, vegetable-tanned leather", 21990, 12},
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

// reais returns cents as the pages show them, "R$ 1,189.90", with a no-break
// space. cents must not be negative.
func reais(cents int64) string {
	whole := strconv.FormatInt(cents/100, 10)
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	return fmt.Sprintf("R$\u00a0%s.%02d", whole, cents%100)
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
