package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tributary-io/tributary/admin/statementlink"
	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/uuidtext"
)

func newStatement() *cobra.Command {
	return group("statement", "Close, list, show and pay the influencers' statements, withhold of them, undo payments, and make links",
		newStatementList(), newStatementShow(), newStatementClose(), newStatementWithhold(), newStatementPay(), newStatementUndo(),
		newStatementUnblock(), newStatementLink())
}

var statementColumns = []column[commerce.Statement]{
	{"id", "STATEMENT", func(s *commerce.Statement) any { return s.StatementID }},
	{"number", "NO.", func(s *commerce.Statement) any { return ofClosed(s, s.Number) }},
	{"influencer_id", "", func(s *commerce.Statement) any { return s.InfluencerID }},
	{"influencer", "INFLUENCER", func(s *commerce.Statement) any { return s.Influencer }},
	{"currency", "CURRENCY", func(s *commerce.Statement) any { return s.Currency }},
	{"start_date", "FROM", func(s *commerce.Statement) any { return orNone(s.StartDate) }},
	{"end_date", "TO", func(s *commerce.Statement) any { return s.EndDate }},
	{"state", "STATE", func(s *commerce.Statement) any { return s.State }},
	{"opening", "OPENING", func(s *commerce.Statement) any { return ofClosed(s, sumOf(s.OpeningMinor, s.Currency)) }},
	{"line_count", "ORDERS", func(s *commerce.Statement) any { return ofClosed(s, s.Lines) }},
	{"total", "TOTAL", func(s *commerce.Statement) any { return ofClosed(s, sumOf(s.TotalMinor, s.Currency)) }},
	{"withholdings", "", func(s *commerce.Statement) any { return orNone(s.WithheldText()) }},
	{"net", "NET", func(s *commerce.Statement) any { return ofClosed(s, sumOf(s.NetMinor(), s.Currency)) }},
	{"invoice", "", func(s *commerce.Statement) any { return orNone(s.Invoice) }},
	{"carried", "CARRIED", func(s *commerce.Statement) any { return ofClosed(s, s.Carried) }},
	{"paid_at", "PAID", func(s *commerce.Statement) any {
		if s.PaidAt.IsZero() {
			return nil
		}
		return moment(s.PaidAt)
	}},
	{"reference", "", func(s *commerce.Statement) any { return orNone(s.Reference) }},
}

// ofClosed is a value that only a closed statement has.
func ofClosed(s *commerce.Statement, value any) any {
	if s.State == commerce.StatementClosing {
		return nil
	}
	return value
}

func newStatementList() *cobra.Command {
	var how listing
	var influencer string
	var filter commerce.StatementFilter
	var limit int
	cmd := companyCommand("list", "List a company's statements, the newest first", noArguments,
		func(ctx context.Context, cmd *cobra.Command, db stores, company string, _ []string) (err error) {
			if filter.InfluencerID, err = influencerID(ctx, db, company, influencer); err != nil {
				return err
			}
			if limit < 1 || limit > mostListed {
				return misuse(fmt.Errorf("--limit %d: it must be from 1 to %d", limit, mostListed))
			}
			if bad := filter.Check(); bad.Any() {
				return misuse(fmt.Errorf("--%s %s", bad.List[0].Field, bad.List[0].Message))
			}
			list, err := db.Statements(ctx, company, filter, commerce.StatementCursor{}, limit)
			if err != nil {
				return err
			}
			return writeList(cmd.OutOrStdout(), how, statementColumns, list)
		})
	cmd.Example = `  tributary statement list --company c_… --state closed`
	how.register(cmd)
	cmd.Flags().StringVar(&influencer, "influencer", "", "only the statements of this influencer: the name or the id")
	cmd.Flags().StringVar(&filter.State, "state", "", "only those in a state: "+strings.Join(commerce.StatementStates, ", "))
	cmd.Flags().IntVar(&limit, "limit", 100, "how many statements are listed at most")
	return cmd
}

// mostListed bounds a list of statements.
const mostListed = 10_000

