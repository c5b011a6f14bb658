package factstore

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres"
)

var productRows = postgres.Rows[facts.Product]{
	postgres.Col("product_id", "text", func(p *facts.Product) string { return p.ProductID }),
	postgres.Col("name", "text", func(p *facts.Product) string { return p.Name }),
	postgres.Col("updated_at", "timestamptz", func(p *facts.Product) time.Time { return p.UpdatedAt }),
	postgres.Col("accepted_at", "timestamptz", func(p *facts.Product) time.Time { return p.AcceptedAt }),
	postgres.Col("digest", "bytea", func(p *facts.Product) []byte { return p.Digest }),
	postgres.Col("body", "jsonb", func(p *facts.Product) string { return string(p.Body) }),
}

var upsertProducts = `
	insert into product as p (company_id, product_id, name, updated_at, accepted_at, digest, body)
	select @company_id, product_id, name, updated_at, accepted_at, digest, body from ` + productRows.Unnest("n") + `
	on conflict (company_id, product_id) do update set name = excluded.name,
		updated_at = excluded.updated_at, accepted_at = excluded.accepted_at, digest = excluded.digest, body = excluded.body
		where (excluded.updated_at, excluded.accepted_at, excluded.digest) > (p.updated_at, p.accepted_at, p.digest)
	returning product_id`

var variantRows = postgres.Rows[facts.Variant]{
	postgres.Col("variant_id", "text", func(v *facts.Variant) string { return v.VariantID }),
	postgres.Col("product_id", "text", func(v *facts.Variant) string { return v.ProductID }),
	postgres.Col("sku", "text", func(v *facts.Variant) *string { return postgres.NullIfEmpty(v.SKU) }),
}

var insertVariants = `
	insert into product_variant (company_id, variant_id, product_id, sku)
	select @company_id, variant_id, product_id, sku from ` + variantRows.Unnest("v") + `
	on conflict (company_id, variant_id, product_id) do nothing`

// PutProducts stores products with their variants, one version of each product, where it is
// newer than the stored one.
func (t *Tx) PutProducts(ctx context.Context, companyID string, products []facts.Product) error {
	newer, err := t.texts(ctx, "store products", upsertProducts, productRows.Args(products, pgx.NamedArgs{"company_id": companyID}))
	if err != nil || len(newer) == 0 {
		return err
	}
	var variants []facts.Variant
	for i := range products {
		if slices.Contains(newer, products[i].ProductID) {
			variants = append(variants, facts.VariantsOf(&products[i])...)
		}
	}
	if err := t.exec(ctx, "remove variants", `delete from product_variant where company_id = @company_id and product_id = any(@product_ids)`,
		pgx.NamedArgs{"company_id": companyID, "product_ids": newer}); err != nil {
		return err
	}
	return variantRows.Exec(ctx, t.tx, "store variants", insertVariants, variants, pgx.NamedArgs{"company_id": companyID})
}
