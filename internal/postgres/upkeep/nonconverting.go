package upkeep

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/packed"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/cases"
	"github.com/tributary-io/tributary/internal/upkeep/nonconverting"
)

// NonConvertingPaths counts non-converting paths within a transaction. It is a nonconverting.Store.
type NonConvertingPaths struct {
	cases.Tx // reads the events of visitors
	tx       pgx.Tx
}

// NonConvertingPathsIn returns one that works within the caller's transaction.
func NonConvertingPathsIn(tx pgx.Tx) NonConvertingPaths { return NonConvertingPaths{cases.In(tx), tx} }

var daySpanRows = postgres.Rows[facts.DaySpan]{
	postgres.Col("lo", "date", func(s *facts.DaySpan) string { return s.From }),
	postgres.Col("hi", "date", func(s *facts.DaySpan) string { return s.To }),
}

var markPaths = `
	update nonconverting_day n set marks = n.marks + 1 from ` + daySpanRows.Unnest("s") + `
	where n.company_id = @company_id and n.day between s.lo and s.hi`

// Mark notes that facts have changed which the counts of non-converting paths of days read.
func (t NonConvertingPaths) Mark(ctx context.Context, companyID string, days []facts.DaySpan) error {
	return daySpanRows.Exec(ctx, t.tx, "mark days of non-converting paths", markPaths, days, pgx.NamedArgs{"company_id": companyID})
}

const nullCount = `
	select day, round, marks, began_at, after, journeys, left_out, steps from nonconverting_count where company_id = @company_id for update`

// Count returns the count of non-converting paths that is under way, which no other transaction
// goes on with until this one ends; nil where there is none.
func (t NonConvertingPaths) Count(ctx context.Context, companyID string) (*nonconverting.Count, error) {
	var c nonconverting.Count
	err := t.tx.QueryRow(ctx, nullCount, pgx.NamedArgs{"company_id": companyID}).
		Scan(postgres.Day(&c.Day), &c.Round, &c.Marks, &c.BeganAt, &c.After, &c.Journeys, &c.LeftOut, &c.Steps)
	c.BeganAt = c.BeganAt.UTC()
	return postgres.Maybe(c, postgres.Wrapf(err, "read the count of non-converting paths"))
}

// waits is the SQL of whether orders of the company wait to be computed, queued or still to be
// queued.
const waits = `(exists (select 1 from recompute where company_id = @company_id and failure is null) or exists (select 1 from ` +
	`recompute_span where company_id = @company_id))`

// dueDays finds the first day that is to be counted, of those on which visitors came and
// whose events are all stored. Nothing is counted while orders wait to be computed: which
// visitors they reach is not known yet.
const dueDays = `
	select t.day, case when t.day <= @final::date then 2 else 1 end
	from traffic_day t
	left join nonconverting_day n on n.company_id = @company_id and n.day = t.day
	where t.company_id = @company_id and t.of = '' and t.visited > 0 and t.day <= @first::date
		and t.day >= ` + postgres.PathsFrom + `
		and (coalesce(n.round, 0) < case when t.day <= @final::date then 2 else 1 end
			or n.round = 2 and n.marks <> n.counted and n.counted_at < @again::timestamptz - ((1 << n.recounts) - 1) * @wait::interval)
		and not ` + waits + `
	order by t.day limit 1`

const (
	makeDay = `
		insert into nonconverting_day (company_id, day, round) values (@company_id, @day, 0) on conflict (company_id, day) do nothing`
	beginCount = `
		insert into nonconverting_count (company_id, day, round, marks, began_at, after, journeys, left_out, steps)
		select n.company_id, n.day, @round, n.marks, @now, '', 0, 0, '{}' from nonconverting_day n where n.company_id = @company_id
		and n.day = @day
		on conflict (company_id) do nothing`
)

// Due returns the first day whose non-converting paths are to be counted now, with its round
// alone; nil where there is none.
func (t NonConvertingPaths) Due(ctx context.Context, companyID string, rounds facts.CountRounds) (*nonconverting.Count, error) {
	var c nonconverting.Count
	err := t.tx.QueryRow(ctx, dueDays, pgx.NamedArgs{
		"company_id": companyID, "first": rounds.Last[facts.FirstCount], "final": rounds.Last[facts.FinalCount], "again": rounds.Again,
		"wait": facts.CountAgain,
	}).Scan(postgres.Day(&c.Day), &c.Round)
	return postgres.Maybe(c, postgres.Wrapf(err, "find a day to count non-converting paths of"))
}

// Begin begins a count that Due has returned. What facts change is marked from
// then on, so no owner of the partition may apply anything meanwhile (LockPartition).
func (t NonConvertingPaths) Begin(ctx context.Context, companyID string, due *nonconverting.Count, now time.Time) error {
	args := pgx.NamedArgs{"company_id": companyID, "day": due.Day}
	if err := postgres.Exec(ctx, t.tx, "make a day of non-converting paths", makeDay, args); err != nil {
		return err
	}
	args["round"], args["now"] = due.Round, now
	return postgres.Exec(ctx, t.tx, "begin to count non-converting paths", beginCount, args)
}

