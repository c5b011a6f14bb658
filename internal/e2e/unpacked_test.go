package e2e

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/tributary-io/tributary/internal/postgres/explained"
)

// unpackedRows reads what is stored packed, as the text that it stands for.
func unpackedRows(t *testing.T, conn *pgx.Conn) (all []stored) {
	t.Helper()
	rows, err := conn.Query(t.Context(), `select body from explanation`)
	if err != nil {
		t.Fatal(err)
	}
	bodies, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range bodies {
		text, err := explained.Unpack(body)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, stored{place: "public.explanation", text: search(string(text))})
	}
	return all
}
