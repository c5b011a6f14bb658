package upkeep

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/ledger"
	"github.com/tributary-io/tributary/internal/postgres"
)

// CloseDay closes a company's days up to one, YYYY-MM-DD, where an agreement is owed by then, and queues the influencers whose
// agreements may owe something of the days that were not closed. A day that is closed stays closed.
func (t Statements) CloseDay(ctx context.Context, companyID, day string) error {
	return postgres.Exec(ctx, t.tx, "close a day", `
		with before as (select coalesce(max(day), '-infinity'::date) as day from closed_day where company_id = @company_id),
		owed as (
			select k.influencer_id from cost k cross join before b
			where k.company_id = @company_id and k.owed_from <= @day::date and b.day < @day::date
				and (k.end_date is null or k.end_date > b.day) and (k.until is null or k.until > b.day)),
		closed as (
			insert into closed_day (company_id, day) select @company_id, @day::date from before b
			where b.day < @day::date and exists (select 1 from cost where company_id = @company_id and owed_from <= @day::date)
			on conflict (company_id) do update set day = excluded.day returning 1)
		insert into agreement_queue (company_id, influencer_id) select distinct @company_id, influencer_id from owed
		on conflict (company_id, influencer_id) do nothing`, pgx.NamedArgs{"company_id": companyID, "day": day})
}

// TakeAgreements takes influencers from the queue, at most limit, and returns their agreements and the last closed day,
// YYYY-MM-DD; "": none is. more: others may wait.
func (t Statements) TakeAgreements(ctx context.Context, companyID string, limit int) (list []ledger.Agreement, closed string, more bool,
	err error,
) {
	ids, err := postgres.Collect(ctx, t.tx, pgx.RowTo[string], `
		delete from agreement_queue where company_id = @company_id and influencer_id in (
			select influencer_id from agreement_queue where company_id = @company_id order by influencer_id limit @most)
		returning influencer_id::text`, pgx.NamedArgs{"company_id": companyID, "most": limit})
	if err != nil {
		return nil, "", false, fmt.Errorf("take agreements: %w", err)
	}
	if len(ids) == 0 {
		return nil, "", false, nil
	}
	list, err = postgres.Collect(ctx, t.tx, func(row pgx.CollectableRow) (a ledger.Agreement, err error) {
		return a, row.Scan(&a.ID, &a.InfluencerID, &a.CampaignID, &a.ValueMinor, &a.Frequency, postgres.Day(&a.StartDate),
			postgres.Day(&a.EndDate), postgres.Day(&a.Since), postgres.Day(&a.Until), postgres.Day(&closed))
	}, `
		select k.cost_id::text, k.influencer_id::text, coalesce(k.campaign_id, ''), k.value_minor, k.frequency, k.start_date, k.end_date,
			k.owed_from, k.until, d.day
		from cost k join closed_day d on d.company_id = @company_id
		where k.company_id = @company_id and k.influencer_id = any(@influencers::uuid[]) and k.owed_from is not null
		order by k.cost_id`, pgx.NamedArgs{"company_id": companyID, "influencers": ids})
	if err != nil {
		return nil, "", false, fmt.Errorf("agreements: %w", err)
	}
	return list, closed, len(ids) == limit, nil
}

// AgreementsDue returns the companies of which a day is to be closed at an instant, or whose agreements are queued. It asks for
// each company apart: Citus does not join the table of companies with those that it spreads.
func (c *Companies) AgreementsDue(ctx context.Context, now time.Time) (due []string, err error) {
	type company struct{ id, yesterday string }
	list, err := postgres.Collect(ctx, c.db.Pool(), func(row pgx.CollectableRow) (of company, err error) {
		return of, row.Scan(&of.id, &of.yesterday)
	}, `
		select company_id, ((@now::timestamptz at time zone timezone)::date - 1)::text from company
		order by company_id limit 10000`, pgx.NamedArgs{"now": now})
	for i := 0; i < len(list) && err == nil; i++ {
		var is bool
		if err = c.db.Pool().QueryRow(ctx, `
			select exists (select 1 from agreement_queue where company_id = @company_id)
				or exists (select 1 from cost where company_id = @company_id and owed_from <= @day::date)
				and not exists (select 1 from closed_day where company_id = @company_id and day >= @day::date)`,
			pgx.NamedArgs{"company_id": list[i].id, "day": list[i].yesterday}).Scan(&is); is {
			due = append(due, list[i].id)
		}
	}
	return due, postgres.Wrapf(postgres.Translate(err), "postgres: companies whose agreements are due")
}
