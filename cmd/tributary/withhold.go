package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/wire"
)

func newStatementWithhold() *cobra.Command {
	var withheld []string
	var invoice string
	var none bool
	var report reportFlag
	cmd := companyCommand("withhold STATEMENT_ID", "Enter what is withheld of a closed statement, and the influencer's invoice", oneArgument,
		func(ctx context.Context, cmd *cobra.Command, db stores, company string, args []string) error {
			if given := len(withheld) > 0 || invoice != ""; given == none {
				return misuse(errors.New("give --part or --invoice, or --none alone"))
			}
			s, err := findStatement(ctx, db, company, args[0])
			if err != nil {
				return err
			}
			w := commerce.Withholding{StatementID: s.StatementID, Invoice: invoice}
			if w.List, err = withheldParts(withheld, s.Currency); err != nil {
				return misuse(err)
			}
			if bad := w.Check(s.Currency); bad.Any() {
				return misuse(fmt.Errorf("%s %s", bad.List[0].Field, bad.List[0].Message))
			}
			if err := withhold(ctx, db, company, w); err != nil {
				return err
			}
			if s, err = findStatement(ctx, db, company, s.StatementID); err != nil {
				return err
			}
			fmt.Fprintf(report.text(cmd), "%s of %s: %s are paid, %s withheld\n", printable(s.Influencer), s.EndDate,
				sumWords(sumOf(s.NetMinor(), s.Currency)), sumWords(sumOf(s.WithheldMinor, s.Currency)))
			return report.write(cmd, statementObject(s))
		})
	cmd.Long = `Enter what is withheld of a closed statement, such as taxes, and the number of the
influencer's invoice. It takes the place of all that was entered before, until the
statement is paid. Amounts are written as 12.34, in the statement's currency.`
	cmd.Example = `  tributary statement withhold 01938a4e-… --company c_… --part IRRF=12.34 --part ISS=5 --invoice "NF 118"
  tributary statement withhold 01938a4e-… --company c_… --none`
	cmd.Flags().StringSliceVar(&withheld, "part", nil, "what is withheld, as NAME=AMOUNT; repeat or separate by commas")
	cmd.Flags().StringVar(&invoice, "invoice", "", "the number of the influencer's invoice")
	cmd.Flags().BoolVar(&none, "none", false, "nothing is withheld, and there is no invoice")
	report.registerPlain(cmd, "write the statement as JSON, for programs")
	return cmd
}

// withheldParts reads NAME=AMOUNT, in units of a currency.
func withheldParts(texts []string, currency string) (list []wire.Withheld, err error) {
	for _, text := range texts {
		at := strings.LastIndex(text, "=")
		if at < 0 {
			return nil, fmt.Errorf("--part %q: write it as NAME=AMOUNT, such as IRRF=12.34", text)
		}
		minor, err := commerce.ParseMinor(strings.TrimSpace(text[at+1:]), currency)
		if err != nil {
			return nil, fmt.Errorf("--part %q: the amount is no amount of %s, such as 12.34", text, currency)
		}
		list = append(list, wire.Withheld{Name: strings.TrimSpace(text[:at]), AmountMinor: minor})
	}
	return list, nil
}

// withhold enters a withholding, and says why it cannot be entered.
func withhold(ctx context.Context, db stores, company string, w commerce.Withholding) error {
	err := db.Withhold(ctx, commerce.Author{CompanyID: company, Actor: actor, At: time.Now()}, w)
	switch {
	case errors.Is(err, commerce.ErrNotClosed):
		return errors.New("the statement is not closed yet: try again in a moment. A processor and an admin service must run")
	case errors.Is(err, commerce.ErrCarried):
		return errors.New("the statement's total is carried to the influencer's next statement: withhold of that one")
	case errors.Is(err, commerce.ErrPaid):
		return errors.New("the statement is paid already: what was withheld of it stays")
	case errors.Is(err, commerce.ErrAboveTotal):
		return errors.New("more would be withheld than the statement's total")
	case errors.Is(err, commerce.ErrRestored):
		return paysNothing(company)
	}
	return err
}
