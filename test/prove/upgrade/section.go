// Package upgrade is the part of `make prove` about upgrading: the version before, built from its tag, and this one side by side.
//
// What may enter: building, starting and loading the real programs.
package upgrade

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/tributary-io/tributary/test/prove"
)

// text is what the page says above the table.
const text = "" +
	"Version 0.1.0 is built from its tag. *Rolled*: two edges, admins, processors and connects of it on a real Apache Kafka and " +
	"PostgreSQL,\n" +
	"edges and admins behind a balancer that asks `/readyz` and sends no request again. Events come by the Go SDK, orders by the API; the\n" +
	"connects have no shop.\n" +
	"Then, always under load: `tributary migrate` of this version; each service is replaced by this version's, one after the other; by\n" +
	"0.1.0's; and by this version's. *Refused* is counted at the balancer, before a client tries again. After each of the five steps all\n" +
	"that was acknowledged is there, each order is credited exactly once, and `tributary verify` of both versions finds one ledger.\n" +
	"\n" +
	"*Ten million rows*: this version's migrations run on 0.1.0's schema with as many entries in the ledger, while a writer adds and\n" +
	"changes entries; PostgreSQL ends a write that waits for a lock for a second. The times of writes have the disk's in them, and those\n" +
	"before are without the migration. *A list* is that of entries made by hand, which the migration's index is for, before and after."

// rowsOfLedger is how many entries the ledger has when it is migrated.
const rowsOfLedger = 10_000_000

// Section is the part of `make prove` about upgrading.
func Section() prove.Section {
	return prove.Section{
		Name: "upgrade", Title: "Upgraded without a pause", Text: text,
		Columns: []string{"restarts", "events", "orders", "answered", "**refused**", "writes beside the migration", "longest, before",
			"the migration", "a list: before, after", "it took", "**nothing lost, none waited for 1 s, equal**"},
		Cases: []prove.Case{
			{Name: "rolled", Title: "rolled forward, back, forward", Run: onStand(func(ctx context.Context, s *stand) (prove.Result, error) {
				o, err := s.Roll(ctx)
				if err != nil {
					return prove.Result{}, err
				}
				return prove.Result{Problems: o.Problems, Cells: []string{fmt.Sprint(o.Restarts), fmt.Sprint(o.Events), fmt.Sprint(o.Orders),
					fmt.Sprint(o.Answered), fmt.Sprint(o.Refused), "", "", "", "", seconds(o.Lasted), yes(o.Problems)}}, nil
			})},
			{Name: "rows", Title: "ten million rows", Run: onStand(func(ctx context.Context, s *stand) (prove.Result, error) {
				began := time.Now()
				o, err := s.Locks(ctx, rowsOfLedger)
				if err != nil {
					return prove.Result{}, err
				}
				return prove.Result{Problems: o.Problems, Cells: []string{"", "", "", "", "", fmt.Sprint(o.Writes),
					fmt.Sprintf("%d ms, %d ms", o.Longest.Milliseconds(), o.Alone.Milliseconds()), seconds(o.Migration),
					fmt.Sprintf("%d ms, %d ms", o.Before.Milliseconds(), o.After.Milliseconds()), seconds(time.Since(began)), yes(o.Problems)}}, nil
			})},
		},
	}
}

// onStand runs a case on a stand of its own.
func onStand(run func(ctx context.Context, s *stand) (prove.Result, error)) func(context.Context, prove.Env) (prove.Result, error) {
	return func(ctx context.Context, e prove.Env) (result prove.Result, err error) {
		s, err := newStand(ctx, e.Dir, e.Binary, e.Say, map[string]string{"max_wal_size": "8GB", "maintenance_work_mem": "512MB"})
		if err == nil {
			result, err = run(ctx, s)
			s.close()
		}
		if err == nil && len(result.Problems) == 0 || ctx.Err() != nil {
			err = errors.Join(err, os.RemoveAll(e.Dir))
		}
		return result, err
	}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.0f s", d.Seconds()) }

func yes(problems []string) string {
	if len(problems) == 0 {
		return "yes"
	}
	return "**no**"
}
