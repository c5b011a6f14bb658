package merchant

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
)

func additionalCostColumns(c *commerce.AdditionalCost) postgres.Columns {
	return postgres.Columns{
		postgres.Into("additional_cost_id", &c.ID),
		postgres.Into("name", &c.Name),
		postgres.Into("category", &c.Category),
		postgres.Into("value_minor", &c.ValueMinor),
		postgres.Into("frequency", &c.Frequency),
		postgres.Into("start_date", postgres.Day(&c.StartDate)),
		postgres.Into("end_date", postgres.Day(&c.EndDate)),
		postgres.Into("since", postgres.Day(&c.Since)),
		postgres.Into("until", postgres.Day(&c.Until)),
	}
}

// additionalCostArgs returns a cost as the arguments of a statement.
func additionalCostArgs(companyID string, c commerce.AdditionalCost) pgx.NamedArgs {
	return pgx.NamedArgs{
		"company_id": companyID, "additional_cost_id": c.ID, "name": c.Name, "category": c.Category,
		"value_minor": c.ValueMinor, "frequency": c.Frequency,
		"start_date": c.StartDate, "end_date": postgres.NullIfEmpty(c.EndDate),
	}
}

// AdditionalCosts lists a company's additional costs as they are now, oldest first; at
// most limit.
func (s *Store) AdditionalCosts(ctx context.Context, companyID string, filter commerce.CostFilter, limit int) ([]commerce.AdditionalCost, error) {
	return s.additionalCosts(ctx, companyID, filter, false, limit)
}

// AdditionalCostVersions lists every version of a company's additional costs that counts
// on a day of the filter's period, removed costs included; at most limit.
func (s *Store) AdditionalCostVersions(ctx context.Context, companyID string, filter commerce.CostFilter, limit int) ([]commerce.AdditionalCost, error) {
	return s.additionalCosts(ctx, companyID, filter, true, limit)
}

func (s *Store) additionalCosts(ctx context.Context, companyID string, filter commerce.CostFilter, versions bool, limit int) ([]commerce.AdditionalCost, error) {
	list, err := postgres.Collect(ctx, s.db.Pool(), postgres.Scan(additionalCostColumns), `
		select `+postgres.List(additionalCostColumns)+` from additional_cost
		where company_id = @company_id and (@frequency = '' or frequency = @frequency)
			and daterange(start_date, case when frequency = 'specific' then start_date else end_date end, '[]')
				&& daterange(@from::date, @to::date, '[]')
			and case when @versions then daterange(since, until) && daterange(@from::date, @to::date, '[]') else until is null end
		order by created_at, additional_cost_id, version limit @limit`,
		pgx.NamedArgs{"company_id": companyID, "frequency": filter.Frequency, "versions": versions, "limit": limit,
			"from": postgres.NullIfEmpty(filter.From), "to": postgres.NullIfEmpty(filter.To)})
	if err != nil {
		return nil, fmt.Errorf("postgres: additional costs: %w", postgres.Translate(err))
	}
	return list, nil
}

// AddAdditionalCost stores a cost under its ID.
func (s *Store) AddAdditionalCost(ctx context.Context, author commerce.Author, c commerce.AdditionalCost) error {
	err := s.db.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `
			insert into additional_cost (company_id, additional_cost_id, name, category, value_minor, frequency, start_date, end_date, created_at)
			values (@company_id, @additional_cost_id, @name, @category, @value_minor, @frequency, @start_date, @end_date, clock_timestamp())`,
			additionalCostArgs(author.CompanyID, c)); err != nil {
			return err
		}
		return auditCost(ctx, tx, author, "additional_cost.create", c)
	})
	if err != nil {
		return fmt.Errorf("postgres: add additional cost: %w", err)
	}
	return nil
}

