package merchant

import (
	"context"
	"fmt"

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

// AdditionalCosts lists a company's additional costs, oldest first; at most limit.
func (s *Store) AdditionalCosts(ctx context.Context, companyID string, filter commerce.CostFilter, limit int) ([]commerce.AdditionalCost, error) {
	list, err := postgres.Collect(ctx, s.db.Pool(), postgres.Scan(additionalCostColumns), `
		select `+postgres.List(additionalCostColumns)+` from additional_cost
		where company_id = @company_id and deleted_at is null and (@frequency = '' or frequency = @frequency)
			and daterange(start_date, case when frequency = 'specific' then start_date else end_date end, '[]')
				&& daterange(@from::date, @to::date, '[]')
		order by created_at, additional_cost_id limit @limit`,
		pgx.NamedArgs{"company_id": companyID, "frequency": filter.Frequency, "limit": limit,
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

// ChangeAdditionalCost calls change with the live cost of that id and frequency
// while its row is locked, and stores what change made of it. A pair that does
// not match is commerce.ErrNotFound. Where change returns an error, nothing is
// stored and that error is returned.
func (s *Store) ChangeAdditionalCost(ctx context.Context, author commerce.Author, id, frequency string, change func(c *commerce.AdditionalCost) error) error {
	err := s.db.InTx(ctx, func(tx pgx.Tx) error {
		c, err := postgres.One(ctx, tx, postgres.Scan(additionalCostColumns), `
			select `+postgres.List(additionalCostColumns)+` from additional_cost
			where company_id = $1 and additional_cost_id = $2 and frequency = $3 and deleted_at is null for update`, author.CompanyID, id, frequency)
		if err != nil {
			return err
		}
		if err := change(&c); err != nil {
			return err
		}
		c.ID = id
		if _, err := tx.Exec(ctx, `
			update additional_cost set name = @name, category = @category, value_minor = @value_minor, frequency = @frequency,
				start_date = @start_date, end_date = @end_date
			where company_id = @company_id and additional_cost_id = @additional_cost_id`, additionalCostArgs(author.CompanyID, c)); err != nil {
			return err
		}
		return auditCost(ctx, tx, author, "additional_cost.update", c)
	})
	if err != nil {
		return fmt.Errorf("postgres: change additional cost: %w", err)
	}
	return nil
}

// DeleteAdditionalCost removes the live cost of that id and frequency from
// lists and history; a pair that does not match is commerce.ErrNotFound.
func (s *Store) DeleteAdditionalCost(ctx context.Context, author commerce.Author, id, frequency string) error {
	err := s.db.InTx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			update additional_cost set deleted_at = now()
			where company_id = $1 and additional_cost_id = $2 and frequency = $3 and deleted_at is null`, author.CompanyID, id, frequency)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return pgx.ErrNoRows
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
