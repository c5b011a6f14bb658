package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
)

func newExplain() *cobra.Command {
	var database postgresFlags
	var company string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "explain ORDER_ID",
		Short: "Show who is credited for an order, and why",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dsn, err := database.require()
			if err != nil {
				return err
			}
			if company == "" {
				return errors.New("give --company")
			}
			db, err := postgres.Open(cmd.Context(), dsn)
			if err != nil {
				return err
			}
			defer db.Close()
			sale, err := db.ExplainedSale(cmd.Context(), company, args[0])
			if errors.Is(err, commerce.ErrNotFound) {
				return fmt.Errorf("order %s of %s is unknown, or not processed yet", args[0], company)
			}
			if err != nil {
				return err
			}
			if !asJSON {
				explainInWords(cmd, sale)
			}
			if len(sale.Explanation) == 0 {
				return fmt.Errorf("order %s of %s is there, but not yet explained", args[0], company)
			}
			var indented bytes.Buffer // the text as it is: amounts never pass through a float
			if err := json.Indent(&indented, sale.Explanation, "", "  "); err != nil {
				return fmt.Errorf("stored explanation of %s: %w", args[0], err)
			}
			fmt.Fprintln(cmd.OutOrStdout(), indented.String())
			return nil
		},
	}
	database.register(cmd.Flags())
	cmd.Flags().StringVar(&company, "company", "", "companyId of the order")
	cmd.Flags().BoolVar(&asJSON, "json", false, "the stored explanation only, as JSON")
	return cmd
}

// commissionState says what a commission is by its order's status: a pending
// order's is not owed yet.
func commissionState(status int) string {
	switch status {
	case commerce.OrderApproved:
		return "earned"
	case commerce.OrderPending:
		return "expected"
	}
	return "reversed"
}

func explainInWords(cmd *cobra.Command, sale commerce.ExplainedSale) {
	out, s := cmd.OutOrStdout(), sale.Sale
	fmt.Fprintf(out, "Order %s of %s, %s\n", s.OrderID, moment(s.CreatedAt), commerce.Amount{Minor: s.TotalMinor, Currency: s.Currency})
	switch {
	case s.InfluencerID == "":
		fmt.Fprintln(out, "Credited to nobody.")
	default:
		fmt.Fprintf(out, "Credited to %s by %s; commission %s %s\n", s.Influencer, s.Evidence, commissionState(s.Status), commerce.Amount{Minor: s.CommissionMinor, Currency: s.Currency})
	}
	for _, e := range sale.Ledger {
		fmt.Fprintf(out, "  %d  %s  %-8s  %s  %s  (%s)\n", e.Entry, moment(e.At), e.Kind, e.Influencer,
			commerce.Amount{Minor: e.AmountMinor, Currency: e.Currency}, e.Cause)
	}
}
