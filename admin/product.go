package admin

import (
	"encoding/json"
	"net/http"

	"github.com/tributary-io/tributary/internal/wire"
)

// maxVariants of a product: what the largest platforms allow.
const maxVariants = 2048

// postProduct is POST /product: on Kafka, on all in-sync replicas, before the 200.
func (s *Server) postProduct(w http.ResponseWriter, r *http.Request, c caller) (answer, error) {
	o, err := readObject(w, r)
	if err != nil {
		return answer{}, err
	}
	product := readProduct(o)
	if err := o.bad.problem(); err != nil {
		return answer{}, err
	}
	raw, err := json.Marshal(product)
	if err != nil {
		return answer{}, err
	}
	return answer{}, s.accept(r.Context(), c, wire.KindProduct, product.ProductID, raw)
}

func readProduct(o object) wire.Product {
	product := wire.Product{
		ProductID: required(o, "productId", filled(maxID)),
		Name:      required(o, "productName", filled(maxText)),
		CreatedAt: instantText(optional(o, "createdAt", timestamp)),
		UpdatedAt: instantText(optional(o, "updatedAt", timestamp)),
		Variants:  []wire.Variant{},
	}
	// The meanings of status are not shown: any integer is taken.
	if status := optional(o, "status", integer(0, 1_000_000)); status.Valid {
		n := int(status.Value)
		product.Status = &n
	}
	for _, variant := range o.children("variants", maxVariants).Value {
		currency := optional(variant, "currency", currencyCode).Value
		product.Variants = append(product.Variants, wire.Variant{
			VariantID: required(variant, "variantId", filled(maxID)),
			Title:     optional(variant, "title", text(maxText)).Value,
			SKU:       optional(variant, "sku", text(maxID)).Value,
			Price:     optional(variant, "price", price(currency)).Value,
			Currency:  currency,
			CreatedAt: instantText(optional(variant, "createdAt", timestamp)),
			UpdatedAt: instantText(optional(variant, "updatedAt", timestamp)),
		})
	}
	return product
}
