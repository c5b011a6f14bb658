package analysis

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Figures are what exported credits cost, beside PostgreSQL in the same run.
type Figures struct {
	Rows             int64
	Export, Copy     time.Duration // of all rows: `tributary export`, and a binary COPY of the same columns
	Parquet, Stored  int64         // bytes: of the files, and of the table with its TOAST, without indexes
	DuckDB, Postgres time.Duration // of the page's report, the least of three
	Spark            time.Duration // likewise; 0: it was not asked
	Problems         []string
}

// copyCredits has the columns that the files have.
//
//nolint:gosec // SQL, no secret
const copyCredits = `
	copy (
		select o.order_id, o.created_at, c.position, c.channel, c.influencer_id::text, c.campaign_id, c.currency, c.first_minor, c.last_minor,
			c.last_non_direct_minor, c.linear_minor, c.position_minor, c.time_decay_minor
		from orders o join credit c on c.company_id = o.company_id and c.order_id = o.order_id
		order by o.day, o.created_at, o.order_id, c.position) to stdout (format binary)`

// Measure exports all credits and compares. python has DuckDB and pyarrow; spark is a Python with Spark, "": it is not asked.
func (e Export) Measure(ctx context.Context, db *pgxpool.Pool, page Page, python, spark string) (f Figures, err error) {
	began := time.Now()
	if err := db.AcquireFunc(ctx, func(c *pgxpool.Conn) error {
		done, err := c.Conn().PgConn().CopyTo(ctx, io.Discard, copyCredits)
		f.Rows = done.RowsAffected()
		return err
	}); err != nil {
		return f, err
	}
	f.Copy = time.Since(began)
	if f.Export, err = e.Run(ctx, "credits"); err != nil {
		return f, err
	}
	if f.Parquet, err = bytesBelow(filepath.Join(e.Dir, "credits")); err != nil {
		return f, err
	}
	if f.Stored, err = pgOne(ctx, db, `select pg_table_size('payout')`); err != nil {
		return f, err
	}
	want, err := e.AskPostgres(ctx, db, page.Postgres, 3)
	if err != nil {
		return f, err
	}
	if f.Postgres = want.Took; len(want.Lines) < 4 {
		f.Problems = append(f.Problems, fmt.Sprintf("PostgreSQL has %d lines", len(want.Lines)))
	}
	for _, engine := range []struct {
		name, python, sql string
		took              *time.Duration
	}{{"duckdb", python, page.DuckDB, &f.DuckDB}, {"pyarrow", python, "", nil}, {"spark", spark, page.Spark, &f.Spark}} {
		if engine.python == "" {
			continue
		}
		is, err := e.Ask(ctx, engine.python, engine.name, engine.sql, 3)
		if err != nil {
			return f, err
		}
		if engine.took != nil {
			*engine.took = is.Took
		}
		f.Problems = append(f.Problems, differ(engine.name, is.Lines, want.Lines)...)
	}
	return f, nil
}

// differ tells where the lines of an engine are not PostgreSQL's.
func differ(engine string, is, want []Line) (problems []string) {
	texts := func(list []Line) (lines []string) {
		for _, l := range list {
			lines = append(lines, l.String())
		}
		slices.Sort(lines)
		return lines
	}
	if a, b := texts(is), texts(want); !slices.Equal(a, b) {
		problems = append(problems, fmt.Sprintf("%s says\n%q\nand PostgreSQL\n%q", engine, a, b))
	}
	return problems
}

func bytesBelow(dir string) (sum int64, err error) {
	return sum, filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
}

func pgOne(ctx context.Context, db *pgxpool.Pool, sql string) (n int64, err error) {
	rows, err := db.Query(ctx, sql)
	if err != nil {
		return 0, err
	}
	return pgx.CollectExactlyOneRow(rows, pgx.RowTo[int64])
}
