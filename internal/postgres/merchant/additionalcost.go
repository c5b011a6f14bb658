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
func (s *Store) AdditionalCosts(ctx context.Context, companyID string, filter commerce.CostFilter,
	limit int) ([]commerce.AdditionalCost, error) {
	list, err := postgres.Collect(ctx, s.db.Pool(), postgres.Scan(additionalCostColumns), `
		select `+postgres.List(additionalCostColumns)+` from additional_cost
		where company_id = @company_id and deleted_at is null and (@frequency = '' or frequency = @frequency) and `+overlapsFilter+`
		order by created_at, additional_cost_id limit @limit`, filterArgs(companyID, filter, limit))
	return list, postgres.Wrapf(postgres.Translate(err), "postgres: additional costs")
}

// AdditionalCostVersions lists every version of a company's additional costs that counts
// on a day of the filter's period, removed costs included; at most limit.
func (s *Store) AdditionalCostVersions(ctx context.Context, companyID string, filter commerce.CostFilter,
	limit int) ([]commerce.AdditionalCost, error) {
	return AdditionalCostVersions(ctx, s.db.Pool(), companyID, filter, limit)
}

// AdditionalCostVersions is Store.AdditionalCostVersions, in a transaction of the caller.
func AdditionalCostVersions(ctx context.Context, q postgres.Querier, companyID string, filter commerce.CostFilter,
	limit int) ([]commerce.AdditionalCost, error) {
	list, err := postgres.Collect(ctx, q, postgres.Scan(additionalCostColumns), `
		select `+postgres.List(additionalCostColumns)+` from (
			select `+postgres.List(additionalCostColumns)+`, created_at from additional_cost `+countsInFilter+`
			union all
			select `+postgres.List(additionalCostColumns)+`, created_at from additional_cost_version `+countsInFilter+`) v
		order by created_at, additional_cost_id, until limit @limit`, filterArgs(companyID, filter, limit))
	return list, postgres.Wrapf(postgres.Translate(err), "postgres: versions of additional costs")
}

// overlapsFilter is true for costs with a day in a filter's period.
const overlapsFilter = `daterange(start_date, case when frequency = 'specific' then start_date else end_date end, '[]')
				&& daterange(@from::date, @to::date, '[]')`

// countsInFilter is true for versions that count on a day of a filter's period.
const countsInFilter = `where company_id = @company_id and (@frequency = '' or frequency = @frequency) and ` + overlapsFilter + `
				and daterange(since, until) && daterange(@from::date, @to::date, '[]')`

func filterArgs(companyID string, filter commerce.CostFilter, limit int) pgx.NamedArgs {
	return pgx.NamedArgs{"company_id": companyID, "frequency": filter.Frequency, "limit": limit,
		"from": postgres.NullIfEmpty(filter.From), "to": postgres.NullIfEmpty(filter.To)}
}

// AddAdditionalCost stores a cost under its ID.
func (s *Store) AddAdditionalCost(ctx context.Context, author commerce.Author, c commerce.AdditionalCost) error {
	err := s.db.InTx(ctx, func(tx pgx.Tx) error {
		if err := refuseArchived(ctx, tx, author.CompanyID); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `
			insert into additional_cost (company_id, additional_cost_id, name, category, value_minor, frequency, start_date, end_date, created_at)
			values (@company_id, @additional_cost_id, @name, @category, @value_minor, @frequency, @start_date, @end_date, clock_timestamp())`,
			additionalCostArgs(author.CompanyID, c)); err != nil {
			return err
		}
		return auditCost(ctx, tx, author, "additional_cost.create", c)
	})
	return postgres.Wrapf(err, "postgres: add additional cost")
}

