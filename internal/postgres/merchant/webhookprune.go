package merchant

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
)

// removedAtOnce is how many messages one statement removes.
const removedAtOnce = 5000

// Which messages removeMessages removes: conditions, each with the order in which it goes through them.
const (
	allMessages = "true order by number"
	oldMessages = "state <> 'waiting' and done_at < @delivered and (done_at < @parked or state <> 'parked' and type <> @leaking)" +
		" order by done_at"
	// Leaks are remembered.
	messagesBeyond = `state <> 'waiting' and type <> @leaking and number <= (
		select number from outgoing where company_id = @company_id and destination_id = @id order by number desc offset @kept limit 1)
		order by number`
)

// removeMessages removes messages of an endpoint, some at once, each time in a transaction of its own: nobody waits for it for long.
func removeMessages(ctx context.Context, q postgres.Querier, companyID, id, which string, args pgx.NamedArgs) error {
	args["company_id"], args["id"], args["most"] = companyID, id, removedAtOnce
	for {
		// The numbers are an array, which is read once: a plan without statistics would read a subquery again for each row.
		gone, err := postgres.Collect(ctx, q, pgx.RowTo[int], `
			with gone as (delete from outgoing where company_id = @company_id and destination_id = @id and number = any(array(
				select number from outgoing where company_id = @company_id and destination_id = @id and `+which+` limit @most)) returning 1)
			select count(*) from gone`, args)
		if err != nil {
			return fmt.Errorf("remove messages: %w", err)
		}
		if gone[0] < removedAtOnce {
			return nil
		}
	}
}

// PruneMessages removes what is not kept any more of the messages of all companies, whatever the state of their endpoints, and those of
// endpoints that are not there. What fails for one company does not hold up the others.
func (s *Store) PruneMessages(ctx context.Context, now time.Time) error {
	var problems []error
	for after := ""; ; {
		companies, err := postgres.Collect(ctx, s.db.Pool(), pgx.RowTo[string],
			`select company_id from company where company_id > $1 order by company_id limit 1000`, after)
		if err != nil {
			problems = append(problems, postgres.Translate(err))
		}
		if len(companies) == 0 {
			return errors.Join(problems...)
		}
		for _, id := range companies {
			if err := s.pruneCompany(ctx, id, now, commerce.MaxKept); err != nil && len(problems) < 10 {
				problems = append(problems, fmt.Errorf("postgres: messages of %s: %w", id, postgres.Translate(err)))
			}
		}
		after = companies[len(companies)-1]
	}
}

// pruneCompany is PruneMessages of one company, of whose endpoints the newest messages are kept, so many.
func (s *Store) pruneCompany(ctx context.Context, companyID string, now time.Time, kept int) error {
	pool := s.db.Pool()
	for id := ""; ; {
		found, err := postgres.Collect(ctx, pool, pgx.RowTo[string], `
			select destination_id from outgoing where company_id = $1 and destination_id > $2 order by destination_id limit 1`, companyID, id)
		if err != nil || len(found) == 0 {
			return err
		}
		id = found[0]
		var there bool
		if err := pool.QueryRow(ctx, `select exists (select 1 from destination where company_id = $1 and destination_id = $2)`, companyID,
			id).Scan(&there); err != nil {
			return err
		}
		if !there {
			if err := removeMessages(ctx, pool, companyID, id, allMessages, pgx.NamedArgs{}); err != nil {
				return err
			}
			continue
		}
		if err := removeMessages(ctx, pool, companyID, id, oldMessages, pgx.NamedArgs{"leaking": commerce.CouponLeaking,
			"parked": now.Add(-commerce.ParkedLife), "delivered": now.Add(-commerce.DeliveredLife)}); err != nil {
			return err
		}
		if err := removeMessages(ctx, pool, companyID, id, messagesBeyond,
			pgx.NamedArgs{"kept": kept, "leaking": commerce.CouponLeaking}); err != nil {
			return err
		}
	}
}
