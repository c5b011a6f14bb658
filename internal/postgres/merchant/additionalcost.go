package merchant

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
)

const additionalCostColumns = `additional_cost_id::text, name, category, value_minor, frequency,
	to_char(start_date, 'YYYY-MM-DD'), coalesce(to_char(end_date, 'YYYY-MM-DD'), '')`

func scanAdditionalCost(row pgx.CollectableRow) (c commerce.AdditionalCost, err error) {
	return c, row.Scan(&c.ID, &c.Name, &c.Category, &c.ValueMinor, &c.Frequency, &c.StartDate, &c.EndDate)
}

// AdditionalCosts lists a company's additional costs, oldest first; at most limit.
func (s *Store) AdditionalCosts(ctx context.Context, companyID string, filter commerce.CostFilter, limit int) ([]commerce.AdditionalCost, error) {
	rows, err := s.db.Pool().Query(ctx, `
		select `+additionalCostColumns+` from additional_cost
		where company_id = $1 and deleted_at is null and ($2 = '' or frequency = $2)
			and daterange(start_date, case when frequency = 'specific' then start_date else end_date end, '[]') && `+period("$3::text", "$4::text")+`
		order by created_at, additional_cost_id limit $5`, companyID, filter.Frequency, filter.From, filter.To, limit)
	if err != nil {
		return nil, fmt.Errorf("postgres: additional costs: %w", postgres.Translate(err))
	}
	list, err := pgx.CollectRows(rows, scanAdditionalCost)
	if err != nil {
		return nil, fmt.Errorf("postgres: additional costs: %w", postgres.Translate(err))
	}
	return list, nil
}

// AddAdditionalCost stores a cost under the id that it carries.
func (s *Store) AddAdditionalCost(ctx context.Context, author commerce.Author, c commerce.AdditionalCost) error {
	err := s.db.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `
			insert into additional_cost (company_id, additional_cost_id, name, category, value_minor, frequency, start_date, end_date, created_at)
			values ($1, $2, $3, $4, $5, $6, $7::text::date, nullif($8, '')::date, clock_timestamp())`,
			author.CompanyID, c.ID, c.Name, c.Category, c.ValueMinor, c.Frequency, c.StartDate, c.EndDate); err != nil {
			return err
		}
		return auditCost(ctx, tx, author, "additional_cost.create", c)
	})
	if err != nil {
		return fmt.Errorf("postgres: add additional cost: %w", err)
	}
	return nil
}

// ChangeAdditionalCost lets change edit the live cost of that id and frequency,
// under its row's lock. A pair that does not match is commerce.ErrNotFound; an
// error of change is given back and nothing is stored.
func (s *Store) ChangeAdditionalCost(ctx context.Context, author commerce.Author, id, frequency string, change func(c *commerce.AdditionalCost) error) error {
	err := s.db.InTx(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			select `+additionalCostColumns+` from additional_cost
			where company_id = $1 and additional_cost_id = $2 and frequency = $3 and deleted_at is null for update`, author.CompanyID, id, frequency)
		if err != nil {
			return err
		}
		c, err := pgx.CollectExactlyOneRow(rows, scanAdditionalCost)
		if err != nil {
			return err
		}
		if err := change(&c); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `
			update additional_cost set name = $3, category = $4, value_minor = $5, frequency = $6, start_date = $7::text::date, end_date = nullif($8, '')::date
			where company_id = $1 and additional_cost_id = $2`,
			author.CompanyID, id, c.Name, c.Category, c.ValueMinor, c.Frequency, c.StartDate, c.EndDate); err != nil {
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
			update additional_cost set deleted_at = clock_timestamp()
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
