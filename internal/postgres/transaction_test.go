package postgres_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/commerce"
	"github.com/tributary-io/tributary/internal/postgres"
	"github.com/tributary-io/tributary/test/devtest"
)

// The server ends a transaction that waits for its client, so that nobody waits for a
// process that is stopped. The setting ends with the transaction, and its end is an error
// after which a retry may succeed.
func TestATransactionThatWaitsForItsClientIsEnded(t *testing.T) {
	t.Parallel()
	db, err := postgres.Open(t.Context(), devtest.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	limit := func(q postgres.Querier) string {
		t.Helper()
		list, err := postgres.Collect(t.Context(), q, pgx.RowTo[string], `show idle_in_transaction_session_timeout`)
		if err != nil {
			t.Fatal(err)
		}
		return list[0]
	}
	err = db.InTx(t.Context(), func(tx pgx.Tx) error {
		if got := limit(tx); got != "30s" {
			t.Errorf("a transaction waits %s for its client, want 30s", got)
		}
		// The server's own clock: shorter here, so that the test need not wait for it.
		if _, err := tx.Exec(t.Context(), `set local idle_in_transaction_session_timeout = '1ms'`); err != nil {
			return err
		}
		_, err := tx.Conn().WaitForNotification(t.Context())
		return err
	})
	if !errors.Is(err, commerce.ErrUnavailable) {
		t.Errorf("an ended transaction: %v, want it unavailable", err)
	}
	if got := limit(db.Pool()); got != "0" {
		t.Errorf("after a transaction: %s, want no limit", got)
	}
}