// ChangeAdditionalCost calls change with the current version of the cost of that id and
// frequency while its row is locked, and stores what change made of it: as a version
// that counts from today on, in the store's time zone. A pair that does not match is
// commerce.ErrNotFound. Where change returns an error, nothing is stored and that
// error is returned.
func (s *Store) ChangeAdditionalCost(ctx context.Context, author commerce.Author, id, frequency string, change func(c *commerce.AdditionalCost) error) error {
	err := s.db.InTx(ctx, func(tx pgx.Tx) error {
		c, today, err := lockedCost(ctx, tx, author.CompanyID, id, frequency)
		if err != nil {
			return err
		}
		splits := c.HasPast(today)
		if err := change(&c); err != nil {
			return err
		}
		c.ID = id
		if splits {
			if err := endCostVersion(ctx, tx, author.CompanyID, id, today, false); err != nil {
				return err
			}
			c.Since = today
			args := additionalCostArgs(author.CompanyID, c)
			args["since"] = today
			_, err = tx.Exec(ctx, `
				insert into additional_cost (company_id, additional_cost_id, version, name, category, value_minor, frequency, start_date, end_date, since, created_at)
				select company_id, additional_cost_id, version + 1, @name, @category, @value_minor, @frequency, @start_date::date, @end_date::date, @since::date, created_at
				from additional_cost where company_id = @company_id and additional_cost_id = @additional_cost_id
				order by version desc limit 1
				on conflict (company_id, additional_cost_id, version) do nothing`, args)
		} else {
			_, err = tx.Exec(ctx, `
				update additional_cost set name = @name, category = @category, value_minor = @value_minor, frequency = @frequency,
					start_date = @start_date, end_date = @end_date
				where company_id = @company_id and additional_cost_id = @additional_cost_id and until is null`, additionalCostArgs(author.CompanyID, c))
		}
		if err != nil {
			return err
		}
		return auditCost(ctx, tx, author, "additional_cost.update", c)
	})
	if err != nil {
		return fmt.Errorf("postgres: change additional cost: %w", err)
	}
	return nil
}

// lockedCost reads the current version of the cost of an id and frequency, locks its
// row, and returns today in the company's time zone. Its error is pgx.ErrNoRows where
// there is no such cost.
func lockedCost(ctx context.Context, tx pgx.Tx, companyID, id, frequency string) (c commerce.AdditionalCost, today string, err error) {
	if c, err = postgres.One(ctx, tx, postgres.Scan(additionalCostColumns), `
		select `+postgres.List(additionalCostColumns)+` from additional_cost
		where company_id = $1 and additional_cost_id = $2 and frequency = $3 and until is null for update`, companyID, id, frequency); err != nil {
		return c, "", err
	}
	var timezone string
	var now time.Time
	if err := tx.QueryRow(ctx, `select timezone, now() from company where company_id = $1`, companyID).Scan(&timezone, &now); err != nil {
		return c, "", err
	}
	zone, err := time.LoadLocation(timezone)
	if err != nil {
		return c, "", fmt.Errorf("time zone of %s: %w", companyID, err)
	}
	return c, now.In(zone).Format(time.DateOnly), nil
}

// endCostVersion ends the current version of a cost before a day.
func endCostVersion(ctx context.Context, tx pgx.Tx, companyID, id, day string, removed bool) error {
	_, err := tx.Exec(ctx, `
		update additional_cost set until = @day::date, deleted_at = case when @removed then now() end
		where company_id = @company_id and additional_cost_id = @additional_cost_id and until is null`,
		pgx.NamedArgs{"company_id": companyID, "additional_cost_id": id, "day": day, "removed": removed})
	return err
}

// DeleteAdditionalCost removes the cost of that id and frequency: it counts on no day
// from today on, in the store's time zone. A pair that does not match is
// commerce.ErrNotFound.
func (s *Store) DeleteAdditionalCost(ctx context.Context, author commerce.Author, id, frequency string) error {
	err := s.db.InTx(ctx, func(tx pgx.Tx) error {
		c, today, err := lockedCost(ctx, tx, author.CompanyID, id, frequency)
		if err != nil {
			return err
		}
		if !c.HasPast(today) {
			today = max(c.StartDate, c.Since) // it counts on no day at all
		}
		if err := endCostVersion(ctx, tx, author.CompanyID, id, today, true); err != nil {
			return err
		}
		return auditCost(ctx, tx, author, "additional_cost.delete", commerce.AdditionalCost{ID: id, Frequency: frequency})
	})
	if err != nil {
		return fmt.Errorf("postgres: delete additional cost: %w", err)
	}
	return nil
}

func auditCost(ctx context.Context, tx pgx.Tx, author commerce.Author, action string, c commerce.AdditionalCost) error {
	return audit(ctx, tx, Change{CompanyID: author.CompanyID, At: author.At, Actor: author.Actor, Action: action, Subject: c.ID,
		Detail: map[string]any{"name": c.Name, "value_minor": c.ValueMinor, "frequency": c.Frequency, "start_date": c.StartDate, "end_date": c.EndDate}})
}
