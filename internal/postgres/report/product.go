package report

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
)

func productColumns(p *commerce.StoredProduct) postgres.Columns {
	return postgres.Columns{postgres.Into("product_id", &p.ProductID), postgres.Into("body", &p.Body)}
}

var products = `
	select ` + postgres.List(productColumns) + ` from product
	where company_id = @company_id and product_id > @after order by product_id limit @most`

// ProductNames returns the names of those of the products that are stored, by id.
func (r *Reader) ProductNames(ctx context.Context, companyID string, productIDs []string) (map[string]string, error) {
	names, err := postgres.Map[string, string](ctx, r.db.Pool(),
		`select product_id, name from product where company_id = $1 and product_id = any($2::text[])`, companyID, productIDs)
	return names, postgres.Wrapf(postgres.Translate(err), "postgres: names of products of %s", companyID)
}

// Products lists a company's products by their ids, at most limit of them.
func (r *Reader) Products(ctx context.Context, companyID string, after commerce.ProductCursor,
	limit int) ([]commerce.StoredProduct, error) {
	list, err := postgres.Collect(ctx, r.db.Pool(), postgres.Scan(productColumns), products,
		pgx.NamedArgs{"company_id": companyID, "after": after.ProductID, "most": limit})
	return list, postgres.Wrapf(postgres.Translate(err), "postgres: products of %s", companyID)
}
