// Package citus is the part of `make prove` on a real Citus cluster: the project's own tests,
// with their databases there and their tables distributed.
//
// What may enter: which tests, and the line of each package.
package citus

import (
	"context"
	"fmt"
	"time"

	"github.com/tributary-io/tributary/test/devtest"
	"github.com/tributary-io/tributary/test/prove"
)

// text is what the page says above the table.
const text = "" +
	"The project's own tests on a Citus cluster, which `go run ./test/prove/cmd -citus URL -only 'citus/*'` names by its coordinator's " +
	"connection string.\n" +
	"Each test has a database of its own there, with the whole schema, distributed by `deploy/citus/distribute.sql`. What fails is a " +
	"difference\n" +
	"between Citus and PostgreSQL that the product does not allow for."

// suites are what runs: a package, and which of its tests.
var suites = []struct{ name, title, path, run, skip string }{
	{"scenarios", "every statement of the product", "./internal/postgres", "TestEveryStatementIsSent", ""},
	{"rules", "influencers, coupons, costs, keys, people", "./internal/postgres/merchant", "", ""},
	// It forces generic plans, with which Citus has none.
	{"reports", "reports and statements", "./internal/postgres/report", "", "TestSignsOfALongTimeReadThePagesOrdersOnly"},
	{"preview", "preview", "./internal/postgres/preview", "", ""},
	{"replay", "replay and verify", "./internal/postgres/replay", "", ""},
	// It looks into PostgreSQL's plan.
	{"facts", "facts", "./internal/postgres/factstore", "", "TestTheOrdersOfAKeyAreFoundByItsDigest"},
	{"upkeep", "the processor: erasure, retention, statements, non-converting paths", "./processor",
		"Eras|Retain|Statement|Null|Verif|Replay", ""},
	{"agreements", "the processor: fixed amounts that are owed by closed days", "./processor", "Agreement", ""},
}

// timeout bounds one suite.
const timeout = 20 * time.Minute

// Section is the part of `make prove` on a Citus cluster.
func Section() prove.Section {
	section := prove.Section{
		Name: "citus", Title: "On a Citus cluster", Text: text,
		Columns: []string{"passed", "failed", "skipped", "cluster"},
	}
	for _, s := range suites {
		section.Cases = append(section.Cases,
			prove.Case{Name: s.name, Title: s.title, Run: func(ctx context.Context, e prove.Env) (prove.Result, error) {
				if e.Citus == "" {
					return prove.Result{}, fmt.Errorf("%w: no Citus cluster, give -citus with its coordinator's connection string", prove.ErrNotHere)
				}
				cluster, err := devtest.DescribeCitus(ctx, e.Citus)
				if err != nil {
					return prove.Result{}, err
				}
				counts, problems, err := prove.Tests(ctx, timeout, devtest.CitusVariable+"="+e.Citus,
					"-parallel=2", "-run="+s.run, "-skip="+s.skip, s.path)
				return prove.Result{
					Cells:    []string{fmt.Sprint(counts["pass"]), fmt.Sprint(counts["fail"]), fmt.Sprint(counts["skip"]), cluster},
					Problems: problems,
				}, err
			}})
	}
	return section
}