var lineColumns = []column[commerce.StatementLine]{
	{"orderId", "ORDER", orderOfLine},
	{"name", "", func(l *commerce.StatementLine) any { return orNone(l.OrderName) }},
	{"date", "ORDERED", func(l *commerce.StatementLine) any { return orNone(l.Day) }},
}

// linesAtOnce is how many lines of a statement are read together.
const linesAtOnce = 1000

func newStatementShow() *cobra.Command {
	var how listing
	cmd := companyCommand("show STATEMENT_ID", "Show a statement with its orders", oneArgument,
		func(ctx context.Context, cmd *cobra.Command, db stores, company string, args []string) error {
			s, err := findStatement(ctx, db, company, args[0])
			if err != nil {
				return err
			}
			lines, err := linesOf(ctx, db, company, s)
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			columns := append(lineColumns[:len(lineColumns):len(lineColumns)],
				column[commerce.StatementLine]{"amount", "AMOUNT", func(l *commerce.StatementLine) any { return sumOf(l.AmountMinor, s.Currency) }},
				column[commerce.StatementLine]{"currency", "", func(*commerce.StatementLine) any { return s.Currency }},
				column[commerce.StatementLine]{"value", "VALUE", func(l *commerce.StatementLine) any { return sumOrNone(l.Value(s.Currency)) }},
				column[commerce.StatementLine]{"base", "BASE", func(l *commerce.StatementLine) any { return sumOrNone(l.Base(s.Currency)) }},
				column[commerce.StatementLine]{"rate", "RATE", func(l *commerce.StatementLine) any { return orNone(l.RateText()) }},
				column[commerce.StatementLine]{"evidence", "BY", func(l *commerce.StatementLine) any { return orNone(string(l.Evidence)) }},
				column[commerce.StatementLine]{"coupon", "", func(l *commerce.StatementLine) any { return orNone(l.Coupon) }},
				column[commerce.StatementLine]{"cause", "TAKEN BACK BY", func(l *commerce.StatementLine) any { return orNone(l.Cause) }})
			if how.asJSON {
				whole := statementObject(s)
				whole["lines"] = objects(columns, lines)
				return writeJSON(out, whole)
			}
			if !how.asCSV {
				if err := writeList(out, how, statementColumns, []commerce.Statement{s}); err != nil {
					return err
				}
				fmt.Fprintln(out)
			}
			return writeList(out, how, columns, lines)
		})
	cmd.Example = `  tributary statement show 01938a4e-… --company c_… --csv`
	how.register(cmd)
	return cmd
}

// orderOfLine is the line's order, "agreement" with the cost's id, or its manual entry by kind and reason.
func orderOfLine(l *commerce.StatementLine) any {
	switch of, id := l.Account(); of {
	case commerce.OfOrder:
		return l.OrderID
	case commerce.OfAgreement:
		return of + ": " + id
	}
	return l.Kind + ": " + l.Reason
}

func sumOrNone(sum *commerce.Sum) any {
	if sum != nil {
		return *sum
	}
	return orNone("")
}

// findStatement returns a statement. The error for an unknown one says how to list them.
func findStatement(ctx context.Context, db stores, company, id string) (commerce.Statement, error) {
	s, err := commerce.Statement{}, error(commerce.ErrNotFound)
	if uuidtext.Is(id) {
		s, err = db.Statement(ctx, company, id)
	}
	if errors.Is(err, commerce.ErrNotFound) {
		return s, fmt.Errorf("%s has no statement %s; `tributary statement list` shows those there are", company, printable(id))
	}
	return s, err
}

// linesOf reads all lines of a closed statement; of one that is closing there are none.
func linesOf(ctx context.Context, db stores, company string, s commerce.Statement) (lines []commerce.StatementLine, err error) {
	for after := ""; s.State != commerce.StatementClosing; {
		page, err := db.StatementLines(ctx, company, s.StatementID, after, linesAtOnce)
		if err != nil {
			return nil, err
		}
		if lines = append(lines, page...); len(page) < linesAtOnce {
			break
		}
		after = page[len(page)-1].OrderID
	}
	return lines, nil
}

