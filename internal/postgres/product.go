package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
)

// products keeps each product's newest version, and its variants.
func (a *applying) products(ctx context.Context) error {
	newest := map[string]*facts.Product{}
	for i := range a.Products {
		p := &a.Products[i]
		if old := newest[p.ProductID]; old == nil || p.Newer(old) {
			newest[p.ProductID] = p
		}
	}
	if len(newest) == 0 {
		return nil
	}
	var ids, names, bodies []string
	var updated, accepted []time.Time
	var digests [][]byte
	for id, p := range newest {
		ids, names, bodies = append(ids, id), append(names, p.Name), append(bodies, string(p.Body))
		updated, accepted, digests = append(updated, p.UpdatedAt), append(accepted, p.AcceptedAt), append(digests, p.Digest)
	}
	changed, err := Collect(ctx, a.tx, pgx.RowTo[string], `
		insert into product (company_id, product_id, name, updated_at, accepted_at, digest, body)
		select $1, product_id, name, updated_at, accepted_at, digest, body::jsonb
		from unnest($2::text[], $3::text[], $4::timestamptz[], $5::timestamptz[], $6::bytea[], $7::text[])
			as p (product_id, name, updated_at, accepted_at, digest, body)
		on conflict (company_id, product_id) do update set name = excluded.name,
			updated_at = excluded.updated_at, accepted_at = excluded.accepted_at, digest = excluded.digest, body = excluded.body
			where (excluded.updated_at, excluded.accepted_at, excluded.digest) > (product.updated_at, product.accepted_at, product.digest)
		returning product_id`, a.company, ids, names, updated, accepted, digests, bodies)
	if err != nil || len(changed) == 0 {
		return err
	}
	if _, err := a.tx.Exec(ctx, `delete from product_variant where company_id = $1 and product_id = any($2)`, a.company, changed); err != nil {
		return err
	}
	variants, of, skus := []string{}, []string{}, []string{}
	for _, id := range changed {
		seen := map[string]bool{}
		for _, v := range newest[id].Variants {
			if v.VariantID == "" || seen[v.VariantID] {
				continue
			}
			seen[v.VariantID] = true
			variants, of, skus = append(variants, v.VariantID), append(of, id), append(skus, v.SKU)
		}
	}
	_, err = a.tx.Exec(ctx, `
		insert into product_variant (company_id, variant_id, product_id, sku)
		select $1, variant_id, product_id, nullif(sku, '') from unnest($2::text[], $3::text[], $4::text[]) as v (variant_id, product_id, sku)`,
		a.company, variants, of, skus)
	return err
}
