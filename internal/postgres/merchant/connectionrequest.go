package merchant

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
)

// AddShopRequest stores what a person has to do for a connection. The same again changes nothing, and beyond
// commerce.MaxShopRequests nothing is stored.
func (s *Store) AddShopRequest(ctx context.Context, l commerce.ConnectLease, companyID, id string, r commerce.ShopRequest) error {
	return s.asHolder(ctx, l, companyID, id, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `
			insert into connection_request (company_id, connection_id, request_id, kind, customer, asked_at)
			select $1, $2, $3, $4, $5, $6 where $7 > (
				select count(*) from connection_request where company_id = $1 and connection_id = $2)
			on conflict (company_id, connection_id, request_id) do nothing`,
			companyID, id, r.ID, r.Kind, r.Customer, r.AskedAt, commerce.MaxShopRequests)
		return err
	})
}

// ShopRequests returns what a person has to do for a connection and has not done, the oldest first: at most
// commerce.MaxShopRequests, none older than commerce.ShopRequestLife.
func (s *Store) ShopRequests(ctx context.Context, companyID, id string) ([]commerce.ShopRequest, error) {
	list, err := postgres.Collect(ctx, s.db.Pool(), postgres.Scan(requestColumns), `
		select `+postgres.List(requestColumns)+` from connection_request
		where company_id = $1 and connection_id = $2 and done_at is null and asked_at > now() - $3::interval
		order by asked_at, request_id limit $4`, companyID, id, commerce.ShopRequestLife, commerce.MaxShopRequests)
	return list, postgres.Wrapf(postgres.Translate(err), "postgres: requests of connection %s", id)
}

func requestColumns(r *commerce.ShopRequest) postgres.Columns {
	return postgres.Columns{
		postgres.Into("request_id", &r.ID),
		postgres.Into("kind", &r.Kind),
		postgres.Into("customer", &r.Customer),
		postgres.Into("asked_at", &r.AskedAt),
		postgres.Into("done_at", postgres.ZeroIfNull(&r.DoneAt)),
	}
}

// AnswerShopRequest notes that the merchant did what was asked for, and forgets whom it named. commerce.ErrNotFound where there is no
// such request, or it is done.
func (s *Store) AnswerShopRequest(ctx context.Context, author commerce.Author, id, requestID string) error {
	err := s.db.InTx(ctx, func(tx pgx.Tx) error {
		if err := lockForConnections(ctx, tx, author.CompanyID); err != nil {
			return err
		}
		var kind string
		var askedAt time.Time
		if err := tx.QueryRow(ctx, `
			update connection_request set done_at = now(), customer = ''
			where company_id = $1 and connection_id = $2 and request_id = $3 and done_at is null returning kind, asked_at`,
			author.CompanyID, id, requestID).Scan(&kind, &askedAt); err != nil {
			return err
		}
		return auditConnection(ctx, tx, author, "connection.answer", id, map[string]any{"asked_at": askedAt.UTC().Format(time.RFC3339)})
	})
	return postgres.Wrapf(err, "postgres: request of connection %s", id)
}

// removeRequests removes requests that are older than commerce.ShopRequestLife.
func removeRequests(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `
		delete from connection_request r using company c where r.company_id = c.company_id and r.asked_at < now() - $1::interval`,
		commerce.ShopRequestLife)
	return err
}
