package analysis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tributary-io/tributary/dev/devstack"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/test/prove"
)

// text is what the page says above the table.
const text = "" +
	"`tributary export` writes orders or credits to Parquet files, one a day. *Killed*: SIGKILL at random while it writes, and\n" +
	"rows that change between; after each kill every file is read: it is whole, and each of its day's orders is there once; after\n" +
	"a last run all files have all rows with their amounts of now. *Ten million touches*: the report of [analysis.md](analysis.md)\n" +
	"by DuckDB, pyarrow and Spark over the files is PostgreSQL's to the cent. In the same run: its time in DuckDB beside\n" +
	"PostgreSQL's (at most 1/10), the files' bytes beside the table's, without its indexes and explanations (at most 1/5), and the\n" +
	"rate of the export beside a binary COPY of the same columns (at least 0.4)."

const (
	kills   = 50
	touches = 10_000_000
)

// Section is the part of `make prove` about exported files.
func Section() prove.Section {
	return prove.Section{
		Name: "analysis", Title: "Exported to files", Text: text,
		Columns: []string{"rows", "kills", "files read", "report: DuckDB, PostgreSQL, Spark", "bytes: files, table", "export, COPY",
			"**whole, equal, within bounds**"},
		Cases: []prove.Case{
			{Name: "killed", Title: "killed fifty times", Run: onServer(func(ctx context.Context, e Export, db *pgxpool.Pool, env prove.Env) (
				prove.Result, error,
			) {
				rows := Rows{Company: e.Company, Orders: 200_000, Touches: 1, Days: 365}
				if err := rows.Fill(ctx, db); err != nil {
					return prove.Result{}, err
				}
				k, err := e.Kill(ctx, db, kills, env.Seed)
				return prove.Result{Problems: k.Problems, Cells: []string{fmt.Sprint(rows.Orders), fmt.Sprint(k.Kills), fmt.Sprint(k.Files), "", "",
					"", yes(k.Problems)}}, err
			})},
			{Name: "touches", Title: "ten million touches", Run: onServer(func(ctx context.Context, e Export, db *pgxpool.Pool, _ prove.Env) (
				prove.Result, error,
			) {
				rows := Rows{Company: e.Company, Orders: touches / 4, Touches: 4, Days: 365}
				if err := rows.Fill(ctx, db); err != nil {
					return prove.Result{}, err
				}
				f, err := figures(ctx, e, db)
				if err != nil {
					return prove.Result{}, err
				}
				f.bound()
				return prove.Result{Problems: f.Problems, Cells: []string{fmt.Sprint(f.Rows), "", "",
					fmt.Sprintf("%.2f s, %.2f s, %.2f s", f.DuckDB.Seconds(), f.Postgres.Seconds(), f.Spark.Seconds()),
					fmt.Sprintf("%d MB, %d MB", f.Parquet>>20, f.Stored>>20),
					fmt.Sprintf("%.0f s, %.0f s", f.Export.Seconds(), f.Copy.Seconds()), yes(f.Problems)}}, nil
			})},
		},
	}
}

// figures measures with all engines.
func figures(ctx context.Context, e Export, db *pgxpool.Pool) (f Figures, err error) {
	page, err := ReadPage(filepath.Join("docs", "analysis.md"))
	if err != nil {
		return f, err
	}
	python, err := Python(ctx, "analysis", "duckdb=="+DuckDB, "pyarrow=="+PyArrow)
	if err != nil {
		return f, err
	}
	spark, err := Python(ctx, "analysis-spark", "pyspark=="+Spark)
	if err != nil {
		return f, err
	}
	return e.Measure(ctx, db, page, python, spark)
}

// bound adds what is not within its bounds to the problems.
func (f *Figures) bound() {
	for _, b := range []struct {
		what     string
		is, most float64
	}{
		{"DuckDB's time in that of PostgreSQL", f.DuckDB.Seconds() / f.Postgres.Seconds(), 0.1},
		{"the files' bytes in those of the table", float64(f.Parquet) / float64(f.Stored), 0.2},
		{"COPY's rate in that of the export", f.Export.Seconds() / f.Copy.Seconds(), 1 / 0.4},
	} {
		if b.is > b.most {
			f.Problems = append(f.Problems, fmt.Sprintf("%s: %.2f, at most %.2f", b.what, b.is, b.most))
		}
	}
}

// onServer runs a case on a PostgreSQL of its own.
func onServer(run func(ctx context.Context, e Export, db *pgxpool.Pool, env prove.Env) (prove.Result, error)) func(
	context.Context, prove.Env) (prove.Result, error) {
	return func(ctx context.Context, env prove.Env) (result prove.Result, err error) {
		if err := os.MkdirAll(env.Dir, 0o755); err != nil { //nolint:gosec // PostgreSQL's account reads below it
			return result, err
		}
		if err := os.Chmod(filepath.Dir(env.Dir), 0o755); err != nil { //nolint:gosec // likewise
			return result, err
		}
		// Its settings are PostgreSQL's own, but for sums of millions of rows in memory.
		server, err := devstack.StartPostgres(ctx, devstack.PostgresConfig{Dir: filepath.Join(env.Dir, "postgres"),
			Settings:   map[string]string{"shared_buffers": "1GB", "work_mem": "64MB", "max_wal_size": "8GB"},
			Repository: os.Getenv("TRIBUTARY_POSTGRES_REPOSITORY")})
		if err != nil {
			return result, err
		}
		defer func() {
			server.Stop()
			err = errors.Join(err, os.RemoveAll(env.Dir))
		}()
		e := Export{Binary: env.Binary, Company: "c_analysis", Dir: filepath.Join(env.Dir, "files")}
		if e.DSN, err = server.CreateDatabase(ctx, "prove"); err != nil {
			return result, err
		}
		if err := postgres.Migrate(ctx, e.DSN); err != nil {
			return result, err
		}
		db, err := pgxpool.New(ctx, e.DSN)
		if err != nil {
			return result, err
		}
		defer db.Close()
		if err := Company(ctx, db, e.Company); err != nil {
			return result, err
		}
		return run(ctx, e, db, env)
	}
}

func yes(problems []string) string {
	if len(problems) == 0 {
		return "yes"
	}
	return "**no**"
}
