package statements_test

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/test/devtest"
	"github.com/tributary-io/tributary/test/statements"
)

func TestRecorderKnowsEachStatementAndItsPlace(t *testing.T) {
	t.Parallel()
	config, err := pgx.ParseConfig(devtest.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	recorder := statements.NewRecorder()
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
	list, err := recorder.Statements()
	if err != nil {
		t.Fatal(err)
	}
	var sent []string
	for _, s := range list {
		sent = append(sent, s.SQL)
		at := func(line int) bool { return s.At(statements.Call{File: file, FromLine: line, ToLine: line}) }
		if want := strings.Contains(s.SQL, "@b"); at(line-1) != want || at(line) {
			t.Errorf("%s was sent from line %d: %t", s.SQL, line-1, !want)
		}
	}
	want := []string{`create temporary table x (a int, b int)`, `delete from x where a = @a`, `insert into "x" ("a", "b") select`,
		`insert into x values (@a, @b)`}
	if !slices.Equal(sent, want) {
		t.Errorf("sent %q, want %q", sent, want)
	}
	exec(`insert into x values (@a, @b)`, pgx.NamedArgs{"a": 1}) // pgx sends null
	if _, err := recorder.Statements(); err == nil {
		t.Error("a named argument is missing, and nobody said so")
	}
}