func newStatementClose() *cobra.Command {
	var how listing
	var asked commerce.Closing
	var influencer string
	cmd := companyCommand("close", "Close statements up to a day, one for each influencer and currency", noArguments,
		func(ctx context.Context, cmd *cobra.Command, db stores, company string, _ []string) (err error) {
			if bad := asked.Check(); bad.Any() {
				return misuse(fmt.Errorf("--end-date %s", bad.List[0].Message))
			}
			if asked.InfluencerID, err = influencerID(ctx, db, company, influencer); err != nil {
				return err
			}
			list, err := db.AskStatements(ctx, commerce.Author{CompanyID: company, Actor: actor, At: time.Now()}, asked, rand.Reader)
			switch {
			case errors.Is(err, commerce.ErrFutureDay):
				return misuse(fmt.Errorf("--end-date %s is in the future: it may be today or before, in the store's time zone", asked.EndDate))
			case errors.Is(err, commerce.ErrNotFound):
				return fmt.Errorf("--influencer: %s has no influencer %s", company, asked.InfluencerID)
			case errors.Is(err, commerce.ErrTooManyStatements):
				return errors.New("too many statements at once: give --influencer")
			case err != nil:
				return err
			}
			if len(list) == 0 {
				fmt.Fprintf(cmd.ErrOrStderr(), "There is nothing to close up to %s.\n", asked.EndDate)
			}
			for i, s := range list { // with the influencers' names
				if list[i], err = db.Statement(ctx, company, s.StatementID); err != nil {
					return err
				}
			}
			return writeList(cmd.OutOrStdout(), how, statementColumns, list)
		})
	cmd.Long = `Ask for a statement of each influencer and currency with commissions that may be
paid by a day and are in no statement yet. The processor closes them within seconds,
once an admin service has published what was asked for; from then on they never
change. Sent again, the same makes no second statement.`
	cmd.Example = `  tributary statement close --company c_… --end-date 2026-10-31`
	how.register(cmd)
	cmd.Flags().StringVar(&asked.EndDate, "end-date", "", "the last day, YYYY-MM-DD, in the store's time zone: today or before")
	cmd.Flags().StringVar(&influencer, "influencer", "", "only the statements of this influencer: the name or the id")
	needs(cmd, "end-date")
	return cmd
}

