package replay

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/test/devtest"
)

// TestAllColumnsOfRulesAreCopied: a new column of a rule must not be lost in a replay.
func TestAllColumnsOfRulesAreCopied(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), devtest.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	for _, table := range slices.Concat(ruleTables, statementTables) {
		want, err := postgres.Collect(t.Context(), conn, pgx.RowTo[string], `
			select column_name::text from information_schema.columns
			where table_schema = 'public' and table_name = $1 and column_name <> 'company_id' order by 1`, table.name)
		if err != nil {
			t.Fatal(err)
		}
		got := strings.FieldsFunc(table.columns, func(r rune) bool { return strings.ContainsRune(", \n\t", r) })
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: copied %q, the table has %q", table.name, got, want)
		}
	}
}

// TestAConnectionThatSeesAnotherSchemaIsRefused: else a replay would write live rows.
func TestAConnectionThatSeesAnotherSchemaIsRefused(t *testing.T) {
	t.Parallel()
	dsn := devtest.Postgres(t)
	db, err := postgres.Open(t.Context(), dsn, postgres.WithSchema("replay_that_is_not_there"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Ping(t.Context()); err == nil || !strings.Contains(err.Error(), "replay_that_is_not_there") {
		t.Errorf("%v", err)
	}
}
