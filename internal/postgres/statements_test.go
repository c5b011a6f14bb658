package postgres_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-io/tributary/internal/postgres/sqlrules"
	"github.com/tributary-io/tributary/test/devtest"
)

// scenarios send every statement of the packages below this one, each on a
// database of its own whose connections the recorder watches
// (postgres.WithTracer).
var scenarios = map[string]func(t *testing.T, recorder *sqlrules.Recorder){
	"merchant":  merchantStatements,
	"report":    reportStatements,
	"factstore": factstoreStatements, // and cases
	"replay":    replayStatements,
	"trial":     trialStatements,
}

// notProduct names packages below this one that may send what they want, and why.
var notProduct = map[string]string{
	"sqlrules":   "reads the catalogue, for this test",
	"reporttest": "puts rows into test databases",
	"moves":      "is migrations, as the files of SQL are",
}

// exempt names what may break a rule, as "package.Function rule N", and what may
// send a statement from a local variable, each with its reason.
var exempt = map[string]string{
	"factstore.copyRows rule 2":       "a COPY has no parameters: all its rows have the company that the Tx's caller names",
	"factstore.copyRows rule 5":       "a COPY of events: whatever refuses it, they are inserted with ON CONFLICT",
	"postgres.Grant local variable":   "names the role and the schema: no parameter can",
	"replay.copyTable local variable": "names one of the tables in ruleTables and its columns",
	"replay.Create local variable":    "names the schema that it makes: no parameter can",
	"replay.Drop local variable":      "names the schema that it drops: no parameter can",
}

// TestEveryStatementKeepsTheRules checks every statement that the product sends
// against docs/tables.md. It fails where a call in our code sends a statement
// that no scenario sent: add it to a scenario.
func TestEveryStatementKeepsTheRules(t *testing.T) {
	t.Parallel()
	catalog, err := sqlrules.ReadCatalog(t.Context(), connect(t, devtest.Postgres(t)), controlPlane)
	if err != nil {
		t.Fatal(err)
	}
	all, err := sqlrules.Calls(".", "./...")
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
	calls := slices.DeleteFunc(all, func(c sqlrules.Call) bool { return notProduct[path.Base(c.Package)] != "" })
	if len(calls) < 80 {
		t.Errorf("only %d calls that send a statement were found", len(calls))
	}
	found := findings{t: t, used: map[string]bool{}}
	sent := map[int]bool{} // by index of calls
	for _, s := range statements {
		var by []sqlrules.Call
		counted := false
		for i, c := range calls {
			if !c.ReadsName && (c.Queued && s.SQL == c.SQL || !c.Queued && s.At(c)) {
				sent[i], by, counted = true, append(by, c), counted || c.RowsCounted
			}
		}
		if len(by) > 0 {
			found.ofStatement(catalog, s, by, counted)
		}
	}
	for i, c := range calls {
		switch {
		case c.ReadsName:
			found.add("rule 6", "the name of a constraint is read", c)
		case !sent[i]:
			t.Errorf("%s: no scenario sends the statement of this call", place(c))
		}
		if c.Local != "" {
			found.add("local variable", "the statement is built from "+c.Local, c)
		}
	}
	for key := range exempt {
		if !found.used[key] {
			t.Errorf("%s is exempt but breaks nothing", key)
		}
	}
}

// findings reports what is not exempt.
type findings struct {
	t    *testing.T
	used map[string]bool // exemptions
}

// add reports a finding, unless one of the functions that lead to it is exempt.
func (f *findings) add(kind, what string, by ...sqlrules.Call) {
	f.t.Helper()
	var places []string
	for _, c := range by {
		key := fmt.Sprintf("%s.%s %s", path.Base(c.Package), c.Function, kind)
		if exempt[key] != "" {
			f.used[key] = true
			return
		}
		places = append(places, place(c))
	}
	f.t.Errorf("%s: %s: %s", strings.Join(places, ", "), kind, what)
}

func (f *findings) ofStatement(catalog *sqlrules.Catalog, s *sqlrules.Statement, by []sqlrules.Call, counted bool) {
	f.t.Helper()
	violations, err := catalog.Check(s.Sent)
	if err != nil {
		f.t.Errorf("%v: %s", err, s.SQL)
	}
	for _, v := range violations {
		f.add(fmt.Sprint("rule ", v.Rule), v.What+": "+s.SQL, by...)
	}
	if many, err := catalog.InsertsMany(s.Sent); err == nil && many && counted {
		f.add("rule 5", "inserted rows are counted by the command tag: "+s.SQL, by...)
	}
}

func place(c sqlrules.Call) string {
	return fmt.Sprintf("%s.%s (%s:%d)", path.Base(c.Package), c.Function, path.Base(c.File), c.FromLine)
}
