package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/ledger"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/factstore"
	"github.com/tributary-io/tributary/internal/postgres/replay"
	"github.com/tributary-io/tributary/processor"
)

// replayFlags are those of replay and verify.
type replayFlags struct {
	database postgresFlags
	keep     bool
	wait     time.Duration
}

func (r *replayFlags) register(cmd *cobra.Command) {
	r.database.register(cmd.Flags())
	cmd.Flags().BoolVar(&r.keep, "keep", false,
		"keep the schema with the replayed outcomes; without it the schema is dropped, also after a stop")
	durationVar(cmd.Flags(), &r.wait, "wait", time.Minute, "how long to wait at most until no order waits to be computed again")
}

func newReplay() *cobra.Command {
	var flags replayFlags
	cmd := &cobra.Command{
		Use:   "replay",
		Short: "Compute everything from the stored facts in a fresh schema",
		Long: `Compute credits, payouts and ledgers of all companies from the stored facts, in a
fresh schema of the same database, and print the ledger hash of the result.

Facts and rules are read in one snapshot. Live rows are never changed. The role
needs CREATE on the database, which needs room for what is computed.`,
		Example: `  tributary replay --keep`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return flags.run(cmd, func(live *replay.Snapshot, fresh *replay.Schema) error {
				hash, orders, err := ledger.Hash(fresh.Nets(cmd.Context(), live.Companies))
				if err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "replayed  %s  %d orders\n", hash, orders)
				return nil
			})
		},
	}
	flags.register(cmd)
	return cmd
}

func newVerify() *cobra.Command {
	var flags replayFlags
	var most int
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check that the live outcomes are those of the stored facts",
		Long: `Compute everything from the stored facts, as replay does, and compare the result
with the live rows: credits, payouts and the net of each ledger. Both ledger
hashes are printed. Where they differ, some orders that differ are named and the
exit status is 1. The credits of each company, day, currency and model must be what
its approved orders come to: where they are not, it says which, and by how much.
The entries of closed statements are facts; verify checks that
each statement still has those with which it was closed.

Facts that come meanwhile are in neither side. Change no rule in the moment
before it starts: what the processors have not read yet would be a difference.`,
		Example: `  tributary verify --wait 5m`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if most < 0 {
				return misuse(fmt.Errorf("--show %d: it cannot be negative", most))
			}
			return flags.run(cmd, func(live *replay.Snapshot, fresh *replay.Schema) error {
				found, err := ledger.Compare(live.Nets(cmd.Context()), fresh.Nets(cmd.Context(), live.Companies), most)
				if err != nil {
					return err
				}
				err = showComparison(cmd.OutOrStdout(), found)
				return errors.Join(err, checkStatements(cmd.Context(), cmd.OutOrStdout(), live, most),
					checkSums(cmd.Context(), cmd.OutOrStdout(), live), checkBooks(cmd.Context(), cmd.OutOrStdout(), live, most))
			})
		},
	}
	flags.register(cmd)
	cmd.Flags().IntVar(&most, "show", 20, "how many of the orders that differ are named")
	return cmd
}

// run replays into a fresh schema, and calls then with it.
func (r *replayFlags) run(cmd *cobra.Command, then func(live *replay.Snapshot, fresh *replay.Schema) error) error {
	ctx, out := cmd.Context(), cmd.ErrOrStderr()
	dsn, err := r.database.require()
	if err != nil {
		return err
	}
	live, err := postgres.Open(ctx, dsn)
	if err != nil {
		return err
	}
	defer live.Close()
	schema, err := live.Schema(ctx)
	if err == nil {
		err = schema.Problem()
	}
	if err != nil {
		return err
	}
	left, err := replay.LeftOver(ctx, live)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		fmt.Fprintf(out, "Schemas of earlier replays that were kept or killed: %s. Remove each with: drop schema NAME cascade\n",
			strings.Join(left, ", "))
	}
	options := replay.Options{
		Wait: r.wait, Keep: r.keep, Progress: showProgress(out),
		Waiting: func(because error) { fmt.Fprintln(out, "waiting:", because) },
		Created: func(schema string) { fmt.Fprintln(out, "The fresh schema is", schema) },
	}
	return replay.Run(ctx, live, dsn, options, replayCompany, then)
}

// replayCompany applies one company's facts as the processor does.
func replayCompany(ctx context.Context, to *replay.Schema, parts iter.Seq2[facts.Stored, error]) error {
	return processor.New(processor.Config{}, processor.Deps{Store: processor.StoreOf(factstore.New(to.DB))}).Replay(ctx, parts)
}

