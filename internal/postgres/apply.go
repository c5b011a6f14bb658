package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tributary-io/tributary/internal/facts"
)

// maxAtOnce is how many orders a batch computes again by itself; what a change
// concerns beyond it is queued and worked off in chunks
// (docs/attribution.md, "Two hops").
const maxAtOnce = 1000

// applying is one company's part of a batch, in the batch's transaction.
type applying struct {
	facts.CompanyBatch
	tx      pgx.Tx
	company string
	now     time.Time
	applied *facts.Applied

	visitors  map[string]span   // active in the batch
	lostKeys  []facts.Key       // keys that no longer lead to a visitor they led to
	concerned map[string]string // order id → cause, to compute again
	counts    map[dayOutcome]int64
}

type dayOutcome struct{ day, outcome string }

func newApplying(tx pgx.Tx, c facts.CompanyBatch, now time.Time, applied *facts.Applied) *applying {
	return &applying{
		CompanyBatch: c, tx: tx, company: c.Rules.CompanyID, now: now, applied: applied,
		visitors: map[string]span{}, concerned: map[string]string{}, counts: map[dayOutcome]int64{},
	}
}

// count notes what became of an event; see the table delivery.
func (a *applying) count(at time.Time, outcome string, n int64) {
	a.counts[dayOutcome{at.UTC().Format(time.DateOnly), outcome}] += n
}

// Apply writes one batch and the offsets behind it in one transaction: facts,
// idempotently; then the outcome of every order that they can concern.
// facts.ErrFenced: another owner has moved the offsets, nothing was written.
// facts.ErrData: some value can never be stored. commerce.ErrUnavailable and
// anything else: the same batch may succeed later.
func (db *DB) Apply(ctx context.Context, b facts.Batch) (facts.Applied, error) {
	var applied facts.Applied
	err := db.InTx(ctx, func(tx pgx.Tx) error {
		applied = facts.Applied{}
		if err := moveOffsets(ctx, tx, b.ClusterID, b.Moves); err != nil {
			return err
		}
		for _, c := range b.Companies {
			if err := newApplying(tx, c, b.Now, &applied).run(ctx); err != nil {
				return fmt.Errorf("company %s: %w", c.Rules.CompanyID, err)
			}
		}
		return nil
	})
	if err != nil {
		return facts.Applied{}, fmt.Errorf("postgres: apply a batch: %w", dataError(err))
	}
	return applied, nil
}

// run goes down the corridor: facts, what they concern, outcomes.
func (a *applying) run(ctx context.Context) error {
	for _, r := range a.Rejected {
		a.count(r.At, "rejected:"+r.Code, 1)
	}
	if err := a.events(ctx, a.Events); err != nil {
		return err
	}
	if err := a.products(ctx); err != nil {
		return fmt.Errorf("products: %w", err)
	}
	if err := a.orders(ctx); err != nil {
		return fmt.Errorf("orders: %w", err)
	}
	if err := a.concern(ctx); err != nil {
		return fmt.Errorf("find orders concerned: %w", err)
	}
	if err := a.resolve(ctx); err != nil {
		return err
	}
	return a.delivery(ctx)
}

func (a *applying) delivery(ctx context.Context) error {
	days, outcomes, counts := []string{}, []string{}, []int64{}
	for k, n := range a.counts {
		if n != 0 {
			days, outcomes, counts = append(days, k.day), append(outcomes, k.outcome), append(counts, n)
		}
	}
	if len(days) == 0 {
		return nil
	}
	_, err := a.tx.Exec(ctx, `
		insert into delivery (company_id, day, outcome, events)
		select $1, day::date, outcome, events from unnest($2::text[], $3::text[], $4::bigint[]) as d (day, outcome, events)
		on conflict (company_id, day, outcome) do update set events = delivery.events + excluded.events`,
		a.company, days, outcomes, counts)
	if err != nil {
		return fmt.Errorf("delivery counts: %w", err)
	}
	return nil
}

// Recompute works off at most limit queued orders of the one company in the
// batch, fenced by the batch's offsets, which it leaves where they are.
func (db *DB) Recompute(ctx context.Context, b facts.Batch, limit int) (facts.Applied, error) {
	var applied facts.Applied
	err := db.InTx(ctx, func(tx pgx.Tx) error {
		applied = facts.Applied{}
		if err := moveOffsets(ctx, tx, b.ClusterID, b.Moves); err != nil {
			return err
		}
		for _, c := range b.Companies {
			a := newApplying(tx, c, b.Now, &applied)
			rows, err := tx.Query(ctx, `
				delete from recompute where company_id = $1 and order_id in (
					select order_id from recompute where company_id = $1 order by order_id limit $2)
				returning order_id, cause`, a.company, limit)
			if err != nil {
				return err
			}
			var id, cause string
			if _, err := pgx.ForEachRow(rows, []any{&id, &cause}, func() error { a.concerned[id] = cause; return nil }); err != nil {
				return err
			}
			if err := a.resolve(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return facts.Applied{}, fmt.Errorf("postgres: recompute: %w", dataError(err))
	}
	return applied, nil
}

// Queued lists companies that have orders to compute again, at most 10,000. It
// leaps from company to company: a queue of millions is asked after each chunk.
func (db *DB) Queued(ctx context.Context) ([]string, error) {
	rows, err := db.pool.Query(ctx, `
		with recursive queued as (
			(select company_id from recompute order by company_id limit 1)
			union all
			select (select r.company_id from recompute r where r.company_id > q.company_id order by r.company_id limit 1)
			from queued q where q.company_id is not null
		) select company_id from queued where company_id is not null limit 10000`)
	if err != nil {
		return nil, fmt.Errorf("postgres: recompute queue: %w", Translate(err))
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("postgres: recompute queue: %w", Translate(err))
	}
	return list, nil
}

// dataError marks errors that the same values will always meet: bad text or
// numbers (class 22), broken constraints (23), limits such as an index row's (54).
func dataError(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && (strings.HasPrefix(pg.Code, "22") || strings.HasPrefix(pg.Code, "23") || strings.HasPrefix(pg.Code, "54")) {
		return fmt.Errorf("%w: %w", facts.ErrData, err)
	}
	return err
}
