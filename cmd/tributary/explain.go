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
			if _, err := findCompany(cmd.Context(), db, company); err != nil {
				return err
			}
			sale, err := db.ExplainedSale(cmd.Context(), company, args[0])
			if errors.Is(err, commerce.ErrNotFound) {
				return fmt.Errorf("order %s of %s is unknown, or not processed yet", args[0], company)
			}
			if err != nil {
				return err
			}
			if len(sale.Explanation) == 0 {
				return fmt.Errorf("order %s of %s is there, but not yet explained", args[0], company)
			}
			if !asJSON {
				text, err := explainInWords(sale)
				if err != nil {
					return err
				}
				fmt.Fprint(cmd.OutOrStdout(), text)
				return nil
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
	cmd.Flags().BoolVar(&asJSON, "json", false, "the stored explanation as JSON, the channel models' shares with it")
	return cmd
}