// ChangeAdditionalCost calls change with the cost of that id and frequency while its row
// is locked, and stores what change made of it. That counts from today on, in the
// store's time zone: what the cost was on the days before is kept as a version. A pair
// that does not match is commerce.ErrNotFound. Where change returns an error, nothing
// is stored and that error is returned.
func (s *Store) ChangeAdditionalCost(ctx context.Context, author commerce.Author, id, frequency string,
	change func(c *commerce.AdditionalCost) error) error {
	err := s.db.InTx(ctx, func(tx pgx.Tx) error {
		c, today, err := lockedCost(ctx, tx, author.CompanyID, id, frequency)
		if err != nil {
			return err
		}
		since := c.Since
		if c.HasPast(today) {
			since = today
			if _, err := tx.Exec(ctx, `
				insert into additional_cost_version (company_id, additional_cost_id, until, since, name, category, value_minor, frequency, start_date,
					end_date, created_at)
				select company_id, additional_cost_id, @today::date, since, name, category, value_minor, frequency, start_date, end_date, created_at
				from additional_cost where company_id = @company_id and additional_cost_id = @additional_cost_id
				on conflict (company_id, additional_cost_id, until) do nothing`,
				pgx.NamedArgs{"company_id": author.CompanyID, "additional_cost_id": id, "today": today}); err != nil {
				return err
			}
		}
		if err := change(&c); err != nil {
			return err
		}
		c.ID = id
		args := additionalCostArgs(author.CompanyID, c)
		args["since"] = postgres.NullIfEmpty(since)
		if _, err := tx.Exec(ctx, `
			update additional_cost set name = @name, category = @category, value_minor = @value_minor, frequency = @frequency,
				start_date = @start_date, end_date = @end_date, since = @since
			where company_id = @company_id and additional_cost_id = @additional_cost_id`, args); err != nil {
			return err
		}
		return auditCost(ctx, tx, author, "additional_cost.update", c)
	})
	return postgres.Wrapf(err, "postgres: change additional cost")
}

// lockedCost reads the live cost of an id and frequency, locks its row, and returns
// today in the company's time zone. Its error is pgx.ErrNoRows where there is no such
// cost.
func lockedCost(ctx context.Context, tx pgx.Tx, companyID, id, frequency string) (c commerce.AdditionalCost, today string, err error) {
	if err := refuseArchived(ctx, tx, companyID); err != nil {
		return c, "", err
	}
	if c, err = postgres.One(ctx, tx, postgres.Scan(additionalCostColumns), `
		select `+postgres.List(additionalCostColumns)+` from additional_cost
		where company_id = $1 and additional_cost_id = $2 and frequency = $3 and deleted_at is null for update`, companyID, id,
		frequency); err != nil {
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

// DeleteAdditionalCost removes the cost of that id and frequency: it is listed no more,
// and counts on no day from today on, in the store's time zone. A pair that does not
// match is commerce.ErrNotFound.
func (s *Store) DeleteAdditionalCost(ctx context.Context, author commerce.Author, id, frequency string) error {
	err := s.db.InTx(ctx, func(tx pgx.Tx) error {
		c, today, err := lockedCost(ctx, tx, author.CompanyID, id, frequency)
		if err != nil {
			return err
		}
		until := today
		if !c.HasPast(today) {
			until = max(c.StartDate, c.Since) // it counts on no day at all
		}
		if _, err := tx.Exec(ctx, `
			update additional_cost set deleted_at = now(), until = @until
			where company_id = @company_id and additional_cost_id = @additional_cost_id`,
			pgx.NamedArgs{"company_id": author.CompanyID, "additional_cost_id": id, "until": until}); err != nil {
			return err
		}
		return auditCost(ctx, tx, author, "additional_cost.delete", commerce.AdditionalCost{ID: id, Frequency: frequency})
	})
	return postgres.Wrapf(err, "postgres: delete additional cost")
}

func auditCost(ctx context.Context, tx pgx.Tx, author commerce.Author, action string, c commerce.AdditionalCost) error {
	return audit(ctx, tx, Change{CompanyID: author.CompanyID, At: author.At, Actor: author.Actor, Action: action, Subject: c.ID,
		Detail: map[string]any{"name": c.Name, "value_minor": c.ValueMinor, "frequency": c.Frequency, "start_date": c.StartDate,
			"end_date": c.EndDate}})
}
