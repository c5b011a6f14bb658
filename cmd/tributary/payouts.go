package main

import (
	"context"
	"time"

	"github.com/shopspring/decimal"
	"github.com/spf13/cobra"

	"github.com/tributary-io/tributary/internal/commerce"
)

// mostBalances bounds the list: one for each influencer and currency.
const mostBalances = 10_000

var balanceColumns = []column[commerce.Balance]{
	{"influencer_id", "", func(b *commerce.Balance) any { return b.InfluencerID }},
	{"influencer", "INFLUENCER", func(b *commerce.Balance) any { return b.Influencer }},
	{"currency", "CURRENCY", func(b *commerce.Balance) any { return b.Currency }},
	{"expected", "EXPECTED", func(b *commerce.Balance) any { return sumOf(b.ExpectedMinor, b.Currency) }},
	{"review", "REVIEW", func(b *commerce.Balance) any { return sumOf(b.ReviewMinor, b.Currency) }},
	{"held", "HELD", func(b *commerce.Balance) any { return sumOf(b.HeldMinor, b.Currency) }},
	{"payable", "PAYABLE", func(b *commerce.Balance) any { return sumOf(b.PayableMinor, b.Currency) }},
	{"paid", "PAID", func(b *commerce.Balance) any { return sumOf(b.PaidMinor, b.Currency) }},
	{"withheld", "WITHHELD", func(b *commerce.Balance) any { return sumOf(b.WithheldMinor, b.Currency) }},
}

func sumOf(minor decimal.Decimal, currency string) commerce.Sum {
	return commerce.SumOf(currency)(minor)
}

func newPayouts() *cobra.Command {
	var how listing
	cmd := companyCommand("payouts", "Show what each influencer has: expected, in review, held, payable and paid", noArguments,
		func(ctx context.Context, cmd *cobra.Command, db stores, company string, _ []string) error {
			_, today, err := db.Today(ctx, company, time.Now())
			if err != nil {
				return err
			}
			list, err := db.Balances(ctx, company, today, commerce.BalanceCursor{}, mostBalances)
			if err != nil {
				return err
			}
			return writeList(cmd.OutOrStdout(), how, balanceColumns, list)
		})
	cmd.Example = `  tributary payouts --company c_… --csv > payouts.csv`
	how.register(cmd)
	return cmd
}
