package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/tributary-io/tributary/internal/reports"
)

// deliveryRow is one line of tributary delivery.
type deliveryRow struct {
	day, outcome, reason, origin, browser string
	events, streams                       int64
}

var deliveryColumns = []column[deliveryRow]{
	{"day", "DAY", func(r *deliveryRow) any { return r.day }},
	{"outcome", "OUTCOME", func(r *deliveryRow) any { return r.outcome }},
	{"reason", "REASON", func(r *deliveryRow) any { return orNone(r.reason) }},
	{"events", "EVENTS", func(r *deliveryRow) any { return r.events }},
	{"streams", "STREAMS", func(r *deliveryRow) any { return r.streams }},
}

var sourceColumns = []column[deliveryRow]{
	{"day", "DAY", func(r *deliveryRow) any { return r.day }},
	{"origin", "ORIGIN", func(r *deliveryRow) any { return orNone(r.origin) }},
	{"browser", "BROWSER", func(r *deliveryRow) any { return r.browser }},
	{"outcome", "OUTCOME", func(r *deliveryRow) any { return r.outcome }},
	{"events", "EVENTS", func(r *deliveryRow) any { return r.events }},
}

func newDelivery() *cobra.Command {
	var how listing
	var span int // days
	var sources bool
	cmd := companyCommand("delivery", "Show what became of the events that were sent", noArguments,
		func(ctx context.Context, cmd *cobra.Command, db stores, company string, _ []string) error {
			if span < 1 || span > reports.MaxDays {
				return misuse(fmt.Errorf("--days must be from 1 to %d", reports.MaxDays))
			}
			name, columns := reports.Delivery, deliveryColumns
			if sources {
				name, columns = reports.Sources, sourceColumns
			}
			today := time.Now().UTC()
			report, err := db.Report(ctx, reports.Query{
				CompanyID: company, Name: name, By: reports.ByDay,
				Start: today.AddDate(0, 0, 1-span).Format(time.DateOnly), End: today.Format(time.DateOnly),
			})
			if err != nil {
				return err
			}
			return writeList(cmd.OutOrStdout(), how, columns, deliveryRows(report))
		})
	cmd.Long = `Show what became of a company's events by the day on which they were received, in
UTC: stored, duplicate, late, rejected, dropped by the sender, missing. Where
numberings of senders were not looked at, it says about how many. With --sources
from which pages and browsers they came. docs/reports.md says what each means.`
	cmd.Example = `  tributary delivery --company c_… --days 30d`
	daysVar(cmd.Flags(), &span, "days", 7, "how many days to show, up to today")
	cmd.Flags().BoolVar(&sources, "sources", false, "by the page's origin and the browser")
	how.register(cmd)
	return cmd
}

// deliveryRows are the rows of either report.
func deliveryRows(report *reports.Report) []deliveryRow {
	list := make([]deliveryRow, len(report.Rows))
	for i, row := range report.Rows {
		r := deliveryRow{day: row.Period}
		for n, dimension := range report.Spec.Dimensions {
			switch dimension {
			case "outcome":
				r.outcome = row.Texts[n]
			case "reason":
				r.reason = row.Texts[n]
			case "origin":
				r.origin = row.Texts[n]
			case "browser":
				r.browser = row.Texts[n]
			}
		}
		r.events = row.Sums[report.Spec.Column("events")].IntPart()
		if report.Query.Name == reports.Delivery {
			r.streams = row.Sums[report.Spec.Column("streams")].IntPart()
		}
		list[i] = r
	}
	return list
}
