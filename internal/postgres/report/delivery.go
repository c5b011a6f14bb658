package report

import "context"

// deliveryCounts has one outcome that counts streams and not events: delivery.Unfollowed.
var deliveryCounts = `
	select ` + periodOf("day") + ` as period, split_part(outcome, ':', 1), coalesce(substring(outcome from ':(.*)$'), ''),
		coalesce(sum(events) filter (where outcome <> 'unfollowed'), 0), coalesce(sum(events) filter (where outcome = 'unfollowed'), 0)
	from delivery where company_id = @company_id and day between @from and @to
	group by 1, 2, 3 having sum(events) <> 0 limit @most`

// delivery adds what became of the events that were sent. Its days are of UTC.
func (r *reading) delivery(ctx context.Context) error {
	return r.add(ctx, deliveryCounts, "events", "streams")
}

var sourceCounts = `
	select ` + periodOf("day") + ` as period, origin, agent, outcome, sum(events)
	from delivery_source where company_id = @company_id and day between @from and @to
	group by 1, 2, 3, 4 having sum(events) <> 0 limit @most`

// sources adds from where they came. Its days are of UTC.
func (r *reading) sources(ctx context.Context) error { return r.add(ctx, sourceCounts, "events") }
