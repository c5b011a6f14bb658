package analysis

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/parquet-go/parquet-go"
)

// Export is how the program is run.
type Export struct {
	Binary  string // tributary
	DSN     string
	Company string
	Dir     string // of the files
}

// command is `tributary export KIND`.
func (e Export) command(ctx context.Context, kind string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, e.Binary, "export", kind, "--to", e.Dir, "--company", e.Company) //nolint:gosec // our own program
	cmd.Env = append(os.Environ(), "TRIBUTARY_POSTGRES="+e.DSN, "TRIBUTARY_EXPORT_KEY="+strings.Repeat("k", 32))
	return cmd
}

// Run exports a kind to the end, and returns how long it took.
func (e Export) Run(ctx context.Context, kind string) (time.Duration, error) {
	began := time.Now()
	if output, err := e.command(ctx, kind).CombinedOutput(); err != nil {
		return 0, fmt.Errorf("export %s: %w\n%s", kind, err, output)
	}
	return time.Since(began), nil
}

// Killed is what came of an export that was killed again and again.
type Killed struct {
	Kills    int
	Files    int // that were read, after each kill
	Rows     int64
	Problems []string
}

// change makes a third of the days' files be written anew.
const change = `update payout set commission_minor = commission_minor + 1 where company_id = $1 and extract(doy from day)::int % 3 = $2`

// Kill exports orders and kills the program with SIGKILL at random moments, until it was killed so often while it worked. Rows change
// between. After each kill every file is whole; after a last run all files together are the rows.
func (e Export) Kill(ctx context.Context, db *pgxpool.Pool, times int, seed uint64) (k Killed, err error) {
	random := rand.New(rand.NewPCG(seed, 7)) //nolint:gosec // a run can be repeated
	whole, err := e.Run(ctx, "orders")       // about as long as a run takes: follows what runs take on a machine that has other work
	if err != nil {
		return k, err
	}
	if err := os.RemoveAll(e.Dir); err != nil {
		return k, err
	}
	for n := 0; k.Kills < times; n++ {
		if n > 20*times {
			return k, fmt.Errorf("only %d of %d runs were killed while they worked", k.Kills, n)
		}
		if _, err := db.Exec(ctx, change, e.Company, n%3); err != nil {
			return k, err
		}
		began := time.Now()
		killed, err := e.kill(ctx, time.Duration(random.Int64N(int64(whole))))
		if err != nil {
			return k, err
		}
		if !killed {
			whole = time.Since(began)
			continue
		}
		whole += whole / 8
		k.Kills++
		if err := e.check(ctx, db, &k, false); err != nil {
			return k, err
		}
	}
	if _, err := e.Run(ctx, "orders"); err != nil {
		return k, err
	}
	return k, e.check(ctx, db, &k, true)
}

// kill starts an export and kills it after a while; false: it had ended.
func (e Export) kill(ctx context.Context, after time.Duration) (bool, error) {
	cmd := e.command(ctx, "orders")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		return false, err
	}
	timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() }) // fails where it has ended
	defer timer.Stop()
	err := cmd.Wait()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return false, nil
	case errors.As(err, &exit) && !exit.Exited() && ctx.Err() == nil:
		return true, nil
	}
	return false, fmt.Errorf("export: %w\n%s", err, said.String())
}

// day is what a day's orders are together.
type day struct{ rows, total, commission int64 }

// check reads every file: each has each of its day's orders once. At the end no day is missing, and amounts are those of now.
func (e Export) check(ctx context.Context, db *pgxpool.Pool, k *Killed, end bool) error {
	want := map[string]day{}
	rows, err := db.Query(ctx, `
		select to_char(o.day, 'YYYY-MM-DD'), count(*), sum(o.total_minor)::bigint, sum(p.commission_minor)::bigint
		from orders o join payout p on p.company_id = o.company_id and p.order_id = o.order_id
		where o.company_id = $1 group by 1`, e.Company)
	if err != nil {
		return err
	}
	for rows.Next() {
		var name string
		var d day
		if err := rows.Scan(&name, &d.rows, &d.total, &d.commission); err != nil {
			return err
		}
		want[name] = d
	}
	if err := rows.Err(); err != nil {
		return err
	}
	files := 0
	wrong := func(format string, args ...any) { k.Problems = append(k.Problems, fmt.Sprintf(format, args...)) }
	err = filepath.WalkDir(e.Dir, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return nil // it was killed before it made one
		}
		if err == nil && entry.IsDir() && strings.HasPrefix(entry.Name(), "_") {
			return fs.SkipDir
		}
		if err != nil || entry.IsDir() {
			return err
		}
		files++
		name := strings.TrimPrefix(filepath.Base(filepath.Dir(path)), "day=")
		if entry.Name() != "orders.parquet" {
			wrong("after %d kills: %s is no whole file", k.Kills, path)
			return nil
		}
		is, err := sum(path)
		switch {
		case err != nil:
			wrong("after %d kills: %s: %v", k.Kills, path, err)
		case is.rows != want[name].rows || is.total != want[name].total || end && is != want[name]:
			wrong("after %d kills: %s has %+v, and the database %+v", k.Kills, path, is, want[name])
		}
		k.Rows += is.rows
		return nil
	})
	k.Files += files
	if end && files != len(want) {
		wrong("%d files at the end, want %d", files, len(want))
	}
	return err
}

// sum reads a file of orders. An order that is there twice is an error.
func sum(path string) (d day, err error) {
	list, err := parquet.ReadFile[struct {
		OrderID    string `parquet:"order_id"`
		Total      int64  `parquet:"total_minor"`
		Commission *int64 `parquet:"commission_minor"`
	}](path)
	if err != nil {
		return d, err
	}
	seen := map[string]bool{}
	for _, o := range list {
		if seen[o.OrderID] {
			return d, fmt.Errorf("order %s is there twice", o.OrderID)
		}
		seen[o.OrderID] = true
		d.rows++
		d.total += o.Total
		d.commission += *o.Commission
	}
	return d, nil
}
