package analysis

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tributary-io/tributary/dev/filelock"
)

// Versions of what reads the files, as PyPI has them.
const (
	DuckDB  = "1.5.6"
	PyArrow = "26.0.1"
	Spark   = "4.3.0"
)

//go:embed engines.py
var engines []byte

// Python returns a Python with packages, such as "duckdb==1.0.0", in the user's cache. The first time it makes it, which needs
// Python 3 with venv, and PyPI.
func Python(ctx context.Context, name string, packages ...string) (program string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "tributary", name)
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil { //nolint:gosec // for everybody, as other tools there
		return "", err
	}
	unlock, err := filelock.Wait(ctx, dir+".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	program, made := filepath.Join(dir, "bin", "python"), filepath.Join(dir, "made")
	want := strings.Join(packages, "\n")
	//nolint:gosec // a file of our own
	if is, err := os.ReadFile(made); err == nil && string(is) == want {
		return program, nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	for _, args := range [][]string{
		{"python3", "-m", "venv", dir},
		append([]string{program, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"}, packages...),
	} {
		//nolint:gosec // packages that we name
		if output, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s needs Python 3 with venv (Debian: apt-get install python3-venv): %w\n%s", args[0], err, output)
		}
	}
	return program, os.WriteFile(made, []byte(want), 0o600)
}

// Line is a line of the page's report.
type Line struct {
	Channel, Currency        string
	Orders                   int64
	LastNonDirect, TimeDecay *int64 // in minor units; nil: no touch has any
}

// String is the line as text, by which two are compared.
func (l Line) String() string {
	amount := func(minor *int64) string {
		if minor == nil {
			return "none"
		}
		return fmt.Sprint(*minor)
	}
	return fmt.Sprint(l.Channel, " ", l.Currency, " ", l.Orders, " ", amount(l.LastNonDirect), " ", amount(l.TimeDecay))
}

// Answer is a report with the time that the engine took for it.
type Answer struct {
	Lines []Line
	Took  time.Duration
}

// Ask asks an engine of engines.py: the least time of some.
func (e Export) Ask(ctx context.Context, python, engine, sql string, times int) (a Answer, err error) {
	cmd := exec.CommandContext(ctx, python, "-c", string(engines), engine, e.Dir, e.Company, fmt.Sprint(times)) //nolint:gosec // ours
	cmd.Stdin = strings.NewReader(e.ofOurs(sql))
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return a, fmt.Errorf("%s: %w\n%s", engine, err, said.String())
	}
	var answer struct {
		Rows    [][5]any
		Seconds float64
	}
	decoder := json.NewDecoder(&out)
	decoder.UseNumber()
	if err := decoder.Decode(&answer); err != nil {
		return a, fmt.Errorf("%s: %w", engine, err)
	}
	a.Took = time.Duration(answer.Seconds * float64(time.Second))
	for _, row := range answer.Rows {
		line := Line{Channel: fmt.Sprint(row[0]), Currency: fmt.Sprint(row[1])}
		if n := minor(row[2]); n != nil {
			line.Orders = *n
		}
		line.LastNonDirect, line.TimeDecay = minor(row[3]), minor(row[4])
		a.Lines = append(a.Lines, line)
	}
	return a, nil
}

func minor(value any) *int64 {
	number, _ := value.(json.Number)
	n, err := number.Int64()
	if err != nil {
		return nil
	}
	return &n
}

// AskPostgres asks PostgreSQL.
func (e Export) AskPostgres(ctx context.Context, db *pgxpool.Pool, sql string, times int) (a Answer, err error) {
	for range times {
		began := time.Now()
		rows, err := db.Query(ctx, e.ofOurs(sql))
		if err != nil {
			return a, err
		}
		a.Lines, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (l Line, err error) {
			return l, row.Scan(&l.Channel, &l.Currency, &l.Orders, &l.LastNonDirect, &l.TimeDecay)
		})
		if err != nil {
			return a, err
		}
		if took := time.Since(began); a.Took == 0 || took < a.Took {
			a.Took = took
		}
	}
	return a, nil
}

// ofOurs is a text of the page for our company and directory.
func (e Export) ofOurs(sql string) string {
	return strings.NewReplacer("'c_1'", "'"+e.Company+"'", "/srv/tributary", e.Dir).Replace(sql)
}

// Page are the texts of SQL of docs/analysis.md.
type Page struct{ Postgres, DuckDB, Spark string }

// ReadPage reads them.
func ReadPage(path string) (p Page, err error) {
	text, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return p, err
	}
	var blocks []string
	for _, part := range strings.Split(string(text), "```sql\n")[1:] {
		block, _, _ := strings.Cut(part, "```")
		blocks = append(blocks, block)
	}
	if len(blocks) != 3 {
		return p, errors.New("the page has not three texts of SQL")
	}
	return Page{blocks[0], blocks[1], blocks[2]}, nil
}
