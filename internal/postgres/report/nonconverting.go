package report

import (
	"context"
	"fmt"
	"strconv"

	"github.com/tributary-io/tributary/internal/fold"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/reports"
	"github.com/tributary-io/tributary/sdk/core"
)

// This file reads the non-converting paths that the processor counts (docs/reports.md, "Non-converting
// paths").

// uncounted is the SQL of the last day before the first one that is to be counted in a round
// and is not. Days whose events were removed before they were counted are to be counted in
// none.
func uncounted(round string) string {
	return `(
		select min(t.day) - 1 from traffic_day t left join nonconverting_day n on n.company_id = @company_id and n.day = t.day
		where t.company_id = @company_id and t.of = '' and t.visited > 0 and coalesce(n.round, 0) < ` + round + `
			and t.day >= ` + postgres.PathsFrom + `)`
}

var nonConvertingOfReport = `
	select coalesce(sum(journeys) filter (where day between @from and @to), 0)::bigint,
	coalesce(sum(left_out) filter (where day between @from and @to), 0)::bigint,
		least(max(day), ` + uncounted("1") + `), least(max(day) filter (where round = 2), ` + uncounted("2") + `)
	from nonconverting_day where company_id = @company_id and round > 0 having count(*) > 0`

// nulls adds how many non-converting paths the report's days have.
func (r *reading) nulls(ctx context.Context) error {
	var n reports.NonConvertingPaths
	err := postgres.Each(ctx, r.tx, []any{&n.Journeys, &n.LeftOut, postgres.Day(&n.CountedUntil), postgres.Day(&n.FinalUntil)},
		func() error { return nil }, nonConvertingOfReport, r.args(nonConvertingOfReport))
	r.SetNonConverting(n)
	return err
}

const stepsOfPaths = `
	select day - @from::date, steps from nonconverting_day where company_id = @company_id and day between @from and @to and round > 0
	and steps <> '{}'`

// readNonConverting adds the steps of non-converting paths to the tallies of periods that have orders:
// without an order nobody gets anything.
func (r *reading) readNonConverting(ctx context.Context, paths *pathReader) (err error) {
	if paths.renamed, err = r.presentNames(ctx); err != nil {
		return err
	}
	var day int
	var steps []byte
	return postgres.Each(ctx, r.tx, []any{&day, &steps}, func() error {
		tally := paths.tallies[paths.periods[day]]
		if tally == nil {
			return nil
		}
		// A year may have two million steps: encoding/json takes four times as long.
		all := core.Scan(string(steps), 0)
		all.Enter()
		for before, ok := all.Key(); ok; before, ok = all.Key() {
			from := int32(-1)
			if before != "" {
				from = paths.placeOf(before)
			}
			all.Enter()
			for channel, ok := all.Key(); ok; channel, ok = all.Key() {
				journeys, err := strconv.ParseInt(all.Raw(), 10, 64)
				if err != nil {
					return fmt.Errorf("steps of non-converting paths: %w", err)
				}
				if channel == "" {
					tally.AddLeft(from, journeys)
				} else {
					tally.AddStep(from, paths.placeOf(channel), journeys)
				}
			}
		}
		if !all.Done() {
			return fmt.Errorf("steps of non-converting paths of day %d: the stored text is broken", day)
		}
		return nil
	}, stepsOfPaths, r.args(stepsOfPaths))
}

// otherChannels is the name of all channels of non-converting paths together that are too many for
// markov: of no channel that an order came by. It gets nothing.
const otherChannels = "\x00"

// presentNames returns the present names of influencers by the folded names that they had before: days that were counted
// before a rename have the name of then.
func (r *reading) presentNames(ctx context.Context) (map[string]string, error) {
	return postgres.Map[string, string](ctx, r.tx, `
		select f.name_folded, i.name from former_name f
		join influencer i on i.company_id = f.company_id and i.influencer_id = f.influencer_id
		where f.company_id = $1`, r.query.CompanyID)
}

// placeOf returns the place of a channel of non-converting paths.
func (p *pathReader) placeOf(name string) int32 {
	if len(p.renamed) > 0 {
		if present, renamed := p.renamed[fold.Name(name)]; renamed {
			name = present
		}
	}
	if _, known := p.places[name]; !known && len(p.names) >= reports.MaxMarkovChannels {
		name = otherChannels
	}
	return p.place([]byte(name))
}
