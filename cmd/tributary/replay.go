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
	report   reportFlag
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
				fmt.Fprintf(flags.report.text(cmd), "replayed  %s  %d orders\n", hash, orders)
				done := replayReport{Hash: hash, Orders: orders}
				if flags.keep {
					done.Schema = fresh.Name
				}
				return flags.report.write(cmd, done)
			})
		},
	}
	flags.register(cmd)
	flags.report.register(cmd, replayReport{"…", 1200, "replay_…"})
	return cmd
}

// replayReport is a replay's outcome as JSON.
type replayReport struct {
	Hash   string `json:"hash"` // the ledger hash, in hexadecimal
	Orders int    `json:"orders"`
	Schema string `json:"schema,omitempty"` // the one that was kept
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
				v := newVerification(flags.report.text(cmd), found)
				v.compared(found)
				err = errors.Join(v.checkStatements(cmd.Context(), live, most), v.checkSums(cmd.Context(), live),
					v.checkBooks(cmd.Context(), live, most))
				if err != nil { // a check could not be made
					return errors.Join(v.problem(), err)
				}
				v.Equal = len(v.Problems) == 0
				return errors.Join(flags.report.write(cmd, v), v.problem())
			})
		},
	}
	flags.register(cmd)
	flags.report.register(cmd, verificationExample)
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
