package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/reports"
	"github.com/tributary-io/tributary/internal/wire"
)

// productRecord is a product as it is read back: the fields of POST /product.
type productRecord struct {
	ProductID   string          `json:"productId"`
	ProductName string          `json:"productName"`
	Status      *int            `json:"status"`
	CreatedAt   *string         `json:"createdAt"`
	UpdatedAt   *string         `json:"updatedAt"`
	Variants    []variantRecord `json:"variants"`
}

type variantRecord struct {
	VariantID string       `json:"variantId"`
	Title     *string      `json:"title"`
	SKU       *string      `json:"sku"`
	Price     *json.Number `json:"price"`
	Currency  *string      `json:"currency"`
	CreatedAt *string      `json:"createdAt"`
	UpdatedAt *string      `json:"updatedAt"`
}

// listProducts is GET /products.
func (s *Server) listProducts(ctx context.Context, r *http.Request, c caller) (answer, error) {
	q := readListQuery(r, parseOrderCursor)
	if err := brokenRules(q.bad); err != nil {
		return answer{}, err
	}
	list, err := s.deps.Database.Products(ctx, c.companyID, commerce.ProductCursor{ProductID: q.after}, q.limit+1)
	if err != nil {
		return answer{}, err
	}
	list, paging := pageOf(list, q.limit, func(p commerce.StoredProduct) string { return orderCursor(p.ProductID) })
	records := make([]productRecord, len(list))
	for i, stored := range list {
		if records[i], err = recordProduct(stored.Body); err != nil {
			return answer{}, err
		}
	}
	header, lines := productTable(records)
	return q.answer(records, paging, header, lines), nil
}

func recordProduct(body json.RawMessage) (productRecord, error) {
	var p wire.Product
	if err := json.Unmarshal(body, &p); err != nil {
		return productRecord{}, fmt.Errorf("stored product: %w", err)
	}
	record := productRecord{ProductID: p.ProductID, ProductName: p.Name, Status: p.Status, CreatedAt: orNull(p.CreatedAt),
		UpdatedAt: orNull(p.UpdatedAt), Variants: []variantRecord{}}
	for _, v := range p.Variants {
		record.Variants = append(record.Variants, variantRecord{VariantID: v.VariantID, Title: orNull(v.Title), SKU: orNull(v.SKU),
			Price: decimalOrNull(v.Price), Currency: orNull(v.Currency), CreatedAt: orNull(v.CreatedAt), UpdatedAt: orNull(v.UpdatedAt)})
	}
	return record, nil
}

// productTable is products as a table: one line a variant, and one for a product
// without variants.
func productTable(records []productRecord) (header []string, lines [][]string) {
	header = []string{"productId", "productName", "status", "variantId", "title", "sku", "price", "currency"}
	for _, p := range records {
		variants := p.Variants
		if len(variants) == 0 {
			variants = []variantRecord{{}}
		}
		for _, v := range variants {
			lines = append(lines, []string{reports.CSVText(p.ProductID), reports.CSVText(p.ProductName), cell(p.Status),
				reports.CSVText(v.VariantID), textCell(v.Title), textCell(v.SKU), cell(v.Price), cell(v.Currency)})
		}
	}
	return header, lines
}
