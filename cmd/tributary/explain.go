package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tributary-io/tributary/internal/commerce"
)

func newExplain() *cobra.Command {
	var report reportFlag
	cmd := companyCommand("explain ORDER_ID", "Show who is credited for an order, and why", oneArgument,
		func(ctx context.Context, cmd *cobra.Command, db stores, company string, args []string) error {
			sale, err := db.ExplainedSale(ctx, company, args[0])
			if errors.Is(err, commerce.ErrNotFound) {
				return fmt.Errorf("order %s of %s is unknown, or not processed yet", args[0], company)
			}
			if err != nil {
				return err
			}
			if len(sale.Explanation) == 0 {
				return fmt.Errorf("order %s of %s is there, but not yet explained", args[0], company)
			}
			if !report.asJSON {
				text, err := explainInWords(sale)
				if err != nil {
					return err
				}
				fmt.Fprint(cmd.OutOrStdout(), text)
				return nil
			}
			var indented bytes.Buffer // indented as text: decoding would turn amounts into floats
			if err := json.Indent(&indented, sale.Explanation, "", "  "); err != nil {
				return fmt.Errorf("stored explanation of %s: %w", args[0], err)
			}
			fmt.Fprintln(cmd.OutOrStdout(), indented.String())
			if sale.Recomputing {
				fmt.Fprintln(cmd.ErrOrStderr(), "This order is being computed again: it may change.")
			}
			return nil
		})
	cmd.Example = `  tributary explain 1001 --company c_…`
	report.registerPlain(cmd, "the stored explanation as JSON, the channel models' shares with it")
	return cmd
}