func newStatementPay() *cobra.Command {
	var paidAt, reference string
	var report reportFlag
	cmd := companyCommand("pay STATEMENT_ID", "Record that a statement was paid", oneArgument,
		func(ctx context.Context, cmd *cobra.Command, db stores, company string, args []string) error {
			at, err := readMoment("paid-at", paidAt)
			if err != nil {
				return err
			}
			s, err := findStatement(ctx, db, company, args[0])
			if err != nil {
				return err
			}
			payment := commerce.StatementPayment{StatementID: s.StatementID, PaidAt: at.UTC().Truncate(time.Microsecond), Reference: reference}
			if bad := payment.Check(time.Now()); bad.Any() {
				return misuse(fmt.Errorf("--%s %s", strings.ReplaceAll(bad.List[0].Field, "_", "-"), bad.List[0].Message))
			}
			err = db.PayStatement(ctx, commerce.Author{CompanyID: company, Actor: actor, At: time.Now()}, payment)
			switch {
			case errors.Is(err, commerce.ErrNotClosed):
				return errors.New("the statement is not closed yet: try again in a moment. A processor and an admin service must run")
			case errors.Is(err, commerce.ErrCarried):
				return errors.New("the statement's total is carried to the influencer's next statement: pay that one")
			case errors.Is(err, commerce.ErrRestored):
				return paysNothing(company)
			case errors.Is(err, commerce.ErrPaidOtherwise):
				return fmt.Errorf("the statement was paid on %s already (%s): `tributary statement undo %s --company %s` undoes that", moment(s.PaidAt),
					printable(s.Reference), s.StatementID, company)
			case err != nil:
				return err
			}
			if report.asJSON {
				return writeStatement(ctx, cmd, db, company, s.StatementID)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s of %s is paid: %s\n", printable(s.Influencer), s.EndDate, sumWords(sumOf(s.NetMinor(), s.Currency)))
			return nil
		})
	cmd.Example = `  tributary statement pay 01938a4e-… --company c_… --paid-at 2026-11-05T12:00:00Z --reference "PIX 8127"`
	report.registerPlain(cmd, "write the statement as JSON, for programs")
	cmd.Flags().StringVar(&paidAt, "paid-at", "", "when it was paid, such as 2026-11-05T12:00:00Z")
	cmd.Flags().StringVar(&reference, "reference", "", "what names the transfer, up to 200 characters; the influencer sees it")
	needs(cmd, "paid-at", "reference")
	return cmd
}

func newStatementUndo() *cobra.Command {
	var reason string
	var report reportFlag
	cmd := companyCommand("undo STATEMENT_ID", "Undo the payment of a statement, which was not made after all", oneArgument,
		func(ctx context.Context, cmd *cobra.Command, db stores, company string, args []string) error {
			s, err := findStatement(ctx, db, company, args[0])
			if err != nil {
				return err
			}
			undo := commerce.PaymentUndo{StatementID: s.StatementID, Reason: reason}
			if bad := undo.Check(); bad.Any() {
				return misuse(fmt.Errorf("--%s %s", bad.List[0].Field, bad.List[0].Message))
			}
			err = db.UndoPayment(ctx, commerce.Author{CompanyID: company, Actor: actor, At: time.Now()}, undo)
			switch {
			case errors.Is(err, commerce.ErrNotPaid):
				return errors.New("the statement has no payment that could be undone")
			case errors.Is(err, commerce.ErrRestored):
				return paysNothing(company)
			case err != nil:
				return err
			}
			if report.asJSON {
				return writeStatement(ctx, cmd, db, company, s.StatementID)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s of %s is to be paid again: %s\n", printable(s.Influencer), s.EndDate,
				sumWords(sumOf(s.NetMinor(), s.Currency)))
			return nil
		})
	cmd.Example = `  tributary statement undo 01938a4e-… --company c_… --reason "The bank sent it back"`
	report.registerPlain(cmd, "write the statement as JSON, for programs")
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the audit log, up to 200 characters")
	needs(cmd, "reason")
	return cmd
}

// writeStatement writes a statement as JSON, as it is now.
func writeStatement(ctx context.Context, cmd *cobra.Command, db stores, company, id string) error {
	s, err := findStatement(ctx, db, company, id)
	if err != nil {
		return err
	}
	return writeJSON(cmd.OutOrStdout(), statementObject(s))
}

// statementObject is a statement as JSON.
func statementObject(s commerce.Statement) map[string]any {
	return objects(statementColumns, []commerce.Statement{s})[0]
}

// paysNothing says how a company that was restored from a backup pays again.
func paysNothing(company string) error {
	return fmt.Errorf("%s was restored from a backup, and changes of it are lost: nothing is paid until an owner confirms on the "+
		"dashboard's page Statements, or `tributary statement unblock --company %s`", company, company)
}

func newStatementUnblock() *cobra.Command {
	var yes bool
	var report reportFlag
	cmd := companyCommand("unblock", "Let a company pay again, after its database was restored from a backup", noArguments,
		func(ctx context.Context, cmd *cobra.Command, db stores, company string, _ []string) error {
			if !yes {
				what := "what the processors have not applied yet may hold payments that were made: let " + company +
					" pay again only after they have applied everything (`tributary doctor`), and its statements were compared with the bank"
				if err := askYes(cmd, what, "Type yes to unblock: "); err != nil {
					return err
				}
			}
			was, err := db.ConfirmRestored(ctx, commerce.Author{CompanyID: company, Actor: actor, At: time.Now()})
			if err != nil {
				return err
			}
			text := "Paying is not blocked: nothing was changed."
			if was {
				text = "Statements of " + company + " can be paid again."
			}
			fmt.Fprintln(report.text(cmd), text)
			return report.write(cmd, map[string]any{"company_id": company, "changed": was})
		})
	cmd.Long = `Let a company pay again. After the database was restored from a backup, paying is blocked
in the companies of which changes are lost, until an owner has compared the statements with
the bank and confirms, on the dashboard's page Statements or here: see "Backup and
restore" in docs/operations.md. Do it only after the processors have applied everything,
which "tributary doctor" tells: payments may be among it. It asks.`
	cmd.Example = `  tributary statement unblock --company c_…`
	report.registerPlain(cmd, "write what was done as JSON, for programs")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

func newStatementLink() *cobra.Command {
	var tokens secretFlag
	var publicURL string
	var life int // days
	var revoke bool
	var report reportFlag
	cmd := companyCommand("link STATEMENT_ID", "Make a link that shows an influencer their own statement without a log-in", oneArgument,
		func(ctx context.Context, cmd *cobra.Command, db stores, company string, args []string) error {
			base, err := url.Parse(publicURL)
			if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" {
				return misuse(fmt.Errorf("--public-url %q is not https://host", publicURL))
			}
			if life < 1 || life > statementlink.MostDays {
				return misuse(fmt.Errorf("--days %d: it must be from 1 to %d", life, statementlink.MostDays))
			}
			secret, err := tokens.require()
			if err != nil {
				return err
			}
			signer, err := statementlink.NewSigner(secret, nil)
			if err != nil {
				return err
			}
			s, err := findStatement(ctx, db, company, args[0])
			if err != nil {
				return err
			}
			number, err := db.LinkNumber(ctx, commerce.Author{CompanyID: company, Actor: actor, At: time.Now()}, s.StatementID, revoke)
			if err != nil {
				return err
			}
			expires := time.Now().AddDate(0, 0, life).Truncate(time.Second)
			token, err := signer.Token(statementlink.Link{CompanyID: company, StatementID: s.StatementID, InfluencerID: s.InfluencerID,
				Number: number, Expires: expires})
			if err != nil {
				return err
			}
			link := base.Scheme + "://" + base.Host + statementlink.Path + token
			if revoke {
				fmt.Fprintln(report.notes(cmd), "The links to this statement that were made before do not work any more.")
			}
			fmt.Fprintf(report.notes(cmd), "For %s, until %s:\n", printable(s.Influencer), moment(expires))
			fmt.Fprintln(report.text(cmd), link)
			return report.write(cmd, map[string]any{"statement_id": s.StatementID, "influencer": s.Influencer, "link": link,
				"expires_at": moment(expires), "revoked": revoke})
		})
	cmd.Long = `Make a link that shows an influencer their own statement and its orders, as a page and
as CSV, without a log-in. Whoever has the link can open it, until it expires.
--revoke ends all links to the statement that were made before.`
	cmd.Flags().StringVar(&publicURL, "public-url", "", "where browsers reach the dashboard, https://host")
	daysVar(cmd.Flags(), &life, "days", statementlink.Days, "for how many days the link works")
	cmd.Example = `  tributary statement link 01938a4e-… --company c_… --public-url https://painel.example.com --token-secret-file ` +
		`token-secret --days 90d`
	report.registerPlain(cmd, "write the link as JSON, for programs")
	cmd.Flags().BoolVar(&revoke, "revoke", false, "first end all links to this statement that were made before")
	tokens.register(cmd.Flags(), "token-secret", "the admin service's token secret, which signs the link")
	needs(cmd, "public-url")
	return cmd
}

// influencerID returns the id of an influencer that is named, or given by id; "" for "".
func influencerID(ctx context.Context, db stores, company, named string) (string, error) {
	if named == "" || uuidtext.Is(named) {
		return named, nil
	}
	id, err := db.InfluencerID(ctx, company, named)
	if errors.Is(err, commerce.ErrNotFound) {
		return "", fmt.Errorf("--influencer: %s has no influencer %q", company, named)
	}
	return id, err
}
