package report

import "context"

var deliveryCounts = `
	select ` + periodOf("day") + ` as period, split_part(outcome, ':', 1), coalesce(substring(outcome from ':(.*)$'), ''), sum(events)
	from delivery where company_id = @company_id and day between @from and @to
	group by 1, 2, 3 limit @most`

// delivery adds what became of the events that were received. Its days are of UTC.
func (r *reading) delivery(ctx context.Context) error {
	return r.add(ctx, deliveryCounts, "events")
}
