package postgres_test

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/test/devtest"
	"github.com/tributary-io/tributary/test/statements"
)

// scenarios send every statement of the packages below this one, each on a
// database of its own whose connections the recorder watches
// (postgres.WithTracer).
var scenarios = map[string]func(t *testing.T, recorder *statements.Recorder){
	"merchant":  merchantStatements,
	"report":    reportStatements,
	"factstore": factstoreStatements, // and cases, upkeep
	"replay":    replayStatements,
	"preview":   previewStatements,
}

// notProduct names packages below this one that may send what they want, and why.
var notProduct = map[string]string{
	"reporttest": "puts rows into test databases",
	"moves":      "is migrations, as the files of SQL are",
}

// exempt names what may send a statement from a local variable, each with its reason.
var exempt = map[string]string{
	"postgres.Grant local variable":   "names the role and the schema: no parameter can",
	"replay.copyTable local variable": "names one of the tables in ruleTables and its columns",
	"replay.Create local variable":    "names the schema that it makes: no parameter can",
	"replay.Drop local variable":      "names the schema that it drops: no parameter can",
}

// TestEveryStatementIsSent fails where a call in our code sends a statement that no scenario sent: add it to a scenario.
// `make prove` sends them to a Citus cluster. And a statement that names a table of a store's data names the company
// (docs/notes/tables.md).
func TestEveryStatementIsSent(t *testing.T) {
	t.Parallel()
	all, err := statements.Calls(".", "./...")
	if err != nil {
		t.Fatal(err)
	}
	ofStores := tablesOfStores(t)
	recorder := statements.NewRecorder()
	for name, scenario := range scenarios {
		t.Run(name, func(t *testing.T) { scenario(t, recorder) })
	}
	list, err := recorder.Statements()
	if err != nil {
		t.Errorf("named arguments: %v", err)
	}
	calls := slices.DeleteFunc(all, func(c statements.Call) bool { return notProduct[path.Base(c.Package)] != "" })
	if len(calls) < 80 {
		t.Errorf("only %d calls that send a statement were found", len(calls))
	}
	found := findings{t: t, used: map[string]bool{}}
	sent, onStores := map[int]bool{}, 0 // by index of calls
	for _, s := range list {
		var by []statements.Call
		for i, c := range calls {
			if !c.ReadsName && (c.Queued && s.SQL == c.SQL || !c.Queued && s.At(c)) {
				sent[i], by = true, append(by, c)
			}
		}
		if len(by) == 0 || !ofStores.MatchString(s.SQL) {
			continue
		}
		onStores++
		if !strings.Contains(s.SQL, "company_id") {
			found.add("without company_id", s.SQL, by...)
		}
	}
	if onStores < 150 {
		t.Errorf("only %d statements on stores' data were found", onStores)
	}
	for i, c := range calls {
		switch {
		case c.ReadsName:
			t.Errorf("%s: the name of a constraint is read, which Citus leaves empty", place(c))
		case !sent[i] && c.Queued && c.SQL == "": // a parameter's: its callers are among the calls
		case !sent[i]:
			t.Errorf("%s: no scenario sends the statement of this call", place(c))
		}
		if c.Local != "" {
			found.add("local variable", "the statement is built from "+c.Local, c)
		}
	}
	checkFanOut(t, list, calls)
	for key := range exempt {
		if !found.used[key] {
			t.Errorf("%s is exempt but breaks nothing", key)
		}
	}
}

// tablesOfStores matches the names of the tables of stores' data.
func tablesOfStores(t *testing.T) *regexp.Regexp {
	t.Helper()
	tables, err := postgres.Collect(t.Context(), connect(t, devtest.Postgres(t)), pgx.RowTo[string], `
		select relname::text from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v') and relname <> all($1)`,
		slices.Collect(maps.Keys(controlPlane)))
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`\b(from|join|into|update)\s+"?(` + strings.Join(tables, "|") + `)\b`)
}

// findings reports what is not exempt.
type findings struct {
	t    *testing.T
	used map[string]bool // exemptions
}

// add reports a finding, unless one of the functions that lead to it is exempt.
func (f *findings) add(kind, what string, by ...statements.Call) {
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

func place(c statements.Call) string {
	return fmt.Sprintf("%s.%s (%s:%d)", path.Base(c.Package), c.Function, path.Base(c.File), c.FromLine)
}
