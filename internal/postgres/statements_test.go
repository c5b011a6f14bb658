package postgres_test

import (
	"fmt"
	"path"
	"testing"

	"github.com/tributary-io/tributary/internal/devstack/devtest"
	"github.com/tributary-io/tributary/internal/postgres/sqlrules"
)

// scenarios send every statement of the packages below this one, each on a
// database of its own whose connections the recorder watches
// (postgres.WithTracer).
var scenarios = map[string]func(t *testing.T, recorder *sqlrules.Recorder){
	"merchant":  merchantStatements,
	"report":    reportStatements,
	"factstore": factstoreStatements, // and cases
}

// notProduct names packages below this one that no program uses, and why they
// may send what they want.
var notProduct = map[string]string{
	"sqlrules":   "reads the catalogue, for this test",
	"reporttest": "puts rows into test databases",
}

// exempt names what may break a rule, as "package.Function rule N", and what may
// send a statement from a local variable, each with its reason.
var exempt = map[string]string{
	"factstore.MakeMonths local variable": "names the partition that it makes: no parameter can",
}

// TestEveryStatementKeepsTheRules holds every statement that the product sends
// to docs/tables.md. A place in our code that sends a statement which no
// scenario saw is a failure: add a scenario for it.
func TestEveryStatementKeepsTheRules(t *testing.T) {
	t.Parallel()
	calls, err := sqlrules.Calls(".", "./...")
	if err != nil {
		t.Fatal(err)
	}
	catalog, err := sqlrules.ReadCatalog(t.Context(), connect(t, devtest.Postgres(t)), controlPlane)
	if err != nil {
		t.Fatal(err)
	}
	recorder := sqlrules.NewRecorder()
	for name, scenario := range scenarios {
		t.Run(name, func(t *testing.T) { scenario(t, recorder) })
	}
	statements, err := recorder.Statements()
	if err != nil {
		t.Errorf("named arguments: %v", err)
	}
	used := map[string]bool{}
	broken := func(c sqlrules.Call, rule, what string) {
		t.Helper()
		key := fmt.Sprintf("%s.%s %s", path.Base(c.Package), c.Function, rule)
		if used[key] = true; exempt[key] == "" {
			t.Errorf("%s:%d: %s: %s", path.Base(c.File), c.FromLine, key, what)
		}
	}
	product := 0
	for _, c := range calls {
		if notProduct[path.Base(c.Package)] != "" {
			continue
		}
		product++
		if c.ReadsName {
			broken(c, "rule 6", "reads the name of a constraint")
			continue
		}
		if c.Local != "" {
			broken(c, "local variable", "the statement is built from "+c.Local)
		}
		sent := 0
		for _, s := range statements {
			if c.Queued && s.SQL != c.SQL || !c.Queued && !s.At(c) {
				continue
			}
			sent++
			violations, err := catalog.Check(s.Sent)
			if err != nil {
				t.Errorf("%s:%d: %v", path.Base(c.File), c.FromLine, err)
			}
			for _, v := range violations {
				broken(c, fmt.Sprint("rule ", v.Rule), v.What+": "+s.SQL)
			}
			if many, err := catalog.InsertsMany(s.Sent); err == nil && many && c.RowsCounted {
				broken(c, "rule 5", "counts the rows of several by the command tag: "+s.SQL)
			}
		}
		if sent == 0 {
			t.Errorf("%s:%d: no scenario sends the statement of %s.%s", path.Base(c.File), c.FromLine, path.Base(c.Package), c.Function)
		}
	}
	if product < 80 {
		t.Errorf("only %d places that send a statement were found", product)
	}
	for key := range exempt {
		if !used[key] {
			t.Errorf("%s is exempt but breaks nothing", key)
		}
	}
}
