package upkeep

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/packed"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/cases"
	"github.com/tributary-io/tributary/internal/upkeep/erasure"
)

// FindErasedVisitors returns visitors that were seen with one of the person's keys, or are
// named by one (kinds 2, 3 and 10), and are not added yet; at most limit.
func (t *Erasure) FindErasedVisitors(ctx context.Context, companyID string, e *erasure.Erasure, limit int) ([]erasure.Visitor, error) {
	list, err := postgres.Collect(ctx, t.tx, scanErasedVisitor, `
		select f.visitor, (
			select coalesce(max(n), 0) from unnest('{6,7,8}'::smallint[]) as k (kind) cross join lateral `+postgres.CountByOneSecret(`
				select key from observation s
				where s.company_id = @company_id and s.visitor = f.visitor and s.kind = k.kind limit @most_observations`)+` c (n))
		from (
			select distinct visitor from (
				select s.visitor from erasure_key p join observation s on s.company_id = p.company_id and s.kind = p.kind and s.key = p.key
				where p.company_id = @company_id and p.erasure_id = @erasure_id::uuid and s.company_id = @company_id
				union all
				select p.key from erasure_key p where p.company_id = @company_id and p.erasure_id = @erasure_id::uuid and p.kind in (2, 3, 10)) v
			where not exists (
				select 1 from erasure_visitor d
				where d.company_id = @company_id and d.erasure_id = @erasure_id::uuid and d.visitor = v.visitor)
			limit @most) f`, argsOf(companyID, e, pgx.NamedArgs{"most": limit, "most_observations": 10_000}))
	return list, postgres.Wrapf(err, "find visitors of a person")
}

func scanErasedVisitor(row pgx.CollectableRow) (v erasure.Visitor, err error) {
	var id []byte
	if err := row.Scan(&id, &v.Identities); err != nil {
		return v, err
	}
	v.ID, err = packed.Text(id)
	return v, err
}

var erasedVisitorRows = postgres.Rows[erasure.Visitor]{
	postgres.Col("visitor", "bytea", func(v *erasure.Visitor) []byte { return packed.ID(v.ID) }),
	postgres.Col("wholly", "boolean", func(v *erasure.Visitor) bool { return v.Wholly }),
}

var addErasedVisitors = `
	insert into erasure_visitor (company_id, erasure_id, visitor, wholly)
	select @company_id, @erasure_id::uuid, visitor, wholly from ` + erasedVisitorRows.Unnest("v") + `
	on conflict (company_id, erasure_id, visitor) do nothing`

// AddErasedVisitors adds visitors of the person, and the cookies of those who are the
// person wholly to the person's keys.
func (t *Erasure) AddErasedVisitors(ctx context.Context, companyID string, e *erasure.Erasure, visitors []erasure.Visitor) error {
	if err := erasedVisitorRows.Exec(ctx, t.tx, "add visitors of a person", addErasedVisitors, visitors,
		argsOf(companyID, e, nil)); err != nil {
		return err
	}
	var wholly [][]byte
	for _, v := range visitors {
		if v.Wholly {
			wholly = append(wholly, packed.ID(v.ID))
		}
	}
	return postgres.Exec(ctx, t.tx, "add cookies of a person", `
		insert into erasure_key (company_id, erasure_id, kind, key)
		select distinct s.company_id, @erasure_id::uuid, s.kind, s.key from observation s
		where s.company_id = @company_id and s.visitor = any(@visitors) and s.kind = 2
		on conflict (company_id, erasure_id, kind, key) do nothing`, argsOf(companyID, e, pgx.NamedArgs{"visitors": wholly}))
}

// NextErasedVisitor returns a visitor of the person whose events are not removed yet; false
// where there is none.
func (t *Erasure) NextErasedVisitor(ctx context.Context, companyID string, e *erasure.Erasure) (v erasure.Visitor, found bool, err error) {
	v, err = postgres.One(ctx, t.tx, func(row pgx.CollectableRow) (v erasure.Visitor, err error) {
		var id []byte
		if err := row.Scan(&id, &v.Wholly); err != nil {
			return v, err
		}
		v.ID, err = packed.Text(id)
		return v, err
	}, `
		select visitor, wholly from erasure_visitor where company_id = @company_id and erasure_id = @erasure_id::uuid and not done
		order by visitor limit 1`, argsOf(companyID, e, nil))
	if errors.Is(err, pgx.ErrNoRows) {
		return v, false, nil
	}
	if err != nil {
		return v, false, fmt.Errorf("next visitor of a person: %w", err)
	}
	return v, true, nil
}

