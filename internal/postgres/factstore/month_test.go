package factstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/facts"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/internal/postgres/factstore"
	"github.com/tributary-io/tributary/test/devtest"
)

// TestAMonthIsCheckedOnce: every batch asks for its events' months. One that
// is there, or lies in the default partition for good, costs no lock again: a
// single event from a wrong clock must not have the table locked in each batch.
func TestAMonthIsCheckedOnce(t *testing.T) {
	ctx := t.Context()
	dsn := devtest.Postgres(t)
	db, err := postgres.Open(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	store := factstore.New(db)
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	stray := now.AddDate(0, 1, 0)
	if _, err := conn.Exec(ctx, `
		insert into event_fact (company_id, event_id, at, class, name, record) values ('c', $1, $2, 1, 'PAGE_VIEW', '')`,
		facts.FirstID(stray), stray); err != nil {
		t.Fatal(err)
	}
	instants := []time.Time{now, stray, now.AddDate(-30, 0, 0)}
	if err := store.MakeMonths(ctx, now, instants); err != nil {
		t.Fatal(err)
	}
	const makingMonths = 7_274_001 // the lock under which months are made
	if _, err := conn.Exec(ctx, `select pg_advisory_lock($1)`, makingMonths); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if err := store.MakeMonths(short, now, instants); errors.Is(err, context.DeadlineExceeded) {
		t.Error("checked months wait for the lock under which months are made")
	} else if err != nil {
		t.Error(err)
	}
}