// VisitorsOfDay returns the next visitors who came on a day, at most limit, in the order of
// their packed ids, and the packed id of the last one.
func (t NonConvertingPaths) VisitorsOfDay(ctx context.Context, companyID, day string, after []byte,
	limit int) (visitors []string, last []byte, err error) {
	last = after
	var id []byte
	err = postgres.Each(ctx, t.tx, []any{&id}, func() error {
		text, err := packed.Text(id)
		visitors, last = append(visitors, text), append([]byte{}, id...)
		return err
	}, `
		select visitor from shopper_day where company_id = @company_id and day = @day::date and visitor > @after and of = '' order by visitor
		limit @most`,
		pgx.NamedArgs{"company_id": companyID, "day": day, "after": after, "most": limit})
	return visitors, last, postgres.Wrapf(err, "read visitors of a day")
}

// numberedJourney is a journey with its place.
type numberedJourney struct {
	companyID string
	n         int32
	*facts.NonConvertingPath
}

var journeyOfVisitorRows = postgres.Rows[numberedJourney]{
	postgres.Col("n", "int", func(j *numberedJourney) int32 { return j.n }),
	postgres.Col("visitor", "bytea", func(j *numberedJourney) []byte { return packed.ID(j.Visitor) }),
	postgres.Col("own", "smallint", func(j *numberedJourney) int16 { return facts.VisitorKey(j.Visitor).Kind.Code() }),
	postgres.Col("own_digest", "bigint", func(j *numberedJourney) int64 { return facts.KeyDigest(j.companyID, facts.VisitorKey(j.Visitor)) }),
	postgres.Col("reached_digest", "bigint", func(j *numberedJourney) int64 {
		return facts.KeyDigest(j.companyID, facts.Key{Kind: facts.KeyReached, Value: j.Visitor})
	}),
	postgres.Col("lo", "timestamptz", func(j *numberedJourney) time.Time { return j.From }),
	postgres.Col("hi", "timestamptz", func(j *numberedJourney) time.Time { return j.To }),
}

// orderOf is the SQL that tells whether a visitor has an order in time that was not
// cancelled, by a kind of key.
func orderOf(kind, digest string) string {
	return `exists (
		select 1 from order_key x
		where ` + postgres.OfKeyAndHub("x", digest, kind, "j.visitor", "0") + ` and x.created_at between j.lo and j.hi
			and not exists (select 1 from payout p where p.company_id = @company_id and p.order_id = x.order_id and p.status = 2))`
}

// 11 is facts.KeyReached: a visitor whose id is a key of the order is found by that key.
var boughtJourneys = `
	select j.n from ` + journeyOfVisitorRows.Unnest("j") + `
	where ` + orderOf("11", "j.reached_digest") + ` or ` + orderOf("j.own", "j.own_digest")

// Bought returns which of the journeys are no non-converting paths, by their places: those whose
// visitors have an order in their time that was not cancelled.
func (t NonConvertingPaths) Bought(ctx context.Context, companyID string, journeys []facts.NonConvertingPath) (map[int]bool, error) {
	numbered := make([]numberedJourney, len(journeys))
	for i := range journeys {
		numbered[i] = numberedJourney{companyID, int32(i), &journeys[i]}
	}
	list, err := postgres.Collect(ctx, t.tx, pgx.RowTo[int32], boughtJourneys,
		journeyOfVisitorRows.Args(numbered, pgx.NamedArgs{"company_id": companyID}))
	if err != nil {
		return nil, fmt.Errorf("read which journeys led to orders: %w", err)
	}
	bought := make(map[int]bool, len(list))
	for _, n := range list {
		bought[int(n)] = true
	}
	return bought, nil
}

// GoOn stores how far a count has come.
func (t NonConvertingPaths) GoOn(ctx context.Context, companyID string, c *nonconverting.Count) error {
	return postgres.Exec(ctx, t.tx, "go on with the count of non-converting paths", `
		update nonconverting_count set after = @after, journeys = @journeys, left_out = @left_out, steps = @steps where company_id = @company_id`,
		pgx.NamedArgs{"company_id": companyID, "after": c.After, "journeys": c.Journeys, "left_out": c.LeftOut, "steps": c.Steps})
}

// End stores what a count has found of its day.
func (t NonConvertingPaths) End(ctx context.Context, companyID string, c *nonconverting.Count) error {
	if err := postgres.Exec(ctx, t.tx, "store non-converting paths", `
		update nonconverting_day set round = @round, counted = @marks, counted_at = @began_at, journeys = @journeys, left_out = @left_out,
			steps = @steps,
			recounts = case when round < 2 then 0 when counted_at < @quiet_since then 1 else least(recounts + 1, @most_waits::smallint) end
		where company_id = @company_id and day = @day::date`, pgx.NamedArgs{
		"company_id": companyID, "day": c.Day, "round": c.Round, "marks": c.Marks, "began_at": c.BeganAt, "journeys": c.Journeys,
		"left_out": c.LeftOut, "steps": c.Steps,
		"quiet_since": c.BeganAt.Add(-nonconverting.Quiet), "most_waits": nonconverting.MostWaits,
	}); err != nil {
		return err
	}
	return postgres.Exec(ctx, t.tx, "end the count of non-converting paths", `delete from nonconverting_count where company_id = @company_id`,
		pgx.NamedArgs{"company_id": companyID})
}