// EventsUntil returns a visitor's events up to an instant, in order, after a given one; at
// most limit.
func (t *Erasure) EventsUntil(
	ctx context.Context, companyID, visitor string, after erasure.Cursor, until time.Time, limit int,
) ([]facts.Event, error) {
	events, err := postgres.Collect(ctx, t.tx, cases.ScanEvent, `
		select `+cases.StoredColumns+` from event_fact f
		where f.company_id = @company_id and f.visitor = @visitor and f.at <= @until and (f.at, f.event_id) > (@after_at::timestamptz, @after_id)
		order by f.at, f.event_id limit @most`,
		pgx.NamedArgs{
			"company_id": companyID, "visitor": packed.ID(visitor), "until": until,
			"after_at": after.At, "after_id": [16]byte(after.ID), "most": limit,
		})
	return events, postgres.Wrapf(err, "read events of a person")
}

// UnreadEvents looks at the next events by id, at most limit, and returns those that no
// visitor has or that are a bot's, the last id that it looked at, and how many these were.
func (t *Erasure) UnreadEvents(
	ctx context.Context, companyID string, after uuid.UUID, limit int,
) (events []facts.Event, last uuid.UUID, looked int, err error) {
	var lastID *[16]byte
	if err := t.tx.QueryRow(ctx, `
		select count(*)::int, (array_agg(event_id order by event_id desc))[1] from (
			select event_id from event_fact where company_id = @company_id and event_id > @after order by event_id limit @most) page`,
		pgx.NamedArgs{"company_id": companyID, "after": [16]byte(after), "most": limit}).Scan(&looked, &lastID); err != nil {
		return nil, after, 0, fmt.Errorf("look for events without a visitor: %w", err)
	}
	if lastID == nil {
		return nil, after, 0, nil
	}
	events, err = postgres.Collect(ctx, t.tx, cases.ScanEvent, `
		select `+cases.StoredColumns+` from event_fact f
		where f.company_id = @company_id and f.event_id > @after and f.event_id <= @last and (f.visitor is null or f.class = 0)`,
		pgx.NamedArgs{"company_id": companyID, "after": [16]byte(after), "last": *lastID})
	if err != nil {
		return nil, after, 0, fmt.Errorf("read events without a visitor: %w", err)
	}
	return events, *lastID, looked, nil
}

// EraseObservations removes the observations of a visitor of the person up to the slots of the
// instant when the erasure was asked for: all of them, or those with the person's keys.
func (t *Erasure) EraseObservations(ctx context.Context, companyID string, e *erasure.Erasure, v erasure.Visitor) error {
	visitor, hour, day := packed.ID(v.ID), facts.SlotOf(facts.HourOf(e.AskedAt)), facts.SlotOf(facts.DayOf(e.AskedAt))
	if !v.Wholly {
		return postgres.Exec(ctx, t.tx, "remove observations of a person", `
			delete from observation s using erasure_key p
			where s.company_id = @company_id and s.visitor = @visitor and s.kind = p.kind and s.key = p.key and s.slot <= @hour
				and p.company_id = @company_id and p.erasure_id = @erasure_id::uuid`,
			argsOf(companyID, e, pgx.NamedArgs{"visitor": visitor, "hour": hour}))
	}
	if err := postgres.Exec(ctx, t.tx, "remove observations of a person", `
		delete from observation where company_id = @company_id and visitor = @visitor and kind <> 3 and kind <> 10
			and slot <= case when kind = 4 then @hour::int else @day::int end`,
		pgx.NamedArgs{"company_id": companyID, "visitor": visitor, "hour": hour, "day": day}); err != nil {
		return err
	}
	return postgres.Exec(ctx, t.tx, "remove observations of a person's own id", `
		delete from observation where company_id = @company_id and kind in (3, 10) and key = @visitor and visitor = @visitor and slot <= @day`,
		pgx.NamedArgs{"company_id": companyID, "visitor": visitor, "day": day})
}

// EraseShopper gives the days of a visitor another id: what reports count of them stays.
func (t *Erasure) EraseShopper(ctx context.Context, companyID, visitor, surrogate string) error {
	args := pgx.NamedArgs{"company_id": companyID, "visitor": packed.ID(visitor)}
	// A count of non-converting paths that has come to the visitor begins anew: it has the id as its place.
	if err := postgres.Exec(ctx, t.tx, "forget a person's place in a count", `
		delete from nonconverting_count where company_id = @company_id and after = @visitor`, args); err != nil {
		return err
	}
	args["surrogate"] = packed.ID(surrogate)
	return postgres.Exec(ctx, t.tx, "rename days of a person", `
		update shopper_day set visitor = @surrogate where company_id = @company_id and visitor = @visitor`, args)
}

// VisitorErased stores that a visitor's events are removed.
func (t *Erasure) VisitorErased(ctx context.Context, companyID string, e *erasure.Erasure, visitor string) error {
	return postgres.Exec(ctx, t.tx, "end a visitor of a person", `
		update erasure_visitor set done = true where company_id = @company_id and erasure_id = @erasure_id::uuid and visitor = @visitor`,
		argsOf(companyID, e, pgx.NamedArgs{"visitor": packed.ID(visitor)}))
}
