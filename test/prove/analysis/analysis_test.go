package analysis

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tributary-io/tributary/test/devtest"
)

// binary is the program, which is built once for all tests of this package.
var binary string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "tributary-analysis-")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		binary = filepath.Join(dir, "tributary")
		if output, err := exec.Command("go", "build", "-o", binary, "../../../cmd/tributary").CombinedOutput(); err != nil {
			panic(string(output))
		}
		return m.Run()
	}())
}

// filled is a database with orders of one company, and what exports them.
func filled(t *testing.T, rows Rows) (Export, *pgxpool.Pool) {
	t.Helper()
	if err := devtest.Sources(filepath.Join("..", "..", "..")); err != nil {
		t.Fatal(err)
	}
	dsn := devtest.Postgres(t)
	db, err := pgxpool.New(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	rows.Company = "c_analysis"
	if err := Company(t.Context(), db, rows.Company); err != nil {
		t.Fatal(err)
	}
	if err := rows.Fill(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	return Export{Binary: binary, DSN: dsn, Company: rows.Company, Dir: filepath.Join(t.TempDir(), "files")}, db
}

// The texts of docs/analysis.md give the same report over the files as in PostgreSQL, to the cent.
func TestTheReportIsTheSameInEveryEngine(t *testing.T) {
	t.Parallel()
	page, err := ReadPage(filepath.Join("..", "..", "..", "docs", "analysis.md"))
	if err != nil {
		t.Fatal(err)
	}
	python, err := Python(t.Context(), "analysis", "duckdb=="+DuckDB, "pyarrow=="+PyArrow)
	if err != nil {
		t.Fatal(err)
	}
	e, db := filled(t, Rows{Orders: 600, Touches: 4, Days: 40})
	f, err := e.Measure(t.Context(), db, page, python, "")
	if err != nil || len(f.Problems) > 0 || f.Rows != 2400 {
		t.Fatalf("%v, %+v", err, f)
	}
	// A cent that differs is seen.
	if _, err := db.Exec(t.Context(), `
		update payout set credits = replace(credits::text, '"direct"', '"directly"')::json
		where order_id = '100599'`); err != nil {
		t.Fatal(err)
	}
	want, err := e.AskPostgres(t.Context(), db, page.Postgres, 1)
	if err != nil {
		t.Fatal(err)
	}
	before, err := e.Ask(t.Context(), python, "duckdb", page.DuckDB, 1)
	if err != nil || len(differ("duckdb", before.Lines, want.Lines)) != 1 {
		t.Errorf("files from before a change say the same, %v", err)
	}
	if _, err := e.Run(t.Context(), "credits"); err != nil {
		t.Fatal(err)
	}
	after, err := e.Ask(t.Context(), python, "duckdb", page.DuckDB, 1)
	if problems := differ("duckdb", after.Lines, want.Lines); err != nil || len(problems) > 0 {
		t.Errorf("files written anew: %v, %v", problems, err)
	}
	if !slices.ContainsFunc(after.Lines, func(l Line) bool { return l.LastNonDirect == nil }) {
		t.Error("no line has no amount: nulls were not compared")
	}
}

// However often it is killed, files are whole and no row is missing or doubled. `make prove` kills it fifty times.
func TestAKilledExportLeavesWholeFiles(t *testing.T) {
	t.Parallel()
	e, db := filled(t, Rows{Orders: 3000, Touches: 1, Days: 60})
	k, err := e.Kill(context.WithoutCancel(t.Context()), db, 5, 1)
	if err != nil || len(k.Problems) > 0 || k.Kills != 5 || k.Files < 60 {
		t.Errorf("%v, %+v", err, k)
	}
}
