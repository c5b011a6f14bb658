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
	o.check(commerce.CheckProduct(&product))
	if err := o.broken(); err != nil {
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
		ProductID: required(o, "productId", label),
		Name:      required(o, "productName", text),
		CreatedAt: instantText(doubtful(o, "createdAt", timestamp)),
		UpdatedAt: instantText(doubtful(o, "updatedAt", timestamp)),
		Variants:  []wire.Variant{},
	}
	// Nothing is known of what the values of status mean.
	if status := sent(o, "status", smallNumber); status.Valid {
		product.Status = &status.Value
	}
	for _, variant := range sent(o, "variants", o.list("variants", commerce.MaxVariants)).Value {
		currency := sent(variant, "currency", capitals).Value
		product.Variants = append(product.Variants, wire.Variant{
			VariantID: required(variant, "variantId", label),
			Title:     doubtful(variant, "title", text).Value,
			SKU:       doubtful(variant, "sku", label).Value,
			Price:     sent(variant, "price", price(currency)).Value,
			Currency:  currency,
			CreatedAt: instantText(doubtful(variant, "createdAt", timestamp)),
			UpdatedAt: instantText(doubtful(variant, "updatedAt", timestamp)),
		})
	}
	return product
}
