package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/shopspring/decimal"
	"github.com/spf13/cobra"

	"github.com/tributary-io/tributary/internal/commerce"
)

// mostBalances bounds the list: one for each influencer and currency.
const mostBalances = 10_000

func newPayouts() *cobra.Command {
	return companyCommand("payouts", "Show what each influencer has: expected, in review, held and payable", cobra.NoArgs,
		func(ctx context.Context, cmd *cobra.Command, db stores, company string, _ []string) error {
			c, err := db.Company(ctx, company)
			if err != nil {
				return err
			}
			zone, err := time.LoadLocation(c.Timezone)
			if err != nil {
				return fmt.Errorf("time zone of %s: %w", company, err)
			}
			list, err := db.Balances(ctx, company, time.Now().In(zone).Format(time.DateOnly), commerce.BalanceCursor{}, mostBalances)
			if err != nil {
				return err
			}
			table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(table, "INFLUENCER\tCURRENCY\tEXPECTED\tREVIEW\tHELD\tPAYABLE")
			for _, b := range list {
				units := func(minor decimal.Decimal) string { return unitsOf(minor, b.Currency) }
				fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", printable(b.Influencer), b.Currency,
					units(b.ExpectedMinor), units(b.ReviewMinor), units(b.HeldMinor), units(b.PayableMinor))
			}
			return table.Flush()
		})
}

// unitsOf writes minor units of a currency in the currency's units.
func unitsOf(minor decimal.Decimal, currency string) string {
	digits, err := commerce.Exponent(currency)
	if err != nil {
		return minor.String()
	}
	return minor.Shift(-int32(digits)).StringFixed(int32(digits))
}
