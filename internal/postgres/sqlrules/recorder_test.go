package sqlrules_test

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/postgres/sqlrules"
	"github.com/tributary-io/tributary/test/devtest"
)

func TestRecorderKnowsEachStatementAndItsPlace(t *testing.T) {
	t.Parallel()
	config, err := pgx.ParseConfig(devtest.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	recorder := sqlrules.NewRecorder()
	config.Tracer = recorder
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec(`create temporary table x (a int, b int)`)
	exec(`insert into x values (@a, @b)`, pgx.NamedArgs{"a": 1, "b": 2})
	_, file, line, _ := runtime.Caller(0)
	batch := &pgx.Batch{}
	batch.Queue(`delete from x where a = @a`, pgx.NamedArgs{"a": 1})
	if err := conn.SendBatch(t.Context(), batch).Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.CopyFrom(t.Context(), pgx.Identifier{"x"}, []string{"a", "b"}, pgx.CopyFromRows([][]any{{1, 2}})); err != nil {
		t.Fatal(err)
	}
	statements, err := recorder.Statements()
	if err != nil {
		t.Fatal(err)
	}
	var sent []string
	for _, s := range statements {
		sent = append(sent, s.Sent)
		at := func(line int) bool { return s.At(sqlrules.Call{File: file, FromLine: line, ToLine: line}) }
		if want := strings.Contains(s.SQL, "@b"); at(line-1) != want || at(line) {
			t.Errorf("%s was sent from line %d: %t", s.SQL, line-1, !want)
		}
	}
	want := []string{`create temporary table x (a int, b int)`, `delete from x where a = $1`, `insert into "x" ("a", "b") select`, `insert into x values ($1, $2)`}
	if !slices.Equal(sent, want) {
		t.Errorf("sent %q, want %q", sent, want)
	}
	exec(`insert into x values (@a, @b)`, pgx.NamedArgs{"a": 1}) // pgx sends null
	if _, err := recorder.Statements(); err == nil {
		t.Error("a named argument is missing, and nobody said so")
	}
}