// progressEvery is the least time between two lines that tell how far a replay is.
const progressEvery = 5 * time.Second

// showProgress returns a function that writes, now and then, how far a replay is.
func showProgress(out io.Writer) func(p replay.Progress) {
	next := time.Now().Add(progressEvery)
	return func(p replay.Progress) {
		if now := time.Now(); now.After(next) {
			next = now.Add(progressEvery)
			fmt.Fprintf(out, "company %d of %d: %d events, %d decisions and %d versions of orders applied\n", p.Company, p.Companies, p.Events,
				p.Decisions, p.Orders)
		}
	}
}

// mostAmounts bounds the amounts shown of one side of an order that differs.
const mostAmounts = 10

// showComparison prints both hashes and the orders that differ. Where there are some it
// returns an error.
func showComparison(out io.Writer, found *ledger.Comparison) error {
	fmt.Fprintf(out, "live      %s\nreplayed  %s\n", found.LiveHash, found.ReplayedHash)
	if found.Equal() {
		fmt.Fprintf(out, "Equal: %d orders.\n", found.Orders)
		return nil
	}
	for _, d := range found.Differences {
		fmt.Fprintf(out, "company %s, order %s\n", d.CompanyID, printable(d.OrderID))
		showAmounts(out, "live", d.Live)
		showAmounts(out, "replayed", d.Replayed)
	}
	if n := found.Different - len(found.Differences); n > 0 {
		fmt.Fprintf(out, "… and %d more\n", n)
	}
	return fmt.Errorf("%d of %d orders differ; where a rule was changed just before, run it again", found.Different, found.Orders)
}

// checkStatements prints whether the closed statements have the entries with which they
// were closed. Where some have not it names most of them and returns an error.
func checkStatements(ctx context.Context, out io.Writer, live *replay.Snapshot, most int) error {
	statements, altered, err := live.AlteredStatements(ctx, max(most, 1))
	if err != nil {
		return err
	}
	if len(altered) == 0 {
		fmt.Fprintf(out, "Closed statements: %d, all as they were closed.\n", statements)
		return nil
	}
	for _, a := range altered[:min(most, len(altered))] {
		fmt.Fprintf(out, "company %s, statement %s\n", a.CompanyID, a.StatementID)
	}
	return errors.New("closed statements have not the entries with which they were closed")
}

func showAmounts(out io.Writer, side string, nets []ledger.Net) {
	for i, n := range nets {
		if i == mostAmounts {
			fmt.Fprintf(out, "  %-8s  … and %d more\n", side, len(nets)-i)
			return
		}
		fmt.Fprintf(out, "  %-8s  %s\n", side, printable(strings.Join(strings.Fields(strings.Join([]string{
			string(n.Kind), n.Of, n.Touch, n.InfluencerID, n.AmountMinor, n.Currency}, " ")), " ")))
	}
}

// checkSums sums what reports read again from all outcomes, and prints the tables that
// differ. Where there are some it returns an error.
func checkSums(ctx context.Context, out io.Writer, live *replay.Snapshot) error {
	wrong, err := live.CheckSums(ctx)
	if err != nil {
		return err
	}
	if len(wrong) == 0 {
		fmt.Fprintln(out, "Equal: the sums of the reports.")
		return nil
	}
	var rows int64
	for _, d := range wrong {
		rows += d.Rows
		fmt.Fprintf(out, "company %s: %d rows of %s are not the sum of its orders\n", d.CompanyID, d.Rows, d.Table)
	}
	return fmt.Errorf("%d rows of the sums that reports read differ from the orders", rows)
}

// checkBooks prints where the credits of a day, currency and model are not what its
// approved orders come to. Where there are some it returns an error.
func checkBooks(ctx context.Context, out io.Writer, live *replay.Snapshot, most int) error {
	most = max(most, 1)
	wrong, err := live.Imbalances(ctx, most)
	if err != nil {
		return err
	}
	if len(wrong) == 0 {
		fmt.Fprintln(out, "Equal: the credits of each day, currency and model, and its approved orders.")
		return nil
	}
	for _, i := range wrong[:min(most, len(wrong))] {
		fmt.Fprintln(out, printable(i.String()))
	}
	if len(wrong) > most {
		fmt.Fprintln(out, "… and more")
	}
	return errors.New("credits are not what the approved orders come to")
}
