package admin

import (
	"encoding/json"
	"net/http"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/wire"
)

// postProduct is POST /product. The product is on Kafka, on all in-sync replicas, before the 200.
func (s *Server) postProduct(w http.ResponseWriter, r *http.Request, c caller) (answer, error) {
	o, err := readObject(w, r)
	if err != nil {
		return answer{}, err
	}
	product := readProduct(o)
	o.bad.AddAll(commerce.CheckProduct(&product))
	if err := brokenRules(o.bad); err != nil {
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
		ProductID: required(o, "productId", text),
		Name:      required(o, "productName", text),
		CreatedAt: instantText(optional(o, "createdAt", timestamp)),
		UpdatedAt: instantText(optional(o, "updatedAt", timestamp)),
		Variants:  []wire.Variant{},
	}
	// The specification does not say what the values of status mean.
	if status := optional(o, "status", small); status.Valid {
		product.Status = &status.Value
	}
	for _, variant := range o.children("variants", commerce.MaxVariants).Value {
		product.Variants = append(product.Variants, wire.Variant{
			VariantID: required(variant, "variantId", text),
			Title:     optional(variant, "title", text).Value,
			SKU:       optional(variant, "sku", text).Value,
			Price:     optional(variant, "price", price).Value,
			Currency:  optional(variant, "currency", word).Value,
			CreatedAt: instantText(optional(variant, "createdAt", timestamp)),
			UpdatedAt: instantText(optional(variant, "updatedAt", timestamp)),
		})
	}
	return product
}
