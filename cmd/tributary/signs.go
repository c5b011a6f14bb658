package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/fraud"
	"github.com/tributary-io/tributary/internal/reports"
)

// shownOrders is how many orders of a sign the text names.
const shownOrders = 5

func newSigns() *cobra.Command {
	var shows reportFlag
	var span int // days
	cmd := companyCommand("signs", "Show signs of leaked coupons and hijacked sales, with what they cost", noArguments,
		func(ctx context.Context, cmd *cobra.Command, db stores, company string, _ []string) error {
			if span < 1 || span > reports.MaxDays {
				return misuse(fmt.Errorf("--days must be from 1 to %d", reports.MaxDays))
			}
			c, err := db.Company(ctx, company)
			if err != nil {
				return err
			}
			zone, err := time.LoadLocation(c.Timezone)
			if err != nil {
				return fmt.Errorf("time zone of %s: %w", company, err)
			}
			today := time.Now().In(zone)
			report, err := db.Signs(ctx, company, today.AddDate(0, 0, 1-span).Format(time.DateOnly), today.Format(time.DateOnly))
			if err != nil {
				return err
			}
			if shows.asJSON {
				encoder := json.NewEncoder(cmd.OutOrStdout())
				encoder.SetIndent("", "  ")
				encoder.SetEscapeHTML(false)
				return encoder.Encode(report.JSON())
			}
			return writeSigns(cmd.OutOrStdout(), report)
		})
	cmd.Long = `Show what is unusual in a store's orders: a coupon that spreads, links that are
opened after the checkout has begun, links that nothing proves, one buyer of many
orders, many buyers of one place or network with one code, visits that are received
after the order, that show no page, or that come from one network. A sign says what was
seen, how often it is seen otherwise, since when, and what it cost. It changes
nothing: you decide. docs/signs.md has the rules.`
	cmd.Example = `  tributary signs --company c_… --days 30d`
	daysVar(cmd.Flags(), &span, "days", 90, "how many days to look at, up to today")
	shows.registerPlain(cmd, "the report of GET /reports/signs, as JSON")
	return cmd
}

// writeSigns writes a report for people.
func writeSigns(w io.Writer, report *fraud.Report) error {
	fmt.Fprintf(w, "Signs in %d orders from %s to %s: %d\n", report.Orders, report.Start, report.End, len(report.Signs))
	if !report.AsOf.IsZero() {
		fmt.Fprintf(w, "As of %s.\n", moment(report.AsOf))
	}
	if report.Cut {
		fmt.Fprintf(w, "There are more orders: those before %s were not looked at.\n", report.Start)
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, s := range report.Signs {
		fmt.Fprintf(table, "\n%s\n", printable(s.Text(report.Names[s.Influencer])))
		for _, c := range s.Costs {
			fmt.Fprintf(table, "  cost\t%s commission, %s turnover\n", commerce.Amount{Minor: c.Commission, Currency: c.Currency},
				commerce.Amount{Minor: c.Turnover, Currency: c.Currency})
		}
		for _, source := range s.Sources {
			name := source.Name
			if name == "" {
				name = "unknown"
			}
			fmt.Fprintf(table, "  came by\t%s: %d\n", printable(name), source.Orders)
		}
		newest := s.Orders[max(0, len(s.Orders)-shownOrders):]
		if s.Total > 0 {
			fmt.Fprintf(table, "  orders\t%d since %s; the newest: %s\n", s.Total, s.Since, listed(newest))
		} else {
			fmt.Fprintf(table, "  since\t%s\n", s.Since)
		}
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("write signs: %w", err)
	}
	return nil
}
